package report

import (
	"io"
	"strings"

	"trueup/internal/plan"
)

// A comment of a code host may have 65,536 characters, of which maxMarker are
// left to who posts it. Bytes are counted: however a host counts characters,
// they are never more.
const (
	maxComment  = 65536
	maxMarker   = 512
	maxMarkdown = maxComment - maxMarker
	// maxRest is the room for the count of what did not fit, without its place.
	maxRest = 400
	// markdownColumns is the width of a comment's fence, about.
	markdownColumns = 96
)

// writeMarkdown renders for a comment.
func writeMarkdown(w io.Writer, doc Document, opts Options) error {
	_, err := io.WriteString(w, string(markdown(doc, opts, room(opts, maxMarkdown))))
	return err
}

// markdown is the report in at most so many bytes, of which it needs 2,000: the
// summary always, then as much of the rest as fits, the most important first,
// then what is left out and where that is. Where there is not even room for the
// summary it is empty. Text from outside stands only inside
// fences and code tags.
func markdown(doc Document, opts Options, budget int) markup {
	head := markdownHead(doc, opts, budget/3)
	if len(head) > budget-maxRest {
		return ""
	}
	return head + fitBlocks(markdownBlocks(doc, opts), whereAll(doc, budget/8), budget-len(head))
}

// markdownHead is what a reader sees first. Its title and table have constants
// and numbers only; what names anything is left out where it takes the head
// beyond so many bytes.
func markdownHead(doc Document, opts Options, most int) markup {
	text := "## " + constant(markdownTitle(doc)) + "\n"
	if doc.Sandbox {
		text += "\n> **" + constant(banner) + "**\n"
	}
	if doc.Plan == nil {
		return text
	}
	if doc.Plan.Offline {
		text += "\n> **" + constant(offlineBanner) + "**\n"
	}
	table := summaryTable(doc.Plan.Summary)
	least := len(text) + len(table) + len(lookAt(doc.Plan, opts, 0))
	made := madeFrom(doc)
	if least+len(made) > 2*most {
		made = ""
	}
	text += made + table
	return text + lookAt(doc.Plan, opts, most-len(text))
}

// markdownTitle says what will happen, or did.
func markdownTitle(doc Document) safe {
	switch {
	case doc.Apply != nil:
		return applyTitle(doc) + ": " + applySummary(doc.Apply)
	case doc.Plan == nil:
		return findingsSummary(doc)
	case doc.Command == "drift":
		return planTitle(doc) + ": " + driftSummary(doc.Plan.Summary)
	default:
		return planTitle(doc) + ": " + doing(doc)
	}
}

// summaryTable counts what there is any of.
func summaryTable(s plan.Summary) markup {
	head, rule, body := markup("\n|"), markup("\n|"), markup("\n|")
	for _, c := range planCounts(s) {
		if c.n == 0 {
			continue
		}
		head += " " + constant(c.short) + " |"
		rule += "---:|"
		body += " " + constant(number(c.n)) + " |"
	}
	if body == "\n|" {
		return ""
	}
	return head + rule + body + "\n"
}

// madeFrom is what the plan rests on: workspace, platform, ledger, base and digest.
func madeFrom(doc Document) markup {
	pl := doc.Plan
	var parts []string
	for _, t := range target(doc) {
		text := string(constant(t.name))
		for i, v := range t.values {
			text += strings.Repeat(",", min(i, 1)) + " " + string(code(cut(v, maxPath)))
		}
		parts = append(parts, text)
	}
	if b := pl.Blame; b != nil && b.Base != "" {
		text := "Compared with " + string(code(short(b.Base)))
		if b.Ref != "" {
			text = "Compared with " + string(code(cut(clean(b.Ref), maxNameInHead))) + " at " + string(code(short(b.Base)))
		}
		if b.Merge {
			text += ", on " + string(constant(hostsMerge))
		}
		parts = append(parts, text)
	}
	if pl.Digest != "" {
		parts = append(parts, "Digest "+string(code(cut(clean(pl.Digest), maxName))))
	}
	if len(parts) == 0 {
		return ""
	}
	return "\n" + markup(strings.Join(parts, " · ")) + "\n"
}
