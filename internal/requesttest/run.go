// Package requesttest compares what manifests do with requests to what tests expect of them. It sends no request, and
// reads no file.
package requesttest

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"trueup/internal/diag"
	"trueup/internal/manifest"
	"trueup/internal/routing"
)

// Rule is the rule of a failed test in findings.
const Rule = "test/failed"

// The results of a case.
const (
	Passed = "passed"
	Failed = "failed"
)

// Case is one request of a test, with its result.
type Case struct {
	// Name is that of the test, or the URL.
	Name     string    `json:"name"`
	URL      string    `json:"url"`
	File     string    `json:"file"`
	Line     int       `json:"line"`
	Column   int       `json:"column"`
	Result   string    `json:"result"`
	Failures []Failure `json:"failures,omitempty"`

	test *test
	// field is its place in the document, such as spec.tests[2].url.
	field string
	// answer is what answers the request in git; nil without a CDN.
	answer *routing.RequestAnswer
}

// isUnclear reports whether no document says which locations match.
func (c *Case) isUnclear() bool { return len(c.answer.Sides[0].Unclear) > 0 }

// Failure is an expectation that does not hold under every reading.
type Failure struct {
	// Field is the place of the expectation in the manifest.
	Field  string `json:"field"`
	Line   int    `json:"line"`
	Column int    `json:"column"`
	// Problem says why the request can't be compared; the fields below are then empty.
	Problem  string `json:"problem,omitempty"`
	What     string `json:"what,omitempty"`
	Expected string `json:"expected,omitempty"`
	// Got has one answer, or several if it depends on the platform.
	Got []ObservedAnswer `json:"got,omitempty"`
}

// ObservedAnswer is what a request gets under some readings.
type ObservedAnswer struct {
	Readings []string `json:"readings"`
	Value    string   `json:"value"`
	// Location is the path of the location that serves the request, and File and Line are its place; empty for none.
	Location string `json:"location,omitempty"`
	File     string `json:"file,omitempty"`
	Line     int    `json:"line,omitempty"`
	// When has the Readings in few words.
	When string `json:"when,omitempty"`

	readings []int
}

// TestResults is the result of all tests.
type TestResults struct {
	Passed int    `json:"passed"`
	Failed int    `json:"failed"`
	Cases  []Case `json:"cases"`
	// Coverage is nil unless it was asked for.
	Coverage *Coverage `json:"coverage,omitempty"`
}

// Run runs the tests of documents of kind.RequestTest on the CDNs of git.
func Run(documents []*manifest.Object, git routing.Side, precedences []routing.Precedence) *TestResults {
	result, lookup := &TestResults{Cases: []Case{}}, routing.NewLookup([]routing.Side{git}, precedences, diag.DidYouMean)
	for _, o := range documents {
		result.Cases = append(result.Cases, runDocument(lookup, o)...)
	}
	for _, c := range result.Cases {
		if c.Result == Passed {
			result.Passed++
		} else {
			result.Failed++
		}
	}
	return result
}

// Findings returns a finding for each failure, at its place in the manifest.
func (r *TestResults) Findings(severity diag.Severity) (found diag.List) {
	for _, c := range r.Cases {
		for _, f := range c.Failures {
			found = append(found, diag.Finding{
				Path: c.File, Line: f.Line, Column: f.Column, Field: f.Field, Rule: Rule, Severity: severity,
				Message: c.Name + ": " + f.String(), Fix: f.suggestFix(),
			})
		}
	}
	return found
}

func (f Failure) suggestFix() string {
	switch {
	case f.Problem != "":
		return "correct the URL or the manifests"
	case strings.HasSuffix(f.Got[0].Value, unitless):
		return "write ttlTimeUnit: without it, no test can expect a time"
	case len(f.Got) > 1:
		return "change the locations so that only one matches, or set platform.precedence in trueup.yaml if you know which wins"
	}
	return "correct the CDN or the test: trueup test --update writes what the CDN does into the test"
}

// String returns the failure in words.
func (f Failure) String() string {
	if f.Problem != "" {
		return f.Problem
	}
	if len(f.Got) == 1 {
		return f.What + ": expected " + f.Expected + ", got " + f.Got[0].String()
	}
	parts := diag.MapList(f.Got, func(a ObservedAnswer) string { return a.String() + " (" + a.When + ")" })
	return f.What + ": expected " + f.Expected + "; it depends on the platform: " + strings.Join(parts, "; or ")
}

// String returns the answer in words.
func (a ObservedAnswer) String() string {
	if a.Location == "" {
		return a.Value
	}
	place := fmt.Sprintf("%s at %s:%d", a.Location, a.File, a.Line)
	if a.Value == "" {
		return place
	}
	return a.Value + " from " + place
}

// test is a test of a document.
type test struct {
	object *manifest.Object
	index  int
	// at is its place, such as spec.tests[2].
	at     string
	name   string
	expect map[string]any
}

// runDocument runs the tests of a document.
func runDocument(lookup *routing.Lookup, o *manifest.Object) (cases []Case) {
	list, _ := o.Tree()["tests"].([]any)
	for i, v := range list {
		m, _ := v.(map[string]any)
		t := &test{object: o, index: i, at: fmt.Sprintf("spec.tests[%d]", i)}
		t.name, _ = m["name"].(string)
		t.expect, _ = m["expect"].(map[string]any)
		urls, _ := m["urls"].([]any)
		for j, v := range append([]any{m["url"]}, urls...) {
			url, isText := v.(string)
			if !isText {
				continue
			}
			c := Case{Name: cmp.Or(t.name, url), URL: url, File: o.Path, Result: Passed, test: t, field: t.at + ".url"}
			if j > 0 {
				c.field = fmt.Sprintf("%s.urls[%d]", t.at, j-1)
				if t.name != "" {
					c.Name += ": " + url
				}
			}
			if c.findFailures(lookup); len(c.Failures) > 0 {
				c.Result = Failed
			}
			cases = append(cases, c)
		}
	}
	setPlaces(o, cases)
	return cases
}

// setPlaces sets the places of cases and failures of a document, all at once.
func setPlaces(o *manifest.Object, cases []Case) {
	var fields []string
	for _, c := range cases {
		fields = append(fields, c.field)
		for _, f := range c.Failures {
			fields = append(fields, cmp.Or(f.Field, c.field)) // it may be about the request itself
		}
	}
	places := o.Positions(fields)
	for i := range cases {
		c := &cases[i]
		c.Line, c.Column, places = places[0][0], places[0][1], places[1:]
		for j := range c.Failures {
			f := &c.Failures[j]
			f.Field = cmp.Or(f.Field, c.test.at)
			f.Line, f.Column, places = places[0][0], places[0][1], places[1:]
		}
	}
}

// findFailures looks the request up, and compares its answer with what the test expects.
func (c *Case) findFailures(lookup *routing.Lookup) {
	u, err := routing.ParseURL(c.URL)
	var q routing.RequestAnswer
	if err == nil {
		q, err = lookup.Find(u)
	}
	if err != nil {
		c.Failures = append(c.Failures, Failure{Problem: err.Error()})
		return
	}
	c.answer = &q
	if len(c.test.expect) == 0 {
		c.Failures = append(c.Failures, Failure{Field: c.test.at, What: "expect", Expected: "at least one field", Got: []ObservedAnswer{{Value: none}}})
	}
	if c.isUnclear() {
		c.Failures = append(c.Failures, Failure{Problem: fmt.Sprintf("%q may match: its pattern is not documented", q.Sides[0].Unclear[0].Path)})
		return
	}
	if len(c.test.expect) > 0 {
		c.compareExpectations()
	}
}

// compareExpectations compares the answer with the expectations.
func (c *Case) compareExpectations() {
	wanted, says := c.test.expect["served"].(bool)
	isWanted, expectations, answers := wanted || !says, expectationsOf(c.test.expect), c.answer.ListAnswers()
	isWrong := func(a routing.Responder) bool { return (a.Location == nil) == isWanted }
	if slices.ContainsFunc(answers, isWrong) || !isWanted && len(expectations) > 0 {
		expected, field := "a location", c.test.at+".expect.served"
		switch {
		case !says:
			field = ""
		case !wanted:
			expected = "no location"
		}
		c.Failures = append(c.Failures, Failure{Field: field, What: "served", Expected: expected, Got: c.listAnswers(func(reading int) string {
			if answers[reading].Location == nil {
				return "no location matches " + c.answer.Path
			}
			return ""
		})})
		return
	}
	for _, e := range expectations {
		if slices.ContainsFunc(answers, func(a routing.Responder) bool { return !e.holds(a.Location) }) {
			c.Failures = append(c.Failures, Failure{
				Field: c.test.at + ".expect." + e.name, What: e.name, Expected: routing.DescribeValue(e.want),
				Got: c.listAnswers(func(reading int) string { return e.describe(answers[reading].Location) }),
			})
		}
	}
}

// listAnswers returns what a request gets, with the readings under which it does.
func (c *Case) listAnswers(describe func(reading int) string) (all []ObservedAnswer) {
	for i, by := range c.answer.ListAnswers() {
		a := ObservedAnswer{Value: describe(i)}
		if by.Location != nil {
			a.Location = by.Path
			a.File, a.Line = by.Place()
		}
		at := slices.IndexFunc(all, func(b ObservedAnswer) bool { return a.Value == b.Value && a.File == b.File && a.Line == b.Line })
		if at < 0 {
			at, all = len(all), append(all, a)
		}
		all[at].readings = append(all[at].readings, i)
	}
	for i := range all {
		reply := c.answer.ReplyOf(all[i].readings)
		all[i].Readings, all[i].When = reply.Rules, reply.Condition(routing.All)
	}
	return all
}
