package cli

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
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

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"trueup/internal/exit"
	"trueup/internal/explain"
	"trueup/internal/kind"
	"trueup/internal/manifest"
)

var updateReference = flag.Bool("update", false, "write the pages of docs/reference anew")

const rewrite = "go test ./internal/cli -run TestReference -update"

func referenceFolder() string { return filepath.Join("..", "..", "docs", "reference") }

// TestReference holds that docs/reference says what the program has; -update
// writes it.
func TestReference(t *testing.T) {
	root := newRoot(newApp(Env{}))
	want := map[string]string{
		"README.md": referenceIndex(root), "commands.md": commandsPage(root), "environment.md": environmentPage(),
	}
	for _, k := range kind.All() {
		want[strings.ToLower(k.Name)+".md"] = fieldsPage(k.Name, "Manifests of the kind "+k.Name+".", k.Root())
	}
	for _, name := range kind.OwnFiles() {
		f, _ := kind.OwnFile(name)
		want[name+".md"] = fieldsPage(f.Title, aboutFile(name), f)
	}
	if *updateReference {
		writeReference(t, want)
	}
	files, err := os.ReadDir(referenceFolder())
	if err != nil {
		t.Fatal(err)
	}
	others := []string{"answers.md", "attacks.md", "performance.md", "report-rules.md", "sandbox.md"} // other tests hold them
	for _, f := range files {
		if want[f.Name()] == "" && !slices.Contains(others, f.Name()) {
			t.Errorf("docs/reference/%s is of nothing that there is", f.Name())
		}
	}
	for name, text := range want {
		got, err := os.ReadFile(filepath.Join(referenceFolder(), name))
		if err != nil || string(got) != text {
			t.Errorf("docs/reference/%s is out of date: %s (%v)", name, rewrite, err)
		}
	}
}

func writeReference(t *testing.T, want map[string]string) {
	t.Helper()
	if err := os.MkdirAll(referenceFolder(), 0o755); err != nil {
		t.Fatal(err)
	}
	for name, text := range want {
		if err := os.WriteFile(filepath.Join(referenceFolder(), name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

const generated = "<!-- written by " + rewrite + " -->\n"

func aboutFile(name string) string {
	return map[string]string{
		"project": "The file trueup.yaml, which says what a repository manages: [configuration](../configuration.md).",
		"config":  "Your own file of profiles, trueup/config.yaml in your folder of configuration: [profiles](../configuration.md#profiles).",
	}[name]
}

// prose is text between the elements of a page; names of our pages become links.
func prose(text string) string {
	text = strings.NewReplacer(`\`, `\\`, "*", `\*`, "_", `\_`, "<", "&lt;", "[", `\[`, "]", `\]`, "`", "\\`", "|", `\|`).Replace(text)
	return regexp.MustCompile(`docs/([\w/-]+\.md)`).ReplaceAllString(text, "[docs/$1](../$1)")
}

// blocks are the paragraphs of a text of help; what is indented stays as it is.
func blocks(text string) string {
	var b strings.Builder
	shown := false
	for line := range strings.SplitSeq(text, "\n") {
		if indented := strings.HasPrefix(line, "  "); indented != shown && line != "" {
			b.WriteString(map[bool]string{true: "\n```text\n", false: "```\n\n"}[indented])
			shown = indented
		}
		if !shown {
			line = prose(line)
		}
		b.WriteString(line + "\n")
	}
	if shown {
		b.WriteString("```\n")
	}
	text = regexp.MustCompile(`(?m)^#+ `).ReplaceAllString(b.String(), "")
	text = regexp.MustCompile(`\n\n+(\n|`+"```\n"+`)`).ReplaceAllString(text, "\n$1")
	return strings.TrimRight(text, "\n") + "\n"
}

func commandsPage(root *cobra.Command) string {
	var b strings.Builder
	b.WriteString("# Commands\n\n" + generated + "\nEvery command and flag, as `--help-all` shows them. [Exit codes](../exit-codes.md) are the same everywhere.\n\n")
	all := shownCommands(root)
	for _, cmd := range all {
		fmt.Fprintf(&b, "- [%s](#%s): %s\n", cmd.CommandPath(), strings.ReplaceAll(cmd.CommandPath(), " ", "-"), prose(cmd.Short))
	}
	for _, cmd := range all {
		cmd.InitDefaultHelpFlag()
		fmt.Fprintf(&b, "\n## %s\n\n```text\n%s\n```\n\n%s", cmd.CommandPath(), cmd.UseLine(), blocks(longOf(cmd)))
		if cmd.Example != "" {
			b.WriteString("\n" + "```text\n" + cmd.Example + "\n```\n")
		}
		if cmd.HasParent() {
			own := cmd.LocalNonPersistentFlags()
			own.SortFlags = cmd.Flags().SortFlags
			flagsTable(&b, own)
		} else {
			b.WriteString("\nThese flags mean the same in every command where they do something:\n")
			flagsTable(&b, cmd.LocalFlags())
		}
	}
	return b.String()
}

func flagsTable(b *strings.Builder, flags *pflag.FlagSet) {
	rows := ""
	flags.VisitAll(func(f *pflag.Flag) {
		if f.Hidden || f.Name == "help" {
			return
		}
		_, usage := pflag.UnquoteUsage(f)
		byDefault := strings.Trim(f.DefValue, "[]")
		if byDefault != "" {
			byDefault = "`" + byDefault + "`"
		}
		rows += fmt.Sprintf("| `%s` | %s | %s |\n", strings.ReplaceAll(flagForm(f), "|", `\|`), prose(usage), byDefault)
	})
	if rows != "" {
		b.WriteString("\n| flag | meaning | default |\n|---|---|---|\n" + rows)
	}
}

func environmentPage() string {
	var b strings.Builder
	b.WriteString("# Environment\n\n" + generated + "\nWhat the program reads of the environment. [Configuration](../configuration.md#environment) says more of the first of them.\n\n| variable | meaning |\n|---|---|\n")
	for _, v := range variables() {
		fmt.Fprintf(&b, "| `%s` | %s |\n", strings.ReplaceAll(v.Word, ", ", "`, `"), prose(v.Meaning))
	}
	return b.String()
}

func fieldsPage(title, about string, root *kind.Field) string {
	var b strings.Builder
	fmt.Fprintf(&b, "# %s\n\n%s\n%s\n%s\n\nNo field but those that are marked is required.\n\n| field | type | meaning |\n|---|---|---|\n", title, generated, about, prose(root.Description))
	eachField(root, "", func(path string, f *kind.Field) {
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", path, f.Type, meaningOf(f))
	})
	return b.String()
}

func eachField(f *kind.Field, path string, visit func(string, *kind.Field)) {
	if f.Item != nil {
		eachField(f.Item, path+"[]", visit)
	}
	for _, name := range f.Names {
		visit(joinField(path, name), f.Fields[name])
		eachField(f.Fields[name], joinField(path, name), visit)
	}
	if f.Any != nil {
		visit(joinField(path, "NAME"), f.Any)
		eachField(f.Any, joinField(path, "NAME"), visit)
	}
}

// meaningOf is all that a schema says of a field, in a cell.
func meaningOf(f *kind.Field) string {
	facts := explain.FactsOf(f)
	var parts []string
	add := func(before, text string) {
		if text != "" {
			parts = append(parts, before+prose(text))
		}
	}
	if f.Required {
		parts = append(parts, "**Required.**")
	}
	add("", f.Description)
	add("Values: ", facts.ValuesInWords())
	add("The list is ", facts.List)
	if f.Risk != kind.NoRisk {
		add("", "At stake: "+f.Risk.String()+".")
	}
	switch {
	case f.ReadOnly:
		add("", "Not sent: it belongs to the server.")
	case f.NotSent:
		add("", "Not sent: it stays in git.")
	}
	if len(f.Examples) > 0 && f.Type != kind.ListType && f.Type != kind.ObjectType {
		text, _ := json.Marshal(f.Examples[0])
		parts = append(parts, "Such as `"+strings.ReplaceAll(string(text), "|", `\|`)+"`.")
	}
	add("", f.Section)
	return strings.Join(parts, " ")
}

// exitCodesOf returns the codes that the help of a command lists.
func exitCodesOf(cmd *cobra.Command) (codes []string) {
	_, list, _ := strings.Cut(longOf(cmd), "Exit codes:\n")
	list, _, _ = strings.Cut(list, "\n\n")
	for _, m := range regexp.MustCompile(`(?m)^  (\d+) `).FindAllStringSubmatch(list, -1) {
		codes = append(codes, m[1])
	}
	return codes
}

func referenceIndex(root *cobra.Command) string {
	var b strings.Builder
	b.WriteString("# Reference\n\n" + generated + "\n- [Commands](commands.md) and their flags\n- [Environment](environment.md)\n- Fields of manifests:")
	for _, k := range kind.All() {
		fmt.Fprintf(&b, " [%s](%s.md)", k.Name, strings.ToLower(k.Name))
	}
	b.WriteString("\n- Fields of [trueup.yaml](project.md) and of [your own file of profiles](config.md)\n\nThe same, one at a time, tell `trueup explain` and `man trueup`.\n\n" +
		"## Exit codes\n\n[Exit codes](../exit-codes.md) says what to do, and which command gives which.\n\n| code | result | what happened |\n|---|---|---|\n")
	for _, code := range exit.Codes() {
		fmt.Fprintf(&b, "| %d | `%s` | %s |\n", code.Number, code.Name, prose(code.Meaning))
	}
	b.WriteString("\n| command | codes |\n|---|---|\n")
	for _, cmd := range shownCommands(root) {
		if codes := exitCodesOf(cmd); codes != nil {
			fmt.Fprintf(&b, "| `%s` | %s |\n", cmd.CommandPath(), strings.Join(codes, ", "))
		}
	}
	b.WriteString("\nAll others give 0 or 1. A signal ends every command with 130.\n\n## Rules\n\n| rule | severity | what it checks |\n|---|---|---|\n")
	for _, r := range manifest.Rules() {
		fmt.Fprintf(&b, "| [%s](../rules/%s.md) | %s | %s |\n", r.Name, r.Name, r.Severity, prose(r.Summary))
	}
	return b.String()
}

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
	source, err := os.ReadFile(filepath.Join("..", "exit", "exit.go"))
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
	newRoot(newApp(Env{})).PersistentFlags().VisitAll(func(f *pflag.Flag) { globals["--"+f.Name] = true })
	var each func(args []string)
	each = func(args []string) {
		_, text, _ := ran(t, t.TempDir(), append(slices.Clone(args), "--help-all")...)
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
	for _, k := range kind.All() {
		files[strings.ToLower(k.Name)+".md"] = k.SchemaFile
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
			t.Errorf("%s, which is read at %s, is missing: add it to environment.txt", name, at)
		}
	}
	for _, v := range variables() {
		for _, name := range strings.Split(v.Word, ", ") {
			// A library reads those.
			if read[name] == "" && !strings.HasPrefix(name, "AWS_") {
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
					if called == "Variable" {
						for _, area := range kind.Areas() {
							add(set, arg, regexp.MustCompile(`^[A-Z_]+$`), "TRUEUP_"+strings.ToUpper(string(area))+"_")
						}
					}
				}
				return called != "Variable"
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
		if err == nil && strings.HasSuffix(path, ".go") && !strings.HasSuffix(path, "_test.go") && !strings.Contains(path, "forgetest") {
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
