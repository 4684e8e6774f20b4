package cli

import (
	"bytes"
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"trueup/internal/command"
	"trueup/internal/config"
	"trueup/internal/kind"
)

func referencePage(t *testing.T, name string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(referenceFolder(), name))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// TestReferenceIsWhole asks for each thing where it comes from, not where the pages
// are made of: commands and flags from help, exit codes and variables from the
// source, fields from the schemas.
func TestReferenceIsWhole(t *testing.T) {
	commands, index := referencePage(t, "commands.md"), referencePage(t, "README.md")
	for _, path := range helpOf(t) {
		if !strings.Contains(commands, "\n## trueup"+path.command+"\n") {
			t.Errorf("trueup%s is missing", path.command)
		}
		_, section, _ := strings.Cut(commands, "\n## trueup"+path.command+"\n")
		section, _, _ = strings.Cut(section, "\n## ")
		for _, flag := range path.flags {
			if !strings.Contains(section, flag+" ") && !strings.Contains(section, flag+"`") && flag != "--help" {
				t.Errorf("%s of trueup%s is missing", flag, path.command)
			}
		}
	}
	source, err := os.ReadFile(filepath.Join("..", "diag", "exit.go"))
	if err != nil {
		t.Fatal(err)
	}
	codes := regexp.MustCompile(`\t[A-Z]\w+ += (\d+)\n`).FindAllSubmatch(source, -1)
	for _, m := range codes {
		if !strings.Contains(index, "\n| "+string(m[1])+" | `") {
			t.Errorf("the exit code %s is missing", m[1])
		}
	}
	if len(codes) < 10 {
		t.Errorf("%d exit codes", len(codes))
	}
	rules, err := os.ReadDir(filepath.Join("..", "..", "docs", "rules"))
	if err != nil {
		t.Fatal(err)
	}
	for _, page := range rules {
		if page.Name() != "README.md" && !strings.Contains(index, "(../rules/"+page.Name()+")") {
			t.Errorf("the rule of %s is missing", page.Name())
		}
	}
}

type helped struct {
	command string
	flags   []string
}

// helpOf reads the help of every command.
func helpOf(t *testing.T) (all []helped) {
	t.Helper()
	globals := map[string]bool{}
	newRoot(command.NewRun(config.Env{})).PersistentFlags().VisitAll(func(f *pflag.Flag) { globals["--"+f.Name] = true })
	var each func(args []string)
	each = func(args []string) {
		_, text, _ := ran(t, t.TempDir(), append(slices.Clone(args), "--help")...)
		h := helped{command: strings.Join(append([]string{""}, args...), " ")}
		if !strings.Contains(text, "\n  trueup"+h.command) {
			return // a row of a table in a text: what it is the help of is another command
		}
		for _, m := range regexp.MustCompile(`(?m)^ +(?:-\w, )?(--[\w-]+)`).FindAllStringSubmatch(text, -1) {
			if !globals[m[1]] {
				h.flags = append(h.flags, m[1])
			}
		}
		all = append(all, h)
		list, _, _ := strings.Cut(text, "\nFlags:")
		for _, m := range regexp.MustCompile(`(?m)^  ([a-z]+)  +\S`).FindAllStringSubmatch(list, -1) {
			each(append(slices.Clone(args), m[1]))
		}
	}
	each(nil)
	if len(all) < 30 {
		t.Errorf("only %d commands have help", len(all))
	}
	return all
}

// TestReferenceHasEveryField walks the schemas as JSON.
func TestReferenceHasEveryField(t *testing.T) {
	files := map[string]string{}
	for _, k := range kind.AllKinds() {
		files[strings.ToLower(k.Name)+".md"] = strings.ToLower(k.Name) + ".schema.json"
	}
	for _, name := range kind.OwnFiles() {
		files[name+".md"] = name + ".schema.json"
	}
	for page, file := range files {
		data, err := os.ReadFile(filepath.Join("..", "..", "schemas", file))
		if err != nil {
			t.Fatal(err)
		}
		dec := json.NewDecoder(bytes.NewReader(data))
		var schema map[string]any
		if err := dec.Decode(&schema); err != nil {
			t.Fatal(err)
		}
		text := referencePage(t, page)
		n := 0
		eachProperty(schema, schema, "", func(path string) {
			n++
			if !strings.Contains(text, "\n| `"+path+"` | ") {
				t.Errorf("%s has no field %s of %s", page, path, file)
			}
		})
		if n < 8 {
			t.Errorf("%s: only %d fields", file, n)
		}
	}
}

// joinField adds a name to a path.
func joinField(path, name string) string { return strings.TrimPrefix(path+"."+name, ".") }

func eachProperty(schema, node map[string]any, path string, visit func(string)) {
	if ref, ok := node["$ref"].(string); ok {
		defs, _ := schema["$defs"].(map[string]any)
		def, _ := defs[strings.TrimPrefix(ref, "#/$defs/")].(map[string]any)
		eachProperty(schema, def, path, visit)
	}
	if items, ok := node["items"].(map[string]any); ok {
		eachProperty(schema, items, path+"[]", visit)
	}
	if other, ok := node["additionalProperties"].(map[string]any); ok {
		eachProperty(schema, other, joinField(path, "NAME"), visit)
	}
	properties, _ := node["properties"].(map[string]any)
	for name, below := range properties {
		visit(joinField(path, name))
		field, _ := below.(map[string]any)
		eachProperty(schema, field, joinField(path, name), visit)
	}
}

// TestReferenceHasEveryVariable looks for the names of variables in the source of
// the program.
func TestReferenceHasEveryVariable(t *testing.T) {
	page := referencePage(t, "environment.md")
	read := variablesInSource(t, filepath.Join("..", ".."))
	for name, at := range read {
		if !strings.Contains(page, "`"+name+"`") {
			t.Errorf("%s, which is read at %s, is missing: add it to testdata/environment.txt", name, at)
		}
	}
	for _, v := range variables(t) {
		for _, name := range strings.Split(v.names, ", ") {
			// Libraries read those.
			if read[name] == "" && !strings.HasPrefix(name, "AWS_") && !strings.HasPrefix(name, "PG") && !strings.HasPrefix(name, "GOOGLE_") {
				t.Errorf("%s is read nowhere", name)
			}
		}
	}
	if len(read) < 50 {
		t.Errorf("only %d variables were found", len(read))
	}
}

// variablesInSource are the texts of the program that look like the name of a
// variable, or are given to what reads one, and where.
func variablesInSource(t *testing.T, root string) map[string]string {
	t.Helper()
	shape := regexp.MustCompile(`^[A-Z][A-Z0-9]*(_[A-Z0-9]+)+$`)
	readers := []string{"Getenv", "getenv", "env", "LookupEnv", "first"}
	names := map[string]string{}
	add := func(set *token.FileSet, e ast.Expr, only *regexp.Regexp, before string) {
		lit, ok := e.(*ast.BasicLit)
		if !ok || lit.Kind != token.STRING {
			return
		}
		if text, err := strconv.Unquote(lit.Value); err == nil && only.MatchString(text) {
			names[before+text] = set.Position(lit.Pos()).String()
		}
	}
	file := func(path string) {
		set := token.NewFileSet()
		source, err := parser.ParseFile(set, path, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(source, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.CallExpr:
				called := ""
				switch f := n.Fun.(type) {
				case *ast.Ident:
					called = f.Name
				case *ast.SelectorExpr:
					called = f.Sel.Name
				}
				for _, arg := range n.Args {
					if slices.Contains(readers, called) {
						add(set, arg, regexp.MustCompile(`^[A-Z_]+$`), "")
					}
					if called == "VariableName" {
						for _, area := range kind.Areas() {
							add(set, arg, regexp.MustCompile(`^[A-Z_]+$`), "TRUEUP_"+strings.ToUpper(string(area))+"_")
						}
					}
				}
				return called != "VariableName"
			case *ast.BasicLit:
				add(set, n, shape, "")
			}
			return true
		})
	}
	err := filepath.WalkDir(filepath.Join(root, "internal"), func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() && (d.Name() == "testdata" || d.Name() == "e2e") {
			return fs.SkipDir
		}
		if err == nil && strings.HasSuffix(path, ".go") && !strings.HasSuffix(path, "_test.go") {
			file(path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	file(filepath.Join(root, "main.go"))
	return names
}
