package report

import (
	"bytes"
	"encoding/json"
	"regexp"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"trueup/internal/apply"
	"trueup/internal/canon"
	"trueup/internal/config"
	"trueup/internal/diag"
	"trueup/internal/kind"
	"trueup/internal/ledger"
	"trueup/internal/merge"
	"trueup/internal/plan"
	"trueup/internal/requesttest"
	"trueup/internal/routing"
	"trueup/internal/view"
)

// hostile fills every text of a Document with s and every value with v.
func hostile(s string, v any, op plan.Op, class merge.ChangeKind, n int) Document {
	k := kind.Key{Kind: s, Name: s, Project: s}
	if n%5 == 4 {
		k.Kind = kind.AllKinds()[n%3].Name
	}
	change := merge.Difference{Path: s, At: []merge.PathStep{{Field: s}}, Class: class, Base: s, Live: v, Desired: s + "2"}
	explained := []plan.Change{{Difference: change, Cause: plan.Cause(s), By: plan.ChangeOrigin(s), RiskReason: s, Commit: &plan.Commit{ID: s, Subject: s, Author: s, Time: time.Unix(1, 0)}, Position: &plan.ListPosition{Live: 1, Desired: n}, Units: plan.Units{Live: s, Desired: s}, Line: 3, Column: n, KeptAt: new(time.Unix(1, 0))}}
	values := []merge.PathValue{{Path: s, Value: v, At: change.At}}
	finding := diag.Finding{Path: s, Line: 2, Column: n, Field: s, Rule: s, Message: s, Fix: s, Source: s, Silenced: s, Write: s}
	advice := finding
	advice.Severity = diag.Advice
	finding.Severity = diag.Error
	sum := canon.Digest([]byte(s))
	hosts := []routing.HostSet{{Name: s, Except: []string{s}}}
	answers := []routing.ConditionalAnswer{{When: []string{s}, Before: s, After: s, Differences: []routing.PropertyDifference{{What: s, Before: s, After: s}}}}
	part := routing.RequestPart{Paths: []routing.PathSet{{Pattern: s, Outside: []string{s}}}, Answers: answers, Unless: []string{s}}
	item := plan.Item{
		Before: &ledger.LiveBefore{Diff: ledger.CanonicalJSON(s), Sum: s},
		Key:    k, Path: s, Line: 1, Op: op,
		Request: &plan.Request{Method: s, Path: s, ContentType: s, Body: body(s)}, Spec: body(s),
		After: []kind.Key{k, k}, Changes: explained, Notes: explained, Cause: plan.Cause(s), By: plan.ChangeOrigin(s), Commit: &plan.Commit{ID: s, Subject: s, Author: s, Time: time.Unix(1, 0)},
		Preserved: values, Collateral: values, FirstContact: values, Lists: []merge.SentList{{Path: s, Elements: 2}},
		Purge: &plan.PurgeInfo{Hostname: s, Subdomains: []string{s}, Paths: 1, Prefixes: 2, Sample: []string{s}},
		Stops: []routing.UnansweredRequests{{Name: s, Host: s, PathSet: routing.PathSet{Pattern: s, Outside: []string{s}}, Objects: []kind.Key{k}}},
		Disk:  s, Made: s, Hostname: s, Elsewhere: n%9 == 1, Reason: s, Fix: s, Hints: []string{s}, RemoteName: s, Unserved: s,
		Live: plan.Fingerprint{Exists: true, UID: s, Digest: &sum, Replaced: &sum}, DesiredDigest: &sum,
		Recorded: &plan.RecordVersion{Seq: n, State: ledger.RequestState(s)},
		Deleted:  n%2 == 0, Recreate: n%3 == 1, Resend: n%5 == 1, Lost: n%7 == 1, Found: n%11 == 1, Record: n%13 == 1, NeedsPerson: n%4 == 1,
	}
	if op == plan.Patch || op == plan.None { // a request that is sent once is neither changed nor equal
		item.Purge = nil
	}
	statuses := []apply.Status{apply.Failed, apply.Done, apply.Skipped, apply.Status(s)}
	doc := Document{
		Command: s, Result: s, Sandbox: n%3 == 0, Objects: n, Errors: []string{s}, Messages: []string{s}, RunURL: s, Files: []SideReport{{Format: s, Path: s}}, Place: FolderInRepo{Top: s, Folder: s, Project: s},
		Project:  &ProjectResult{Path: s, Workspace: s, Result: s, ExitCode: n, Digest: s},
		Projects: []ProjectResult{{Path: s, Workspace: s, Result: s, ExitCode: n, Digest: s}},
		Fleet: &FleetFacts{FleetRun: FleetRun{Command: s, Flags: s, Selection: s, Commit: s, Tool: s, Shards: n}, Missing: []string{s}, NotReached: []string{s}, NotPlanned: []string{s}, FleetChanges: config.FleetChanges{
			Since: s, Added: []string{s}, Removed: []string{s}, Moved: []config.ProjectMove{{From: s, To: s}}, Unselected: n,
		}},
		Findings: diag.List{finding}, Annotations: diag.List{finding}, Silenced: diag.List{finding},
		Tests: &requesttest.TestResults{Passed: n, Failed: 1, Cases: []requesttest.Case{{
			Name: s, URL: s, File: s, Result: requesttest.Failed, Failures: []requesttest.Failure{{
				Field: s, Problem: s, What: s, Expected: s, Got: []requesttest.ObservedAnswer{{Readings: []string{s}, When: s, Value: s, Location: s, File: s}},
			}},
		}}, Coverage: &requesttest.Coverage{Missing: []requesttest.UncoveredPart{{Object: s, What: s, Name: s, File: s}}}},
		Plan: &plan.Plan{
			Manifests: &sum, Options: map[string]any{
				"drift": s, "targets": []string{s}, "takeOver": []string{s}, "allowRecreate": []string{s}, "window": s,
				"overrides": []plan.Override{{Kind: s, Path: s, Order: s, Type: s, Key: []string{s}, Undocumented: []string{s}}},
			},
			Requests: []routing.RequestChange{
				{Hosts: hosts, RequestPart: part, As: s, Exceptions: []routing.RequestPart{part}, Still: true, StillBy: []string{s}, Objects: []kind.Key{k}},
				{Hosts: hosts, RequestPart: part, Objects: []kind.Key{k, k}},
			},
			Format: s, Tool: s, Digest: s, Offline: n%3 == 1, Notes: []string{s}, OrderNote: s, Advice: diag.List{advice}, Silenced: diag.List{advice},
			Blame: &plan.ComparedCommits{Ref: s, Base: s, Head: s, Merge: n%2 == 1, Problem: s, Fix: s}, Unmanaged: []kind.Key{k}, Ledger: s, LedgerStore: s, Commit: s, LedgerProblem: s,
			Settings: []plan.ChangedSetting{{Path: s, Line: n, Field: s, Was: v, Now: v, Consequence: s, Hides: []plan.HiddenField{{Key: k, Path: s, Git: v, Live: v}}}},
			Target:   plan.Destination{Origins: map[kind.Area]string{kind.Area(s): s}, Workspace: kind.Workspace{Name: s, UUID: s}},
		},
		Apply: &apply.Result{Summary: map[string]int{s: n}, Outcomes: []apply.ItemOutcome{{
			Key: k, Did: apply.Effect(s), Status: statuses[n%len(statuses)], Message: s, Fix: s, Field: s, Line: n, Verdict: apply.NeedsPerson,
			Mismatches: []merge.Mismatch{{Path: s, Fault: merge.NotKept, Sent: v, Returned: s, Hint: s, At: change.At}},
			Filled:     values,
		}}},
	}
	for range 1 + n%3 {
		doc.Plan.Items = append(doc.Plan.Items, item)
	}
	return doc
}

// body is a request of which every key and value is s.
func body(s string) json.RawMessage {
	text, err := json.Marshal(map[string]any{"spec": map[string]any{s: s, s + "1": []any{s}, s + "2": map[string]any{s: nil}}})
	if err != nil {
		panic(err)
	}
	return text
}

var ops = []plan.Op{plan.None, plan.Create, plan.Patch, plan.Post, plan.Delete, plan.Blocked, plan.InFlight, plan.Deferred, plan.Kept}

var classes = []merge.ChangeKind{
	merge.Converged, merge.Changed, merge.DriftOverwrite, merge.TakeOver, merge.Conflict, merge.Removed,
	merge.RemovedConflict, merge.Unmanaged, merge.UnknownBase, "other",
}

// seeds are texts that break out of something somewhere.
var seeds = []string{
	"plain", "", "::error ::pwned", "  ::set-env name=A::b", ":", "::", "##[error]pwned", "x ##vso[task.setvariable]y", "###[a]", "##", "[",
	"\x1b[2J\x1b]0;title\a", "a\r\n::error ::b", "a\nb", "\u202egnp.exe", "\u200b\u2028\u2029\u0085\ufeff", "\u00ad\ufe0f\u2800\u3164\u115f\u180b\u17b4\U000e0041\U000e0100", "\xff\xfe", "\x00",
	"```\n</details><img src=x onerror=alert(1)>", "`````````", "~~~", "[a](http://evil.example)", "![a](//evil.example/x.png)",
	"<script>alert(1)</script>", "http://evil.example www.evil.example a@evil.example", "@octocat #1 GH-1", "| a | b |\n|---|---|",
	"<!-- -->", "&lt;b&gt;", "\\", "$x^2$", "*a* _b_ ~~c~~", "# h", "> q", "- l", "1. l", "    code", "\t\t", "[^1]: x",
	"漢字テキスト広告 ｆｕｌｌ", "e\u0301\u0301\u0301\u0301", "👩‍👩‍👧", strings.Repeat("a\u0301\u0302", 700), strings.Repeat("`", 700),
	strings.Repeat("long words and more of them ", 60), "<code>", "</code></summary></details>",
}

func FuzzRender(f *testing.F) {
	for i, s := range seeds {
		f.Add(s, uint8(i), uint8(i*5), uint8(i))
	}
	f.Fuzz(func(t *testing.T, s string, op, class, n uint8) {
		var v any = s
		if n%4 == 1 {
			v = map[string]any{s: []any{s, nil, true}}
		}
		if n%4 == 2 {
			v = nil
		}
		doc := hostile(s, v, ops[int(op)%len(ops)], classes[int(class)%len(classes)], int(n))
		opts := view.TextOptions{Verbose: n%2 == 0, Width: int(n)}
		outputs := map[string][]byte{}
		for _, format := range Formats() {
			outputs[format] = render(t, format, doc, opts)
			checkFormat(t, format, outputs[format])
		}
		checkJSON(t, doc, outputs["json"])
		checkMarkdown(t, outputs["markdown"], maxMarkdown, doc.RunURL)
		checkDotenv(t, render(t, "outputs", doc, FormatOptions{Variables: true}))
		opts.Room = SummaryRoom(0)
		checkMarkdown(t, render(t, "markdown", doc, opts), opts.Room, doc.RunURL)
		small := 2000 + 7*int(n)
		checkMarkdown(t, []byte(renderMarkdown(doc, opts, small).String()), small, doc.RunURL)
		checkHTML(t, outputs["html"])
		opts.Color = true
		coloured := sgr().ReplaceAll(render(t, "text", doc, opts), nil)
		checkPlain(t, "colour", coloured)
		if !bytes.Equal(coloured, outputs["text"]) {
			t.Errorf("colour changes the text: %q, %q", coloured, outputs["text"])
		}
		line := ProgressLine(apply.Event{Key: kind.Key{Kind: s, Name: s}, Phase: s, Message: s})
		checkPlain(t, "progress", []byte(line))
		if strings.Contains(line, "\n") {
			t.Errorf("more than one line: %q", line)
		}
	})
}

// sgr finds the sequences that the palette makes, and no others.
func sgr() *regexp.Regexp { return regexp.MustCompile("\x1b\\[[0-9;]+m") }

// checkPlain holds what is true of every format: lines of visible characters,
// none of which a workflow runner takes for a command.
func checkPlain(t check, name string, out []byte) {
	t.Helper()
	if !utf8.Valid(out) {
		t.Fatalf("%s: not UTF-8: %q", name, out)
	}
	for _, r := range string(out) {
		if r != '\n' && (!unicode.IsPrint(r) || diag.IsInvisible(r)) {
			t.Fatalf("%s: %U in %q", name, r, out)
		}
	}
	if strings.Contains(string(out), "##[") || strings.Contains(string(out), "##vso[") {
		t.Fatalf("%s: legacy workflow command in %q", name, out)
	}
	for line := range strings.Lines(string(out)) {
		if strings.HasPrefix(strings.TrimSpace(line), "::") {
			t.Fatalf("%s: workflow command %q", name, line)
		}
	}
}

// checkJSON holds that escaping changes no value.
func checkJSON(t *testing.T, doc Document, out []byte) {
	t.Helper()
	var got documentJSON
	if err := json.Unmarshal(out, &got); err != nil {
		t.Fatalf("%v in %s", err, out)
	}
	if want := strings.ToValidUTF8(doc.Errors[0], "\ufffd"); utf8.ValidString(doc.Errors[0]) && got.Errors[0] != want {
		t.Fatalf("%q became %q", want, got.Errors[0])
	}
}

// structure is the sequence of the blocks of a Markdown text.
func structure(out []byte) string {
	var b strings.Builder
	for n := parsed(out).FirstChild(); n != nil; n = n.NextSibling() {
		b.WriteString(n.Kind().String() + " ")
	}
	return b.String()
}

// TestTextNeverChangesTheStructure holds that no text can open or close a
// block, a fence or a tag: the blocks are those that a harmless text gives.
func TestTextNeverChangesTheStructure(t *testing.T) {
	for _, op := range ops {
		want := structure(render(t, "markdown", hostile("plain", "plain", op, merge.Conflict, 3), view.TextOptions{Room: SummaryRoom(0), Verbose: true}))
		for _, s := range seeds {
			if s == "" {
				continue
			}
			got := structure(render(t, "markdown", hostile(s, s, op, merge.Conflict, 3), view.TextOptions{Room: SummaryRoom(0), Verbose: true}))
			if got != want {
				t.Errorf("%q, %s:\n%s, want\n%s", s, op, got, want)
			}
		}
	}
}
