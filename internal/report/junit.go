package report

import (
	"bufio"
	"encoding/xml"
	"io"
	"slices"

	"trueup/internal/diag"
	"trueup/internal/kind"
	"trueup/internal/plan"
	"trueup/internal/safetext"
)

// testSuites is JUnit's XML, limited to what the strictest schema of build servers allows.
type testSuites struct {
	XMLName xml.Name `xml:"testsuites"`
	Name    string   `xml:"name,attr"`
	testCounts
	Suites []testSuite `xml:"testsuite"`
}

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
	Name  string `xml:"name,attr"`
	Value safe   `xml:"value,attr"`
}

// testCase passed if it has no Failure, Error or Skipped.
type testCase struct {
	Class   safe       `xml:"classname,attr"`
	Name    safe       `xml:"name,attr"`
	Failure *testEnd   `xml:"failure"`
	Error   *testEnd   `xml:"error"`
	Skipped *testEnd   `xml:"skipped"`
	Out     *testLines `xml:"system-out"`
}

type testEnd struct {
	Message safe   `xml:"message,attr"`
	Type    string `xml:"type,attr,omitempty"`
	Text    safe   `xml:",cdata"`
}

type testLines struct {
	Text safe `xml:",cdata"`
}

// writeJUnit writes a test case for each object and each finding. A case fails if a person
// must act: blocked objects in a plan, drift in drift, requests that failed in apply.
func writeJUnit(w io.Writer, doc Document, _ Options) error {
	all := testSuites{Name: "trueup"}
	suites := []testSuite{manifestSuite(doc)}
	if doc.Plan != nil || doc.Apply != nil {
		s := testSuite{Name: clean(doc.Command).Cut(maxName).Guarded(), Cases: settingCases(doc)}
		if doc.Apply != nil {
			s.Cases = append(s.Cases, applyCases(doc)...)
		} else {
			s.Cases = append(s.Cases, planCases(doc)...)
		}
		suites = append(suites, s)
	}
	for _, s := range suites {
		s.count()
		all.Suites = append(all.Suites, s)
		all.Tests += s.Tests
		all.Failures += s.Failures
		all.Errors += s.Errors
	}
	out := bufio.NewWriter(w)
	_, _ = out.WriteString(xml.Header) // Flush returns the error
	text := xml.NewEncoder(out)
	text.Indent("", "  ")
	if err := text.Encode(all); err != nil {
		return err
	}
	_ = out.WriteByte('\n')
	return out.Flush()
}

// count sets the totals and numbers cases with the same name: readers tell cases apart by name.
func (s *testSuite) count() {
	seen := map[[2]safe]int{}
	for i := range s.Cases {
		c := &s.Cases[i]
		name := [2]safe{c.Class, c.Name}
		if seen[name]++; seen[name] > 1 {
			c.Name = safetext.F("%s (%d)", c.Name, seen[name])
		}
		s.Errors += oneIf(c.Error != nil)
		s.Failures += oneIf(c.Failure != nil)
		s.Skipped += oneIf(c.Skipped != nil)
	}
	s.Tests = len(s.Cases)
}

func runProperties(doc Document) *testProperties {
	list := []testProperty{
		{"command", clean(doc.Command)}, {"result", clean(doc.Result)}, {"exit-code", safetext.Number(doc.ExitCode)}, {"summary", runSummary(doc)},
	}
	if doc.Plan != nil {
		if doc.Plan.Digest != "" {
			list = append(list, testProperty{"digest", clean(doc.Plan.Digest)})
		}
		for _, r := range noteRemarks(doc.Plan) {
			list = append(list, testProperty{"note", safetext.Join(r.lines(), "; ")})
		}
	}
	for i := range list {
		list[i].Value = list[i].Value.Guarded() // a runner may find a command in a log of the file
	}
	return &testProperties{list}
}

// manifestSuite has the findings and errors, or one case that passed.
func manifestSuite(doc Document) testSuite {
	s := testSuite{Name: clean("manifests"), Properties: runProperties(doc)}
	for _, e := range doc.Errors {
		s.Cases = append(s.Cases, testCase{Class: clean("trueup"), Name: clean("run"), Error: ended("run", message(e), nil)})
	}
	var advice diag.List
	if doc.Plan != nil {
		advice = doc.Plan.Advice
	}
	class := clean("trueup.manifests")
	for _, f := range slices.Concat(doc.Findings, advice) {
		r := findingRemark(f, doc.Place)
		name := safetext.Filled(clean(r.rule), clean(f.Path).Cut(maxPath), clean(f.Field).Cut(maxPath))
		c := testCase{Class: class, Name: safetext.Join(name, " ").Guarded()}
		text := append([]safe{safetext.F("%s%s", place(f), message(f.Message))}, r.more...)
		if f.Severity == diag.Error {
			c.Failure = ended(r.rule, message(f.Message), text)
		} else {
			c.Out = block(text)
		}
		s.Cases = append(s.Cases, c)
	}
	if len(s.Cases) == 0 {
		s.Cases = []testCase{{Class: class, Name: s.Name, Out: block([]safe{findingsSummary(doc)})}}
	}
	return s
}

func planCases(doc Document) (cases []testCase) {
	for _, item := range doc.Plan.Items {
		rows := itemRows(item, Options{})
		lines := objectLines(item, rows)
		c := objectCase(item.Key)
		switch {
		case item.Op == plan.Blocked:
			c.Failure = ended("blocked", safetext.F("blocked: %s", message(item.Reason)), lines)
		case doc.Command == "drift" && len(rows) == 1:
			c.Failure = ended("drift", sentence(rows[0]), lines)
		case doc.Command == "drift":
			c.Failure = ended("drift", headline(item, rows), lines)
		case item.Op == plan.Deferred || item.Op == plan.InFlight:
			c.Skipped, c.Out = ended("", message(item.Reason), nil), block(lines)
		default:
			c.Out = block(lines)
		}
		cases = append(cases, c)
	}
	return cases
}

func settingCases(doc Document) (cases []testCase) {
	for _, r := range settingRemarks(doc) {
		name := clean(r.field).Cut(maxPath).Guarded()
		cases = append(cases, testCase{Class: clean("trueup.settings"), Name: name, Out: block(r.lines())})
	}
	return cases
}

// maxItem limits the bytes about an object in a case; paths of grave changes come on top.
const maxItem = 12000

func objectLines(item plan.Item, rows []row) []safe {
	head := safetext.Join(safetext.Filled(source(item), headline(item, rows)), ": ")
	lines, _ := within(diffPieces(group{item: item, rows: rows}), maxItem)
	return append([]safe{head}, lines...)
}

func objectCase(key kind.Key) testCase {
	return testCase{Class: safetext.F("trueup.%s", clean(key.Kind).Cut(maxName)).Guarded(), Name: named(key).Guarded()}
}

// applyCases has the outcome of each object, and what the plan was.
func applyCases(doc Document) (cases []testCase) {
	column, planned := keyWidth(doc.Apply), itemsByKey(doc)
	for _, o := range doc.Apply.Outcomes {
		lines := printed(func(p *printer) { textOutcome(p, o, column) })
		if item, ok := planned[o.Key]; ok {
			lines = append(lines, objectLines(item, itemRows(item, Options{}))...)
		}
		c := objectCase(o.Key)
		switch rule := outcomeRule(o); rule {
		case "":
			c.Out = block(lines)
		case "apply/skipped", "apply/deferred":
			c.Skipped, c.Out = ended("", message(o.Message), nil), block(lines)
		default:
			c.Failure = ended(string(o.Verdict), message(o.Message), lines)
		}
		cases = append(cases, c)
	}
	return cases
}

func ended(reason string, text safe, lines []safe) *testEnd {
	return &testEnd{Message: text.Guarded(), Type: clean(reason).Guarded().String(), Text: block(lines).Text}
}

// block joins lines, so that a runner executes none of them.
func block(lines []safe) *testLines {
	out := make([]safe, len(lines))
	for i, line := range lines {
		out[i] = line.Guarded()
	}
	return &testLines{safetext.Join(out, "\n")}
}
