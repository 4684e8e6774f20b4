package kind_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"trueup/internal/kind"
)

const module = "trueup"

// room names the place of a package path below the module: kind, plan, main.
func room(packagePath string) string {
	below := strings.TrimPrefix(strings.TrimPrefix(packagePath, module), "/")
	first, rest, _ := strings.Cut(below, "/")
	switch first {
	case "":
		return "main"
	case "internal":
		first, _, _ = strings.Cut(rest, "/")
	}
	return first
}

// TestEveryPackageHasAnImportRule: depguard holds who may import whom, and knows
// nothing of a package that its configuration does not name.
func TestEveryPackageHasAnImportRule(t *testing.T) {
	config, err := os.ReadFile(filepath.Join("..", "..", ".golangci.yml"))
	if err != nil {
		t.Fatal(err)
	}
	eachSource(t, func(file string, _ *ast.File) {
		below, in := strings.CutPrefix(path.Dir(file), "internal/")
		first, _, nested := strings.Cut(below, "/")
		pattern := "**/internal/" + first + "/*.go"
		if nested {
			pattern = "**/internal/" + first + "/*/*.go"
		}
		if in && first != "e2e" && !strings.Contains(string(config), pattern) {
			t.Errorf("%s: no depguard rule of .golangci.yml is for %s", file, pattern)
		}
	})
}

// TestKindsAreNamedInFewPlaces: a fourth kind is one row, one schema and its
// rules, so nothing else may ask for a kind by its name.
func TestKindsAreNamedInFewPlaces(t *testing.T) {
	eachSource(t, func(file string, source *ast.File) {
		if mayNameKinds(file) {
			return
		}
		ast.Inspect(source, func(n ast.Node) bool {
			lit, ok := n.(*ast.BasicLit)
			if !ok || lit.Kind != token.STRING {
				return true
			}
			value, err := strconv.Unquote(lit.Value)
			if err != nil {
				t.Fatal(err)
			}
			for _, k := range kind.AllKinds() {
				if value == k.Name || strings.HasPrefix(value, k.Name+"/") {
					t.Errorf("%s: the literal %s belongs in internal/kind, a rule file or the sandbox", file, lit.Value)
				}
			}
			return true
		})
	})
}

func mayNameKinds(file string) bool {
	switch room(path.Join(module, path.Dir(file))) {
	case "kind", "rules", "sandbox", "e2e":
		return true
	}
	return false
}

// eachSource parses every Go file of the module that is not a test; file is
// relative to the module's root, with slashes.
func eachSource(t *testing.T, visit func(file string, source *ast.File)) {
	t.Helper()
	root := filepath.Join("..", "..")
	n := 0
	err := filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			return skip(root, name, d)
		}
		if filepath.Ext(name) != ".go" || strings.HasSuffix(name, "_test.go") {
			return nil
		}
		source, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		file, err := filepath.Rel(root, name)
		if err != nil {
			return err
		}
		n++
		visit(filepath.ToSlash(file), source)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if n < 10 {
		t.Fatalf("only %d files read: is %s the module's root?", n, root)
	}
}

// skip leaves out hidden folders, test data and other modules.
func skip(root, name string, d fs.DirEntry) error {
	if name == root {
		return nil
	}
	if strings.HasPrefix(d.Name(), ".") || d.Name() == "testdata" {
		return fs.SkipDir
	}
	if _, err := os.Stat(filepath.Join(name, "go.mod")); err == nil {
		return fs.SkipDir
	}
	return nil
}
