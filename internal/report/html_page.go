package report

import (
	"html/template"
	"slices"

	"trueup/internal/diag"
	"trueup/internal/kind"
	"trueup/internal/plan"
	"trueup/internal/safetext"
)

type htmlPage struct {
	Style                              template.CSS
	Script                             template.JS
	Policy                             string
	Heading                            string
	Command, Title, Lede, Sub, Context safe
	Result                             look
	Digest, Empty, Tool                safe
	Banners, Notes                     []htmlText
	// CountsOf is the caption of Counts.
	CountsOf       string
	Counts, Causes []tally
	Look           []htmlLook
	Facts          []fact
	SettingsOf     string
	Settings       []htmlSetting
	Errors         []safe
	FindingsOf     safe
	Findings       []htmlFinding
	Outcomes       *htmlOutcomes
	AdviceOf       safe
	Advice         []htmlFinding
	ItemsOf        safe
	Items          []htmlEntry
	// Many is set for a long page: the browser then lays out only the objects on the screen.
	Many                       bool
	Filters                    []htmlFilter
	Lists                      []htmlList
	MaxText, MaxLines, MaxBody int
	// links maps objects to their anchors.
	links map[kind.Key]safe
}

type htmlText struct {
	Class string
	Text  safe
}

// htmlLook is a notice with links to its objects.
type htmlLook struct {
	Title safe
	Links []htmlLink
	Rest  safe
}

type htmlLink struct{ Link, Text safe }

// htmlSetting is a setting that differs from the base, with its effects.
type htmlSetting struct {
	Mark  look
	Text  safe
	Notes []note
}

// Text returns the sentence.
func (n note) Text() safe { return n.text }

// Class returns the CSS class.
func (n note) Class() string {
	if n.fix {
		return "fix"
	}
	return ""
}

// htmlList is a list of names and their number.
type htmlList struct {
	Name  string
	Of    safe
	Lines []safe
}

func newHTMLPage(doc Document, opts Options) htmlPage {
	p := htmlPage{
		Command: message(doc.Command), Errors: messages(doc.Errors), SettingsOf: settingsTitle,
		Result:  look{Class: "bad", Sign: "✗", Name: safetext.F("%s, exit code %d", message(doc.Result), doc.ExitCode).String()},
		MaxText: maxHTMLText, MaxLines: maxHTMLLines, MaxBody: maxHTMLBody,
	}
	switch doc.ExitCode {
	case 0:
		p.Result.Class, p.Result.Sign = "good", "✓"
	case 2:
		p.Result.Class, p.Result.Sign = "wait", "●"
	}
	if doc.Sandbox {
		p.Banners = append(p.Banners, htmlText{"note", clean(Banner)})
	}
	if doc.Plan != nil {
		p.plan(doc, opts)
	}
	p.findings(doc)
	if doc.Apply != nil {
		p.outcomes(doc)
	}
	var texts []safe
	for _, f := range silenced(doc) {
		text := safetext.F("%s%s", place(f), clean(f.Rule).Cut(maxPath))
		texts = append(texts, safetext.Join(safetext.Filled(text, message(f.Silenced)), " - "))
	}
	p.list("Silenced by comments", "finding", texts)
	p.Title = safetext.Join(safetext.Filled(safetext.F("%s: %s", p.Heading, p.Lede), p.Context), " - ")
	return p
}

func (p *htmlPage) plan(doc Document, opts Options) {
	pl := doc.Plan
	p.Heading, p.Lede, p.Sub = planTitle(doc), requestSummary(doc), restSummary(pl.Summary)
	switch {
	case doc.Command == "drift":
		p.Lede = driftSummary(pl.Summary)
	case pl.Summary.Drifted > 0:
		p.Sub = safetext.Join(safetext.Filled(driftSummary(pl.Summary), p.Sub), " ")
	}
	p.CountsOf, p.Counts = "Objects and fields", withoutColour(planCounts(pl.Summary))
	p.Tool, p.Digest, p.Facts = message(pl.Tool), clean(pl.Digest).Cut(maxPath), facts(doc)
	p.Context = clean(pl.Target.Workspace.Name).Cut(maxPath)
	if pl.Offline {
		p.Banners = append(p.Banners, htmlText{"warn", clean(offlineBanner)})
	}
	if _, problem, fix := blame(pl.Blame); !problem.Empty() {
		p.Notes = append(p.Notes, htmlText{"wait", safetext.F("base: %s", safetext.Join(safetext.Filled(problem, fix), " - fix: "))})
	}
	for _, n := range messages(pl.Notes) {
		p.Notes = append(p.Notes, htmlText{"", n})
	}
	for _, s := range pl.Settings {
		r := settingRow(s)
		p.Settings = append(p.Settings, htmlSetting{tableOfMarks[r.mark], sentence(r), settingNotes(pl, s)})
	}
	p.items(pl, opts)
	p.look(pl)
	p.AdviceOf = advices(len(pl.Advice))
	files := itemsByFile(pl)
	for _, a := range alikeFindings(pl.Advice) {
		v := findingView(a)
		if item := itemAt(files[a.Path], a.Line); item != nil {
			v.Link = p.links[item.Key]
		}
		p.Advice = append(p.Advice, v)
	}
	p.list("Equal to git", "object", inSync(pl))
	p.list("Not in git", "object", namesOf(pl.Unmanaged))
	if len(p.Items)+len(doc.Errors)+len(doc.Findings) == 0 && doc.Apply == nil {
		p.Empty = clean("Nothing differs.")
	}
}

// maxLinks limits the links of an htmlLook.
const maxLinks = 8

func (p *htmlPage) look(pl *plan.Plan) {
	if n := len(pl.Settings); n > 0 {
		below := []htmlLink{{clean("#settings"), clean("below")}}
		p.Look = append(p.Look, htmlLook{Title: safetext.F("%s changed since the base", safetext.Count(n, "setting")), Links: below})
	}
	for _, n := range notices(pl) {
		l := htmlLook{Title: n.title}
		for i, key := range n.keys[:min(len(n.keys), maxLinks)] {
			l.Links = append(l.Links, htmlLink{p.links[key], n.names[i]})
		}
		if more := len(n.keys) - maxLinks; more > 0 {
			l.Rest = safetext.F("and %d more", more)
		}
		p.Look = append(p.Look, l)
	}
	if n := len(pl.Advice); n > 0 {
		p.Look = append(p.Look, htmlLook{Title: advices(n), Links: []htmlLink{{clean("#advice"), clean("below")}}})
	}
}

func inSync(pl *plan.Plan) (names []safe) {
	for _, item := range pl.Items {
		if hidden(item, Options{}) {
			names = append(names, named(item.Key))
		}
	}
	return names
}

func (p *htmlPage) list(name, noun string, lines []safe) {
	if len(lines) > 0 {
		p.Lists = append(p.Lists, htmlList{name, safetext.Count(len(lines), noun), lines})
	}
}

// withoutColour greys out counts that are 0.
func withoutColour(counts []tally) []tally {
	for i := range counts {
		if counts[i].N == 0 {
			counts[i].Class = "zero"
		}
	}
	return counts
}

// facts returns the inputs of the plan and of the run.
func facts(doc Document) []fact {
	var all []fact
	names := func(names ...string) []safe {
		var out []safe
		for _, n := range names {
			out = append(out, safetext.Filled(clean(n).Cut(maxPath))...)
		}
		return out
	}
	if b := doc.Plan.Blame; b != nil {
		head := fact{Name: "Head", Values: names(b.Head)}
		if b.Merge {
			head.Words = safetext.F("(%s)", mergeByCodeHost)
		}
		all = append(all, fact{Name: "Base", Values: names(b.Ref, b.Base)}, head)
	}
	all = append(append(all, target(doc)...), fact{Name: "Run", Values: names(doc.RunURL)})
	if doc.Objects > 0 {
		all = append(all, fact{Name: "Manifests", Words: safetext.Count(doc.Objects, "object")})
	}
	return slices.DeleteFunc(all, fact.empty)
}

func (p *htmlPage) findings(doc Document) {
	p.FindingsOf = findingsSummary(doc)
	for _, f := range doc.Findings {
		p.Findings = append(p.Findings, findingView(alike{Finding: f}))
	}
	if doc.Plan != nil {
		return
	}
	p.Heading, p.Lede = "Manifests", p.FindingsOf
	if len(doc.Errors) > 0 && len(doc.Findings) == 0 && doc.Objects == 0 {
		p.Heading, p.Lede = "Stopped", safetext.F("%s.", safetext.Count(len(doc.Errors), "error"))
	}
	errs, warnings := doc.Findings.Count(diag.Error), doc.Findings.Count(diag.Warning)
	p.CountsOf = "Findings"
	p.Counts = withoutColour([]tally{
		{Class: "cut", Name: "errors", N: errs + len(doc.Errors)}, {Class: "edit", Name: "warnings", N: warnings}, {Class: "plain", Name: "objects", N: doc.Objects},
	})
}

// htmlFinding is one finding, with its source line.
type htmlFinding struct {
	alike
	Class string
	Link  safe
}

func findingView(a alike) htmlFinding {
	return htmlFinding{alike: a, Class: map[diag.Severity]string{diag.Error: "bad", diag.Warning: "wait", diag.Advice: "hint"}[a.Severity]}
}

// htmlSource is a line of a file; At is the word at the finding's column.
type htmlSource struct{ Before, At, After safe }

// Limits of the columns of a source line before and after the start of the marked word.
const (
	sourceBefore = 80
	sourceAfter  = 160
)

func sourceView(f diag.Finding) *htmlSource {
	if f.Source == "" {
		return nil
	}
	runes := []rune(f.Source)
	at := min(max(f.Column-1, 0), len(runes))
	end := at
	if f.Column > 0 {
		for end < len(runes) && end < at+sourceBefore && isWord(runes[end]) {
			end++
		}
		end = min(max(end, at+1), len(runes))
	}
	return &htmlSource{shownSource(runes[:at]).CutLeft(sourceBefore), shownSource(runes[at:end]), shownSource(runes[end:]).Cut(sourceAfter)}
}
