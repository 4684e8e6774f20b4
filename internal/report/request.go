package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"trueup/internal/diag"
	"trueup/internal/routing"
	"trueup/internal/view"
)

// Requests returns the document of trueup request.
func Requests(r routing.RequestResult) Document {
	return Document{Data: r, Sandbox: r.Sandbox, Text: func(out Lines, opts Options) { writeRequests(out, r, opts) }}
}

// writeRequests writes a table of several requests, and everything about a single one.
func writeRequests(out Lines, r routing.RequestResult, opts Options) {
	if r.Sandbox {
		_ = out.Printf("%s\n\n", Banner)
	}
	if len(r.Requests) > 1 && !opts.Verbose {
		var rows [][]string
		for _, q := range r.Requests {
			rows = append(rows, requestTable(q)...)
		}
		_ = out.Marked(rows, opts)
		writeTotals(out, r)
		return
	}
	for i, q := range r.Requests {
		if i > 0 {
			_ = out.Printf("\n")
		}
		_ = out.Printf("%s\n", q.URL)
		_ = out.Marked(requestRows(q, opts), opts)
		writeMatching(out, q, len(r.Rules), opts)
	}
}

// requestTable returns a row for each answer to a request that a side gives.
func requestTable(q routing.RequestAnswer) (rows [][]string) {
	url := q.URL
	for _, a := range q.Answers {
		under := ""
		if len(q.Answers) > 1 {
			under = strings.Join(a.Rules, ", ") + ": "
		}
		for _, s := range bySide(q, func(side string) string { return cmp.Or(a.Summaries[side], "no CDN") }) {
			rows = append(rows, []string{tilde(q.Differs && url != ""), url, s.sides, under + s.text})
			url = ""
		}
	}
	return rows
}

func tilde(differs bool) string { return map[bool]string{true: "~"}[differs] }

func writeTotals(out Lines, r routing.RequestResult) {
	differ, text := totalOf(r, func(q routing.RequestAnswer) bool { return q.Differs }), diag.Plural(len(r.Requests), "request", "requests")+"."
	if len(r.Sides) > 1 {
		text += fmt.Sprintf(" Different in %s: %d.", strings.Join(r.Sides, " and "), differ)
	}
	if depend := totalOf(r, func(q routing.RequestAnswer) bool { return len(q.Answers) > 1 }); depend != 0 {
		text += fmt.Sprintf(" Dependent on which location the platform selects: %d.", depend)
	}
	_ = out.Printf("\n%s\n", text)
}

// totalOf counts requests.
func totalOf(r routing.RequestResult, of func(routing.RequestAnswer) bool) (count int) {
	for _, q := range r.Requests {
		count += oneIf(of(q))
	}
	return count
}

// sideText is what some sides have in common.
type sideText struct{ sides, text string }

// bySide returns what the sides say of a request, together where they say the same. It leaves out those that say
// nothing, and the names of sides if all say the same.
func bySide(q routing.RequestAnswer, of func(side string) string) (out []sideText) {
	for _, f := range q.Sides {
		text := of(f.Side)
		same := slices.IndexFunc(out, func(s sideText) bool { return s.text == text })
		switch {
		case text == "":
		case same >= 0:
			out[same].sides += ", " + f.Side
		default:
			out = append(out, sideText{f.Side, text})
		}
	}
	if len(out) == 1 {
		out[0].sides = ""
	}
	return out
}

// requestRows returns a row for each property of an answer.
func requestRows(q routing.RequestAnswer, opts Options) (rows [][]string) {
	if q.Rewritten {
		rows = append(rows, []string{"", "path", q.Path})
	}
	rows = append(rows, lineRows(q, q.Site, opts)...)
	for _, a := range q.Answers {
		if len(q.Answers) > 1 {
			rows = append(rows, []string{""}, []string{"", "If the " + strings.Join(a.Rules, " or the ") + " wins:"})
		}
		rows = append(rows, lineRows(q, a.Lines, opts)...)
	}
	return rows
}

func lineRows(q routing.RequestAnswer, lines []routing.Property, opts Options) (rows [][]string) {
	for _, l := range lines {
		what, differs, place := l.What, tilde(l.Differs), ""
		if l.Place != "" {
			place = " (" + l.Place + ")"
		}
		texts := bySide(q, func(side string) string { return l.Values[side] })
		switch {
		case opts.Verbose:
		case len(texts) == 2:
			a, b := view.PairTexts(clean(texts[0].text), clean(texts[1].text))
			texts[0].text, texts[1].text = a.String(), b.String()
		default:
			for i := range texts {
				texts[i].text = view.Shorten(clean(texts[i].text)).String()
			}
		}
		for _, s := range texts {
			row := []string{differs, what, s.sides, s.text + place}
			if len(q.Sides) == 1 {
				row = slices.Delete(row, 2, 3)
			}
			rows = append(rows, row)
			what, differs, place = "", "", ""
		}
	}
	return rows
}

// writeMatching says which location wins against which others. Sides that agree share a table.
func writeMatching(out Lines, q routing.RequestAnswer, rules int, opts Options) {
	sides := map[string][]string{}
	for _, f := range q.Sides {
		key := fmt.Sprint(matchRows(f, rules, false))
		sides[key] = append(sides[key], f.Side)
	}
	for _, f := range q.Sides {
		names := sides[fmt.Sprint(matchRows(f, rules, false))]
		if names[0] != f.Side || len(f.Matching) < 2 && len(f.Unclear) == 0 {
			continue
		}
		in := ""
		if len(sides) > 1 {
			in = " in " + strings.Join(names, " and ")
		}
		_ = out.Printf("\nMatching locations%s, in their order:\n", in)
		_ = out.Marked(matchRows(f, rules, true), opts)
	}
}

func matchRows(f routing.Found, rules int, places bool) (rows [][]string) {
	for _, m := range f.Listed {
		says := "wins under: " + strings.Join(m.Rules, ", ") + f.Unless()
		switch {
		case m.IsUnclear:
			says = "may match: its pattern is not documented"
		case len(m.Rules) == 0:
			says = "never wins"
		case len(m.Rules) == rules && rules > 1:
			says = "wins under every rule" + f.Unless()
		}
		place := ""
		if places {
			place = m.Place()
		}
		rows = append(rows, []string{"", m.Label(), place, says})
	}
	return rows
}
