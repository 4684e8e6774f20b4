package kind_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"trueup/internal/kind"
)

// mayImport is who may import whom, by room below internal; canon is a leaf
// that every room but the sandbox may import besides. The sandbox is the
// independent oracle, so it shares not even that. A room that is not here has
// no place in the house.
var mayImport = map[string][]string{
	"main": {"cli"},
	"cli": {
		"api", "apply", "diag", "forge", "git", "kind", "ledger", "live", "manifest", "merge", "plan", "purge",
		"report", "sandbox", "schemas",
	},
	"report":   {"apply", "diag", "kind", "plan"},
	"apply":    {"diag", "kind", "ledger", "live", "merge", "plan"},
	"plan":     {"diag", "effect", "kind", "ledger", "live", "manifest", "merge", "purge"},
	"live":     {"kind", "manifest"},
	"ledger":   {"blob", "kind"},
	"blob":     {"git"},
	"manifest": {"diag", "kind", "purge"},
	"api":      {"kind"},
	"kind":     {"schemas"},
	"canon":    {},
	"diag":     {},
	"effect":   {},
	"forge":    {},
	"git":      {},
	"merge":    {"effect"},
	"purge":    {},
	"sandbox":  {},
	"schemas":  {},
}

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

func TestImportsFollowTheHouse(t *testing.T) {
	eachSource(t, func(file string, source *ast.File) {
		from := room(path.Join(module, path.Dir(file)))
		allowed, known := mayImport[from]
		if !known {
			t.Errorf("%s: %s is not a room of the house", file, from)
			return
		}
		if from != "sandbox" {
			allowed = append(slices.Clone(allowed), "canon")
		}
		for _, spec := range source.Imports {
			target, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				t.Fatal(err)
			}
			if target != module && !strings.HasPrefix(target, module+"/") {
				continue
			}
			if to := room(target); to != from && !slices.Contains(allowed, to) {
				t.Errorf("%s: %s may not import %s", file, from, to)
			}
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
			for _, k := range kind.All() {
				if value == k.Name || strings.HasPrefix(value, k.Name+"/") {
					t.Errorf("%s: the literal %s belongs in internal/kind, a rule file or the sandbox", file, lit.Value)
				}
			}
			return true
		})
	})
}

func mayNameKinds(file string) bool {
	dir, name := path.Split(file)
	switch room(path.Join(module, dir)) {
	case "kind", "sandbox":
		return true
	case "manifest":
		return strings.HasPrefix(name, "rule_")
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
