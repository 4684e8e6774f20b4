package report

import (
	"bytes"
	"cmp"
	"io"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"trueup/internal/apply"
	"trueup/internal/plan"
)

// A comment of a code host may have maxMarkdown characters; bytes are counted,
// which are never fewer. One item may take maxItem of them, so that the first
// does not hide all others.
const (
	maxMarkdown = 65536
	maxItem     = 12000
	maxRest     = 200
	// markdownColumns is the width of a comment's fence, about.
	markdownColumns = 96
)

// markup is Markdown of this package, in which text from outside stands only in
// a fence or as code.
type markup string

// chunk is a part of the report that is written whole or not at all.
type chunk struct {
	text markup
	// priority is the lower, the more a reader should see it.
	priority int
}

// writeMarkdown renders for a comment: the summary always, then as many whole
// items as fit, then the count of the rest. Text from outside stands only
// inside fences and code tags.
func writeMarkdown(w io.Writer, doc Document, opts Options) error {
	_, err := io.WriteString(w, string(markdown(doc, opts, room(opts, maxMarkdown))))
	return err
}

// markdown is the report in at most so many bytes, which are never fewer than
// characters, however a code host counts those.
func markdown(doc Document, opts Options, budget int) markup {
	text := markdownHead(doc)
	chunks := markdownChunks(doc, opts)
	for i, c := range chunks {
		if len(text)+len(c.text) > budget-maxRest {
			text += "\n**" + constant(count(len(chunks)-i, "more part")) +
				" did not fit into this comment.** The JSON report has everything.\n"
			break
		}
		text += c.text
	}
	return text
}

// markdownHead has constants and numbers only.
func markdownHead(doc Document) markup {
	var text markup
	switch {
	case doc.Apply != nil:
		text = "## " + constant(applyTitle(doc)+": "+applySummary(doc.Apply)) + "\n"
	case doc.Plan != nil:
		text = "## " + constant(planTitle(doc)+": "+planSummary(doc)) + "\n"
	default:
		text = "## " + constant(findingsSummary(doc)) + "\n"
	}
	if doc.Sandbox {
		text += "\n> **" + constant(banner) + "**\n"
	}
	if doc.Plan != nil {
		text += summaryTable(doc.Plan.Summary)
	}
	return text
}

// constant is text in which there are but words of this program and numbers.
func constant(s safe) markup { return markup(s) }

func summaryTable(s plan.Summary) markup {
	head, rule, body := markup("\n|"), markup("\n|"), markup("\n|")
	for _, c := range []struct {
		name markup
		n    int
	}{
		{"create", s.Create},
		{"change", s.Change},
		{"removed", s.Removed},
		{"purge", s.Purge},
		{"deferred", s.Deferred},
		{"in flight", s.InFlight},
		{"blocked", s.Blocked},
		{"drifted fields", s.Drifted},
		{"kept", s.Kept},
		{"as git says", s.Unchanged},
		{"not in git", s.Unmanaged},
	} {
		head += " " + c.name + " |"
		rule += "---:|"
		body += " " + constant(number(c.n)) + " |"
	}
	return head + rule + body + "\n"
}

// markdownChunks are all parts below the head, the most important first.
func markdownChunks(doc Document, opts Options) []chunk {
	var chunks []chunk
	if len(doc.Errors) > 0 {
		chunks = append(chunks, fenced("text", lines(doc.Errors)))
	}
	for _, f := range doc.Findings {
		chunks = append(chunks, fenced("text", printed(func(p *printer) { textFinding(p, f) })))
	}
	if doc.Apply != nil {
		chunks = append(chunks, markdownOutcomes(doc.Apply)...)
	}
	if doc.Plan == nil {
		return chunks
	}
	if len(doc.Plan.Notes) > 0 {
		chunks = append(chunks, fenced("text", lines(doc.Plan.Notes)))
	}
	chunks = append(chunks, markdownItems(doc.Plan, opts)...)
	if opts.ShowUnmanaged && len(doc.Plan.Unmanaged) > 0 {
		var names []safe
		for _, k := range doc.Plan.Unmanaged {
			names = append(names, named(k))
		}
		chunks = append(chunks, chunk{text: details("Not in git", fence("text", names))})
	}
	return chunks
}

// lines are texts of one line each.
func lines(texts []string) []safe {
	out := make([]safe, len(texts))
	for i, t := range texts {
		out[i] = message(t)
	}
	return out
}

// printed are the lines that the terminal's printer makes, without colour.
func printed(render func(*printer)) []safe {
	var b bytes.Buffer
	p := newPrinter(&b, Options{})
	render(p)
	_ = p.flush() // a bytes.Buffer takes everything
	var out []safe
	for line := range strings.Lines(b.String()) {
		out = append(out, safe(strings.TrimSuffix(line, "\n")))
	}
	return out
}

func fenced(info markup, content []safe) chunk { return chunk{text: "\n" + fence(info, content)} }

// fence wraps lines in a fence that is longer than any run of backticks in
// them. Lines beyond maxItem are counted.
func fence(info markup, content []safe) markup {
	var b strings.Builder
	longest := 2
	for i, line := range content {
		line = guarded(line)
		if b.Len()+len(line) > maxItem {
			b.WriteString("  ... and " + string(count(len(content)-i, "more line")) + "\n")
			break
		}
		longest = max(longest, backticks(line))
		b.WriteString(string(line) + "\n")
	}
	ticks := markup(strings.Repeat("`", longest+1))
	return ticks + info + "\n" + markup(b.String()) + ticks + "\n"
}

// backticks is the length of the longest run of them.
func backticks(s safe) int {
	longest, run := 0, 0
	for i := range len(s) {
		if s[i] != '`' {
			run = 0
			continue
		}
		run++
		longest = max(longest, run)
	}
	return longest
}

// details is a part that a reader opens.
func details(summary, body markup) markup {
	return "\n<details><summary>" + summary + "</summary>\n\n" + body + "\n</details>\n"
}

// code is text from outside in a sentence. Code hosts link names and numbers of
// issues in text, but not in code; and each character that Markdown or HTML
// could read is an entity, which stands for itself in both.
func code(s safe) markup {
	var b strings.Builder
	b.WriteString("<code>")
	for i := range len(s) {
		if literally(s, i) {
			b.WriteByte(s[i])
			continue
		}
		b.WriteString("&#" + strconv.Itoa(int(s[i])) + ";")
	}
	b.WriteString("</code>")
	return markup(b.String())
}

// literally tells whether the byte at i means itself in Markdown and HTML. A
// point after a w does not: www. makes a link.
func literally(s safe, i int) bool {
	const literals = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ -/,"
	if s[i] == '.' {
		return i == 0 || s[i-1] != 'w' && s[i-1] != 'W'
	}
	return s[i] >= utf8.RuneSelf || strings.IndexByte(literals, s[i]) >= 0
}

func markdownOutcomes(r *apply.Result) []chunk {
	column := keyWidth(r)
	var chunks []chunk
	for _, s := range []apply.Status{apply.Failed, apply.Blocked, apply.Deferred, apply.Skipped, apply.Done} {
		n := 0
		content := printed(func(p *printer) {
			for _, o := range r.Outcomes {
				if o.Status == s {
					n++
					textOutcome(p, o, column)
				}
			}
		})
		if n > 0 {
			chunks = append(chunks, chunk{text: details(constant(number(n)+" "+safe(s)), fence("text", content))})
		}
	}
	if next := nextSteps(r); len(next) > 0 {
		chunks = slices.Insert(chunks, 0, fenced("text", next))
	}
	return chunks
}

// markdownItems are the items of a plan, what a person must look at first.
func markdownItems(pl *plan.Plan, opts Options) []chunk {
	var chunks []chunk
	for _, item := range pl.Items {
		if hidden(item, opts) {
			continue
		}
		rows := itemRows(item, opts)
		summary := code(titled(item.Key)) + " " + constant(headline(item, rows))
		if s := source(item); s != "" {
			summary += " (" + code(s) + ")"
		}
		chunks = append(chunks, chunk{
			text:     details(summary, fence("diff", diffLines(item, rows))),
			priority: priority(item, rows),
		})
	}
	slices.SortStableFunc(chunks, func(a, b chunk) int { return cmp.Compare(a.priority, b.priority) })
	return chunks
}

func priority(item plan.Item, rows []row) int {
	switch {
	case item.Op == plan.Blocked:
		return 0
	case slices.ContainsFunc(rows, func(r row) bool { return r.alarm }):
		return 1
	case item.Op == plan.Post || item.Op == plan.Deferred:
		return 2
	case item.Op == plan.Patch:
		return 3
	case item.Op == plan.Create:
		return 4
	default:
		return 5
	}
}

// diffLines are an item's rows and notes as a diff: its first characters are
// what code hosts colour.
func diffLines(item plan.Item, rows []row) []safe {
	if mentioned(item) {
		return []safe{"  " + mention(item)}
	}
	var out []safe
	for _, r := range rows {
		out = append(out, diffRow(r)...)
	}
	for _, n := range itemNotes(item) {
		out = append(out, "  "+n.text)
	}
	return out
}

// diffRow is a row as one line for each value it has. What is not simply a
// change in git gets a line in front that says so.
func diffRow(r row) []safe {
	cause := r.cause
	if cause != "" {
		cause = "    # " + cause
	}
	switch {
	case r.mark == markOnce:
		return []safe{"! " + r.path + ": " + join(filled(r.after, r.cause), ", ")}
	case r.mark == markLater:
		return []safe{"! " + join(filled(r.path, r.after), ": ") + cause}
	case r.mark == markSame:
		return []safe{"  " + join(filled(r.path, r.after), ": ") + cause}
	case r.moved:
		return []safe{"! " + r.path + ": moved" + cause}
	}
	var out []safe
	if r.alarm {
		out, cause = []safe{"! " + join(filled(r.path, r.cause), ": ")}, ""
	}
	switch {
	case r.before != "" && r.after != "":
		out = append(out, "- "+r.path+": "+r.before, "+ "+r.path+": "+r.after+cause)
	case r.before != "":
		out = append(out, "- "+r.path+": "+r.before+cause)
		out = append(out, detailed("-   ", r)...)
	case r.after != "":
		out = append(out, "+ "+r.path+": "+r.after+cause)
		out = append(out, detailed("+   ", r)...)
	}
	return out
}

// detailed are the lines below a row.
func detailed(lead safe, r row) []safe {
	if len(r.details) == 0 {
		return nil
	}
	out := flowLines(r.details, markdownColumns)
	for i := range out {
		out[i] = lead + out[i]
	}
	return out
}

// filled leaves out empty texts.
func filled(texts ...safe) []safe {
	return slices.DeleteFunc(texts, func(s safe) bool { return s == "" })
}
