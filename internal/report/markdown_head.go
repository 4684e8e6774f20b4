package report

import (
	"slices"

	"trueup/internal/plan"
	"trueup/internal/safetext"
)

// markdownHead returns the part that a reader sees first. It always has the title and the
// counts; it omits names that would make it longer than most.
func markdownHead(doc Document, opts Options, most int) markup {
	title, lede, _ := summaryOf(doc)
	text := safetext.M("## %s\n", safetext.Constant(headed(title, lede)))
	if doc.Sandbox {
		text = safetext.M("%s\n> **%s**\n", text, safetext.Constant(clean(Banner)))
	}
	if doc.Plan != nil && doc.Plan.Offline {
		text = safetext.M("%s\n> **%s**\n", text, safetext.Constant(clean(offlineBanner)))
	}
	if doc.Plan == nil {
		return text
	}
	table, made := summaryTable(doc.Plan.Summary), madeFrom(doc)
	if text.Len()+table.Len()+lookAt(doc.Plan, opts, 0).Len()+made.Len() > 2*most {
		made = markup{}
	}
	text = text.Add(made, table)
	return text.Add(lookAt(doc.Plan, opts, most-text.Len()))
}

func summaryTable(s plan.Summary) markup {
	var head, rule, body []markup
	for _, c := range planCounts(s) {
		if c.N > 0 {
			head = append(head, safetext.M(" %s |", safetext.Constant(clean(c.Short))))
			rule = append(rule, safetext.M("---:|"))
			body = append(body, safetext.M(" %s |", safetext.Constant(safetext.Number(c.N))))
		}
	}
	if len(body) == 0 {
		return markup{}
	}
	return safetext.M("\n|%s\n|%s\n|%s\n", markup{}.Add(head...), markup{}.Add(rule...), markup{}.Add(body...))
}

// madeFrom lists the inputs of the plan: workspace, platform, ledger, base and digest.
func madeFrom(doc Document) markup {
	var parts []markup
	for _, t := range target(doc) {
		values := make([]markup, len(t.Values))
		for i, v := range t.Values {
			values[i] = safetext.Code(v.Cut(maxPath))
		}
		parts = append(parts, safetext.M("%s %s", safetext.Constant(clean(t.Name)), safetext.JoinMarkdown(values, ", ")))
	}
	if b := doc.Plan.Blame; b != nil && b.Base != "" {
		text := safetext.Code(short(b.Base))
		if b.Ref != "" {
			text = safetext.M("%s at %s", safetext.Code(clean(b.Ref).Cut(maxNameInHead)), text)
		}
		if b.Merge {
			text = safetext.M("%s, on %s", text, safetext.Constant(clean(mergeByCodeHost)))
		}
		parts = append(parts, safetext.M("Compared with %s", text))
	}
	if d := doc.Plan.Digest; d != "" {
		parts = append(parts, safetext.M("Digest %s", safetext.Code(clean(d).Cut(maxName))))
	}
	if len(parts) == 0 {
		return markup{}
	}
	return safetext.M("\n%s\n", safetext.JoinMarkdown(parts, " · "))
}

// A line of the head has at most maxNames names of maxNameInHead columns.
const (
	maxNames      = 3
	maxNameInHead = 80
)

// lookAt returns a line for each notice and one for the causes, with names in at most most bytes.
func lookAt(pl *plan.Plan, opts Options, most int) markup {
	var text markup
	for _, n := range notices(pl) {
		text = listed(text, n.Title, n.Names, most)
	}
	if len(pl.Advice) > 0 {
		var rules []safe
		for _, f := range pl.Advice {
			if rule := clean(f.Rule).Cut(maxName); !slices.Contains(rules, rule) {
				rules = append(rules, rule)
			}
		}
		text = listed(text, advices(len(pl.Advice)), rules, most)
	}
	if causes := causesLine(pl, opts); !causes.Empty() {
		text = text.Add(safetext.M("- Causes: %s\n", safetext.Constant(causes)))
	}
	if text.Empty() {
		return text
	}
	return safetext.M("\n%s", text)
}

// listed adds a line with as many of the names as fit.
func listed(text markup, title safe, names []safe, most int) markup {
	line := safetext.M("- **%s**", safetext.Constant(title))
	for i, n := range names[:min(len(names), maxNames)] {
		name := safetext.M(", %s", safetext.Code(n.Cut(maxNameInHead)))
		if i == 0 {
			name = safetext.M(": %s", safetext.Code(n.Cut(maxNameInHead)))
		}
		if text.Len()+line.Len()+name.Len() > most {
			break
		}
		line = line.Add(name)
		if i == maxNames-1 && len(names) > maxNames {
			line = line.Add(safetext.Constant(safetext.F(" and %d more", len(names)-maxNames)))
		}
	}
	return text.Add(line, safetext.M("\n"))
}
