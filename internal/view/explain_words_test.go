package view

import (
	"strings"
	"testing"

	"trueup/internal/kind"
)

// TestAWordIsShort: a word is explained in a few lines, in one sentence first, with a command last.
func TestAWordIsShort(t *testing.T) {
	for _, s := range AllSubjects() {
		if s.Text == "" {
			continue
		}
		lines := strings.Split(strings.TrimSpace(s.Text), "\n")
		if len(lines) > 13 || !strings.HasSuffix(s.Summary, ".") || lines[1] != "" || !strings.HasPrefix(lines[len(lines)-1], "Next: trueup ") {
			t.Errorf("%s: %q", s.Name, s.Text)
		}
	}
}

// TestRisksAreThoseOfTheSchema: the word has each risk with its meaning.
func TestRisksAreThoseOfTheSchema(t *testing.T) {
	for _, s := range AllSubjects() {
		for _, r := range kind.Risks() {
			if s.Name == "risks" && !strings.Contains(s.Text, r.Meaning()) {
				t.Errorf("%s is missing", r)
			}
		}
	}
}
