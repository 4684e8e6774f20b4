// Package requesttest compares what manifests do with requests to what tests expect of them. It sends no request, and
// reads no file.
package requesttest

import (
	"fmt"
	"slices"
	"strings"

	"trueup/internal/diag"
	"trueup/internal/manifest"
	"trueup/internal/routing"
)

// Rule is the rule of a failed test in findings.
const Rule = "test/failed"

// sameAsLive is what a failure of same-as is about.
const sameAsLive = "same as live"

// The results of a case.
const (
	Passed  = "passed"
	Failed  = "failed"
	Skipped = "skipped"
)

// Case is one request of a test, with its result.
type Case struct {
	// Name is that of the test, or the URL.
	Name   string `json:"name"`
	URL    string `json:"url"`
	File   string `json:"file"`
	Line   int    `json:"line"`
	Column int    `json:"column"`
	Result string `json:"result"`
	// Why says why the case was skipped.
	Why      string    `json:"why,omitempty"`
	Failures []Failure `json:"failures,omitempty"`

	test *test
	// selected answers the request; its CDN is nil for none.
	selected routing.Selected
	// unclear is true if it is not known which locations match.
	unclear bool
}

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
	Got []Answer `json:"got,omitempty"`
}

// Answer is what a request gets under some readings.
type Answer struct {
	Readings []string `json:"readings"`
	Value    string   `json:"value"`
	// Location is the path of the location that serves the request, and File and Line are its place; empty for none.
	Location string `json:"location,omitempty"`
	File     string `json:"file,omitempty"`
	Line     int    `json:"line,omitempty"`
}

// Options say what tests are run with.
type Options struct {
	// Sides are git and live. Without live, what must be the same as live is skipped.
	Sides []routing.Side
	// Precedences are the rules by which the platform may select a location.
	Precedences []routing.Precedence
}

// Result is the result of all tests.
type Result struct {
	Passed  int    `json:"passed"`
	Failed  int    `json:"failed"`
	Skipped int    `json:"skipped"`
	Cases   []Case `json:"cases"`
	// Coverage is nil unless it was asked for.
	Coverage *Coverage `json:"coverage,omitempty"`
}

// Run runs the tests of documents of kind.RequestTest.
func Run(documents []*manifest.Object, opts Options) *Result {
	result := &Result{Cases: []Case{}}
	r := runner{opts, routing.NewSelector(opts.Sides, opts.Precedences), routing.NewUnknown(manifest.DidYouMean, opts.Sides[0])}
	for _, o := range documents {
		result.Cases = append(result.Cases, r.document(o)...)
	}
	for _, c := range result.Cases {
		switch c.Result {
		case Passed:
			result.Passed++
		case Failed:
			result.Failed++
		case Skipped:
			result.Skipped++
		}
	}
	return result
}

// Findings returns a finding for each failure, at its place in the manifest.
func (r *Result) Findings(severity diag.Severity) (found diag.List) {
	for _, c := range r.Cases {
		for _, f := range c.Failures {
			found = append(found, diag.Finding{
				Path: c.File, Line: f.Line, Column: f.Column, Field: f.Field, Rule: Rule, Severity: severity,
				Message: c.Name + ": " + f.String(), Fix: f.fix(),
			})
		}
	}
	return found
}

func (f Failure) fix() string {
	switch {
	case f.Problem != "":
		return "correct the URL or the manifests"
	case f.What == sameAsLive:
		return "correct the CDN, or remove same-as if the change is meant"
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
	parts := make([]string, len(f.Got))
	for i, a := range f.Got {
		parts[i] = a.String() + " (" + strings.Join(a.Readings, ", ") + ")"
	}
	return f.What + ": expected " + f.Expected + "; it depends on the platform: " + strings.Join(parts, "; or ")
}

// String returns the answer in words.
func (a Answer) String() string {
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
	at       string
	name     string
	expect   map[string]any
	expects  bool
	sameAs   bool
	requests int
}

type runner struct {
	Options
	selector *routing.Selector
	unknown  *routing.Unknown
}

// document runs the tests of a document.
func (r runner) document(o *manifest.Object) (cases []Case) {
	list, _ := o.Tree()["tests"].([]any)
	var fields []string
	for i, v := range list {
		m, _ := v.(map[string]any)
		t := &test{object: o, index: i, at: fmt.Sprintf("spec.tests[%d]", i)}
		t.name, _ = m["name"].(string)
		t.expect, _ = m["expect"].(map[string]any)
		t.expects = len(t.expect) > 0
		t.sameAs = m["same-as"] != nil
		if url, ok := m["url"].(string); ok {
			cases, fields = append(cases, Case{URL: url, test: t}), append(fields, t.at+".url")
		}
		urls, _ := m["urls"].([]any)
		for j, v := range urls {
			url, _ := v.(string)
			cases, fields = append(cases, Case{URL: url, test: t}), append(fields, fmt.Sprintf("%s.urls[%d]", t.at, j))
		}
		t.requests = len(urls)
	}
	for i, at := range o.Places(fields) {
		c := &cases[i]
		c.File, c.Line, c.Column = o.Path, at[0], at[1]
		if c.Name = c.test.name; c.Name == "" {
			c.Name = c.URL
		} else if c.test.requests > 0 {
			c.Name += ": " + c.URL
		}
		r.run(c)
	}
	place(o, cases)
	return cases
}

// problem adds a failure about the request itself.
func (c *Case) problem(text string) {
	c.Failures = append(c.Failures, Failure{Problem: text})
}

// place sets the places of the failures of a document, all at once.
func place(o *manifest.Object, cases []Case) {
	var failures []*Failure
	var fields []string
	for i := range cases {
		for j := range cases[i].Failures {
			f := &cases[i].Failures[j]
			if f.Field == "" { // about the request itself
				f.Field, f.Line, f.Column = cases[i].test.at, cases[i].Line, cases[i].Column
				continue
			}
			failures, fields = append(failures, f), append(fields, f.Field)
		}
	}
	if fields == nil {
		return
	}
	for i, at := range o.Places(fields) {
		failures[i].Line, failures[i].Column = at[0], at[1]
	}
}

// run sets the result of a case.
func (r runner) run(c *Case) {
	r.check(c)
	switch {
	case len(c.Failures) > 0:
		c.Result = Failed
	case c.test.sameAs && len(r.Sides) < 2:
		c.Result, c.Why = Skipped, "it compares with live, which was not read"
	default:
		c.Result = Passed
	}
}

func (r runner) check(c *Case) {
	u, err := routing.ParseURL(c.URL)
	if err == nil {
		c.selected, err = r.selector.Select(0, u.Request)
	}
	switch t := c.test; {
	case err != nil:
		c.problem(err.Error())
		return
	case c.selected.CDN == nil:
		c.problem(r.unknown.Host(u.Host).Error())
		return
	case !t.expects && !t.sameAs:
		c.Failures = append(c.Failures, Failure{Field: t.at, What: "expect", Expected: "at least one field", Got: []Answer{{Value: "none"}}})
	}
	if c.mayMatch("", c.selected.Unclear) {
		return
	}
	if c.test.expects {
		c.expect(u)
	}
	if c.test.sameAs && len(r.Sides) > 1 {
		r.compareLive(c, u)
	}
}

// mayMatch adds a failure if it is not known which locations of a side match.
func (c *Case) mayMatch(side string, unclear []*routing.Location) bool {
	if len(unclear) > 0 {
		c.unclear = true
		c.problem(fmt.Sprintf("%s%q may match: its pattern is not documented", side, unclear[0].Path))
	}
	return c.unclear
}

// expect compares the answer with the expectations.
func (c *Case) expect(u routing.URL) {
	expect, all := c.test.expect, c.selected.Locations
	isNone := func(l *routing.Location) bool { return l == nil }
	wanted, says := expect["served"].(bool)
	isWanted, values := wanted || !says, expectations(expect)
	if slices.ContainsFunc(all, func(l *routing.Location) bool { return isNone(l) == isWanted }) || !isWanted && len(values) > 0 {
		expected, field := "a location", c.test.at+".expect.served"
		switch {
		case !says:
			field = ""
		case !wanted:
			expected = "no location"
		}
		c.Failures = append(c.Failures, Failure{Field: field, What: "served", Expected: expected, Got: c.answers(func(reading int) string {
			if all[reading] == nil {
				return "no location matches " + u.Path
			}
			return ""
		})})
		return
	}
	if !isWanted {
		return
	}
	for _, e := range values {
		if slices.ContainsFunc(all, func(l *routing.Location) bool { return !e.holds(l) }) {
			c.Failures = append(c.Failures, Failure{
				Field: c.test.at + "." + e.path, What: e.name, Expected: e.want, Got: c.answers(func(reading int) string { return e.got(all[reading]) }),
			})
		}
	}
}

// answers returns what a request gets, with the readings under which it does.
func (c *Case) answers(value func(reading int) string) (all []Answer) {
	for i, name := range c.selected.Readings {
		a := Answer{Value: value(i)}
		if l := c.selected.Locations[i]; l != nil {
			a.Location, a.File, a.Line = l.Path, c.selected.CDN.Path, c.selected.CDN.Lines()[l.Index]
		}
		at := slices.IndexFunc(all, func(b Answer) bool { return a.Value == b.Value && a.Line == b.Line })
		if at < 0 {
			at, all = len(all), append(all, a)
		}
		all[at].Readings = append(all[at].Readings, name)
	}
	return all
}

// compareLive adds what differs between live and git.
func (r runner) compareLive(c *Case, u routing.URL) {
	live, err := r.selector.Select(1, u.Request)
	switch {
	case err != nil:
		c.problem("live: " + err.Error())
	case live.CDN == nil:
		c.problem("live has no CDN of the host " + u.Host)
	}
	if live.CDN == nil || c.mayMatch("live: ", live.Unclear) {
		return
	}
	differ := func(reading int) string { return c.selected.Change(1, reading) }
	for i := range c.selected.Readings {
		if differ(i) != "" {
			c.Failures = append(c.Failures, Failure{Field: c.test.at + ".same-as", What: sameAsLive, Expected: "no change", Got: c.answers(differ)})
			return
		}
	}
}
