//go:build linux

package docs

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestEveryFuzzTargetIsRun: .ci/fuzz finds its targets by itself, and forgets
// none.
func TestEveryFuzzTargetIsRun(t *testing.T) {
	if _, err := exec.LookPath("bash"); err != nil {
		t.Skip("there is no bash, which .ci/fuzz is written in")
	}
	out, err := exec.CommandContext(t.Context(), "bash", filepath.Join(".ci", "fuzz"), "--list").Output()
	if err != nil {
		t.Fatal(err)
	}
	listed := strings.Split(strings.TrimSpace(string(out)), "\n")
	var found []string
	err = filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err == nil && strings.HasSuffix(path, "_test.go") && d.Type().IsRegular() {
			found = append(found, fuzzTargets(t, path)...)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(listed)
	slices.Sort(found)
	if len(found) < 10 || !slices.Equal(listed, found) {
		t.Errorf(".ci/fuzz runs\n%s\nand there are\n%s", strings.Join(listed, "\n"), strings.Join(found, "\n"))
	}
}

// fuzzTargets are the functions of a file that are given a *testing.F.
func fuzzTargets(t *testing.T, path string) (targets []string) {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	for _, decl := range file.Decls {
		f, ok := decl.(*ast.FuncDecl)
		if !ok || f.Recv != nil || len(f.Type.Params.List) != 1 || !strings.HasPrefix(f.Name.Name, "Fuzz") {
			continue
		}
		folder := "."
		if dir := filepath.ToSlash(filepath.Dir(path)); dir != "." {
			folder = "./" + dir
		}
		targets = append(targets, folder+" "+f.Name.Name)
	}
	return targets
}
