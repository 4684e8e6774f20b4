package safetext_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/mattn/go-runewidth"

	"trueup/internal/safetext"
)

func TestF(t *testing.T) {
	if got := safetext.F("100%% of %s in %d %s", "a\nb", 3, safetext.Clean("\x1b")).String(); got != `100% of a\nb in 3 \x1b` {
		t.Error(got)
	}
}

// TestFormatsHaveTheirArguments: F has no error for a verb without an argument.
func TestFormatsHaveTheirArguments(t *testing.T) {
	for _, dir := range []string{"../report", "."} {
		files, err := filepath.Glob(filepath.Join(dir, "*.go"))
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range files {
			text, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			set := token.NewFileSet()
			file, err := parser.ParseFile(set, name, text, 0)
			if err != nil {
				t.Fatal(err)
			}
			ast.Inspect(file, func(n ast.Node) bool {
				call, ok := n.(*ast.CallExpr)
				if !ok {
					return true
				}
				f, ok := call.Fun.(*ast.SelectorExpr)
				if !ok || f.Sel.Name != "F" {
					return true
				}
				literal, ok := call.Args[0].(*ast.BasicLit)
				if !ok {
					return true
				}
				format, err := strconv.Unquote(literal.Value)
				if verbs := strings.Count(strings.ReplaceAll(format, "%%", ""), "%"); err != nil || verbs != len(call.Args)-1 {
					t.Errorf("%s: %d verbs and %d arguments", set.Position(n.Pos()), verbs, len(call.Args)-1)
				}
				return true
			})
		}
	}
}

// TestWidthIsTheLibrarys: characters that are not looked up have the width that they have in the library.
func TestWidthIsTheLibrarys(t *testing.T) {
	terminal := &runewidth.Condition{StrictEmojiNeutral: true}
	for _, s := range []string{"", "abc", "→…·×✓✗●│", "a → b…", "é→", "漢→", "e\u0301→", "·\u200d❤\ufe0f"} {
		text := safetext.Clean(s)
		if got, want := text.Width(), terminal.StringWidth(text.String()); got != want {
			t.Errorf("%q: %d columns, want %d", s, got, want)
		}
	}
}
