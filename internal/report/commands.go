package report

import (
	"fmt"
	"slices"
	"strings"

	"trueup/internal/diag"
	"trueup/internal/kind"
	"trueup/internal/plan"
	"trueup/internal/routing"
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
			rows[i] = []string{o.String(), state, statusText(o), o.AppliedBy()}
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
func statusText(o plan.ObjectState) string {
	where := diag.Place(o.Path, o.Line)
	switch {
	case o.State == plan.LeftGit:
		gone := strings.TrimPrefix(view.DescribeRemoval(o.By, o.Commit).String(), string(plan.LeftGit)+", ") // the state says that
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
	for _, e := range entries {
		p.printGap()
		p.printWrapped(indent, styledText{safetext.F("entry %d  ", e.Entry), faint}, styledText{view.CleanMessage(e.Title()), strong})
		p.printBelow(plain, view.CleanMessage(e.DescribeAuthor()))
		printRows(p, view.ObjectView{Changes: view.LoggedRows(e, values)})
	}
	if len(entries) == 0 {
		p.printLine(styledText{clean("no entries"), plain})
	}
	_ = p.flush() // the output keeps its own error
}

// maxConditions is how many conditions of an answer are shown without -v.
const maxConditions = 2

// RequestDocument returns the document of trueup request.
func RequestDocument(r routing.RequestResult) Document {
	return Document{Data: r, Sandbox: r.Sandbox, Text: func(out LineWriter, opts view.TextOptions) { writeRequests(out, r, opts) }}
}

// writeRequests writes everything about each request.
func writeRequests(out LineWriter, r routing.RequestResult, opts view.TextOptions) {
	if r.Sandbox {
		_ = out.Printf("%s\n\n", Banner)
	}
	for i, q := range r.Requests {
		if i > 0 {
			_ = out.Printf("\n")
		}
		_ = out.Printf("%s\n", q.URL)
		_ = out.MarkedTable(requestRows(q, opts), opts)
		writeMatching(out, q, len(r.Rules), opts)
	}
}

// nameSides returns the names of sides.
func nameSides(sides []routing.SideMatches, sep string) string {
	return strings.Join(diag.MapList(sides, func(f routing.SideMatches) string { return f.Side }), sep)
}

// groupSides returns the sides that say something of a request, together where they say the same.
func groupSides(q routing.RequestAnswer, textOf func(routing.SideMatches) string) [][]routing.SideMatches {
	says := slices.DeleteFunc(slices.Clone(q.Sides), func(f routing.SideMatches) bool { return textOf(f) == "" })
	return diag.GroupBy(says, textOf)
}

// requestRows returns a row for each property of an answer.
func requestRows(q routing.RequestAnswer, opts view.TextOptions) (rows [][]string) {
	if q.Rewritten {
		rows = append(rows, []string{"", "path", q.Path})
	}
	rows = append(rows, propertyRows(q, q.Site, opts)...)
	for _, a := range q.Answers {
		if len(q.Answers) > 1 {
			most := maxConditions
			if opts.Verbose {
				most = routing.All
			}
			condition := a.Condition(most)
			rows = append(rows, []string{""}, []string{"", strings.ToUpper(condition[:1]) + condition[1:] + ":"})
		}
		rows = append(rows, propertyRows(q, a.Properties, opts)...)
	}
	return rows
}

func propertyRows(q routing.RequestAnswer, properties []routing.Property, opts view.TextOptions) (rows [][]string) {
	for _, p := range properties {
		what, differs, place := p.What, map[bool]string{true: "~"}[p.Differs], ""
		if p.Place != "" {
			place = " (" + p.Place + ")"
		}
		groups := groupSides(q, func(f routing.SideMatches) string { return p.Values[f.Side] })
		texts := diag.MapList(groups, func(sides []routing.SideMatches) safeText { return clean(p.Values[sides[0].Side]) })
		switch {
		case opts.Verbose:
		case len(texts) == 2:
			texts[0], texts[1] = view.ShortenTextPair(texts[0], texts[1])
		default:
			texts = diag.MapList(texts, view.Shorten)
		}
		for i, sides := range groups {
			row := []string{differs, what, "", texts[i].String() + place}
			switch {
			case len(q.Sides) == 1:
				row = slices.Delete(row, 2, 3)
			case len(groups) > 1:
				row[2] = nameSides(sides, ", ")
			}
			rows = append(rows, row)
			what, differs, place = "", "", ""
		}
	}
	return rows
}

// writeMatching says which location wins against which others. Sides that agree share a table.
func writeMatching(out LineWriter, q routing.RequestAnswer, rules int, opts view.TextOptions) {
	for _, sides := range groupSides(q, func(f routing.SideMatches) (text string) {
		if len(f.Matching) > 1 || len(f.Unclear) > 0 {
			for _, row := range matchRows(f, rules) {
				text += row[1] + " " + row[3] + "\n" // only git has places
			}
		}
		return text
	}) {
		in := ""
		if len(sides) < len(q.Sides) {
			in = " in " + nameSides(sides, " and ")
		}
		_ = out.Printf("\nMatching locations%s, in their order:\n", in)
		_ = out.MarkedTable(matchRows(sides[0], rules), opts)
	}
}

func matchRows(f routing.SideMatches, rules int) (rows [][]string) {
	for _, m := range f.Matching {
		says := "wins under: " + strings.Join(m.Rules, ", ") + f.DescribeUnclear()
		switch {
		case len(m.Rules) == 0:
			says = "never wins"
		case len(m.Rules) == rules && rules > 1:
			says = "wins under every rule" + f.DescribeUnclear()
		}
		rows = append(rows, []string{"", m.Label(), m.Place(), says})
	}
	for _, m := range f.Unclear {
		rows = append(rows, []string{"", m.Label(), m.Place(), "may match: its pattern is not documented"})
	}
	return rows
}
