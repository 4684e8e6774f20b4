package manifest

import (
	"context"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"trueup/internal/diag"
	"trueup/internal/rules"
)

// findingsOf loads one manifest and runs every rule on it, those of advice too.
func findingsOf(t *testing.T, text string, opts LoadSettings) diag.List {
	t.Helper()
	return foundIn(t, PathSource{Data: []byte(text)}, opts)
}

func foundIn(t *testing.T, source PathSource, opts LoadSettings) diag.List {
	t.Helper()
	set, found, err := Load(context.Background(), []PathSource{source}, opts)
	if err != nil {
		t.Fatal(err)
	}
	found = append(found, CheckSet(set, opts)...)
	for _, o := range set.Objects {
		advice, _ := Advise(o, o.Tree(), LoadSettings{})
		found = append(found, advice...)
	}
	found.Sort()
	return found
}

// withoutExample are the rules of files that no manifest can show.
func withoutExample() []string { return []string{RuleSize, ruleNotRegular, ruleFileCase} }

// TestRuleExamples holds that each rule's bad example has findings of that
// rule alone, at its severity, and that its good example has none at all.
func TestRuleExamples(t *testing.T) {
	for _, rule := range rules.All() {
		t.Run(rule.Name, func(t *testing.T) {
			if rule.Bad == "" || rule.Good == "" {
				if !slices.Contains(withoutExample(), rule.Name) {
					t.Fatal("no example")
				}
				return
			}
			for _, f := range findingsOf(t, written(rule.Good), LoadSettings{}) {
				t.Errorf("the good example: %s", f)
			}
			bad := findingsOf(t, written(rule.Bad), LoadSettings{})
			if rule.NeedsLive {
				if len(bad) > 0 {
					t.Errorf("the bad example has findings of other rules: %v", bad)
				}
				return
			}
			if len(bad) == 0 {
				t.Error("the bad example has no finding")
			}
			for _, f := range bad {
				if f.Rule != rule.Name || f.Severity != rule.Severity {
					t.Errorf("the bad example: %s", f)
				}
				if f.Line == 0 || f.Column == 0 || f.Message == "" || f.Fix == "" {
					t.Errorf("not all said: %+v", f)
				}
			}
		})
	}
}

// written returns an example of a rule as a file would have it: with the
// elements that "# ... N more ..." stands for, and the characters that can't be
// seen.
func written(example string) string {
	more := regexp.MustCompile(`(?m)^(    - /product/)(\d+)(/\*\n)    # \.\.\. (\d+) more \.\.\.\n`)
	example = more.ReplaceAllStringFunc(example, func(s string) string {
		m := more.FindStringSubmatch(s)
		last, _ := strconv.Atoi(m[2])
		count, _ := strconv.Atoi(m[4])
		out := m[1] + m[2] + m[3]
		for i := last + 1; i <= last+count; i++ {
			out += m[1] + strconv.Itoa(i) + m[3]
		}
		return out
	})
	return strings.ReplaceAll(example, "<U+2028>", "\u2028")
}
