package report

import (
	"html/template"
	"slices"

	"trueup/internal/diag"
	"trueup/internal/kind"
	"trueup/internal/plan"
)

// htmlPage is what the page's template shows. Its texts are safe; what they mean
// to a browser is the template's care.
type htmlPage struct {
	Style         template.CSS
	Script        template.JS
	Policy        string
	Title         safe
	Command       safe
	Context       []safe
	Result        htmlResult
	Heading, Lede safe
	// Sub is what there is to say besides.
	Sub     safe
	Digest  safe
	Banners []htmlText
	// CountsOf names the first table of numbers.
	CountsOf       safe
	Counts, Causes []htmlCount
	Look           []htmlLook
	Facts          []htmlFact
	SettingsOf     safe
	Settings       []htmlSetting
	Errors         []safe
	FindingsOf     safe
	Findings       []htmlFinding
	Outcomes       *htmlOutcomes
	Notes          []htmlText
	AdviceOf       safe
	Advice         []htmlFinding
	ItemsOf        safe
	Items          []htmlEntry
	// Many says that there are so many objects that a browser need not lay out
	// those that are not on the screen.
	Many        bool
	Filters     []htmlFilter
	Lists       []htmlList
	Empty, Tool safe
	Bounds      htmlBounds
}

// htmlText is a text with a class of the style sheet, or without one.
type htmlText struct{ Class, Text safe }

// htmlResult is how the run ended; its sign is for eyes alone.
type htmlResult struct{ Class, Sign, Name safe }

// htmlCount is a number with its name.
type htmlCount struct {
	Class, Name safe
	Number      int
}

// htmlSetting is a setting that differs from the base, with what it does.
type htmlSetting struct {
	Mark  htmlMark
	Text  safe
	Notes []safe
}

// htmlFact is a line of what the page speaks of.
type htmlFact struct {
	Name   safe
	Values []htmlValue
}

// htmlValue is a text, or one to be copied.
type htmlValue struct {
	Text safe
	Code bool
}

// htmlList are names of which there is nothing more to say.
type htmlList struct {
	Name, Of safe
	Lines    []safe
}

// htmlBounds are the limits of what is shown of one value.
type htmlBounds struct{ Text, Lines, Body int }

// newHTMLPage lays the document out: what a person must look at first.
func newHTMLPage(doc Document, opts Options) htmlPage {
	p := htmlPage{
		Command: message(doc.Command), Result: resultOf(doc), Errors: lines(doc.Errors),
		Bounds: htmlBounds{maxHTMLText, maxHTMLLines, maxHTMLBody},
	}
	if doc.Sandbox {
		p.Banners = append(p.Banners, htmlText{"note", banner})
	}
	var links map[kind.Key]safe
	if doc.Plan != nil {
		links = p.plan(doc, opts)
	}
	p.findings(doc)
	if doc.Apply != nil {
		p.outcomes(doc, links)
	}
	p.silenced(silenced(doc))
	p.Title = p.Heading + ": " + p.Lede
	if len(p.Context) > 0 {
		p.Title += " - " + p.Context[0]
	}
	return p
}

// resultOf names the exit code.
func resultOf(doc Document) htmlResult {
	r := htmlResult{"good", "✓", message(doc.Result) + ", exit code " + number(doc.ExitCode)}
	switch doc.ExitCode {
	case 0:
	case 2:
		r.Class, r.Sign = "wait", "●"
	default:
		r.Class, r.Sign = "bad", "✗"
	}
	return r
}

// plan adds what a plan says and returns where its objects are.
func (p *htmlPage) plan(doc Document, opts Options) map[kind.Key]safe {
	pl := doc.Plan
	p.Heading, p.Lede, p.Sub = planTitle(doc), doing(doc), join(filled(drifted(pl.Summary), found(pl.Summary)), " ")
	if doc.Command == "drift" {
		p.Lede, p.Sub = driftSummary(pl.Summary), found(pl.Summary)
	}
	p.CountsOf, p.Counts = "Objects and fields", countsOf(pl.Summary)
	p.Tool, p.Digest, p.Facts = message(pl.Tool), cut(clean(pl.Digest), maxPath), facts(doc)
	if pl.Target.Workspace.Name != "" {
		p.Context = []safe{cut(clean(pl.Target.Workspace.Name), maxPath)}
	}
	if pl.Offline {
		p.Banners = append(p.Banners, htmlText{"warn", offlineBanner})
	}
	p.notes(pl)
	p.settings(pl)
	links := p.items(pl, opts)
	p.look(pl, links)
	p.AdviceOf = advices(len(pl.Advice))
	files := byFile(pl)
	for _, a := range alikeFindings(pl.Advice) {
		v := findingView(a.Finding, linkTo(files[a.Path], links, a.Finding))
		v.Also = a.also()
		p.Advice = append(p.Advice, v)
	}
	p.others(pl)
	if len(p.Items)+len(doc.Errors)+len(doc.Findings) == 0 && doc.Apply == nil {
		p.Empty = "Nothing differs."
	}
	return links
}

// drifted is empty where nothing did.
func drifted(s plan.Summary) safe {
	if s.Drifted == 0 {
		return ""
	}
	return driftSummary(s)
}

// htmlLook is something that a reviewer should not miss, and where it is.
type htmlLook struct {
	Title safe
	Links []htmlLink
	Rest  safe
}

type htmlLink struct{ Link, Text safe }

// maxLinks is how many places a line of what to look at has.
const maxLinks = 8

// look lists what a reviewer should not miss.
func (p *htmlPage) look(pl *plan.Plan, links map[kind.Key]safe) {
	for _, n := range notables() {
		total := 0
		var l htmlLook
		for _, item := range pl.Items {
			if here := n.count(item); here > 0 {
				total += here
				l.Links = append(l.Links, htmlLink{links[item.Key], n.name(item)})
			}
		}
		if total == 0 {
			continue
		}
		l.Title = n.title(total)
		if more := len(l.Links) - maxLinks; more > 0 {
			l.Links, l.Rest = l.Links[:maxLinks], "and "+number(more)+" more"
		}
		p.Look = append(p.Look, l)
	}
	if n := len(pl.Advice); n > 0 {
		p.Look = append(p.Look, htmlLook{Title: advices(n), Links: []htmlLink{{"#advice", "below"}}})
	}
}

// settings adds what a change of the project itself does to the plan.
func (p *htmlPage) settings(pl *plan.Plan) {
	p.SettingsOf = settingsTitle
	for _, s := range pl.Settings {
		r := settingRow(s)
		v := htmlSetting{Mark: lookOf(r.mark), Text: sentence(r)}
		for _, n := range settingNotes(pl, s) {
			v.Notes = append(v.Notes, n.text)
		}
		p.Settings = append(p.Settings, v)
	}
	if n := len(pl.Settings); n > 0 {
		p.Look = append(p.Look, htmlLook{Title: count(n, "setting") + " otherwise than in the base", Links: []htmlLink{{"#settings", "below"}}})
	}
}

// notes are sentences about the whole plan.
func (p *htmlPage) notes(pl *plan.Plan) {
	if _, problem, fix := blame(pl.Blame); problem != "" {
		p.Notes = append(p.Notes, htmlText{"wait", "base: " + join(filled(problem, fix), " - fix: ")})
	}
	for _, n := range lines(pl.Notes) {
		p.Notes = append(p.Notes, htmlText{"", n})
	}
}

// others names the objects that need nothing.
func (p *htmlPage) others(pl *plan.Plan) {
	var same, alone []safe
	for _, item := range pl.Items {
		if hidden(item, Options{}) {
			same = append(same, named(item.Key))
		}
	}
	for _, k := range pl.Unmanaged {
		alone = append(alone, named(k))
	}
	p.list("As git says", "object", same)
	p.list("Not in git", "object", alone)
}

// list adds names, if there are any.
func (p *htmlPage) list(name, noun safe, lines []safe) {
	if len(lines) > 0 {
		p.Lists = append(p.Lists, htmlList{name, count(len(lines), noun), lines})
	}
}

// silenced names what comments in manifests keep from being shown.
func (p *htmlPage) silenced(findings diag.List) {
	var texts []safe
	for _, f := range findings {
		text := place(f) + cut(clean(f.Rule), maxPath)
		if f.Silenced != "" {
			text += " - " + message(f.Silenced)
		}
		texts = append(texts, text)
	}
	p.list("Silenced by comments", "finding", texts)
}

// countsOf are the numbers of a plan.
func countsOf(s plan.Summary) []htmlCount {
	var counts []htmlCount
	for _, c := range planCounts(s) {
		counts = append(counts, htmlCount{c.class, c.name, c.n})
	}
	return zeroes(counts)
}

// zeroes takes the colour from what there is none of.
func zeroes(counts []htmlCount) []htmlCount {
	for i := range counts {
		if counts[i].Number == 0 {
			counts[i].Class = "zero"
		}
	}
	return counts
}

// facts say what the plan speaks of.
func facts(doc Document) []htmlFact {
	pl := doc.Plan
	var out []htmlFact
	add := func(name safe, values ...htmlValue) {
		values = slices.DeleteFunc(values, func(v htmlValue) bool { return v.Text == "" })
		if len(values) > 0 {
			out = append(out, htmlFact{name, values})
		}
	}
	code := func(s string) htmlValue { return htmlValue{cut(clean(s), maxPath), true} }
	if b := pl.Blame; b != nil {
		merge := htmlValue{}
		if b.Merge {
			merge.Text = "(" + hostsMerge + ")"
		}
		add("Base", code(b.Ref), code(b.Base))
		add("Head", code(b.Head), merge)
	}
	for _, t := range target(doc) {
		values := make([]htmlValue, len(t.values))
		for i, v := range t.values {
			values[i] = htmlValue{v, true}
		}
		add(t.name, values...)
	}
	add("Run", code(doc.RunURL))
	if doc.Objects > 0 {
		add("Manifests", htmlValue{Text: count(doc.Objects, "object")})
	}
	return out
}
