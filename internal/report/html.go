package report

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"fmt"
	"html/template"
	"io"
	"slices"
	"strings"

	"trueup/internal/apply"
	"trueup/internal/diag"
	"trueup/internal/kind"
	"trueup/internal/plan"
	"trueup/internal/safetext"
	"trueup/internal/view"
)

// The parts of the page. Text from outside enters it only through html/template.
var (
	//go:embed html/page.tmpl
	htmlTemplate string
	//go:embed html/style.css
	htmlStyle string
	//go:embed html/script.js
	htmlScript string
)

// writeHTML renders a page that loads and sends nothing, which its policy enforces. It can
// be read without the script, which only filters and folds.
func writeHTML(w io.Writer, doc Document, opts view.TextOptions) error {
	page := newHTMLPage(doc, opts)
	page.Style, page.Script = template.CSS(htmlStyle), template.JS(htmlScript)
	// It forbids everything except this style and this script.
	page.Policy = "default-src 'none'; style-src '" + cspHash(htmlStyle) + "'; script-src '" + cspHash(htmlScript) + "'; base-uri 'none'; form-action 'none'"
	tmpl := template.Must(template.New("").Funcs(template.FuncMap{
		"sandboxBanner": func() string { return Banner },
		"offlineBanner": func() string { return offlineBanner },
		"settingsTitle": func() string { return view.SettingsTitle },
		"short":         func(s any) safeText { return clean(fmt.Sprint(s)).Truncate(view.MaxPath) },
		"link":          func(k kind.Key) string { return page.links[k].String() },
		"class":         func(s diag.Severity) string { return [...]string{"wait", "bad", "hint"}[s] },
		"look":          func(m view.Mark) markStyle { return tableOfMarks[m] },
		"outcome":       outcomeLook,
		"breakable":     breakPath,
		"message":       view.CleanMessage,
		"location":      view.FormatLocation,
		"source": func(f diag.Finding) safeText {
			code, _ := excerptLine(f.Source, f.Column, sourceColumns)
			return code
		},
		"named":      view.FormatKey,
		"sentence":   view.FullRowSentence,
		"advices":    view.CountAdvice,
		"count":      safetext.Count,
		"nextSteps":  view.NextSteps,
		"mismatches": mismatchLines,
		"below":      func(r view.Row) []safeText { return wrapTokens(r.Details, markdownColumns, r.Whole) },
		"list":       func(names []safeText) string { return safetext.Join(names, ", ").String() },
	}).Parse(htmlTemplate))
	// Workflow runners look for these anywhere in a log; a browser sees no difference.
	commands := strings.NewReplacer("##[", "#&#35;[", "##vso[", "#&#35;vso[")
	var text bytes.Buffer
	if err := page.write(&text, tmpl); err != nil {
		return err
	}
	_, err := commands.WriteString(w, text.String())
	return err
}

// write writes the page. If the details of all objects are too large, the last objects are Named.
func (p *htmlPageData) write(w io.Writer, tmpl *template.Template) error {
	if err := tmpl.ExecuteTemplate(w, "begin", p); err != nil {
		return err
	}
	shown, size := 0, 0
	err := diag.RenderInOrder(len(p.Items), func(b *bytes.Buffer, i int) error {
		return tmpl.ExecuteTemplate(b, "object", p.Items[i])
	}, func(text []byte) (more bool, err error) {
		if size >= maxHTMLDetails {
			return false, nil
		}
		p.score.MarkShown(view.FactsOfRows(p.Items[shown].Lines())...)
		shown, size = shown+1, size+len(text)
		_, err = w.Write(text)
		return true, err
	})
	if err != nil {
		return err
	}
	p.Named = p.Items[shown:]
	for _, i := range p.Named {
		p.score.MarkShown(view.FactsOfRows(i.Grave())...)
	}
	return tmpl.ExecuteTemplate(w, "end", p)
}

// cspHash returns a hash in the form of a content security policy.
func cspHash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "sha256-" + base64.StdEncoding.EncodeToString(sum[:])
}

// htmlPageData is a Document and what its page shows beyond it.
type htmlPageData struct {
	Document
	Style   template.CSS
	Script  template.JS
	Policy  string
	Heading string
	// Lede follows the heading and Sub is below it. Context is the workspace.
	Lede, Sub, Context safeText
	Notices            []view.Notice
	// Below has the links to what follows the objects. FoundBelow is set if Found is there.
	Below         []htmlLink
	FoundBelow    bool
	Facts         []fact
	Settings      []view.ObjectView
	FoundOf       safeText
	Output        []safeText
	Found, Advice []equalFindings
	// Outcomes has those that need a person first, without Untouched ones.
	Outcomes  []apply.ItemOutcome
	Untouched int
	Notes     []safeText
	ItemsOf   safeText
	Items     []htmlItem
	// Requests has no lines if it says nothing.
	Requests view.RequestSection
	Filters  []htmlFilter
	Lists    []htmlList
	// Named are the last Items, which have a line each, and Ask is the command that shows one in full.
	Named []htmlItem
	Ask   string
	// MoreFound and MoreAdvice count what is left out of Found and Advice.
	MoreFound, MoreAdvice, MaxOpen int
	// links maps objects to their anchors.
	links map[kind.Key]safeText
}

// htmlLink leads to a section of the page.
type htmlLink struct {
	ID    string
	Title safeText
}

// htmlList is a list of names and their number.
type htmlList struct {
	Name  string
	Of    safeText
	Lines []safeText
}

func newHTMLPage(doc Document, opts view.TextOptions) *htmlPageData {
	p := &htmlPageData{
		Document: doc, Settings: view.SettingsOf(doc.Plan), links: map[kind.Key]safeText{},
		Found: shownFindings(doc, view.TextOptions{Verbose: true}), FoundOf: findingCounts(doc),
		MaxOpen: maxUnfoldedObjects, Ask: "trueup plan --target KIND/NAME",
	}
	if doc.Command == "drift" {
		p.Ask = "trueup drift --target KIND/NAME"
	}
	for _, s := range p.Settings {
		p.score.MarkShown(view.FactsOfRows(s.Lines())...)
	}
	p.Found, p.MoreFound = firstFindings(p.Found)
	p.Heading, p.Lede, p.Sub = summaryOf(doc)
	if doc.Plan != nil {
		p.addPlan(doc.Plan, opts)
	}
	if doc.Apply != nil {
		p.Notices = nil // the outcomes replace them
		p.collectOutcomes()
	} else if doc.Plan == nil {
		p.addManifestSummary()
	}
	p.addList("Silenced by comments", "finding", silencedLines(doc))
	p.addList("Projects", "project", projectLines(doc.Projects))
	return p
}

func (p *htmlPageData) addPlan(pl *plan.Plan, opts view.TextOptions) {
	p.Context = clean(pl.Target.Workspace.Name).Truncate(view.MaxPath)
	p.Notices, p.Facts, p.Notes = view.Notices(pl), factsOfRun(p.Document), view.NotesOf(pl, view.TextOptions{})
	p.addObjects(pl, opts)
	p.Requests = view.NewRequestSection(pl, view.TextOptions{})
	itemAt := view.ItemFinder(pl)
	p.Advice = groupEqualFindings(pl.Advice)
	for i, a := range p.Advice {
		p.Advice[i].Link = p.links[itemAt(a.Path, a.Line).Key]
	}
	p.Advice, p.MoreAdvice = firstFindings(p.Advice)
	p.FoundBelow = len(p.Found) > 0 && !p.Findings.HasErrors()
	addLink := func(isThere bool, id string, title safeText) {
		if isThere {
			p.Below = append(p.Below, htmlLink{id, title})
		}
	}
	addLink(len(p.Requests.Lines) > 0, "requests", p.Requests.Title)
	addLink(p.FoundBelow, "findings", safetext.Count(len(p.Findings), "finding"))
	addLink(len(p.Notes) > 0, "notes", safetext.Count(len(p.Notes), "note"))
	addLink(len(p.Advice) > 0, "advice", view.CountAdvice(len(pl.Advice)))
	p.addList("Not in git", "object", diag.MapList(pl.Unmanaged, view.FormatKey))
}

// addManifestSummary adds the summary of a run without a plan.
func (p *htmlPageData) addManifestSummary() {
	p.Heading, p.Output = "Manifests", commandLines(p.Document)
	if p.Output != nil {
		p.Heading = "Result"
	}
	if len(p.Errors) > 0 && len(p.Findings) == 0 && p.Objects == 0 {
		p.Heading, p.Lede = "Stopped", safetext.F("%s.", safetext.Count(len(p.Errors), "error"))
	}
}

func (p *htmlPageData) collectOutcomes() {
	p.Outcomes = slices.DeleteFunc(slices.Clone(p.Apply.Outcomes), isUntouched)
	p.Untouched = len(p.Apply.Outcomes) - len(p.Outcomes)
	slices.SortStableFunc(p.Outcomes, func(a, b apply.ItemOutcome) int {
		_, rankA := view.OutcomeKindOf(a)
		_, rankB := view.OutcomeKindOf(b)
		return rankA - rankB
	})
}

// factsOfRun returns the inputs of the plan and of the run.
func factsOfRun(doc Document) []fact {
	cut := func(s string) []safeText { return safetext.NonEmpty(clean(s).Truncate(view.MaxPath)) }
	all := targetFacts(doc)
	if b := doc.Plan.Blame; b != nil {
		head := fact{Name: "Head", Values: cut(b.Head)}
		if b.Merge {
			head.Words = safetext.F("(%s)", view.MergeByCodeHost)
		}
		all = append(all, fact{Name: "Base", Values: append(cut(b.Ref), cut(b.Base)...)}, head)
	}
	all = append(all, fact{Name: "Digest", Values: cut(doc.Plan.Digest)}, fact{Name: "Run", Values: cut(doc.RunURL)})
	if doc.Objects > 0 {
		all = append(all, fact{Name: "Manifests", Words: safetext.Count(doc.Objects, "object")})
	}
	return slices.DeleteFunc(all, fact.empty)
}

// sourceColumns is the most columns of a source line.
const sourceColumns = 240

type htmlFilter struct {
	Name, By string
	Choices  []view.Tally
}

// NamedObjects counts the objects of Named.
func (p *htmlPageData) NamedObjects() int {
	return sum(p.Named, htmlItem.objects)
}

func (p *htmlPageData) addFilters(pl *plan.Plan, opts view.TextOptions) {
	count := func(of func(htmlItem) string) []view.Tally {
		return diag.MapList(diag.GroupBy(p.Items, of), func(same []htmlItem) view.Tally {
			return view.Tally{Class: "plain", Value: of(same[0]), Name: of(same[0]), N: sum(same, htmlItem.objects)}
		})
	}
	filters := []htmlFilter{
		{"Cause", "why", view.CountCauses(pl, opts)},
		{"What", "op", count(func(i htmlItem) string { return i.State })},
		{"Kind", "kind", count(func(i htmlItem) string { return i.Kind().String() })},
	}
	p.Filters = slices.DeleteFunc(filters, func(f htmlFilter) bool { return len(f.Choices) < 2 })
}

// firstFindings returns the first findings, errors before others, and counts the rest.
func firstFindings(found []equalFindings) (first []equalFindings, more int) {
	if len(found) <= maxHTMLFindings {
		return found, 0
	}
	slices.SortStableFunc(found, func(a, b equalFindings) int {
		return view.OneIf(b.Severity == diag.Error) - view.OneIf(a.Severity == diag.Error)
	})
	return found[:maxHTMLFindings], len(found) - maxHTMLFindings
}

func (p *htmlPageData) addList(name, noun string, lines []safeText) {
	if len(lines) > 0 {
		p.Lists = append(p.Lists, htmlList{name, safetext.Count(len(lines), noun), lines})
	}
}

// breakPath returns a path in parts, after each of which a line may break.
func breakPath(path safeText) (parts []safeText) {
	text := path.String()
	for _, part := range kind.SplitAtDots(text) {
		end := min(len(part)+1, len(text))
		parts, text = append(parts, clean(text[:end])), text[end:]
	}
	return parts
}
