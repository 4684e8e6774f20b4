package report

import (
	"bufio"
	"cmp"
	_ "embed"
	"encoding/xml"
	"fmt"
	"io"
	"strings"
	"text/template"

	"trueup/internal/diag"
	"trueup/internal/requesttest"
	"trueup/internal/safetext"
	"trueup/internal/view"
)

// junitTemplate is JUnit's XML, limited to what the strictest schema of build servers allows.
//
//go:embed junit.tmpl
var junitTemplate string

type testSuites []testSuite

type testSuite struct {
	Name  safeText
	Cases []testCase
}

// testCase is a test with its output. End is failure, error or skipped, and empty if it passed.
type testCase struct {
	Class, Name safeText
	End         string
	Message     safeText
	Type        string
	Lines       []safeText
}

// writeJUnit writes a test case for each remark, each tested request and each project. A case fails if a person must act:
// errors, blocked objects, drift in drift, requests that failed in apply.
func writeJUnit(w io.Writer, doc Document, _ view.TextOptions) error {
	all := testSuites{remarkSuite(doc)}
	if doc.Tests != nil {
		all = append(all, requestSuite(doc.Tests))
	}
	if len(doc.Projects) > 0 {
		all = append(all, projectSuite(doc.Projects))
	}
	for _, s := range all {
		s.numberCases()
	}
	page := template.Must(template.New("").Funcs(template.FuncMap{"xml": escapeXML, "cdata": toCDATA}).Parse(junitTemplate))
	out := bufio.NewWriter(w)
	if err := page.Execute(out, struct {
		Document
		Summary safeText
		Suites  testSuites
	}{doc, runSummary(doc), all}); err != nil {
		return err
	}
	return out.Flush()
}

// escapeXML escapes a text. A runner may find a command in a log of the file, so it is guarded.
func escapeXML(text any) (string, error) {
	var b strings.Builder
	err := xml.EscapeText(&b, []byte(Clean(fmt.Sprint(text))))
	return b.String(), err
}

// toCDATA returns lines as one section, in which a runner executes none of them.
func toCDATA(lines []safeText) string {
	texts := diag.MapList(lines, func(line safeText) string {
		return strings.ReplaceAll(line.EscapeCommands().String(), "]]>", "]]]]><![CDATA[>")
	})
	if texts == nil {
		return ""
	}
	return "<![CDATA[" + strings.Join(texts, "\n") + "]]>"
}

// numberCases numbers cases with the same name: readers tell cases apart by name.
func (s testSuite) numberCases() {
	seen := map[[2]safeText]int{}
	for i := range s.Cases {
		c := &s.Cases[i]
		c.Name = c.Name.EscapeCommands()
		name := [2]safeText{c.Class, c.Name}
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

// remarkSuite has a case for each remark, or one for all.
func remarkSuite(doc Document) testSuite {
	s := testSuite{Name: clean(cmp.Or(doc.Command, "trueup")).Truncate(view.MaxName)}
	class := safetext.F("trueup.%s", s.Name)
	for _, r := range remarks(doc) {
		if doc.score.MarkShown(r.facts...); r.rule == requesttest.Rule { // requestSuite has its case
			continue
		}
		of := safetext.NonEmpty(r.About)
		if len(of) == 0 {
			of = safetext.NonEmpty(clean(r.file).TruncateLeft(view.MaxPath), clean(r.field).Truncate(view.MaxPath))
		}
		c := testCase{Class: class, Name: safetext.Join(append([]safeText{r.ID()}, of...), " "), Lines: r.lines()}
		if c.End = endOf(r, doc.Command); c.End != "" {
			c.Message, c.Type = r.text, r.rule
		}
		s.Cases = append(s.Cases, c)
	}
	if len(s.Cases) == 0 {
		c := testCase{Class: class, Name: s.Name, Lines: []safeText{runSummary(doc)}}
		if doc.ExitCode != diag.ExitOK && doc.Plan == nil && doc.Tests == nil {
			c.End, c.Message, c.Type = "failure", runSummary(doc), doc.Result
		}
		s.Cases = []testCase{c}
	}
	return s
}

// endOf returns how the case of a remark ends: with a failure if a person must act.
func endOf(r remark, command string) string {
	switch r.rule {
	case "run/failed":
		return "error"
	case "plan/deferred", "plan/in-flight", "apply/deferred", "apply/in-flight", "apply/skipped":
		return "skipped"
	}
	if r.Level == view.ErrorLevel || r.rule == "plan/blocked" || command == "drift" && !r.About.Empty() {
		return "failure"
	}
	return ""
}

// projectSuite has a case for each of many projects.
func projectSuite(projects []ProjectResult) testSuite {
	s := testSuite{Name: clean("projects")}
	for _, p := range projects {
		c := testCase{Class: clean("trueup.projects"), Name: clean(p.Path).TruncateLeft(view.MaxPath), Lines: []safeText{clean(p.Result).Truncate(view.MaxName)}}
		if p.ExitCode != diag.ExitOK && p.ExitCode != diag.ExitChanges {
			c.End, c.Message, c.Type = "failure", clean(p.Result).Truncate(view.MaxName), "project"
		}
		s.Cases = append(s.Cases, c)
	}
	return s
}

// requestSuite has a case for each request that is tested.
func requestSuite(t *requesttest.TestResults) testSuite {
	s := testSuite{Name: clean("requests")}
	for _, c := range t.Cases {
		out := testCase{Class: clean(c.File).Truncate(view.MaxPath), Name: clean(c.Name).Truncate(view.MaxPath)}
		for _, f := range c.Failures {
			out.Lines = append(out.Lines, safetext.F("%s:%d:%d: %s", clean(c.File).Truncate(view.MaxPath), f.Line, f.Column, view.CleanMessage(f.String())))
		}
		if c.Result == requesttest.Failed {
			out.End, out.Message, out.Type = "failure", view.CleanMessage(c.Failures[0].String()), requesttest.Rule
		}
		s.Cases = append(s.Cases, out)
	}
	return s
}
