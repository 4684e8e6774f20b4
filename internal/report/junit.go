package report

import (
	"bufio"
	"encoding/xml"
	"io"
	"slices"

	"trueup/internal/diag"
	"trueup/internal/kind"
	"trueup/internal/plan"
)

// The common form of JUnit's XML, which build servers and code hosts read,
// and no more of it than the strictest of their schemas knows.

type testSuites struct {
	XMLName xml.Name `xml:"testsuites"`
	Name    string   `xml:"name,attr"`
	testCounts
	Suites []testSuite `xml:"testsuite"`
}

// testCounts are the totals of a suite, or of all.
type testCounts struct {
	Tests    int `xml:"tests,attr"`
	Failures int `xml:"failures,attr"`
	Errors   int `xml:"errors,attr"`
}

type testSuite struct {
	Name safe `xml:"name,attr"`
	testCounts
	Skipped    int             `xml:"skipped,attr"`
	Properties *testProperties `xml:"properties"`
	Cases      []testCase      `xml:"testcase"`
}

type testProperties struct {
	Properties []testProperty `xml:"property"`
}

type testProperty struct {
	Name  safe `xml:"name,attr"`
	Value safe `xml:"value,attr"`
}

// testCase has one of Failure, Error and Skipped, or passed.
type testCase struct {
	Class   safe       `xml:"classname,attr"`
	Name    safe       `xml:"name,attr"`
	Failure *testEnd   `xml:"failure"`
	Error   *testEnd   `xml:"error"`
	Skipped *testEnd   `xml:"skipped"`
	Out     *testLines `xml:"system-out"`
}

// testEnd says why a case did not pass.
type testEnd struct {
	Message safe `xml:"message,attr"`
	Type    safe `xml:"type,attr,omitempty"`
	Text    safe `xml:",cdata"`
}

type testLines struct {
	Text safe `xml:",cdata"`
}

// writeJUnit writes one test case for each object, and one for each finding.
// What fails is what somebody must look at: in a plan what is blocked, in drift
// what was changed outside git, in an apply what was not done.
func writeJUnit(w io.Writer, doc Document, _ Options) error {
	all := testSuites{Name: "trueup"}
	suites := []testSuite{manifestSuite(doc)}
	switch {
	case doc.Apply != nil:
		suites = append(suites, applySuite(doc))
	case doc.Plan != nil:
		suites = append(suites, planSuite(doc))
	}
	suites[0].Properties = runProperties(doc)
	for _, s := range suites {
		s.count()
		all.Suites = append(all.Suites, s)
		all.Tests += s.Tests
		all.Failures += s.Failures
		all.Errors += s.Errors
	}
	out := bufio.NewWriter(w)
	_, _ = out.WriteString(xml.Header) // a failure is kept until the end
	text := xml.NewEncoder(out)
	text.Indent("", "  ")
	if err := text.Encode(all); err != nil {
		return err
	}
	_ = out.WriteByte('\n')
	return out.Flush()
}

// count sets the totals, and gives cases of one name a number: readers know a
// case by its name.
func (s *testSuite) count() {
	seen := map[safe]int{}
	for i := range s.Cases {
		c := &s.Cases[i]
		name := c.Class + "\n" + c.Name
		if seen[name]++; seen[name] > 1 {
			c.Name += " (" + number(seen[name]) + ")"
		}
		switch {
		case c.Error != nil:
			s.Errors++
		case c.Failure != nil:
			s.Failures++
		case c.Skipped != nil:
			s.Skipped++
		}
	}
	s.Tests = len(s.Cases)
}

// runProperties are about the run as a whole.
func runProperties(doc Document) *testProperties {
	list := []testProperty{
		{"command", attribute(clean(doc.Command))},
		{"result", attribute(clean(doc.Result))},
		{"exit-code", number(doc.ExitCode)},
		{"summary", attribute(runSummary(doc))},
	}
	if doc.Plan != nil && doc.Plan.Digest != "" {
		list = append(list, testProperty{"digest", attribute(clean(doc.Plan.Digest))})
	}
	if doc.Plan != nil {
		for _, r := range noteRemarks(doc.Plan) {
			list = append(list, testProperty{"note", attribute(join(r.lines(), "; "))})
		}
	}
	return &testProperties{list}
}

// attribute is text for an attribute: a runner may see its line in a log.
func attribute(s safe) safe { return guarded(s) }

// manifestSuite has what is wrong with manifests and with the run; where nothing
// is, one case says that they were read.
func manifestSuite(doc Document) testSuite {
	s := testSuite{Name: "manifests"}
	for _, e := range doc.Errors {
		s.Cases = append(s.Cases, testCase{Class: "trueup", Name: "run", Error: ended("run", message(e), nil)})
	}
	var advice diag.List
	if doc.Plan != nil {
		advice = doc.Plan.Advice
	}
	for _, f := range slices.Concat(doc.Findings, advice) {
		r := findingRemark(f, doc.Place)
		c := testCase{Class: "trueup.manifests", Name: attribute(join(filled(r.rule, cut(clean(f.Path), maxPath), cut(clean(f.Field), maxPath)), " "))}
		text := append([]safe{place(f) + message(f.Message)}, r.more...)
		if f.Severity == diag.Error {
			c.Failure = ended(r.rule, message(f.Message), text)
		} else {
			c.Out = &testLines{block(text)}
		}
		s.Cases = append(s.Cases, c)
	}
	if len(s.Cases) == 0 {
		s.Cases = []testCase{{Class: "trueup.manifests", Name: "manifests", Out: &testLines{block([]safe{findingsSummary(doc)})}}}
	}
	return s
}

func planSuite(doc Document) testSuite {
	s := testSuite{Name: attribute(cut(clean(doc.Command), maxName))}
	s.Cases = settingCases(doc.Plan)
	for _, item := range doc.Plan.Items {
		rows := itemRows(item, Options{})
		lines := objectLines(item, rows)
		c := objectCase(item.Key)
		switch {
		case item.Op == plan.Blocked:
			c.Failure = ended("blocked", "blocked: "+message(item.Reason), lines)
		case doc.Command == "drift":
			c.Failure = ended("drift", driftHeadline(item, rows), lines)
		case item.Op == plan.Deferred || item.Op == plan.InFlight:
			c.Skipped = ended("", message(item.Reason), nil)
			c.Out = &testLines{block(lines)}
		default:
			c.Out = &testLines{block(lines)}
		}
		s.Cases = append(s.Cases, c)
	}
	return s
}

// settingCases are the settings that differ from the base, also after an apply.
func settingCases(pl *plan.Plan) []testCase {
	var cases []testCase
	for _, setting := range pl.Settings {
		lines := []safe{sentence(settingRow(setting))}
		for _, n := range settingNotes(pl, setting) {
			lines = append(lines, n.text)
		}
		cases = append(cases, testCase{Class: "trueup.settings", Name: attribute(cut(clean(setting.Field), maxPath)), Out: &testLines{block(lines)}})
	}
	return cases
}

// maxItem is the number of bytes that a case tells of one object, beside the paths of
// changes of the first two risks.
const maxItem = 12000

// objectLines are what is to be said of an object: where it is, what happens to
// it and why.
func objectLines(item plan.Item, rows []row) []safe {
	head := headline(item, rows)
	if at := source(item); at != "" {
		head = at + ": " + head
	}
	pieces := diffPieces(group{item: item, rows: rows})
	all := section{pieces: pieces}
	if all.size() <= maxItem {
		return append([]safe{head}, linesOf(pieces)...)
	}
	lines, _ := within(pieces, maxItem)
	return append([]safe{head}, lines...)
}

// objectCase is the case of an object.
func objectCase(key kind.Key) testCase {
	return testCase{Class: attribute("trueup." + cut(clean(key.Kind), maxName)), Name: attribute(named(key))}
}

// driftHeadline is what drifted of an object: a single line says all.
func driftHeadline(item plan.Item, rows []row) safe {
	if len(rows) == 1 {
		return sentence(rows[0])
	}
	return headline(item, rows)
}

// applySuite says how each object ended, and below that what the plan had said.
func applySuite(doc Document) testSuite {
	s := testSuite{Name: attribute(cut(clean(doc.Command), maxName))}
	column, planned := keyWidth(doc.Apply), itemsByKey(doc)
	if doc.Plan != nil {
		s.Cases = settingCases(doc.Plan)
	}
	for _, o := range doc.Apply.Outcomes {
		lines := printed(func(p *printer) { textOutcome(p, o, column) })
		if item, ok := planned[o.Key]; ok {
			lines = append(lines, objectLines(item, itemRows(item, Options{}))...)
		}
		c := objectCase(o.Key)
		switch rule := outcomeRule(o); {
		case rule == ruleSkipped || rule == ruleNoRoom:
			c.Skipped = ended("", message(o.Message), nil)
			c.Out = &testLines{block(lines)}
		case rule != "":
			c.Failure = ended(clean(string(o.Verdict)), message(o.Message), lines)
		default:
			c.Out = &testLines{block(lines)}
		}
		s.Cases = append(s.Cases, c)
	}
	return s
}

// ended is the end of a case that did not pass.
func ended(kind, text safe, lines []safe) *testEnd {
	end := &testEnd{Message: attribute(text), Type: attribute(kind)}
	if len(lines) > 0 {
		end.Text = block(lines)
	}
	return end
}

// block are lines of text from outside, none of which a runner takes for a
// command.
func block(lines []safe) safe {
	out := make([]safe, len(lines))
	for i, line := range lines {
		out[i] = guarded(line)
	}
	return join(out, "\n")
}
