package report

import (
	"fmt"
	"strings"

	"trueup/internal/diag"
	"trueup/internal/kind"
	"trueup/internal/plan"
	"trueup/internal/safetext"
	"trueup/internal/view"
)

// statusFormat is the version of the JSON form of trueup status (schemas/status.schema.json).
const statusFormat = "trueup.status/v1"

// statusDocument is what trueup status writes as JSON.
type statusDocument struct {
	Format  string               `json:"format"`
	Sandbox bool                 `json:"sandbox"`
	Problem string               `json:"ledgerProblem,omitempty"`
	Unread  map[kind.Area]string `json:"unread,omitempty"`
	Objects []plan.ObjectState   `json:"objects"`
	Notes   []string             `json:"notes,omitempty"`
	counts  string
}

// StatusDocument turns the document of a plan into that of trueup status: a line for each object. The plan is of the areas
// that were read.
func StatusDocument(doc Document, all []plan.ObjectState, unread map[kind.Area]error) Document {
	pl, why := *doc.Plan, map[kind.Area]string{}
	for _, area := range kind.Areas() {
		if err := unread[area]; err != nil {
			why[area] = err.Error()
			pl.Notes = append(pl.Notes, fmt.Sprintf("the %s area could not be read, so this does not show what is live there", area))
		}
	}
	for _, f := range doc.Findings {
		if f.Severity == diag.Error {
			pl.Notes = append(pl.Notes, f.String())
		}
	}
	_, _, drift := summaryOf(doc)
	parts := append(view.CountPlan(&pl), view.Count{N: len(unread), Words: view.Pluralize(len(unread), "area") + " not read"})
	counts := view.JoinSentences(view.CountSentence("nothing to do", parts), drift)
	doc.Data = statusDocument{Format: statusFormat, Sandbox: pl.Sandbox, Problem: pl.LedgerProblem, Unread: why, Objects: all, Notes: pl.Notes, counts: counts.String()}
	doc.Text = func(out LineWriter, opts view.TextOptions) {
		if pl.Sandbox {
			_ = out.Printf("%s\n\n", Banner)
		}
		rows := make([][]string, len(all))
		for i, o := range all {
			state := string(o.State)
			if o.State == plan.Drifted {
				state = string(plan.ToChange) + ", drifted" // the sentence counts it so
			}
			rows[i] = []string{o.String(), state, statusText(o, opts), o.AppliedBy()}
		}
		if len(rows) > 0 {
			_ = out.MarkedTable(rows, view.TextOptions{Width: opts.Width})
			_ = out.Printf("\n")
		}
		for _, n := range pl.Notes {
			_ = out.Printf("Note: %s\n", n)
		}
		_ = out.Printf("Status: %s\n", counts)
	}
	doc.Plan, doc.Findings, doc.Silenced = nil, nil, nil
	return doc
}

// statusText says what git says of an object, or else why it is as it is.
func statusText(o plan.ObjectState, opts view.TextOptions) string {
	where := ""
	if o.Path != "" {
		where = fmt.Sprintf("%s:%d", o.Path, o.Line)
	}
	switch {
	case o.State == plan.LeftGit:
		gone := strings.TrimPrefix(view.DescribeRemoval(o.By, o.Commit, opts).String(), string(plan.LeftGit)+", ") // the state says that
		return fmt.Sprintf("%s; %s", gone, o.Reason)
	case o.Reason != "":
		return o.Reason
	case o.State == plan.Drifted:
		return fmt.Sprintf("%s, %s outside git", where, diag.Plural(o.Outside, "change", "changes"))
	case o.State == plan.ToCreate && o.Outside > 0:
		return where + ", deleted outside git"
	case o.State == plan.ToChange:
		where = fmt.Sprintf("%s, %s", where, diag.Plural(o.Changes, "change", "changes"))
		if n := o.Outside - o.Conflicts; n > 0 {
			where += fmt.Sprintf(", %d outside git", n)
		}
		if o.Conflicts > 0 {
			where += fmt.Sprintf(", %d in conflict", o.Conflicts)
		}
	}
	return where
}

// LogDocument returns the entries of a ledger as a document. values is set if it shows what changed with its values.
func LogDocument(entries []plan.LoggedChanges, values bool) Document {
	return Document{
		Data: map[string]any{"format": "trueup.log/v1", "entries": entries},
		Text: func(out LineWriter, shown view.TextOptions) { writeLog(out, entries, values, shown) },
	}
}

func writeLog(out LineWriter, entries []plan.LoggedChanges, values bool, shown view.TextOptions) {
	p := newPrinter(out.w, shown)
	for n, e := range entries {
		if n > 0 {
			p.printGap()
		}
		p.printWrapped(indent, styledText{safetext.F("entry %d  ", e.Entry), faint}, styledText{view.CleanMessage(e.Title()), strong})
		p.printBelow(plain, view.CleanMessage(e.DescribeAuthor()))
		printRows(p, view.ObjectView{Changes: view.LoggedRows(e, values)})
	}
	if len(entries) == 0 {
		p.printLine(styledText{clean("no entries"), plain})
	}
	_ = p.flush() // the output keeps its own error
}
