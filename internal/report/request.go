package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"trueup/internal/accesslog"
	"trueup/internal/diag"
	"trueup/internal/served"
	"trueup/internal/view"
)

// Requests returns the document of trueup request.
func Requests(r served.Result) Document {
	return Document{Data: r, Sandbox: r.Sandbox, Text: func(out Lines, opts Options) { writeRequests(out, r, opts) }}
}

// writeRequests writes a table of several requests, and everything about a single one.
func writeRequests(out Lines, r served.Result, opts Options) {
	if r.Sandbox {
		_ = out.Printf("%s\n\n", Banner)
	}
	if len(r.Requests) > 1 && !opts.Verbose {
		var rows [][]string
		shares := sharesOf(r)
		for i, q := range r.Requests {
			rows = append(rows, requestTable(q, shares[i])...)
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
		if q.Traffic != nil {
			_ = out.Printf("  %s of %s the same locations: %s\n", accesslog.Share(q.Traffic.Requests, r.Counted()), accesslog.Count(r.Counted(), "request matches", "requests match"), addressesOf(*q.Traffic))
		}
		_ = out.Marked(requestRows(q, opts), opts)
		writeMatching(out, q, len(r.Rules), opts)
	}
	if len(r.Logs) > 0 {
		writeTotals(out, r)
	}
}

// addressesOf names the most requested addresses of a class.
func addressesOf(c accesslog.Class) string {
	least := ""
	if c.Slack > 0 {
		least = "at least "
	}
	texts := make([]string, len(c.Addresses))
	for i, a := range c.Addresses {
		texts[i] = fmt.Sprintf("%s (%s%s)", a.Address, least, accesslog.Amount(a.Requests))
	}
	return strings.Join(texts, ", ")
}

// sharesOf returns the share of each request in those of the logs.
func sharesOf(r served.Result) []string {
	parts := make([]int64, len(r.Requests))
	for i, q := range r.Requests {
		if q.Traffic != nil {
			parts[i] = q.Traffic.Requests
		}
	}
	return accesslog.Shares(parts...)
}

// requestTable returns a row for each answer to a request that a side gives. Requests of a log have their share.
func requestTable(q served.Request, share string) (rows [][]string) {
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
	if q.Traffic == nil {
		return rows
	}
	for i, row := range rows {
		rows[i] = slices.Insert(row, 1, "")
	}
	rows[0][1] = share
	return rows
}

func tilde(differs bool) string { return map[bool]string{true: "~"}[differs] }

func writeTotals(out Lines, r served.Result) {
	differ, text := totalOf(r, func(q served.Request) bool { return q.Differs }), diag.Plural(len(r.Requests), "request", "requests")+"."
	if len(r.Logs) > 0 {
		text = fmt.Sprintf("%s of %s.", accesslog.Count(r.Counted(), "request", "requests"), diag.Plural(len(r.Requests), "class", "classes"))
	}
	if len(r.Sides) > 1 {
		text += fmt.Sprintf(" Different in %s: %s.", strings.Join(r.Sides, " and "), differ)
	}
	if depend := totalOf(r, func(q served.Request) bool { return len(q.Answers) > 1 }); depend != "0" {
		text += fmt.Sprintf(" Dependent on which location the platform selects: %s.", depend)
	}
	_ = out.Printf("\n%s\n", text)
	for _, note := range accesslog.Notes(r.Logs, r.Counted(), r.Several) {
		_ = out.Printf("%s\n", note)
	}
}

// totalOf counts requests, and says their share of those of a log.
func totalOf(r served.Result, of func(served.Request) bool) string {
	count, requests := 0, int64(0)
	for _, q := range r.Requests {
		if of(q) {
			count++
			if q.Traffic != nil {
				requests += q.Traffic.Requests
			}
		}
	}
	if len(r.Logs) == 0 || count == 0 {
		return fmt.Sprint(count)
	}
	return fmt.Sprintf("%s of them, in %s", accesslog.Share(requests, r.Counted()), diag.Plural(count, "class", "classes"))
}

// sideText is what some sides have in common.
type sideText struct{ sides, text string }

// bySide returns what the sides say of a request, together where they say the same. It leaves out those that say
// nothing, and the names of sides if all say the same.
func bySide(q served.Request, of func(side string) string) (out []sideText) {
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
func requestRows(q served.Request, opts Options) (rows [][]string) {
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

func lineRows(q served.Request, lines []served.Line, opts Options) (rows [][]string) {
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
func writeMatching(out Lines, q served.Request, rules int, opts Options) {
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

func matchRows(f served.Found, rules int, places bool) (rows [][]string) {
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
