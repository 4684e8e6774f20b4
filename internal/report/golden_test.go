package report

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"trueup/internal/apply"
	"trueup/internal/canon"
	"trueup/internal/diag"
	"trueup/internal/kind"
	"trueup/internal/plan"
	"trueup/internal/view"
)

var update = flag.Bool("update", false, "write the golden files")

func key(kindName, name string) kind.Key { return kind.Key{Kind: kindName, Name: name} }

func digest(s string) *canon.Sum {
	sum := canon.Digest([]byte(s))
	return &sum
}

type goldenCase struct {
	name string
	doc  Document
	opts view.TextOptions
}

func goldenCases() []goldenCase {
	planDoc := Document{Command: "plan", Result: "changes", ExitCode: 2, Objects: 8, Plan: examplePlan()}
	return []goldenCase{
		{"plan", planDoc, view.TextOptions{}},
		{"plan-all", planDoc, view.TextOptions{Verbose: true, Width: 140}},
		{"explained", Document{Command: "show", Result: "ok", Plan: explainedPlan(), Files: []SideReport{{"html", "plan.html"}}, RunURL: "https://ci.example.com/runs/7"}, view.TextOptions{Verbose: true}},
		{"offline", Document{Command: "plan", Result: "ok", Sandbox: true, Plan: &plan.Plan{Format: plan.Format, Offline: true, Items: []plan.Item{createdItem()}, Summary: plan.Summary{Create: 1}}}, view.TextOptions{}},
		{"plan-empty", Document{Command: "plan", Result: "ok", Sandbox: true, Plan: &plan.Plan{Format: plan.Format, Sandbox: true, Summary: plan.Summary{Unchanged: 7}}}, view.TextOptions{}},
		{"drift", Document{Command: "drift", Result: "ok", Plan: &plan.Plan{Format: plan.Format, Summary: plan.Summary{Unchanged: 3, Unmanaged: 1}}}, view.TextOptions{}},
		{"validate", Document{Command: "validate", Result: "invalid", ExitCode: 4, Objects: 12, Findings: exampleFindings()}, view.TextOptions{}},
		{"tests", Document{Command: "test", Result: "invalid", ExitCode: 4, Objects: 3, Tests: exampleTests(), Findings: exampleTests().Findings(diag.Error)}, view.TextOptions{}},
		{"validate-ok", Document{Command: "validate", Result: "ok", Objects: 1}, view.TextOptions{}},
		{"apply", Document{Command: "apply", Result: "auth", ExitCode: 8, Sandbox: true, Objects: 8, Apply: exampleResult()}, view.TextOptions{}},
		{"apply-nothing", Document{Command: "apply", Result: "ok", Apply: &apply.Result{}}, view.TextOptions{}},
		{"merged", mergedExample(), view.TextOptions{}},
		{"errors", Document{Command: "plan", Result: "internal", ExitCode: 1, Errors: []string{"get CDN/shop: 502 Bad Gateway", "list: connection refused"}}, view.TextOptions{}},
	}
}

func TestGoldens(t *testing.T) {
	for _, c := range goldenCases() {
		for f, ending := range map[string]string{"text": ".txt", "markdown": ".md", "json": ".json", "html": ".html"} {
			t.Run(c.name+"/"+f, func(t *testing.T) {
				checkGolden(t, c.name+ending, withoutLook(render(t, f, c.doc, c.opts)))
			})
		}
	}
}

// withoutLook leaves out a page's style, script and policy, which are files of
// their own.
func withoutLook(out []byte) []byte {
	look := regexp.MustCompile(`(?s)<style>.*</style>|<script>.*</script>|<meta http-equiv[^>]*>`)
	return look.ReplaceAll(out, nil)
}

func TestGoldenNarrow(t *testing.T) {
	checkGolden(t, "plan-narrow.txt", render(t, "text", Document{Command: "plan", Plan: examplePlan()}, view.TextOptions{Width: 60}))
}

func TestGoldenColour(t *testing.T) {
	c := goldenCases()[0]
	c.opts.Color = true
	c.opts.Width = 120
	checkGolden(t, "plan.ansi", render(t, "text", c.doc, c.opts))
}

func render(t *testing.T, format string, doc Document, opts view.TextOptions) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := Write(&b, format, doc, opts); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func checkGolden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", "golden", name)
	if *update {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s differs; run the test with -update and look at the change.\ngot:\n%s", path, got)
	}
}
