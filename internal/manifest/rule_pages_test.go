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
	"trueup/internal/rules"
)

var update = flag.Bool("update", false, "write the pages of docs/rules anew")

// pages is the folder of the rules' documentation.
var pages = filepath.Join("..", "..", "docs", "rules")

// TestRulePages holds that docs/rules says what the rules do; -update writes
// it.
func TestRulePages(t *testing.T) {
	want := map[string]string{"README.md": index(rules.All())}
	for _, rule := range rules.All() {
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

// The paragraphs of the index on what is not like other rules.
const (
	onAdvice = "Advice is for reviewers: a plan gives it on what it creates, changes and posts, and on nothing that stays as it is. " +
		"It is never an error, even with `strict`, and changes neither the requests nor the exit code.\n\n"
	silencing = "spec:\n  hostname: shop.example.com\n" +
		"  # trueup:ignore location-unreachable the platform takes the longest path\n  locations:\n    - path: /*\n    - path: /static/*\n" +
		"  tls:\n    enabled: \"true\"\n    forced: \"false\" # trueup:ignore tls-not-forced old clients speak plain HTTP\n"
	onIgnoring = "A comment silences one rule at one place, and says why:\n\n```yaml\n" + silencing + "```\n\n" +
		"After something, it covers the fields and elements that start on its line. Above something, it covers the one that starts next. " +
		"Both include everything below these. Above a document, it covers the whole document. " +
		"It can silence warnings and advice, but no errors. `-v` counts what was silenced, and the JSON output has it with its reason. " +
		"A comment that can't be understood is [ignore-odd](ignore-odd.md). " +
		"JSON has no comments: write such a manifest as YAML.\n\n"
)

func index(rules []rules.Rule) string {
	var b strings.Builder
	b.WriteString("# Rules\n\n`trueup validate` checks these rules, and so do `plan` and `apply` before anything else. " +
		"An error stops the run with exit code 4. A warning does not; `strict: true` in trueup.yaml makes it an error. " +
		"If an object or field does not change, a plan in text and Markdown shows more than three warnings of one rule about it as one line. " +
		"`validate` and `-v` show each. " +
		"`trueup explain NAME` shows a rule in the terminal.\n\n" + onAdvice + onIgnoring + "| rule | | |\n|---|---|---|\n")
	for _, r := range rules {
		fmt.Fprintf(&b, "| [%s](%s.md) | %s | %s |\n", r.Name, r.Name, r.Severity, r.Summary)
	}
	return b.String()
}

func page(t *testing.T, r rules.Rule) string {
	t.Helper()
	var b strings.Builder
	fmt.Fprintf(&b, "# %s\n\n**%s** · %s\n\n%s\n", r.Name, r.Severity, r.Summary, r.Why)
	if r.NeedsLive {
		b.WriteString("\nThe plan checks this rule, because it needs live objects or the ledger.\n")
	}
	if r.Severity == diag.Advice && !r.NeedsLive {
		b.WriteString("\nThe plan gives this advice on an object that it creates or changes.\n")
	}
	if r.Live != "" {
		fmt.Fprintf(&b, "\n## Live\n\n```yaml\n%s```\n", r.Live)
	}
	if r.Bad != "" {
		fmt.Fprintf(&b, "\n## Bad\n\n```yaml\n%s```\n", r.Bad)
		if found := printed(t, r); found != "" {
			fmt.Fprintf(&b, "\n```text\n%s```\n", found)
		}
		fmt.Fprintf(&b, "\n## Fixed\n\n```yaml\n%s```\n", r.Good)
	}
	fmt.Fprintf(&b, "\n## Fix\n\n%s\n", r.Fix)
	return b.String()
}

// printed returns the findings of the bad example as they are printed.
func printed(t *testing.T, r rules.Rule) string {
	t.Helper()
	folder := fstest.MapFS{"example.yaml": {Data: []byte(written(r.Bad))}}
	var b strings.Builder
	for _, f := range foundIn(t, PathSource{FS: folder, Path: "example.yaml"}, LoadSettings{}) {
		fmt.Fprintf(&b, "%s\n    fix: %s\n", f, f.Fix)
	}
	return b.String()
}
