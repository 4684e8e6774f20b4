package report

import (
	"fmt"

	"trueup/internal/diag"
	"trueup/internal/plan"
)

// statusFormat is the version of the JSON form of trueup status (schemas/status.schema.json).
const statusFormat = "trueup.status/v1"

// status is what trueup status writes as JSON.
type status struct {
	Format  string             `json:"format"`
	Sandbox bool               `json:"sandbox"`
	Problem string             `json:"ledgerProblem,omitempty"`
	Objects []plan.ObjectState `json:"objects"`
	Notes   []string           `json:"notes,omitempty"`
}

// Status turns the document of a plan into that of trueup status: a line for each object.
func Status(doc Document) Document {
	pl := *doc.Plan
	all := plan.States(&pl)
	_, lede, sub := summaryOf(doc)
	counts := sentences(lede, sub)
	doc.Data = status{Format: statusFormat, Sandbox: pl.Sandbox, Problem: pl.LedgerProblem, Objects: all, Notes: pl.Notes}
	doc.Text = func(out Lines, opts Options) {
		if pl.Sandbox {
			_ = out.Printf("%s\n\n", Banner)
		}
		rows := make([][]string, len(all))
		for i, o := range all {
			state := string(o.State)
			if o.State == plan.Drifted {
				state = string(plan.ToChange) + ", drifted" // the sentence counts it so
			}
			rows[i] = []string{o.String(), state, statusText(o, opts)}
		}
		if len(rows) > 0 {
			_ = out.Marked(rows, Options{Width: opts.Width})
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
func statusText(o plan.ObjectState, opts Options) string {
	where := ""
	if o.Path != "" {
		where = fmt.Sprintf("%s:%d", o.Path, o.Line)
	}
	switch {
	case o.State == plan.LeftGit:
		return fmt.Sprintf("%s; %s", departure(o.By, o.Commit, opts), o.Reason)
	case o.Reason != "":
		return o.Reason
	case o.State == plan.Drifted:
		return fmt.Sprintf("%s, %s changed outside git", where, diag.Plural(o.Outside, "field", "fields"))
	case o.State == plan.ToChange:
		return fmt.Sprintf("%s, %s", where, diag.Plural(o.Changes, "change", "changes"))
	}
	return where
}
