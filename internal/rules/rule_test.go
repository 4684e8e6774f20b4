package rules

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestRulesAreComplete(t *testing.T) {
	names := map[string]bool{}
	for _, rule := range All() {
		if names[rule.Name] {
			t.Errorf("%s is there twice", rule.Name)
		}
		names[rule.Name] = true
		for _, text := range []string{rule.Summary, rule.Why, rule.Fix} {
			if !strings.HasSuffix(text, ".") {
				t.Errorf("%s: %q is no sentence", rule.Name, text)
			}
		}
		checked := rule.object != nil || rule.set != nil
		if rule.NeedsLive && checked {
			t.Errorf("%s is checked in two places", rule.Name)
		}
	}
}

// TestEveryNameReportedHasARule reads the names under which the loader
// reports, and looks for each in the table.
func TestEveryNameReportedHasARule(t *testing.T) {
	known := map[string]Rule{}
	for _, rule := range All() {
		known[rule.Name] = rule
	}
	own := map[string]bool{}
	for _, name := range loaderNames(t) {
		own[name] = true
		if _, ok := known[name]; !ok {
			t.Errorf("%s is reported and has no rule", name)
		}
	}
	if len(own) == 0 {
		t.Fatal("no constants found")
	}
	for name, rule := range known {
		checked := rule.object != nil || rule.set != nil || rule.NeedsLive
		if checked == own[name] {
			t.Errorf("%s is checked by a function %v, by the loader %v", name, checked, own[name])
		}
	}
}

// loaderNames returns the names of the rules that the loader checks, which are constants.
func loaderNames(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob("../manifest/*.go")
	if err != nil {
		t.Fatal(err)
	}
	constant := regexp.MustCompile(`(?m)^\s*(?:const )?[rR]ule[A-Z]\w*\s*=\s*"([^"]+)"$`)
	var names []string
	for _, name := range files {
		source, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range constant.FindAllSubmatch(source, -1) {
			names = append(names, string(m[1]))
		}
	}
	return names
}

func TestGenericNames(t *testing.T) {
	for name, want := range map[string]bool{
		"purge": true, "test": true, "purge-all": true, "Purge1": true, "my-cache-purge": true, "1": true, "a": true, "x-1": true,
		"rel-42": false, "purge-42": false, "20261121-logo": false, "jira-1": false, "purge-logo": false, "4f1c9a2b": false,
	} {
		if got := isGeneric(name); got != want {
			t.Errorf("generic(%q) = %v", name, got)
		}
	}
}

// TestPlainHostsHaveNothingToSay: nothing is wrong or odd in the names that
// isPlainHost passes over.
func TestPlainHostsHaveNothingToSay(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.StringMatching(`([a-c]|-|\.|0x|[0-9]|[A-Z_*/@é]?){0,8}|[a-z]{60,66}(\.[a-z]{1,60}){0,5}`).Draw(t, "name")
		h := hostField{text: name, noun: "host"}
		if problem, _ := h.problem(); isPlainHost(name) && (problem != "" || len(h.oddities()) > 0) {
			t.Fatalf("%q: %q, %q", name, problem, h.oddities())
		}
	})
}
