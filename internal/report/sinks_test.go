package report

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// The text that reaches a terminal, a log or a report is of the types safe and
// markup, or JSON of CleanJSON. These tests hold that there is no other way:
// where such text is made of plain text, and what is given a stream.

// conversions are the functions that may call plain text safe or markup, and
// why it is.
var conversions = map[string]string{
	"flat":                "of safe parts",
	"flowLines":           "nothing",
	"pieces":              "parts of safe text",
	"middle":              "parts of safe text",
	"shorten":             "a number",
	"excerpt":             "parts of safe text",
	"shownSource":         "spaces",
	"splitWords":          "parts of safe text",
	"flow.group":          "brackets",
	"layout.row":          "a mark of this package",
	"diffWriter.sideLine": "a mark of this package",
	"textFinding":         "the name of a severity",
	"printed":             "what a printer wrote",
	"printer.line":        "a part of safe text",
	"wrap":                "a part of safe text",
	"wrapper.put":         "a part of safe text",
	"objectText.value":    "a part of safe text",
	"Lines.Printf":        "a constant, of which every argument was cleaned",
	"Lines.Table":         "cells that were cleaned",
	"Lines.JSON":          "JSON that was cleaned",
	"Lines.JSONLine":      "JSON that was cleaned",
	"Lines.write":         "a line of safe text",
	"summaryTable":        "constants",
	"madeFrom":            "parts of markup",
	"noteLines":           "a part of safe text",
	"outcomeBlocks":       "the name of a status",
	"fitRank":             "parts of markup",
	"fitRanks":            "parts of markup",
	"inside":              "a part of safe text",
	"whereAll":            "parts of markup",
	"lookAt":              "parts of markup",
	"command.text":        "a name of this program",
	"commandData":         "safe text, escaped for a runner",
	"commandProperty":     "safe text, escaped for a runner",
	"sarifText":           "safe text, escaped for SARIF",
	"Progress.bar":        "a bar of this package",
	"Progress.parts":      "a number",
	"seconds":             "a number and its unit",
}

// streams are the functions that are given a stream or keep one.
var streams = []string{
	"Write", "writeText", "writeMarkdown", "writeJSON", "writeHTML", "newPrinter", "printer.write", "printer.flush",
	"NewLines", "Lines.Text", "Lines.Source", "Lines.write", "Lines.Marked", "Lines.Diff", "Help", "helpWriter.Write", "JSONStream", "jsonStream.Write",
	"writeIndented", "writeSARIF", "writeCodeQuality", "writeJUnit", "writeGitHub", "writeOutputs", "writeDotenv", "writeSummary",
}

func TestPlainTextBecomesSafeInOnePlace(t *testing.T) {
	seen := map[string]bool{}
	each(t, ".", func(n ast.Node, at where) {
		call, ok := n.(*ast.CallExpr)
		if !ok || len(call.Args) != 1 {
			return
		}
		if name, ok := call.Fun.(*ast.Ident); !ok || name.Name != "safe" && name.Name != "markup" {
			return
		}
		seen[at.function] = true
		if conversions[at.function] == "" {
			t.Errorf("%s: text is called safe in %s: only clean makes it so", at, at.function)
		}
	})
	for name := range maps.Keys(conversions) {
		if !seen[name] {
			t.Errorf("%s converts nothing any more", name)
		}
	}
}

func TestOnlyPrintersHaveStreams(t *testing.T) {
	each(t, ".", func(n ast.Node, at where) {
		if s, ok := n.(*ast.SelectorExpr); ok && (s.Sel.Name == "w" || dotted(s) == "io.Writer" || dotted(s) == "bufio.Writer") {
			if at.function != "" && at.function != "escapeJSON" && !slices.Contains(streams, at.function) {
				t.Errorf("%s: %s has a stream: write through printer or Lines", at, at.function)
			}
		}
	})
}

// cleaners are what a command may give a stream of its process to.
var cleaners = []string{"report.Write", "report.NewLines", "report.Help", "report.JSONStream"}

// ownText are the functions that print several lines at once, all of this
// program but for what was cleaned.
var ownText = []string{"app.showRule", "app.showField", "writeRecord", "setup.showWanted", "setup.next"}

// TestCommandsWriteThroughReport: a command gives its streams to package report
// and to nothing else, and its formats are constants.
func TestCommandsWriteThroughReport(t *testing.T) {
	each(t, filepath.Join("..", "cli"), func(n ast.Node, at where) {
		switch n := n.(type) {
		case *ast.SelectorExpr:
			stream := slices.Contains([]string{"Stdout", "Stderr", "stdout"}, n.Sel.Name)
			if stream && !slices.Contains(cleaners, at.callee) && !at.keeps(n) {
				t.Errorf("%s: %s is written to by %q: use a.out, a.log, a.ask or one of %v", at, dotted(n), at.callee, cleaners)
			}
			switch n.Sel.Name {
			case "OutOrStdout", "OutOrStderr", "ErrOrStderr", "InOrStdin", "PrintErr", "PrintErrf", "PrintErrln", "Println", "Print":
				t.Errorf("%s: %s goes past package report", at, dotted(n))
			}
		case *ast.CallExpr:
			f, ok := n.Fun.(*ast.SelectorExpr)
			if !ok || len(n.Args) == 0 {
				return
			}
			isFormat := slices.Contains([]string{"Printf", "printf", "ask", "tell"}, f.Sel.Name)
			if format := n.Args[min(len(n.Args)-1, at.formatOf(f))]; isFormat && !constantText(format) && !slices.Contains([]string{"app.ask", "app.printf", "probe.tell"}, at.function) {
				t.Errorf("%s: the format of %s is no constant", at, dotted(f))
			}
			if f.Sel.Name == "Text" && strings.HasSuffix(dotted(f), "out.Text") && !slices.Contains(ownText, at.function) {
				t.Errorf("%s: Lines.Text is for whole texts of this program: use Printf", at)
			}
		}
	})
}

// TestNobodyElseHasAStream: no package prints by itself, except for the one that starts the
// process.
func TestNobodyElseHasAStream(t *testing.T) {
	err := filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() && slices.Contains([]string{"testdata", "e2e", "process"}, d.Name()) {
			return filepath.SkipDir
		}
		if err != nil || !d.IsDir() {
			return err
		}
		each(t, path, func(n ast.Node, at where) {
			switch n := n.(type) {
			case *ast.SelectorExpr:
				if name := dotted(n); name == "os.Stdout" || name == "os.Stderr" || strings.HasPrefix(name, "fmt.Print") {
					t.Errorf("%s: %s", at, name)
				}
			case *ast.CallExpr:
				if f, ok := n.Fun.(*ast.Ident); ok && (f.Name == "print" || f.Name == "println") {
					t.Errorf("%s: %s", at, f.Name)
				}
			case *ast.ImportSpec:
				if n.Path.Value == `"log"` {
					t.Errorf("%s: package log writes to standard error", at)
				}
			}
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// where is the place of a node.
type where struct {
	token.Position
	// function is TYPE.NAME or NAME of the function around it.
	function string
	// callee is what the node is an argument of.
	callee string
	stack  []ast.Node
}

func (w where) String() string { return fmt.Sprintf("%s:%d", w.Filename, w.Line) }

// keeps reports whether a node is the stream that an output is made of, a field
// that is set, or a method of output.
func (w where) keeps(n ast.Expr) bool {
	switch parent := w.stack[len(w.stack)-1].(type) {
	case *ast.AssignStmt:
		return slices.Contains(parent.Lhs, n)
	case *ast.KeyValueExpr:
		return true
	case *ast.SelectorExpr:
		return parent.Sel.Name == "close" || parent.Sel.Name == "err"
	}
	return false
}

// formatOf is the index of the argument that is the format.
func (w where) formatOf(f *ast.SelectorExpr) int {
	if f.Sel.Name == "tell" {
		return 1
	}
	return 0
}

// each visits every node of the files in dir that are no tests.
func each(t *testing.T, dir string, visit func(ast.Node, where)) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), ".go") || strings.HasSuffix(e.Name(), "_test.go") {
			continue
		}
		set := token.NewFileSet()
		file, err := parser.ParseFile(set, filepath.Join(dir, e.Name()), nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.PreorderStack(file, nil, func(n ast.Node, stack []ast.Node) bool {
			at := where{Position: set.Position(n.Pos()), stack: stack}
			for _, above := range stack {
				if f, ok := above.(*ast.FuncDecl); ok {
					at.function = functionName(f)
				}
			}
			if len(stack) > 0 {
				if call, ok := stack[len(stack)-1].(*ast.CallExpr); ok && call.Fun != n {
					at.callee = dotted(call.Fun)
				}
			}
			visit(n, at)
			return true
		})
	}
}

func functionName(f *ast.FuncDecl) string {
	if f.Recv == nil {
		return f.Name.Name
	}
	of := f.Recv.List[0].Type
	if star, ok := of.(*ast.StarExpr); ok {
		of = star.X
	}
	return dotted(of) + "." + f.Name.Name
}

// dotted is a name with its points.
func dotted(n ast.Expr) string {
	switch n := n.(type) {
	case *ast.Ident:
		return n.Name
	case *ast.SelectorExpr:
		return dotted(n.X) + "." + n.Sel.Name
	case *ast.CallExpr:
		return dotted(n.Fun)
	}
	return "?"
}

// constantText reports whether an expression is made of literals.
func constantText(n ast.Expr) bool {
	switch n := n.(type) {
	case *ast.BasicLit:
		return true
	case *ast.BinaryExpr:
		return constantText(n.X) && constantText(n.Y)
	case *ast.ParenExpr:
		return constantText(n.X)
	}
	return false
}
