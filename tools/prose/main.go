// Command prose writes the texts that trueup prints below DIR, so that a prose
// linter can read them: string literals of Go files, help and texts of rules. Each
// text stays in its line, so that a finding names the line of the source.
//
//	prose DIR FILE...
package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
)

func main() {
	for _, file := range os.Args[2:] {
		if err := extract(os.Args[1], file); err != nil {
			fmt.Fprintln(os.Stderr, "prose:", err)
			os.Exit(1)
		}
	}
}

func extract(dir, file string) error {
	data, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	lines := strings.Split(string(data), "\n")
	if strings.HasSuffix(file, ".go") {
		if lines, err = literals(file, data, len(lines)); err != nil {
			return err
		}
	}
	for i, line := range lines {
		lines[i] = sentences(line)
	}
	to := filepath.Join(dir, file+".txt")
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return err
	}
	return os.WriteFile(to, []byte(strings.Join(lines, "\n")), 0o644)
}

// literals returns n lines with the string literals that have words, each in the
// line where its expression begins. Parts that are added up are one text.
func literals(file string, data []byte, n int) ([]string, error) {
	fset := token.NewFileSet()
	f, err := parser.ParseFile(fset, file, data, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	lines := make([]string, n+1)
	ast.Inspect(f, func(node ast.Node) bool {
		switch e := node.(type) {
		case *ast.ImportSpec, *ast.Field:
			return false
		case ast.Expr:
			if text, ok := literal(e); ok {
				if line := fset.Position(e.Pos()).Line - 1; strings.Count(text, " ") >= 2 {
					lines[line] = strings.TrimSpace(lines[line] + " " + strings.ReplaceAll(text, "\n", " "))
				}
				return false
			}
		}
		return true
	})
	return lines, nil
}

func literal(e ast.Expr) (string, bool) {
	switch e := e.(type) {
	case *ast.BasicLit:
		text, err := strconv.Unquote(e.Value)
		return text, err == nil && e.Kind == token.STRING
	case *ast.BinaryExpr:
		left, ok := literal(e.X)
		right, also := literal(e.Y)
		if e.Op == token.ADD && (ok || also) {
			return left + " it " + right, true
		}
	}
	return "", false
}

// verb matches what fmt fills in, and code matches what people copy.
var (
	verb = regexp.MustCompile(`%(\[\d\])?[-+.#]?[0-9.*]*[a-zA-Z]`)
	code = regexp.MustCompile("`[^`]*`")
)

// sentences ends a sentence where a message has its parts (what happened: where:
// what to do), and at the end of the line.
func sentences(line string) string {
	line = verb.ReplaceAllString(code.ReplaceAllString(line, "it"), "it")
	line = strings.NewReplacer(": ", ". ", "; ", ". ").Replace(strings.TrimRight(line, " "))
	if line == "" || strings.HasSuffix(line, ".") {
		return line
	}
	return line + "."
}
