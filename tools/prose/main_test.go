package main

import (
	"go/parser"
	"strings"
	"testing"
)

func TestSentencesEndWithTheirParagraphItemOrCell(t *testing.T) {
	for text, want := range map[string]string{
		"A sentence that\nis wrapped":                  "A sentence that|is wrapped.",
		"One\n\nTwo":                                   "One.||Two.",
		"Do this:\n  trueup plan\n  trueup apply":      "Do this:.|trueup plan.|trueup apply.",
		"  2    a change\n       is left\n  4  bad":    "2. a change|is left.|4. bad.",
		"- one item\n  goes on\n- the next":            "- one item|goes on.|- the next.",
		"reading %s: %w":                               "reading it. it.",
		`CDN %q: "x" is no host`:                       `CDN it. "x" is no host.`,
		"Nothing is sent: the ledger is not there":     "Nothing is sent: the ledger is not there.",
		"run `trueup plan`; then look":                 "run it; then look.",
		"CI_JOB_ID, CI_JOB_URL: the job\nUSER: a user": "the job.|a user.",
	} {
		if got := strings.Join(sentences(strings.Split(text, "\n")), "|"); got != want {
			t.Errorf("%q\n got %s\nwant %s", text, got, want)
		}
	}
}

func TestPartsOfAStringAreOneText(t *testing.T) {
	e, err := parser.ParseExpr(`"an object " + name + " that " + "trueup applied"`)
	if err != nil {
		t.Fatal(err)
	}
	if got, ok := literal(e); !ok || got != "an object it that trueup applied" {
		t.Errorf("got %q", got)
	}
}

func TestLongSentencesAreFoundWhereTheyBegin(t *testing.T) {
	ten := strings.Repeat("word ", 10)
	text := ten + ten + "end.\n" + ten + "\n" + ten + ten + "- end.\n" + ten + ten + ten + "end"
	if got := long(sentences(strings.Split(text, "\n"))); len(got) != 2 || got[0] != 2 || got[1] != 4 {
		t.Errorf("got lines %v, want 2 and 4", got)
	}
}
