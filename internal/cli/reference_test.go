package cli

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"trueup/internal/command"
	"trueup/internal/config"
	"trueup/internal/diag"
	"trueup/internal/kind"
	"trueup/internal/rules"
	"trueup/internal/view"
)

var updateReference = flag.Bool("update", false, "write the pages of docs/reference anew")

const rewrite = "go test ./internal/cli -run TestReference -update"

func referenceFolder() string { return filepath.Join("..", "..", "docs", "reference") }

// TestReference holds that docs/reference says what the program has; -update
// writes it.
func TestReference(t *testing.T) {
	root := newRoot(command.NewRun(config.Env{}))
	want := map[string]string{
		"README.md": referenceIndex(root), "commands.md": commandsPage(root), "environment.md": environmentPage(t),
		"risks.md": risksPage(),
	}
	for _, k := range kind.AllKinds() {
		want[strings.ToLower(k.Name)+".md"] = fieldsPage(k.Name, "Manifests of the kind "+k.Name+".", k.Root(), true)
	}
	for _, name := range kind.OwnFiles() {
		f, _ := kind.OwnFileFields(name)
		want[name+".md"] = fieldsPage(f.Title, aboutFile(name), f, false)
	}
	if *updateReference {
		writeReference(t, want)
	}
	files, err := os.ReadDir(referenceFolder())
	if err != nil {
		t.Fatal(err)
	}
	others := []string{"answers.md", "attacks.md", "faults.md", "layout.md", "performance.md", "report-rules.md", "retries.md", "sandbox.md", "stores.md"} // written by hand, or held by other tests
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

func risksPage() string {
	var b strings.Builder
	b.WriteString("# Risks\n\n" + generated + "\nWhat a change of a field can do, and why. The first line of a field whose change fits decides. " +
		"A field, type or value that the platform does not document is `serves`. " +
		"An object or list is as grave as the gravest change in it.\n\n| class | a change of it |\n|---|---|\n")
	for _, r := range kind.Risks() {
		fmt.Fprintf(&b, "| `%s` | %s |\n", r, r.Meaning())
	}
	of := ""
	for _, row := range kind.RiskRows() {
		if row.Kind != of {
			of = row.Kind
			fmt.Fprintf(&b, "\n## %s\n\n| field | change | class | why |\n|---|---|---|---|\n", of)
		}
		class := "none"
		if row.Risk != kind.NoRisk {
			class = row.Risk.String()
		}
		fmt.Fprintf(&b, "| `%s` | %s | `%s` | %s |\n", row.Field, row.Change, class, row.Reason)
	}
	return b.String()
}

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

// shownCommands returns the commands that help lists.
func shownCommands(root *cobra.Command) []*cobra.Command {
	return slices.DeleteFunc(everyCommand(root), func(c *cobra.Command) bool {
		return c != root && !c.IsAvailableCommand() && c.Name() != "help"
	})
}

// longOf returns what help says about a command, without tabs.
func longOf(cmd *cobra.Command) string {
	if cmd.Long == "" {
		return cmd.Short + "."
	}
	return strings.ReplaceAll(cmd.Long, "\t", "    ")
}

// flagForm returns how a flag is written.
func flagForm(f *pflag.Flag) string {
	form := "--" + f.Name
	if f.Shorthand != "" {
		form = "-" + f.Shorthand + ", " + form
	}
	placeholder, _ := pflag.UnquoteUsage(f)
	return strings.TrimSuffix(form+" "+placeholder, " ")
}

func commandsPage(root *cobra.Command) string {
	var b strings.Builder
	b.WriteString("# Commands\n\n" + generated + "\nEvery command and flag, as `--help` shows them. [Exit codes](../exit-codes.md) are the same everywhere.\n\n")
	all := shownCommands(root)
	for _, cmd := range all {
		fmt.Fprintf(&b, "- [%s](#%s): %s\n", cmd.CommandPath(), strings.ReplaceAll(cmd.CommandPath(), " ", "-"), prose(cmd.Short))
	}
	for _, cmd := range all {
		cmd.InitDefaultHelpFlag()
		fmt.Fprintf(&b, "\n## %s\n\n```text\n%s\n```\n\n%s", cmd.CommandPath(), cmd.UseLine(), blocks(longOf(cmd)))
		if cmd.Example != "" {
			b.WriteString("\nExamples:\n\n```text\n" + cmd.Example + "\n```\n")
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

// variable is a line of environment.txt: variables that mean something together.
type variable struct{ names, meaning string }

func variables(t *testing.T) (all []variable) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", "environment.txt"))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		names, meaning, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ": ")
		all = append(all, variable{names, meaning})
	}
	return all
}

func environmentPage(t *testing.T) string {
	t.Helper()
	var b strings.Builder
	b.WriteString("# Environment\n\n" + generated + "\nWhat the program reads of the environment. [Configuration](../configuration.md#environment) says more of the first of them.\n\n| variable | meaning |\n|---|---|\n")
	for _, v := range variables(t) {
		fmt.Fprintf(&b, "| `%s` | %s |\n", strings.ReplaceAll(v.names, ", ", "`, `"), prose(v.meaning))
	}
	return b.String()
}

// fieldsPage is the page of a kind, which trueup sends, or of one of its own files.
func fieldsPage(title, about string, root *kind.Field, isSent bool) string {
	var b strings.Builder
	fmt.Fprintf(&b, "# %s\n\n%s\n%s\n%s\n\nNo field but those that are marked is required.\n\n| field | type | meaning |\n|---|---|---|\n", title, generated, about, prose(root.Description))
	eachField(root, "", func(path string, f *kind.Field) {
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", path, f.Type, meaningOf(f, isSent))
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
func meaningOf(f *kind.Field, isSent bool) string {
	facts := view.FactsOf(f)
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
	add("Values: ", ended(facts.ValuesInWords()))
	if isSent {
		add("The list is ", ended(facts.List))
	}
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

// ended adds a full stop to a sentence.
func ended(text string) string {
	if text == "" {
		return ""
	}
	return text + "."
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
	for _, k := range kind.AllKinds() {
		fmt.Fprintf(&b, " [%s](%s.md)", k.Name, strings.ToLower(k.Name))
	}
	b.WriteString("\n- Fields of [trueup.yaml](project.md) and of [your own file of profiles](config.md)\n\nThe same, one at a time, tell `trueup explain` and `man trueup`.\n\n" +
		"## Exit codes\n\n[Exit codes](../exit-codes.md) says what to do, and which command gives which.\n\n| code | result | what happened |\n|---|---|---|\n")
	for _, code := range diag.ExitCodes() {
		fmt.Fprintf(&b, "| %d | `%s` | %s |\n", code.Number, code.Name, prose(code.Meaning))
	}
	b.WriteString("\n| command | codes |\n|---|---|\n")
	for _, cmd := range shownCommands(root) {
		if codes := exitCodesOf(cmd); codes != nil {
			fmt.Fprintf(&b, "| `%s` | %s |\n", cmd.CommandPath(), strings.Join(codes, ", "))
		}
	}
	b.WriteString("\nAll others give 0 or 1. A signal ends every command with 130.\n\n## Rules\n\n| rule | severity | what it checks |\n|---|---|---|\n")
	for _, r := range rules.All() {
		fmt.Fprintf(&b, "| [%s](../rules/%s.md) | %s | %s |\n", r.Name, r.Name, r.Severity, prose(r.Summary))
	}
	return b.String()
}
