package manifest

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"trueup/internal/diag"
)

var update = flag.Bool("update", false, "write the pages of docs/rules anew")

// pages is the folder of the rules' documentation.
var pages = filepath.Join("..", "..", "docs", "rules")

// TestRulePages holds that docs/rules says what the rules do; -update writes
// it.
func TestRulePages(t *testing.T) {
	want := map[string]string{"README.md": index(Rules())}
	for _, rule := range Rules() {
		want[rule.Name+".md"] = page(t, rule)
	}
	if *update {
		writePages(t, want)
	}
	files, err := os.ReadDir(pages)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if _, known := want[f.Name()]; !known {
			t.Errorf("docs/rules/%s is the page of no rule", f.Name())
		}
	}
	for name, text := range want {
		got, err := os.ReadFile(filepath.Join(pages, name))
		if err != nil || !bytes.Equal(got, []byte(text)) {
			t.Errorf("docs/rules/%s is out of date: go test ./internal/manifest -run TestRulePages -update (%v)", name, err)
		}
	}
}

func writePages(t *testing.T, want map[string]string) {
	t.Helper()
	if err := os.RemoveAll(pages); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(pages, 0o755); err != nil {
		t.Fatal(err)
	}
	for name, text := range want {
		if err := os.WriteFile(filepath.Join(pages, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func index(rules []Rule) string {
	var b strings.Builder
	b.WriteString("# Rules\n\nWhat `trueup validate` checks, and `plan` and `apply` before anything else. " +
		"An error stops the run with exit code 4; a warning is shown, and `--strict` makes it an error. " +
		"`trueup explain NAME` shows a rule in the terminal.\n\n| rule | | |\n|---|---|---|\n")
	for _, r := range rules {
		fmt.Fprintf(&b, "| [%s](%s.md) | %s | %s |\n", r.Name, r.Name, r.Severity, r.Summary)
	}
	return b.String()
}

func page(t *testing.T, r Rule) string {
	t.Helper()
	var b strings.Builder
	fmt.Fprintf(&b, "# %s\n\n**%s** · %s\n\n%s\n", r.Name, r.Severity, r.Summary, r.Why)
	if r.NeedsLive {
		b.WriteString("\nThe plan checks this rule, because it takes more than the manifests: what is live, or what was done before.\n")
	}
	if r.Bad != "" {
		fmt.Fprintf(&b, "\n## Refused\n\n```yaml\n%s```\n", Excerpt(r.Bad))
		if found := printed(t, r); found != "" {
			fmt.Fprintf(&b, "\n```text\n%s```\n", found)
		}
		fmt.Fprintf(&b, "\n## Mended\n\n```yaml\n%s```\n", Excerpt(r.Good))
	}
	fmt.Fprintf(&b, "\n## Fix\n\n%s\n", r.Fix)
	text := b.String()
	if r.Severity == diag.Warning {
		text = strings.Replace(text, "## Refused", "## Warned of", 1)
	}
	return text
}

// printed returns the findings of the bad example as they are printed.
func printed(t *testing.T, r Rule) string {
	t.Helper()
	folder := fstest.MapFS{"example.yaml": {Data: []byte(r.Bad)}}
	set, found, err := Load(t.Context(), []Source{{FS: folder, Path: "example.yaml"}}, ruleOptions())
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for _, f := range append(found, Check(set, ruleOptions())...) {
		fmt.Fprintf(&b, "%s\n    fix: %s\n", f, f.Fix)
	}
	return b.String()
}
