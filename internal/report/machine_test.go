package report

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"errors"
	"io"
	"net/url"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v5"
)

// machineChecks hold what the readers of each format ask of it.
func machineChecks() map[string]func(*testing.T, []byte) {
	return map[string]func(*testing.T, []byte){
		"sarif": checkSARIF, "codequality": checkCodeQuality, "junit": checkJUnit, "github": checkCommands,
		"outputs": checkOutputs,
	}
}

// checkFormat holds what is true of an output of that format.
func checkFormat(t *testing.T, name string, out []byte) {
	t.Helper()
	if check := machineChecks()[name]; check != nil {
		check(t, out)
	}
	if name != "github" {
		checkPlain(t, name, out)
	}
}

// sarifSchema is the schema of the standard (testdata/schemas/README.md).
var sarifSchema = sync.OnceValue(func() *jsonschema.Schema {
	c := jsonschema.NewCompiler()
	c.AssertFormat = true
	return c.MustCompile("testdata/schemas/sarif-schema-2.1.0.json")
})

func checkSARIF(t *testing.T, out []byte) {
	t.Helper()
	var v any
	if err := json.Unmarshal(out, &v); err != nil {
		t.Fatalf("%v in %s", err, out)
	}
	if err := sarifSchema().Validate(v); err != nil {
		t.Fatalf("%#v in %s", err, out)
	}
	var log struct {
		Runs []struct {
			Tool struct {
				Driver struct{ Rules []map[string]any }
			}
			AutomationDetails struct{ ID string }
			Results           []struct {
				RuleID              string
				RuleIndex           int
				Message             struct{ Text string }
				PartialFingerprints map[string]string
				Locations           []struct {
					PhysicalLocation struct {
						ArtifactLocation struct{ URI, URIBaseID string }
					}
				}
			}
		}
	}
	if err := json.Unmarshal(out, &log); err != nil {
		t.Fatal(err)
	}
	run := log.Runs[0]
	if len(run.Results) > maxResults || len(run.Tool.Driver.Rules) > 25000 || !strings.HasSuffix(run.AutomationDetails.ID, "/") {
		t.Errorf("%d results, %d rules, id %q", len(run.Results), len(run.Tool.Driver.Rules), run.AutomationDetails.ID)
	}
	for _, rule := range run.Tool.Driver.Rules {
		for _, field := range []string{"shortDescription", "fullDescription", "help"} {
			if text, _ := rule[field].(map[string]any)["text"].(string); text == "" || len(text) > 4*1024 {
				t.Errorf("%s of rule %v is %q", field, rule["id"], text)
			}
		}
	}
	prints := map[string]bool{}
	for _, r := range run.Results {
		if r.RuleID == "" || run.Tool.Driver.Rules[r.RuleIndex]["id"] != r.RuleID {
			t.Errorf("rule %q is at %d", r.RuleID, r.RuleIndex)
		}
		if r.Message.Text == "" || linkOrPlaceholder.MatchString(r.Message.Text) {
			t.Errorf("message %q", r.Message.Text)
		}
		if len(r.Locations) != 1 {
			t.Fatalf("%d locations", len(r.Locations))
		}
		checkURI(t, r.Locations[0].PhysicalLocation.ArtifactLocation.URI)
		if id := r.PartialFingerprints["trueup/v1"]; id == "" || prints[id] {
			t.Errorf("fingerprint %q is there twice", id)
		}
		prints[r.PartialFingerprints["trueup/v1"]] = true
	}
}

// linkOrPlaceholder is what SARIF reads in a plain text (3.11.5, 3.11.6), after
// pairs of braces, which stand for one.
var linkOrPlaceholder = regexp.MustCompile(`\]\(|^(?:[^{]|\{\{)*\{(?:[^{]|$)`)

// checkURI holds that an address is one of a file below the top.
func checkURI(t *testing.T, uri string) {
	t.Helper()
	u, err := url.Parse(uri)
	if err != nil || u.Scheme != "" || u.Host != "" || u.RawQuery != "" || u.Fragment != "" || !local(u.Path) {
		t.Errorf("address %q: %v", uri, err)
	}
}

// local reports whether a path stays below the top.
func local(file string) bool {
	return file != "" && path.Clean(file) == file && !strings.HasPrefix(file, "/") && file != ".." && !strings.HasPrefix(file, "../")
}

func checkCodeQuality(t *testing.T, out []byte) {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader(out))
	d.DisallowUnknownFields()
	issues := []struct {
		Description string `json:"description"`
		CheckName   string `json:"check_name"`
		Fingerprint string `json:"fingerprint"`
		Severity    string `json:"severity"`
		Location    struct {
			Path  string `json:"path"`
			Lines struct {
				Begin int `json:"begin"`
			} `json:"lines"`
		} `json:"location"`
	}{}
	if err := d.Decode(&issues); err != nil || issues == nil {
		t.Fatalf("%v in %s", err, out)
	}
	prints := map[string]bool{}
	for _, i := range issues {
		if i.Description == "" || i.CheckName == "" || i.Location.Lines.Begin < 1 || !local(i.Location.Path) {
			t.Errorf("%+v", i)
		}
		if !slices.Contains([]string{"info", "minor", "major", "critical", "blocker"}, i.Severity) {
			t.Errorf("severity %q", i.Severity)
		}
		if len(i.Fingerprint) != 64 || prints[i.Fingerprint] {
			t.Errorf("fingerprint %q is there twice", i.Fingerprint)
		}
		prints[i.Fingerprint] = true
	}
}

// junitElement says what an element of the strictest schema of JUnit may hold,
// that of Jenkins' plugin xUnit (junit-10.xsd): its children, the attributes that
// it must have and those that it may.
type junitElement struct {
	children, must, may []string
	text                bool
}

func junitForm() map[string]junitElement {
	end := junitElement{may: []string{"message", "type"}, text: true}
	return map[string]junitElement{
		"":           {children: []string{"testsuites"}},
		"testsuites": {children: []string{"testsuite"}, may: []string{"name", "tests", "failures", "errors", "time", "disabled"}},
		"testsuite": {
			children: []string{"properties", "testcase", "system-out", "system-err"}, must: []string{"name", "tests"},
			may: []string{"failures", "errors", "skipped", "time", "timestamp", "hostname", "id", "package"},
		},
		"properties": {children: []string{"property"}},
		"property":   {must: []string{"name", "value"}},
		"testcase":   {children: []string{"skipped", "error", "failure", "system-out", "system-err"}, must: []string{"name"}, may: []string{"classname", "time"}},
		"failure":    end, "error": end, "skipped": end,
		"system-out": {text: true}, "system-err": {text: true},
	}
}

func checkJUnit(t *testing.T, out []byte) {
	t.Helper()
	form, open := junitForm(), []string{""}
	d := xml.NewDecoder(bytes.NewReader(out))
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatalf("%v in %s", err, out)
		}
		in := form[open[len(open)-1]]
		switch n := token.(type) {
		case xml.StartElement:
			if !slices.Contains(in.children, n.Name.Local) {
				t.Fatalf("%s in %q", n.Name.Local, open)
			}
			open = append(open, n.Name.Local)
			checkAttributes(t, n, form[n.Name.Local])
		case xml.EndElement:
			open = open[:len(open)-1]
		case xml.CharData:
			if !in.text && strings.TrimSpace(string(n)) != "" {
				t.Fatalf("text %q in %q", n, open)
			}
		case xml.ProcInst:
			if n.Target != "xml" {
				t.Fatalf("instruction %q", n.Target)
			}
		default:
			t.Fatalf("%#v", token)
		}
	}
	checkCounts(t, out)
}

func checkAttributes(t *testing.T, n xml.StartElement, form junitElement) {
	t.Helper()
	seen := map[string]bool{}
	for _, a := range n.Attr {
		if seen[a.Name.Local] || !slices.Contains(slices.Concat(form.must, form.may), a.Name.Local) {
			t.Errorf("%s has %s", n.Name.Local, a.Name.Local)
		}
		seen[a.Name.Local] = true
	}
	for _, name := range form.must {
		if !seen[name] {
			t.Errorf("%s has no %s", n.Name.Local, name)
		}
	}
}

// checkCounts holds that the totals are right, that there is a case, and that
// every case has a name of its own.
func checkCounts(t *testing.T, out []byte) {
	t.Helper()
	type counts struct {
		Tests    int `xml:"tests,attr"`
		Failures int `xml:"failures,attr"`
		Errors   int `xml:"errors,attr"`
	}
	var all struct {
		counts
		Suites []struct {
			Name string `xml:"name,attr"`
			counts
			Skipped int `xml:"skipped,attr"`
			Cases   []struct {
				Class   string    `xml:"classname,attr"`
				Name    string    `xml:"name,attr"`
				Failure *struct{} `xml:"failure"`
				Error   *struct{} `xml:"error"`
				Skipped *struct{} `xml:"skipped"`
			} `xml:"testcase"`
		} `xml:"testsuite"`
	}
	if err := xml.Unmarshal(out, &all); err != nil {
		t.Fatal(err)
	}
	var total counts
	for _, s := range all.Suites {
		var got counts
		skipped, names := 0, map[string]bool{}
		for _, c := range s.Cases {
			name := c.Class + "/" + c.Name
			if names[name] {
				t.Errorf("two cases %q in %q", name, s.Name)
			}
			names[name] = true
			ends := 0
			for _, end := range []struct {
				is *struct{}
				n  *int
			}{{c.Failure, &got.Failures}, {c.Error, &got.Errors}, {c.Skipped, &skipped}} {
				if end.is != nil {
					ends++
					*end.n++
				}
			}
			if ends > 1 {
				t.Errorf("case %q has %d ends", name, ends)
			}
		}
		if got.Tests = len(s.Cases); got != s.counts || skipped != s.Skipped {
			t.Errorf("suite %q says %+v and %d skipped, and has %+v and %d", s.Name, s.counts, s.Skipped, got, skipped)
		}
		total.Tests += got.Tests
		total.Failures += got.Failures
		total.Errors += got.Errors
	}
	if total != all.counts || total.Tests == 0 {
		t.Errorf("all say %+v, and have %+v", all.counts, total)
	}
}

// runnerCommand is a line as GitHub's runner reads it; ok is false for a line
// that is none.
func runnerCommand(line string) (name string, properties map[string]string, data string, ok bool) {
	line = strings.TrimLeft(line, " \t\v\f\r\u0085\u00a0\u2003")
	rest, ok := strings.CutPrefix(line, "::")
	if !ok {
		return "", nil, "", false
	}
	info, data, ok := strings.Cut(rest, "::")
	if !ok {
		return "", nil, "", false
	}
	name, list, _ := strings.Cut(info, " ")
	properties = map[string]string{}
	for pair := range strings.SplitSeq(strings.TrimSpace(list), ",") {
		if key, value, ok := strings.Cut(pair, "="); ok {
			properties[key] = undone(value, "%0D", "\r", "%0A", "\n", "%3A", ":", "%2C", ",", "%25", "%")
		}
	}
	return name, properties, undone(data, "%0D", "\r", "%0A", "\n", "%25", "%"), true
}

// undone replaces one after the other, as the runner does.
func undone(s string, pairs ...string) string {
	for i := 0; i < len(pairs); i += 2 {
		s = strings.ReplaceAll(s, pairs[i], pairs[i+1])
	}
	return s
}

// checkCommands holds that every line is an annotation, and that there are no
// more of a level than are shown.
func checkCommands(t *testing.T, out []byte) {
	t.Helper()
	counts := map[string]int{}
	for line := range strings.Lines(string(out)) {
		name, properties, data, ok := runnerCommand(strings.TrimSuffix(line, "\n"))
		if !ok || !slices.Contains([]string{"error", "warning", "notice"}, name) || data == "" {
			t.Fatalf("%q in %q", name, line)
		}
		for key := range properties {
			if !slices.Contains([]string{"file", "line", "col", "title"}, key) {
				t.Errorf("%q in %q", key, line)
			}
		}
		if file, ok := properties["file"]; ok && !local(file) {
			t.Errorf("file %q", file)
		}
		if counts[name]++; counts[name] > maxAnnotations {
			t.Errorf("%d of %s", counts[name], name)
		}
	}
	if counts["notice"] == 0 {
		t.Errorf("no summary in %q", out)
	}
	// What comes after the first colons is looked at as any other output.
	checkPlain(t, "github", bytes.ReplaceAll(append([]byte("\n"), out...), []byte("\n::"), []byte("\n")))
}

// checkOutputs reads a file of outputs as the runner does: key=value, or the
// first line of a text of many lines, which there must be none of.
func checkOutputs(t *testing.T, out []byte) {
	t.Helper()
	form := regexp.MustCompile(`^[a-z][a-z-]*=[A-Za-z0-9:._-]*\n$`)
	seen := map[string]bool{}
	for line := range strings.Lines(string(out)) {
		key, _, _ := strings.Cut(line, "=")
		if !form.MatchString(line) || seen[key] {
			t.Errorf("%q", line)
		}
		seen[key] = true
	}
	if !seen["result"] || !seen["exit-code"] {
		t.Errorf("%q", out)
	}
}

func checkDotenv(t *testing.T, out []byte) {
	t.Helper()
	if !regexp.MustCompile(`^(TRUEUP_[A-Z_]+=[A-Za-z0-9:._-]*\n){2,20}$`).Match(out) || len(out) > 5<<10 {
		t.Errorf("%q", out)
	}
}
