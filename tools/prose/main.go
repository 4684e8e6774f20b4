// Command prose finds sentences of more than 25 words in the texts that trueup shows:
// string literals of Go files, strings of JSON Schemas, comments and descriptions of
// YAML files, text of HTML templates, and text files as they are. It writes the texts
// below DIR for a prose linter. Each stays in its line, so that findings name the line.
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
	"slices"
	"strconv"
	"strings"
	"unicode"
)

func main() {
	failed := false
	for _, file := range os.Args[2:] {
		lines, err := extract(file)
		if err == nil {
			err = write(filepath.Join(os.Args[1], file+".txt"), lines)
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, "prose:", err)
			failed = true
		}
		for _, line := range long(lines) {
			fmt.Printf("%s:%d: a sentence has at most %d words: make two of it\n", file, line, most)
			failed = true
		}
	}
	if failed {
		os.Exit(1)
	}
}

func write(file string, lines []string) error {
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return err
	}
	return os.WriteFile(file, []byte(strings.Join(lines, "\n")), 0o644)
}

func extract(file string) ([]string, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	lines := strings.Split(string(data), "\n")
	switch filepath.Ext(file) {
	case ".go":
		lines, err = literals(file, data, len(lines))
	case ".json":
		each(lines, values)
	case ".yml":
		each(lines, func(line string) string { _, text, _ := strings.Cut(comment.FindString(line), " "); return text })
		lines = sentences(lines)
	case ".tmpl":
		each(lines, func(line string) string {
			return strings.Join(sentences(tag.Split(action.ReplaceAllString(line, "it"), -1)), " ")
		})
	default:
		lines = sentences(lines)
	}
	return lines, err
}

func each(lines []string, f func(string) string) {
	for i, line := range lines {
		lines[i] = f(line)
	}
}

var (
	value   = regexp.MustCompile(`: "(?:[^"\\]|\\.)*"`)
	comment = regexp.MustCompile(`# .*|description: .*`)
	action  = regexp.MustCompile(`\{\{.*?\}\}`)
	tag     = regexp.MustCompile(`<[^>]*>`)
)

// values returns the strings of a line of JSON that have words.
func values(line string) string {
	var all []string
	for _, quoted := range value.FindAllString(line, -1) {
		if text, err := strconv.Unquote(quoted[2:]); err == nil {
			all = append(all, paragraphs(text))
		}
	}
	return strings.Join(all, " ")
}

// literals returns n lines with the string literals that have words, each in the
// line where its expression begins. Parts that are added up are one text.
func literals(file string, data []byte, n int) ([]string, error) {
	fset := token.NewFileSet()
	f, err := parser.ParseFile(fset, file, data, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	lines := make([]string, n)
	ast.Inspect(f, func(node ast.Node) bool {
		switch e := node.(type) {
		case *ast.ImportSpec, *ast.Field:
			return false
		case ast.Expr:
			if text, ok := literal(e); ok {
				line := fset.Position(e.Pos()).Line - 1
				lines[line] = strings.TrimSpace(lines[line] + " " + paragraphs(text))
				return false
			}
		}
		return true
	})
	return lines, nil
}

// literal returns the text of a string, with "it" for the operands that are none.
func literal(e ast.Expr) (string, bool) {
	switch e := e.(type) {
	case *ast.BasicLit:
		text, err := strconv.Unquote(e.Value)
		return text, err == nil && e.Kind == token.STRING
	case *ast.BinaryExpr:
		left, ok := literal(e.X)
		right, also := literal(e.Y)
		if e.Op == token.ADD && (ok || also) {
			return left + right, true
		}
	}
	return "it", false
}

// paragraphs returns a text of three words or more in one line.
func paragraphs(text string) string {
	if strings.Count(text, " ") < 2 {
		return ""
	}
	return strings.Join(sentences(strings.Split(text, "\n")), " ")
}

var (
	verb = regexp.MustCompile(`%(\[\d\])?[-+.#]?[0-9.*]*[a-zA-Z]`) // what fmt fills in
	code = regexp.MustCompile("`[^`]*`")                           // what people copy
	term = regexp.MustCompile(`^[A-Z][A-Z0-9_, ]+: `)              // what a line explains
	cell = regexp.MustCompile(`(\S) {2,}(\S)`)
	item = regexp.MustCompile(`^ *(--? |[0-9]+\. |.*\S {2,})`)
	end  = regexp.MustCompile(`[.?!]["')]*$`)
	said = regexp.MustCompile(`: (it\b|["'‘“])`)
)

// sentences ends a sentence with each paragraph, item of a list, cell of a table and
// command, and at a colon before what a message fills in. Wrapped lines stay one.
func sentences(lines []string) []string {
	out := make([]string, len(lines))
	column := -1 // where a line has to begin that goes on with the text above
	for i, line := range lines {
		indent := len(line) - len(strings.TrimLeft(line, " "))
		if starts := term.MatchString(line) || item.MatchString(line); starts || indent != column || indent == len(line) {
			if i > 0 {
				out[i-1] = ended(out[i-1])
			}
			if column = indent; starts {
				column = len(item.FindString(line))
			} else if indent > 0 {
				column = -1
			}
		}
		line = term.ReplaceAllString(code.ReplaceAllString(line, "it"), "")
		line = cell.ReplaceAllString(strings.TrimSpace(line), "$1. $2")
		out[i] = said.ReplaceAllString(verb.ReplaceAllString(line, "it"), ". $1")
	}
	out[len(out)-1] = ended(out[len(out)-1])
	return out
}

func ended(line string) string {
	if line == "" || strings.ContainsRune(".?!", rune(line[len(line)-1])) {
		return line
	}
	return line + "."
}

// most is how many words a sentence may have.
const most = 25

// long returns the lines, from 1, in which longer sentences begin.
func long(lines []string) []int {
	var found []int
	begin, words := 0, 0
	for i, line := range lines {
		for _, word := range strings.Fields(line) {
			if strings.ContainsFunc(word, isWord) {
				words++
			}
			switch {
			case words == 1:
				begin = i + 1
			case words == most+1 && !slices.Contains(found, begin):
				found = append(found, begin)
			}
			if end.MatchString(word) {
				words = 0
			}
		}
	}
	return found
}

func isWord(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }
