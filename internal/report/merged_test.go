package report

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"pgregory.net/rapid"

	"trueup/internal/apply"
	"trueup/internal/diag"
	"trueup/internal/e2e/long"
	"trueup/internal/kind"
	"trueup/internal/merge"
	"trueup/internal/plan"
	"trueup/internal/view"
)

const testTool = "trueup 0.1.0"

// merged returns what the results of projects become, each with its path.
func merged(docs map[string]Document) Document {
	var placed []Document
	for _, at := range slices.Sorted(maps.Keys(docs)) {
		doc := docs[at]
		doc.Result = diag.ExitName(doc.ExitCode)
		placed = append(placed, ResultOf(at, "", doc))
	}
	return MergeResults(FleetFacts{FleetRun: FleetRun{Tool: testTool, Commit: "8a6c09fc", Shards: 1}}, placed, nil)
}

// cachedLonger is a plan of one equal change and of unchanged objects.
func cachedLonger(unchanged int) *plan.Plan {
	item := plan.Item{
		Key: key("CDN", "web"), Path: "manifests/web.yaml", Line: 1, Op: plan.Patch,
		Changes: changes([]merge.Difference{{Path: "locations[/].cache.edgeTTL", Class: merge.Changed, Base: "60", Live: "60", Desired: "3600"}}),
		Request: &plan.Request{Method: "PATCH", Path: "/cdns/web", Body: json.RawMessage(`{"spec":{"locations":[]}}`)},
	}
	pl := &plan.Plan{Format: plan.Format, Tool: testTool, Digest: "sha256:5f", Items: []plan.Item{item}, Summary: plan.Summary{Change: 1, Unchanged: unchanged}}
	for i := range unchanged {
		pl.Items = append(pl.Items, plan.Item{Key: key("CDN", fmt.Sprintf("calm-%d", i)), Path: "manifests/calm.yaml", Op: plan.None})
	}
	pl.Notes = []string{"the ledger was not read"}
	return weighed(pl)
}

// withOrigin is a plan in which one CDN gets other servers, which is a grave change.
func withOrigin(server string) *plan.Plan {
	pl := cachedLonger(1)
	pl.Items[0].Changes = changes([]merge.Difference{{Path: "upstreams[app].servers[0].address", Class: merge.Changed, Base: "10.0.0.1:80", Live: "10.0.0.1:80", Desired: server}})
	return weighed(pl)
}

func mergedExample() Document {
	docs := map[string]Document{
		"shops/all": {Command: "plan", ExitCode: diag.ExitChanges, Objects: 8, Plan: examplePlan(), Findings: exampleFindings()},
		"shops/eu":  {Command: "plan", ExitCode: diag.ExitChanges, Objects: 2, Plan: withOrigin("10.9.9.9:80")},
		"shops/off": {Command: "plan", ExitCode: diag.ExitAuth, Errors: []string{"list CDNs: 403 Forbidden: check the token of CDNs"}},
	}
	docs["shops/us"] = docs["shops/off"]
	for i := range 4 {
		docs[fmt.Sprintf("sites/site-%d", i)] = Document{Command: "plan", ExitCode: diag.ExitChanges, Objects: 3, Plan: cachedLonger(2)}
	}
	for i := range 2 {
		pl := cachedLonger(0)
		pl.Settings = []plan.ChangedSetting{{Path: "trueup.yaml", Line: 6, Field: "ledger.store", Was: "file:a", Now: "file:b", Consequence: "trueup looks only here for what it sent before"}}
		docs[fmt.Sprintf("sites/set-%d", i)] = Document{Command: "plan", ExitCode: diag.ExitChanges, Objects: 1, Plan: pl}
	}
	return merged(docs)
}

// TestReadResult: reading what was written and writing it again changes no byte, and every other format of what was read
// is that of the original.
func TestReadResult(t *testing.T) {
	cases := map[string]goldenCase{}
	for _, c := range slices.Concat(goldenCases(), machineCases()) {
		cases[c.name] = c
	}
	for name, c := range cases {
		c.doc.Place, c.doc.RunURL, c.doc.Files = FolderInRepo{}, "", nil // of the run that reads
		readAgain(t, name, c.doc, c.opts, true, Formats()...)
	}
	long.SetChecks(t, 25)
	rapid.Check(t, func(rt *rapid.T) {
		doc := anyDocument().Draw(rt, "document")
		if doc.Plan != nil {
			doc.Plan.Format = plan.Format
		}
		doc.Place, doc.RunURL, doc.Files = FolderInRepo{}, "", nil
		text := write(rt, "json", doc, FormatOptions{})
		readAgain(rt, "any", doc, FormatOptions{}, !bytes.Contains(text, []byte(`\ufffd`)), rapid.SampledFrom(Formats()).Draw(rt, "format")) // JSON has no invalid UTF-8
	})
}

func write(t check, format string, doc Document, opts FormatOptions) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := Write(&b, format, doc, opts); err != nil {
		t.Fatalf("%s: %v", format, err)
	}
	return b.Bytes()
}

func readAgain(t check, name string, doc Document, opts FormatOptions, same bool, formats ...string) {
	t.Helper()
	text := write(t, "json", doc, opts)
	got, err := ReadResult(text)
	if err != nil {
		t.Fatalf("%s: %v in %s", name, err, text)
	}
	if got.Plan != nil && doc.Plan.CountItems() != got.Plan.CountItems() {
		t.Fatalf("%s: %+v of %+v", name, got.Plan.CountItems(), doc.Plan.CountItems())
	}
	if again := write(t, "json", got, opts); !bytes.Equal(text, again) {
		t.Fatalf("%s:\n%s\nbecame\n%s", name, text, again)
	}
	if !same {
		doc, _ = ReadResult(text) // as before
	}
	for _, format := range formats {
		if a, b := write(t, format, doc, opts), write(t, format, got, opts); !bytes.Equal(a, b) {
			at := 0
			for at < min(len(a), len(b)) && a[at] == b[at] {
				at++
			}
			t.Fatalf("%s as %s differs after\n%s:\n%.200q\nbecame\n%.200q", name, format, a[:at], a[at:], b[at:])
		}
	}
}

// FuzzReadResult: nothing that is read as a result makes a format fail, alone or merged.
func FuzzReadResult(f *testing.F) {
	for _, c := range goldenCases() {
		var b bytes.Buffer
		if err := writeJSON(&b, c.doc, c.opts); err != nil {
			f.Fatal(err)
		}
		f.Add(b.Bytes())
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		doc, err := ReadResult(text)
		if err != nil {
			return
		}
		doc.Project = &ProjectResult{Path: "a"}
		for _, format := range Formats() {
			write(t, format, doc, FormatOptions{Verbose: true})
		}
		all := MergeResults(FleetFacts{}, []Document{ResultOf("a", "", doc)}, nil)
		for _, format := range Formats() {
			write(t, format, all, FormatOptions{})
		}
	})
}

// TestRiskyChangesOfManyProjectsComeFirst: 3 projects of 1000 have a grave change, and 40 an equal one.
func TestRiskyChangesOfManyProjectsComeFirst(t *testing.T) {
	docs, risky := map[string]Document{}, []string{"p-017", "p-500", "p-999"}
	for i := range 1000 {
		at, pl := fmt.Sprintf("p-%03d", i), cachedLonger(i%3)
		switch {
		case slices.Contains(risky, at):
			pl = withOrigin("10.9.9." + at[len(at)-1:] + ":80")
		case i%25 != 1:
			pl.Items, pl.Summary.Change = pl.Items[1:], 0
		}
		docs[at] = Document{Command: "plan", Plan: pl}
	}
	doc := merged(docs)
	checkGolden(t, "merged-thousand.md", render(t, "markdown", doc, FormatOptions{})) // docs/fleet-comment.png shows it
	for format, starts := range map[string]string{"markdown": "<summary><code>", "html": "<h3>"} {
		_, text, _ := strings.Cut(string(render(t, format, doc, FormatOptions{})), starts)
		blocks := strings.Split(text, starts)
		for i, at := range risky {
			if !strings.Contains(blocks[i], at) || !strings.Contains(blocks[i], "upstreams") {
				t.Errorf("%s: block %d is not about %s: %s", format, i, at, blocks[i])
			}
		}
		if n := len(blocks); n != len(risky)+1 || !strings.Contains(blocks[n-1], "40 projects") {
			t.Errorf("%s: %d blocks, of which the last is %.500s", format, n, blocks[n-1])
		}
	}
	for _, format := range []string{"text", "markdown", "html", "junit", "json"} {
		text := render(t, format, doc, FormatOptions{})
		for i := 1; i < 1000; i += 25 {
			if at := fmt.Sprintf("p-%03d", i); !bytes.Contains(text, []byte(at)) {
				t.Errorf("%s does not name %s", format, at)
			}
		}
	}
}

// TestMergedCounts: what a merged document counts is the sum of what its parts count, and it keeps each object that
// needs action.
func TestMergedCounts(t *testing.T) {
	long.SetChecks(t, 30)
	rapid.Check(t, func(rt *rapid.T) {
		docs, want, kept, worst := map[string]Document{}, plan.Summary{}, []kind.Key{}, diag.ExitOK
		for i := range rapid.IntRange(1, 6).Draw(rt, "projects") {
			doc, at := anyDocument().Draw(rt, "document"), fmt.Sprintf("p/%d", i)
			doc.ExitCode = rapid.SampledFrom([]int{diag.ExitOK, diag.ExitChanges, diag.ExitPartial, diag.ExitAuth}).Draw(rt, "code")
			docs[at], worst = doc, diag.WorstExit(worst, doc.ExitCode)
			if doc.Plan == nil {
				continue
			}
			want.Change += doc.Plan.Summary.Change
			want.Drifted += doc.Plan.Summary.Drifted
			for _, it := range doc.Plan.Items {
				if it.Project = at; !view.IsHidden(it, FormatOptions{}) {
					kept = append(kept, it.Key)
				}
			}
		}
		doc := merged(docs)
		if doc.ExitCode != worst || len(doc.Projects) != len(docs) {
			rt.Fatalf("exit code %d of %d projects, want %d of %d", doc.ExitCode, len(doc.Projects), worst, len(docs))
		}
		if doc.Plan == nil {
			return
		}
		got := make([]kind.Key, len(doc.Plan.Items))
		for i, it := range doc.Plan.Items {
			got[i] = it.Key
		}
		if s := doc.Plan.Summary; s.Change != want.Change || s.Drifted != want.Drifted || !slices.Equal(got, kept) {
			rt.Fatalf("%+v and %v, want %+v and %v", s, got, want, kept)
		}
		format := rapid.SampledFrom(Formats()).Draw(rt, "format")
		checkFormat(t, format, write(rt, format, doc, FormatOptions{}))
	})
}

// TestMergedOutcomes: what was sent is named with its project, and what was left alone is only counted.
func TestMergedOutcomes(t *testing.T) {
	docs := map[string]Document{}
	for i := range 3 {
		result := apply.NewResult([]apply.ItemOutcome{
			{Key: key("CDN", "calm"), Status: apply.Done, Did: apply.Unchanged, Verdict: apply.OK},
			{Key: key("CDN", "web"), Status: apply.Failed, Verdict: apply.Partial, Message: "502 Bad Gateway"},
		})
		docs[fmt.Sprintf("p%d", i)] = Document{Command: "apply", ExitCode: diag.ExitPartial, Plan: &plan.Plan{}, Apply: &result}
	}
	text := string(render(t, "text", merged(docs), FormatOptions{}))
	for _, want := range []string{"CDN/web in p0", "CDN/web in p2", "Apply of 3 projects: 3 failed, 3 unchanged. Results of the projects: 3 partial."} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
}

// fileOf returns the file of the results of a shard.
func fileOf(t check, shard ShardHead, docs ...Document) *fstest.MapFile {
	t.Helper()
	var text bytes.Buffer
	lines := []any{shard}
	for _, doc := range docs {
		lines = append(lines, documentToJSON(doc))
	}
	for _, line := range lines {
		if err := json.NewEncoder(&text).Encode(line); err != nil {
			t.Fatalf("%v", err)
		}
	}
	return &fstest.MapFile{Data: text.Bytes()}
}

// folderOf returns the folder that two shards write.
func folderOf(t *testing.T) fstest.MapFS {
	t.Helper()
	fsys, run := fstest.MapFS{}, FleetRun{Command: "plan", Commit: "8a6c09fc", Tool: testTool, Shards: 2}
	for i, projects := range [][]string{{"a", "b/c"}, {"d"}} {
		shard := ShardHead{Format: ShardFormat, Shard: i + 1, FleetRun: run, Projects: projects}
		var docs []Document
		for _, p := range projects {
			docs = append(docs, ResultOf(p, "", Document{Command: "plan", Plan: cachedLonger(1)}))
		}
		fsys[path.Join(fmt.Sprintf("runner-%d", i+1), shard.FileName())] = fileOf(t, shard, docs...)
	}
	return fsys
}

func TestCollect(t *testing.T) {
	doc, err := CollectResults(folderOf(t), testTool)
	if err != nil {
		t.Fatal(err)
	}
	if doc.Plan.Summary.Change != 3 || len(doc.Plan.Items) != 3 || doc.Plan.Items[1].Path != "b/c/manifests/web.yaml" {
		t.Errorf("%+v", doc.Plan)
	}
}

// TestCollectRejects: an error names the file and what is wrong with it, and all other results are there.
func TestCollectRejects(t *testing.T) {
	const one, two = "runner-1/shard-1-of-2.jsonl", "runner-2/shard-2-of-2.jsonl"
	edit := func(name string, line int, from, to string) func(fstest.MapFS) {
		return func(fsys fstest.MapFS) {
			lines := strings.SplitAfter(string(fsys[name].Data), "\n")
			if !strings.Contains(lines[line], from) {
				panic(from)
			}
			lines[line] = strings.ReplaceAll(lines[line], from, to)
			fsys[name] = &fstest.MapFile{Data: []byte(strings.Join(lines, ""))}
		}
	}
	cut := func(bytes int) func(fstest.MapFS) {
		return func(f fstest.MapFS) { f[one] = &fstest.MapFile{Data: f[one].Data[:len(f[one].Data)-bytes]} }
	}
	const shard, last = 0, 2 // lines
	cases := map[string]struct {
		damage func(fstest.MapFS)
		names  []string
	}{
		"nothing":            {func(f fstest.MapFS) { clear(f) }, []string{"shard-I-of-N.jsonl"}},
		"a missing shard":    {func(f fstest.MapFS) { delete(f, one) }, []string{"shard 1 of 2 is missing"}},
		"a missing result":   {edit(one, shard, `"b/c"`, `"b/c","e"`), []string{"shard 1 has no result of the project e", "did not end"}},
		"a shard twice":      {func(f fstest.MapFS) { f["again/shard-1-of-2.jsonl"] = f[one] }, []string{"again/shard-1-of-2.jsonl", one}},
		"a project twice":    {edit(two, shard, `"d"`, `"a"`), []string{two, "project"}},
		"another number":     {edit(one, shard, `"shards":2`, `"shards":3`), []string{one, "of another run", two}},
		"shard 0":            {edit(one, shard, `"shard":1`, `"shard":0`), []string{one, "shard 0 of 2"}},
		"another selection":  {edit(one, shard, `"command":"plan"`, `"command":"plan","selection":"--select a"`), []string{one, "of another run", two}},
		"other flags":        {edit(one, shard, `"command":"plan"`, `"command":"plan","flags":"--offline=true"`), []string{one, "of another run", two}},
		"no selection":       {edit(one, shard, `"projects"`, `"error":"no such commit","projects"`), []string{one, "no project could be selected: no such commit"}},
		"another version":    {edit(one, shard, testTool, "trueup 9"), []string{one, "trueup 9", testTool}},
		"a newer format":     {edit(one, shard, "trueup.shard/v1", "trueup.shard/v9"), []string{one, "v9"}},
		"another commit":     {edit(one, shard, "8a6c09fc", "12345678"), []string{one, "of another run", two}},
		"another command":    {edit(one, shard, `"command":"plan"`, `"command":"apply"`), []string{one, "of another run", two}},
		"no shard in it":     {edit(one, shard, ShardFormat, "x"), []string{one, `"x"`}},
		"a result of v2":     {edit(one, last, ResultFormat, "trueup.result/v2"), []string{one, "the result of the project b/c", "v2"}},
		"no result":          {edit(one, last, ResultFormat, "x"), []string{one, `"x"`}},
		"a result's code":    {edit(one, last, `"exitCode":0`, `"exitCode":77`), []string{one, "the result of the project b/c", "77", "damaged"}},
		"a result elsewhere": {edit(one, last, `"path":"b/c"`, `"path":"d"`), []string{one, "\"d\", which is not in the shard"}},
		"of one project":     {edit(one, last, `"project":`, `"other":`), []string{one, "not in the shard"}},
		"truncated":          {cut(100), []string{"shard 1 has no result of the project b/c"}},
		"without its end":    {cut(1), []string{"shard 1 has no result of the project b/c"}},
		"empty":              {func(f fstest.MapFS) { f[one].Data = nil }, []string{one, "is empty"}},
		"more":               {edit(one, last, "\n", "{}\n"), []string{one, "line 3"}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			fsys := folderOf(t)
			c.damage(fsys)
			doc, err := CollectResults(fsys, testTool)
			text := fmt.Sprint(err, doc.Errors)
			for _, want := range c.names {
				if !strings.Contains(text, want) {
					t.Errorf("no %q in %s", want, text)
				}
			}
			if err == nil && (doc.ExitCode == diag.ExitOK || doc.Plan == nil) || err != nil && len(fsys) > 0 {
				t.Errorf("exit code %d, %d projects, %v", doc.ExitCode, len(doc.Projects), err)
			}
		})
	}
}
