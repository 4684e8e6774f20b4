package report

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"trueup/internal/view"

	"pgregory.net/rapid"

	"trueup/internal/diag"
	"trueup/internal/merge"
	"trueup/internal/plan"
	"trueup/internal/safetext"
)

// machineEndings are the ends of the golden files of formats for programs.
func machineEndings() map[string]string {
	return map[string]string{
		"sarif": ".sarif", "codequality": ".codequality.json", "junit": ".junit.xml",
		"github": ".github", "outputs": ".outputs",
	}
}

// machineCases are goldens in a repository: the run is in a folder of it.
func machineCases() []goldenCase {
	var cases []goldenCase
	for _, c := range goldenCases() {
		if slices.Contains([]string{"plan", "validate", "validate-ok", "apply", "errors", "merged"}, c.name) {
			cases = append(cases, c)
		}
	}
	drifted := examplePlan()
	drifted.Requests = nil // a plan that is made ForDrift has those of drift alone
	drifted = plan.NarrowToDrift(drifted)
	cases = append(cases, goldenCase{"drift-found", Document{Command: "drift", Result: "changes", ExitCode: 2, Objects: 8, Plan: drifted}, view.TextOptions{}})
	for i := range cases {
		cases[i].doc.Place = FolderInRepo{Top: "/home/me/shop", Folder: "envs/prod", Project: "trueup.yaml"}
		if cases[i].name == "apply" {
			cases[i].doc.Plan = examplePlan()
		}
	}
	told := &cases[0].doc
	told.Plan.Digest, told.Plan.Offline = "sha256:"+strings.Repeat("5f", 32), true
	told.Plan.Blame = &plan.ComparedCommits{Problem: "this clone has no commit of main", Fix: "fetch-depth: 0"}
	told.Plan.Advice = diag.List{{
		Path: "manifests/shop.yaml", Line: 9, Column: 5, Rule: "purge-all", Severity: diag.Advice,
		Message: "/* flushes everything", Fix: "name what changed", Source: `    paths: ["/*"]`,
	}}
	changes := told.Plan.Items[slices.IndexFunc(told.Plan.Items, func(it plan.Item) bool { return it.Name == "shop" })].Changes
	changes[1].Line, changes[1].Column = 21, 9
	changes[0].Cause = plan.FromPending
	return cases
}

func TestMachineGoldens(t *testing.T) {
	for _, c := range machineCases() {
		for format, ending := range machineEndings() {
			t.Run(c.name+"/"+format, func(t *testing.T) {
				out := render(t, format, c.doc, c.opts)
				checkFormat(t, format, out)
				checkGolden(t, c.name+ending, out)
			})
		}
	}
}

// TestAnyDocumentIsValid: whatever a Document holds, every format is valid, the
// same bytes each time, and within what its readers take.
func TestAnyDocumentIsValid(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		text := rapid.OneOf(rapid.SampledFrom(seeds), rapid.String())
		var doc Document
		for i := range rapid.IntRange(1, 4).Draw(r, "parts") {
			part := hostile(text.Draw(r, "text"), text.Draw(r, "value"), rapid.SampledFrom(ops).Draw(r, "op"),
				rapid.SampledFrom(classes).Draw(r, "class"), rapid.IntRange(0, 30).Draw(r, "n"))
			if i == 0 {
				doc = part
			}
			doc.Errors = append(doc.Errors, part.Errors...)
			doc.Findings = append(doc.Findings, part.Findings...)
			doc.Plan.Items = append(doc.Plan.Items, part.Plan.Items...)
			doc.Apply.Outcomes = append(doc.Apply.Outcomes, part.Apply.Outcomes...)
		}
		if rapid.Bool().Draw(r, "no apply") {
			doc.Apply = nil
		}
		format := rapid.SampledFrom(slices.Sorted(maps.Keys(machineChecks()))).Draw(r, "format")
		out := render(t, format, doc, view.TextOptions{})
		checkFormat(t, format, out)
		if !bytes.Equal(out, render(t, format, doc, view.TextOptions{})) {
			t.Errorf("%s is not the same twice", format)
		}
	})
}

// many is a plan with a number of drifted objects, and as many findings of each
// severity.
func many(n int) Document {
	doc := Document{Command: "plan", Plan: &plan.Plan{}}
	for i := range n {
		path := fmt.Sprintf("manifests/%d.yaml", i)
		doc.Findings = append(doc.Findings,
			diag.Finding{Path: path, Line: 1, Rule: "a", Message: "bad", Severity: diag.Warning},
			diag.Finding{Path: path, Line: 2, Rule: "b", Message: "worse", Severity: diag.Error})
		doc.Plan.Advice = append(doc.Plan.Advice, diag.Finding{Path: path, Line: 3, Rule: "c", Message: "hm", Severity: diag.Advice})
		doc.Plan.Items = append(doc.Plan.Items, plan.Item{
			Key: key("CDN", fmt.Sprint(i)), Path: path, Line: 1, Op: plan.Patch,
			Changes: changes([]merge.Difference{{Path: "tls.forced", Class: merge.DriftOverwrite, Base: "a", Live: "b", Desired: "a"}}),
		})
	}
	return doc
}

// TestTheMostImportantIsKept: of more than a host takes, errors stay and the rest
// is counted.
func TestTheMostImportantIsKept(t *testing.T) {
	doc := many(300)
	for _, c := range []struct {
		room                 sarifRoom
		errs, warnings, rest int
	}{
		{sarifRoom{500, maxResultBytes}, 300, 200, 700},
		{sarifRoom{maxResults, maxResultBytes}, 300, 600, 0},
		{sarifRoom{100, maxResultBytes}, 100, 0, 1100},
		{sarifRoom{maxResults, 0}, 0, 0, 1200},
	} {
		run, err := newSARIF(doc, c.room)
		if err != nil {
			t.Fatal(err)
		}
		counts := levelsOf(t, run.Results)
		if counts["error"] != c.errs || counts["warning"] != c.warnings {
			t.Errorf("%v in %+v", counts, c.room)
		}
		if run.Left != c.rest {
			t.Errorf("%d did not fit, want %d", run.Left, c.rest)
		}
	}

	for _, room := range []int{5000, 50_000} {
		if n := len(render(t, "markdown", doc, view.TextOptions{Room: room})); n > room || n < room/2 {
			t.Errorf("a report with room for %d bytes takes %d", room, n)
		}
	}
	doc.Files = []SideReport{{Format: "json", Path: "plan.json"}}
	lines := strings.Split(string(render(t, "github", doc, view.TextOptions{})), "\n")
	if want := "::error title=trueup plan::and 291 more of this kind, which this report does not show: look into the JSON report plan.json"; lines[9] != want {
		t.Errorf("%q, want %q", lines[9], want)
	}
	if len(lines) != 31 {
		t.Errorf("%d annotations", len(lines)-1)
	}
}

// TestBigResultsStayWithinTheUpload: results that are long fill the bytes.
func TestBigResultsStayWithinTheUpload(t *testing.T) {
	doc := Document{Command: "validate"}
	for i := range 20 {
		doc.Findings = append(doc.Findings, diag.Finding{Path: fmt.Sprintf("%d.yaml", i), Rule: fmt.Sprint(i), Severity: diag.Error, Message: strings.Repeat("x", 1000)})
	}
	run, err := newSARIF(doc, sarifRoom{maxResults, 10_000})
	if err != nil {
		t.Fatal(err)
	}
	size := 0
	for _, r := range run.Results {
		size += len(r)
	}
	if size > 10_000 || size < 8000 || len(run.Rules) != len(run.Results) || run.Left == 0 {
		t.Errorf("%d bytes of %d results with %d rules, %v", size, len(run.Results), len(run.Rules), run.Left)
	}
}

// levelsOf counts results by their level.
func levelsOf(t *testing.T, results []json.RawMessage) map[string]int {
	t.Helper()
	counts := map[string]int{}
	for _, text := range results {
		var r struct{ Level string }
		if err := json.Unmarshal(text, &r); err != nil {
			t.Fatal(err)
		}
		counts[r.Level]++
	}
	return counts
}

// TestFingerprintsDoNotMove: what is said of a file is known again when its lines
// shift and values differ, and no two remarks are taken for one.
func TestFingerprintsDoNotMove(t *testing.T) {
	doc := machineCases()[0].doc
	doc.Findings = append(exampleFindings(), exampleFindings()...)
	before := remarks(doc)
	for i := range doc.Findings {
		doc.Findings[i].Line += 7
		doc.Findings[i].Message += "!"
	}
	for i := range doc.Plan.Items {
		doc.Plan.Items[i].Line += 7
		for j := range doc.Plan.Items[i].Changes {
			if c := &doc.Plan.Items[i].Changes[j]; c.Line > 0 {
				c.Line += 7
			}
		}
	}
	after := remarks(doc)
	for i := range before {
		if before[i].Fingerprint != after[i].Fingerprint {
			t.Errorf("%s of %s is another at another line", before[i].rule, before[i].About)
		}
	}
	if len(before) != len(after) || len(before) < 20 {
		t.Errorf("%d remarks, then %d", len(before), len(after))
	}
}

func TestPlaces(t *testing.T) {
	inside := FolderInRepo{Top: "/home/me/shop", Folder: "envs/prod", Project: "../../trueup.yaml"}
	for _, c := range []struct {
		place      FolderInRepo
		name, want string
	}{
		{inside, "manifests/a.yaml", "envs/prod/manifests/a.yaml"},
		{inside, "../common/a.yaml", "envs/common/a.yaml"},
		{inside, "../../../other/a.yaml", ""},
		{inside, "/home/me/shop/envs/a.yaml", "envs/a.yaml"},
		{inside, "/home/me/shopping/a.yaml", ""},
		{inside, "/etc/../home/me/shop/a.yaml", "a.yaml"},
		{inside, "-", ""},
		{inside, "", ""},
		{inside, ".", "envs/prod"},
		{FolderInRepo{Top: "/r", Folder: "."}, "a.yaml", "a.yaml"},
		{FolderInRepo{Top: "/r", Folder: "."}, ".", ""},
		{FolderInRepo{}, "./manifests//a.yaml", "manifests/a.yaml"},
		{FolderInRepo{}, "/manifests/a.yaml", ""},
		{FolderInRepo{}, "..", ""},
		{FolderInRepo{Folder: "/a"}, "b", ""},
	} {
		got, ok := c.place.inRepository(c.name)
		if ok != (c.want != "") || ok && got != c.want {
			t.Errorf("%q in %+v is %q, %v, want %q", c.name, c.place, got, ok, c.want)
		}
	}
	for want, p := range map[string]FolderInRepo{"envs/prod/trueup.yaml": {Top: "/r", Folder: "envs/prod"}, "a/trueup.yaml": {Folder: "a", Project: "/b"}, "trueup.yaml": {Folder: "/a"}} {
		if got := p.projectFile(); got != want || inside.projectFile() != "trueup.yaml" {
			t.Errorf("the project of %+v is %q, want %q", p, got, want)
		}
	}
	for file, want := range map[string]string{"a b/ü?#.yaml": "a%20b/%C3%BC%3F%23.yaml", "a:b/c%": "a%3Ab/c%25", "\n": "%0A"} {
		if got := fileURI(file); got != want {
			t.Errorf("the address of %q is %q, want %q", file, got, want)
		}
	}
}

// TestRules: every rule of a remark is one of the table, which is sorted by level.
func TestRules(t *testing.T) {
	if !slices.IsSortedFunc(view.RemarkRules, func(a, b view.RemarkRule) int { return int(b.Level) - int(a.Level) }) {
		t.Error("the table is not sorted by level")
	}
	for _, c := range machineCases() {
		for _, r := range remarks(c.doc) {
			if known, _ := view.RuleByID(r.rule); strings.Contains(r.rule, "/") && known.ID == "" {
				t.Errorf("%s is not in the table", r.rule)
			}
		}
	}
}

// TestReportRulesReference holds docs/reference/report-rules.md to the rules;
// -update writes it.
func TestReportRulesReference(t *testing.T) {
	var page strings.Builder
	page.WriteString("# Rules of reports\n\n<!-- written by go test ./internal/report -run TestReportRulesReference -update -->\n\n" +
		"Results of SARIF, code quality and annotations that are about a plan or a run, the most important first. " +
		"Findings in manifests have [their own rules](../rules/README.md).\n\n| rule | level | meaning |\n|---|---|---|\n")
	for _, rule := range view.RemarkRules {
		fmt.Fprintf(&page, "| `%s` | %s | %s |\n", rule.ID, rule.Level.Names().SARIF, rule.Means)
	}
	checkGolden(t, filepath.Join("..", "..", "..", "..", "docs", "reference", "report-rules.md"), []byte(page.String()))
}

// TestReportsAreDocumented: docs/reports.md has every format and every output.
func TestReportsAreDocumented(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", "reports.md"))
	if err != nil {
		t.Fatal(err)
	}
	table, _, _ := strings.Cut(string(text), "\n## ")
	for _, name := range Formats() {
		if !strings.Contains(table, "`"+name+"`") {
			t.Errorf("the format %s is not in the table", name)
		}
	}
	for _, o := range outputsOf(machineCases()[0].doc) {
		if !strings.Contains(string(text), "`"+o[0]+"`") {
			t.Errorf("the output %s is not documented", o[0])
		}
	}
}

// TestCommandsSayWhatWasSaid: a runner reads what was put into a command, and
// nothing else.
func TestCommandsSayWhatWasSaid(t *testing.T) {
	for _, s := range append(seeds, "%0A::error::x", "%25", "%", "%2C,%3A", "a,line=9,title=b::c", "100%\n") {
		more := safetext.F("more: %s", view.CleanMessage(s))
		r := remark{Level: view.ErrorLevel, rule: s, file: "a/" + s, Line: 3, Column: 4, text: view.CleanMessage(s), more: []safeText{more}}
		name, properties, data, ok := runnerCommand(r.workflowCommand("plan").String())
		want := map[string]string{"file": clean("a/" + s).EscapeCommands().String(), "line": "3", "col": "4", "title": r.ID().EscapeCommands().String()}
		joined := func(s string) string { return strings.NewReplacer(" ", "", "\n", "").Replace(s) }
		if !ok || name != "error" || !maps.Equal(properties, want) || joined(data) != joined(view.CleanMessage(s).EscapeCommands().String()+more.EscapeCommands().String()) {
			t.Errorf("%q: %v, %q, %q", s, name, properties, data)
		}
	}
}
