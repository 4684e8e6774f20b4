package view

import (
	_ "embed"
	"slices"
	"strings"

	"golang.org/x/tools/txtar"

	"trueup/internal/kind"
	"trueup/internal/rules"
)

//go:embed explain_words.txtar
var wordTexts []byte

// Subject is what explain can explain: a word of plans, the fields of a kind or file, or a rule.
type Subject struct {
	Is      string `json:"is"` // word, fields or rule
	Name    string `json:"name"`
	Summary string `json:"summary"`
	// Text is that of a word, and Labels are what plans say of that word.
	Text   string   `json:"text,omitempty"`
	Labels []string `json:"labels,omitempty"`
}

// FindWord returns the word that has this name or label.
func FindWord(name string) (s Subject, ok bool) {
	for _, s := range AllSubjects() {
		if s.Is == "word" && (s.Name == name || slices.Contains(s.Labels, name)) {
			return s, true
		}
	}
	return s, false
}

// AllSubjects returns all words, kinds, files and rules.
func AllSubjects() (all []Subject) {
	for _, f := range txtar.Parse(wordTexts).Files {
		summary, _, _ := strings.Cut(string(f.Data), "\n")
		names := strings.Split(f.Name, "; ")
		all = append(all, Subject{Is: "word", Name: names[0], Summary: summary, Text: string(f.Data), Labels: names[1:]})
	}
	for _, name := range rootNames() {
		root, ok := kind.OwnFileFields(name)
		if !ok {
			k, _ := kind.FindKind(name)
			root = k.Root()
		}
		summary, _, _ := strings.Cut(root.Description, ". ")
		all = append(all, Subject{Is: "fields", Name: name, Summary: summary + "."})
	}
	for _, r := range rules.All() {
		all = append(all, Subject{Is: "rule", Name: r.Name, Summary: r.Summary})
	}
	return all
}
