package report

import (
	"bufio"
	_ "embed"
	"encoding/xml"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/template"

	"trueup/internal/view"

	"trueup/internal/diag"
	"trueup/internal/exit"
	"trueup/internal/kind"
	"trueup/internal/plan"
	"trueup/internal/requesttest"
	"trueup/internal/safetext"
)

// junitTemplate is JUnit's XML, limited to what the strictest schema of build servers allows.
//
//go:embed junit.tmpl
var junitTemplate string

type testSuites []testSuite

type testSuite struct {
	Name  safe
	Cases []testCase
}

// testCase is a test with its output. End is failure, error or skipped, and empty if it passed.
type testCase struct {
	Class, Name safe
	End         string
	Message     safe
	Type        string
	Lines       []safe
}

// writeJUnit writes a test case for each object and each finding. A case fails if a person
// must act: blocked objects in a plan, drift in drift, requests that failed in apply.
func writeJUnit(w io.Writer, doc Document, _ view.Options) error {
	all := testSuites{manifestSuite(doc)}
	if doc.Tests != nil {
		all = append(all, requestSuite(doc.Tests))
	}
	if doc.Plan != nil || doc.Apply != nil {
		s := testSuite{Name: clean(doc.Command).Cut(view.MaxName), Cases: settingCases(doc)}
		if doc.Apply != nil {
			s.Cases = append(s.Cases, applyCases(doc)...)
		} else {
			s.Cases = append(append(s.Cases, planCases(doc)...), requestCases(doc.Plan)...)
		}
		all = append(all, s)
	}
	if len(doc.Projects) > 0 {
		all = append(all, projectSuite(doc.Projects))
	}
	for _, s := range all {
		s.numberCases()
	}
	page, err := template.New("").Funcs(template.FuncMap{"xml": xmlText, "cdata": toCDATA}).Parse(junitTemplate)
	if err != nil {
		return err
	}
	out := bufio.NewWriter(w)
	var notes []remark
	if doc.Plan != nil {
		notes = noteRemarks(doc.Plan)
	}
	if err := page.Execute(out, struct {
		Document
		Summary safe
		Notes   []remark
		Suites  testSuites
	}{doc, runSummary(doc), notes, all}); err != nil {
		return err
	}
	return out.Flush()
}

// xmlText escapes a text. A runner may find a command in a log of the file, so it is guarded.
func xmlText(text any) (string, error) {
	var b strings.Builder
	err := xml.EscapeText(&b, []byte(Clean(fmt.Sprint(text))))
	return b.String(), err
}

// toCDATA returns lines as one section, in which a runner executes none of them.
func toCDATA(lines []safe) string {
	var texts []string
	for _, line := range lines {
		texts = append(texts, strings.ReplaceAll(line.Guarded().String(), "]]>", "]]]]><![CDATA[>"))
	}
	if texts == nil {
		return ""
	}
	return "<![CDATA[" + strings.Join(texts, "\n") + "]]>"
}

// numberCases numbers cases with the same name: readers tell cases apart by name.
func (s testSuite) numberCases() {
	seen := map[[2]safe]int{}
	for i := range s.Cases {
		c := &s.Cases[i]
		c.Name = c.Name.Guarded()
		name := [2]safe{c.Class, c.Name}
		if seen[name]++; seen[name] > 1 {
			c.Name = safetext.F("%s (%d)", c.Name, seen[name])
		}
	}
}

// Count counts the cases with an end, or all for "".
func (all testSuites) Count(end string) int {
	return sum(all, func(s testSuite) int { return s.Count(end) })
}

// Count counts the cases with an end, or all for "".
func (s testSuite) Count(end string) int {
	return sum(s.Cases, func(c testCase) int { return view.OneIf(end == "" || c.End == end) })
}

// manifestSuite has the findings and errors, or one case for all.
func manifestSuite(doc Document) testSuite {
	s := testSuite{Name: clean("manifests")}
	if doc.Data != nil {
		s.Name = clean(doc.Command).Cut(view.MaxName)
	}
	for _, e := range doc.Errors {
		s.Cases = append(s.Cases, testCase{Class: clean("trueup"), Name: clean("run"), End: "error", Message: view.Message(e), Type: "run"})
	}
	var advice diag.List
	if doc.Plan != nil {
		advice = doc.Plan.Advice
	}
	class := safetext.F("trueup.%s", s.Name)
	for _, f := range slices.Concat(doc.Findings, doc.Annotations, advice) {
		if f.Rule == requesttest.Rule { // requestSuite has its case
			continue
		}
		r := findingRemark(f, doc.Place)
		name := safetext.Filled(clean(r.rule), clean(f.Path).Cut(view.MaxPath), clean(f.Field).Cut(view.MaxPath))
		c := testCase{Class: class, Name: safetext.Join(name, " ")}
		c.Lines = append([]safe{safetext.F("%s%s", view.Place(f), view.Message(f.Message))}, r.more...)
		if f.Severity == diag.Error {
			c.End, c.Message, c.Type = "failure", view.Message(f.Message), r.rule
		}
		s.Cases = append(s.Cases, c)
	}
	if len(s.Cases) == 0 {
		c := testCase{Class: class, Name: s.Name, Lines: []safe{findingCounts(doc)}}
		if doc.Data != nil {
			c.Lines[0] = runSummary(doc)
		}
		if doc.ExitCode != 0 && doc.Plan == nil && doc.Tests == nil {
			c.End, c.Message, c.Type = "failure", runSummary(doc), doc.Result
		}
		s.Cases = []testCase{c}
	}
	return s
}

// projectSuite has a case for each of many projects.
func projectSuite(projects []Project) testSuite {
	s := testSuite{Name: clean("projects")}
	for _, p := range projects {
		c := testCase{Class: clean("trueup.projects"), Name: clean(p.Path).CutLeft(view.MaxPath), Lines: []safe{clean(p.Result).Cut(view.MaxName)}}
		if p.ExitCode != exit.OK && p.ExitCode != exit.Changes {
			c.End, c.Message, c.Type = "failure", clean(p.Result).Cut(view.MaxName), "project"
		}
		s.Cases = append(s.Cases, c)
	}
	return s
}

// requestSuite has a case for each request that is tested.
func requestSuite(t *requesttest.Result) testSuite {
	s := testSuite{Name: clean("requests")}
	for _, c := range t.Cases {
		out := testCase{Class: clean(c.File).Cut(view.MaxPath), Name: clean(c.Name).Cut(view.MaxPath)}
		for _, f := range c.Failures {
			out.Lines = append(out.Lines, safetext.F("%s:%d:%d: %s", clean(c.File).Cut(view.MaxPath), f.Line, f.Column, view.Message(f.String())))
		}
		switch c.Result {
		case requesttest.Failed:
			out.End, out.Message, out.Type = "failure", view.Message(c.Failures[0].String()), requesttest.Rule
		case requesttest.Skipped:
			out.End, out.Message = "skipped", view.Message(c.Why)
		}
		s.Cases = append(s.Cases, out)
	}
	return s
}

func planCases(doc Document) (cases []testCase) {
	for _, o := range view.EveryObject(doc.Plan, view.Options{}) {
		c := objectCase(o.Key)
		c.Lines = objectLines(doc, o)
		switch v := o.Verdict; {
		case v.OK:
			c.End, c.Message = "skipped", v.Says
		case v.What != "":
			c.End, c.Message, c.Type = "failure", v.Says, v.What
		}
		cases = append(cases, c)
	}
	return cases
}

func settingCases(doc Document) (cases []testCase) {
	for _, r := range settingRemarks(doc) {
		cases = append(cases, testCase{Class: clean("trueup.settings"), Name: clean(r.field).Cut(view.MaxPath), Lines: r.lines()})
		doc.score.Show(r.facts...)
	}
	return cases
}

func objectLines(doc Document, o view.Object) []safe {
	lines := []safe{safetext.Join(safetext.Filled(o.Source, o.Headline), ": ")}
	for _, p := range diffPieces(o, maxSeen) {
		lines = append(lines, p.lines...)
		doc.score.Show(p.facts...)
	}
	return lines
}

func objectCase(key kind.Key) testCase {
	return testCase{Class: safetext.F("trueup.%s", clean(key.Kind).Cut(view.MaxName)), Name: view.Named(key)}
}

// applyCases has the outcome of each object, and what the plan was.
func applyCases(doc Document) (cases []testCase) {
	column, planned := keyWidth(doc.Apply), objectsByKey(doc)
	for _, o := range doc.Apply.Outcomes {
		c := objectCase(o.Key)
		c.Lines = renderLines(func(p *printer) { textOutcome(p, o, column) })
		if object, ok := planned[o.Key]; ok {
			c.Lines = append(c.Lines, objectLines(doc, object)...)
		}
		switch view.OutcomeRule(o) {
		case "":
		case "apply/skipped", "apply/deferred", "apply/in-flight":
			c.End, c.Message = "skipped", view.Message(o.Message)
		default:
			c.End, c.Message, c.Type = "failure", view.Message(o.Message), string(o.Verdict)
		}
		cases = append(cases, c)
	}
	return cases
}

// requestCases returns a test case for each line about requests.
func requestCases(pl *plan.Plan) (cases []testCase) {
	for _, l := range pl.Requests {
		cases = append(cases, testCase{Class: clean("trueup.requests"), Name: clean(l.Who(view.MaxParts)).Cut(view.MaxPath), Lines: []safe{view.DescribeRequests(l, view.MaxParts, true)}})
	}
	return cases
}
