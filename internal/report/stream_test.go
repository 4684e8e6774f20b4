package report

import (
	"bytes"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"trueup/internal/diag"
	"trueup/internal/merge"
	"trueup/internal/plan"
	"trueup/internal/safetext"
	"trueup/internal/view"
)

// TestAListIsWrittenAsItsElements: an element at a time gives what all at once do.
func TestAListIsWrittenAsItsElements(t *testing.T) {
	docs := []Document{{Plan: ofMany(3)}, {Plan: &plan.Plan{Items: []plan.Item{}}}, {Plan: &plan.Plan{}}, {}}
	for _, c := range goldenCases() {
		docs = append(docs, c.doc)
	}
	for _, text := range []string{"\n    \"items\": []", "[]", "##[group]", "\u202e"} {
		docs = append(docs, Document{Command: text, Findings: diag.List{{Message: text}}, Plan: &plan.Plan{Tool: text, Items: []plan.Item{{Reason: text}}}})
	}
	for i, doc := range docs {
		var whole, issues bytes.Buffer
		if err := writeIndented(&whole, documentToJSON(doc), nil); err != nil {
			t.Fatal(err)
		}
		if got := render(t, "json", doc, view.TextOptions{}); !bytes.Equal(got, whole.Bytes()) {
			t.Errorf("%d: got\n%s\nwant\n%s", i, got, whole.Bytes())
		}
		all := []codeIssue{}
		for _, r := range remarks(doc) {
			all = append(all, codeIssueOf(r, doc.Place))
		}
		if err := writeIndented(&issues, all, nil); err != nil {
			t.Fatal(err)
		}
		if got := render(t, "codequality", doc, view.TextOptions{}); !bytes.Equal(got, issues.Bytes()) {
			t.Errorf("%d: got\n%s\nwant\n%s", i, got, issues.Bytes())
		}
	}
}

// allocated is how many bytes something takes.
func allocated(what func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	what()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// TestCostOfALongLine: a finding far right in a line takes no longer per character
// where there are more in front of it.
func TestCostOfALongLine(t *testing.T) {
	cost := func(n int) uint64 {
		return allocated(func() { excerptLine(strings.Repeat("é", n), n, 100) })
	}
	if few, many := cost(5_000), cost(50_000); many > 15*few {
		t.Errorf("%d bytes for 5000 characters, %d for 50000", few, many)
	}
}

// TestManyLostElements: what a take-over would drop is looked up, and not
// looked for.
func TestManyLostElements(t *testing.T) {
	item := plan.Item{Op: plan.Blocked, FirstContact: make([]merge.PathValue, 20_000)}
	for i := range item.FirstContact {
		path := "locations[/" + strconv.Itoa(i) + "]"
		item.FirstContact[i].Path = path
		item.Changes = append(item.Changes, plan.Change{})
		item.Changes[i].Path = path
	}
	if rows := view.NewObjectView(item, view.TextOptions{}).Rows(); len(rows) != len(item.Changes)+1 {
		t.Errorf("%d rows", len(rows))
	}
}

// TestLinesArePassedOnWhole: however a text is cut into pieces, what comes out is
// each whole line with its escapes, and none of a line that has no end.
func TestLinesArePassedOnWhole(t *testing.T) {
	lines := strings.Repeat("##[group]\u202e\n"+strings.Repeat("\u200bx##", 1000)+"\n", 20) + strings.Repeat("y", 20_000) + "\n"
	text := lines + "end"
	for _, size := range []int{1, 7, 4096, len(text)} {
		var got strings.Builder
		out := &jsonStream{w: &got}
		for at := 0; at < len(text); at += size {
			if n, err := out.Write([]byte(text[at:min(at+size, len(text))])); err != nil || n == 0 {
				t.Fatal(n, err)
			}
		}
		if got.String() != safetext.CleanJSON([]byte(lines)).String() || string(out.pending) != "end" {
			t.Errorf("in pieces of %d it is another text", size)
		}
	}
}
