package plan_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"trueup/internal/canon"
	"trueup/internal/kind"
	"trueup/internal/ledger"
	"trueup/internal/plan"
	"trueup/internal/report"
)

const (
	oneWant    = `{hostname: a.example.com, tls: {forced: "true"}, secureLink: {tokenName: b}}`
	oneHave    = `{hostname: a.example.com, tls: {forced: "false"}, secureLink: {tokenName: a}, note: theirs}`
	oneApplied = `{hostname: a.example.com, tls: {forced: "no"}, secureLink: {tokenName: a}}`
)

// one is a world with one object to change.
func one(t tester) *world {
	return git(t, cdn("a", oneWant)).has("CDN/a", oneHave).applied("CDN/a", oneApplied)
}

// fileOf is the file of a plan.
func fileOf(t tester, p *plan.Plan) []byte {
	t.Helper()
	var b bytes.Buffer
	err := plan.EncodePlan(&b, plan.Redact(p), now())
	if err != nil {
		t.Fatalf("%v", err)
	}
	return b.Bytes()
}

// widestPath is the size of the largest text that is written at once, and total that of all.
type widestPath struct{ most, total int }

func (w *widestPath) Write(b []byte) (int, error) {
	w.most, w.total = max(w.most, len(b)), w.total+len(b)
	return len(b), nil
}

// TestAFileIsWrittenInParts: no text that is written grows with the number of objects.
func TestAFileIsWrittenInParts(t *testing.T) {
	var few, many widestPath
	for n, w := range map[int]*widestPath{15: &few, 150: &many} {
		if err := plan.EncodePlan(w, plan.Redact(crowd(t, n, 100, 6).make()), now()); err != nil {
			t.Fatal(err)
		}
	}
	if many.total < 9*few.total || many.most > 2*few.most {
		t.Errorf("of 15 objects, %d bytes at once of %d; of 150, %d of %d", few.most, few.total, many.most, many.total)
	}
}

// TestNoByteOfAPlanFileCanChange: whatever byte is another one, missing or too
// many, the file is refused.
func TestNoByteOfAPlanFileCanChange(t *testing.T) {
	file := fileOf(t, one(t).make())
	if _, err := plan.DecodePlan(file); err != nil {
		t.Fatal(err)
	}
	for i := range file {
		for _, b := range []byte{file[i] ^ 1, file[i] ^ 0x20, ' '} {
			changed := bytes.Clone(file)
			changed[i] = b
			if p, err := plan.DecodePlan(changed); b != file[i] && err == nil {
				t.Errorf("byte %d may be %q: %.80s", i, b, p.Digest)
			}
		}
		if _, err := plan.DecodePlan(append(file[:i:i], file[i+1:]...)); err == nil {
			t.Errorf("byte %d may be missing", i)
		}
		if _, err := plan.DecodePlan(file[:i]); err == nil {
			t.Errorf("it may end after %d bytes", i)
		}
	}
	for _, more := range []string{" ", "\n", "{}", "\x00"} {
		if _, err := plan.DecodePlan(append(bytes.Clone(file), more...)); err == nil {
			t.Errorf("%q may follow", more)
		}
	}
}

// sealed is a file with a checksum that fits, as whoever tampers with one would
// write it.
func sealed(t tester, file []byte, change func(plan map[string]any)) []byte {
	t.Helper()
	tree := canon.MustDecode(file).(map[string]any)
	delete(tree, "checksum")
	change(tree)
	tree["checksum"] = canon.Digest(canon.Encode(tree)).String()
	return append(canon.Encode(tree), '\n')
}

// TestDecodeRefuses: each with its reason, also where the checksum fits.
func TestDecodeRefuses(t *testing.T) {
	file := fileOf(t, one(t).make())
	item := func(p map[string]any) map[string]any { return p["items"].([]any)[0].(map[string]any) }
	for want, change := range map[string]func(p map[string]any){
		"trueup.plan/v2":                         func(p map[string]any) { p["format"] = "trueup.plan/v2" },
		"its format is not":                      func(p map[string]any) { delete(p, "format") },
		"plan --out FILE":                        func(p map[string]any) { p["format"] = "trueup.result/v1" },
		"its digest does not match its content;": func(p map[string]any) { p["ledger"] = "another" },
		"digest does not match":                  func(p map[string]any) { item(p)["op"], item(p)["request"] = "none", nil },
		"its request does not match":             func(p map[string]any) { delete(item(p), "request") },
		"is unknown":                             func(p map[string]any) { item(p)["op"] = "replace" },
		"does not say what":                      func(p map[string]any) { item(p)["op"] = "post" },
		"it is not a plan: json":                 func(p map[string]any) { p["items"] = "x" },
		"digest":                                 func(p map[string]any) { p["offline"] = true },
	} {
		if _, err := plan.DecodePlan(sealed(t, file, change)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	for text, want := range map[string]string{
		"": "not JSON", "[]\n": "not a JSON object", "{": "not JSON", `{"format":"trueup.plan/v1","format":"trueup.plan/v1"}`: "twice",
		" " + string(file): "canonical form", strings.Replace(string(file), `"sandbox":false`, `"sandbox":true`, 1): "checksum",
		strings.Replace(string(file), `"items":[`, `"items":[ `, 1): "canonical form", strings.Replace(string(file), `}],"ledger"`, `},],"ledger"`, 1): "not JSON",
		strings.Replace(string(file), `"items":`, `"items":[],"items":`, 1): "twice", strings.Replace(string(file), `"kind":`, `"kind" :`, 1): "canonical form",
		strings.Repeat(" ", plan.MaxFile+1): "larger than 64 MiB", strings.Repeat("[", 1000): "not JSON", "\xff": "UTF-8",
	} {
		if _, err := plan.DecodePlan([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.40q: %v, want %q", text, err, want)
		}
	}
	if _, err := plan.DecodePlan(sealed(t, file, func(p map[string]any) { p["newer"] = "field" })); err != nil {
		t.Errorf("a field that is not known: %v", err)
	}
}

// adviseOnPurgeAll is a world with many operations.
func adviseOnPurgeAll(t tester) *world {
	w := one(t)
	w.in.Set = load(t,
		cdn("a", oneWant), cdn("new", `{hostname: new.example.com}`), cdn("same", `{hostname: same.example.com}`),
		purge("p", `{hostname: a.example.com, paths: [/x]}`), purge("done", `{hostname: a.example.com, paths: [/y]}`),
		snapshot("s", "db"), snapshot("gone", "db"))
	w.has("CDN/same", `{hostname: same.example.com}`).foreign("CDN/other", `{hostname: other.example.com}`)
	w.sent("Purge/done", ledger.Posted, `{hostname: a.example.com, paths: [/y]}`, ago())
	w.sent("VolumeSnapshot/gone", ledger.Posted, disked("db"), ago())
	return w
}

// TestAKeptPlanIsShownAsItWas: what is read back renders as what was written, in
// every format, and asserts the same.
func TestAKeptPlanIsShownAsItWas(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := adviseOnPurgeAll(t)
		if rapid.Bool().Draw(t, "drawn") {
			w = git(t, cdn("shop", drawSpec(t, "git", false))).has(shop, drawSpec(t, "live", true))
			if rapid.Bool().Draw(t, "recorded") {
				w.applied(shop, drawSpec(t, "applied", false))
			}
			w.with(func(o *plan.Options) {
				o.Drift = rapid.SampledFrom(plan.DriftPolicies()).Draw(t, "policy")
				o.TakeOver = map[kind.Key]bool{key(t, shop): rapid.Bool().Draw(t, "take over")}
			})
		}
		made := w.make()
		file := fileOf(t, made)
		again, err := plan.DecodePlan(file)
		if err != nil {
			t.Fatalf("%v in %s", err, file)
		}
		if !again.CreatedAt.Equal(now()) || !bytes.Equal(again.Assertion(), made.Assertion()) || len(plan.Differences(again, made)) > 0 {
			t.Fatalf("%v is another plan:\n%s\n%s", again.CreatedAt, again.Assertion(), made.Assertion())
		}
		// It is written and read an item at a time, and is what all of it at once gives.
		if whole := sealed(t, file, func(map[string]any) {}); !bytes.Equal(whole, file) {
			t.Fatalf("got\n%s\nwant\n%s", file, whole)
		}
		if said := again.Assertion(); !bytes.Equal(canon.Encode(canon.MustDecode(said)), said) {
			t.Fatalf("not canonical: %s", said)
		}
		again.CreatedAt = time.Time{}
		format := rapid.SampledFrom(report.Formats()).Draw(t, "format")
		if got, want := rendered(t, format, again), rendered(t, format, made); got != want {
			t.Fatalf("%s: got\n%s\nwant\n%s", format, got, want)
		}
	})
}

func rendered(t tester, format string, p *plan.Plan) string {
	t.Helper()
	var out bytes.Buffer
	if err := report.Write(&out, format, report.Document{Command: "plan", Plan: p}, report.FormatOptions{Verbose: true}); err != nil {
		t.Fatalf("%s: %v", format, err)
	}
	return out.String()
}

// FuzzDecode: whatever a file holds, reading it ends, and what is taken is shown
// without a mishap and is kept as it was.
func FuzzDecode(f *testing.F) {
	for _, w := range []*world{one(f), adviseOnPurgeAll(f), one(f).with(func(o *plan.Options) { o.Drift = plan.ReportDrift })} {
		f.Add(fileOf(f, w.make()))
	}
	f.Add([]byte(`{"format":"trueup.plan/v1","items":null}`))
	f.Fuzz(func(t *testing.T, file []byte) {
		p, err := plan.DecodePlan(resealed(file))
		if err != nil {
			return
		}
		for _, format := range report.Formats() {
			rendered(t, format, p)
		}
		again, err := plan.DecodePlan(fileOf(t, p))
		if err != nil || again.Digest != p.Digest {
			t.Fatalf("%v", err)
		}
	})
}

// resealed is a file whose digest and checksum fit what it says, without which
// most files would be refused before the rest is looked at.
func resealed(file []byte) []byte {
	v, err := canon.Decode(file)
	tree, ok := v.(map[string]any)
	if err != nil || !ok {
		return file
	}
	var p plan.Plan
	d := json.NewDecoder(bytes.NewReader(file))
	d.UseNumber()
	if d.Decode(&p) == nil && !p.Offline {
		tree["digest"] = canon.Digest(p.Assertion()).String()
	}
	delete(tree, "checksum")
	tree["checksum"] = canon.Digest(canon.Encode(tree)).String()
	return append(canon.Encode(tree), '\n')
}

// TestWhatAPlanAsserts: the digest changes with each input that the plan depends
// on, and what differs is said; it does not change with anything else.
func TestWhatAPlanAsserts(t *testing.T) {
	base := one(t).make()
	for want, change := range map[string]func(*world){
		`CDN/a: git: secureLink.tokenName changed from "b" to "c"`: func(w *world) {
			w.in.Set = load(t, cdn("a", strings.Replace(oneWant, "tokenName: b", "tokenName: c", 1)))
		},
		`CDN/a: git: tls.auto is now "true"; the plan does not list it`: func(w *world) {
			w.in.Set = load(t, cdn("a", strings.Replace(oneWant, `"true"`, `"true", auto: "true"`, 1)))
		},
		`CDN/b: git: its manifest was added`: func(w *world) {
			w.in.Set = load(t, cdn("a", oneWant), cdn("b", `{hostname: b.example.com}`))
		},
		`CDN/a: git: its manifest is gone`: func(w *world) { w.in.Set = load(t, cdn("b", `{hostname: b.example.com}`)) },
		`CDN/a: live: tls.forced changed from "false" to "perhaps"`: func(w *world) {
			w.has("CDN/a", strings.Replace(oneHave, `"false"`, `"perhaps"`, 1))
		},
		`CDN/a: live: tls.forced was "false"; now it needs no change`: func(w *world) { w.has("CDN/a", oneWant) },
		`CDN/a: live: it was deleted`:                                 func(w *world) { w.in.Live = kind.LiveState{Hosts: map[string]kind.Key{}} },
		`CDN/a: live: another object has this name: its uid changed from`: func(w *world) {
			w.has("CDN/a", oneHave, func(o *kind.LiveObject) { o.UID = "another" })
		},
		`CDN/a: ledger: tls.forced, as last applied, changed from "no" to "false"`: func(w *world) {
			w.applied("CDN/a", strings.Replace(oneApplied, `"no"`, `"false"`, 1))
		},
		`CDN/a: ledger: its record changed from none to transition 7`: func(w *world) {
			w.record("CDN/a", func(r *ledger.Record) { r.Seq = 7 })
		},
		`ledger: its id changed from ledger-1 to ledger-2`:                func(w *world) { w.in.Ledger.ID = "ledger-2" },
		`target: the workspace changed from acme (5a1d) to acme (other)`:  func(w *world) { w.in.Target.Workspace.UUID = "other" },
		`target: the workspace changed from acme (5a1d) to other (5a1d)`:  func(w *world) { w.in.Target.Workspace.Name = "other" },
		`target: the platform changed from the real one to the sandbox`:   func(w *world) { w.in.Sandbox = true },
		`target: the address of the delivery area changed from none to x`: func(w *world) { w.in.Target.Origins = map[kind.Area]string{kind.Delivery: "x"} },
		`options: --drift changed from "overwrite" to "report"`:           func(w *world) { w.in.Options.Drift = plan.ReportDrift },
		`options: --drift changed from "overwrite" to "fail"`:             func(w *world) { w.in.Options.Drift = plan.FailOnDrift },
		`options: --target changed from none to ["CDN/*"]`:                func(w *world) { w.in.Options.Patterns = []string{"CDN/*"} },
		`options: --accept take-over changed from none to ["CDN/a"]`:      func(w *world) { w.in.Options.TakeOver = allow(t, "CDN/a") },
		`options: --accept recreate changed from none to ["CDN/a"]`:       func(w *world) { w.in.Options.AllowRecreate = allow(t, "CDN/a") },
		`options: --accept empty-live changed from none to true`:          func(w *world) { w.in.Options.AllowEmptyLive = true },
		`options: maxCreates in trueup.yaml changed from none to 3`:       func(w *world) { w.in.Project.MaxCreates = 3 },
		`options: --prune changed from none to true`:                      func(w *world) { w.in.Options.Prune = true },
		`options: maxDeletes in trueup.yaml changed from 1 to 3`:          func(w *world) { w.in.Project.MaxDeletes = new(3) },
		`options: reading only a part of the project`:                     func(w *world) { w.in.Options.PartOfTree = true },
		`options: overrides in trueup.yaml changed from none to [{"ignore":true`: func(w *world) {
			w.in.Project.Overrides = []plan.Override{{Kind: "CDN", Path: "spec.note", Ignore: true}}
		},
		`options: purge.window in trueup.yaml changed from "20h0m0s" to "1h0m0s"`: func(w *world) {
			w.in.Ledger.Terms = map[kind.Area]ledger.ResendTerms{kind.Delivery: {Window: time.Hour}}
		},
		`options: purge.duplicate in trueup.yaml changed from none to "status [409], bodyRegex \"\""`: func(w *world) {
			w.in.Project.Purge.Duplicate.Status = []int{409}
		},
	} {
		w := one(t)
		change(w)
		changed := w.make()
		text := strings.Join(plan.Differences(base, changed), "\n")
		if changed.Digest == base.Digest || !strings.Contains(text, want) {
			t.Errorf("digests %s and %s; %q is not in\n%s", base.Digest, changed.Digest, want, text)
		}
	}
	for what, change := range map[string]func(*world){
		"the program":          func(w *world) { w.in.Tool = "trueup 99" },
		"the clock":            func(w *world) { w.in.At = ledger.NewInstant(now().Add(time.Hour), now().Add(time.Hour)) },
		"a field of live":      func(w *world) { w.has("CDN/a", strings.Replace(oneHave, "theirs", "changed", 1)) },
		"the status of live":   func(w *world) { w.has("CDN/a", oneHave, status(`{"ready":true}`)) },
		"an object of others":  func(w *world) { w.foreign("CDN/other", `{hostname: other.example.com}`) },
		"a file and its lines": func(w *world) { w.in.Set = load(t, "# a comment\n\n"+cdn("a", oneWant)) },
	} {
		w := one(t)
		change(w)
		if changed := w.make(); changed.Digest != base.Digest {
			t.Errorf("%s: %s", what, strings.Join(plan.Differences(base, changed), "\n"))
		}
	}
}

// TestAListThatIsSentWholeIsAsserted: also what git does not mention in it.
func TestAListThatIsSentWholeIsAsserted(t *testing.T) {
	planned := func(note string) *plan.Plan {
		list := func(weight, more string) string {
			return fmt.Sprintf(`{hostname: a.example.com, upstreams: [{name: o, scheme: https, servers: [{host: h, port: "443", weight: %q%s}]}]}`, weight, more)
		}
		return git(t, cdn("a", list("2", ""))).has("CDN/a", list("1", ", note: "+note)).applied("CDN/a", list("1", "")).make()
	}
	a, b := planned("a"), planned("b")
	if text := strings.Join(plan.Differences(a, b), "\n"); a.Digest == b.Digest || !strings.Contains(text, `note, which git does not mention, changed from "a" to "b"`) {
		t.Errorf("%s", text)
	}
}

// TestAPartOfAPlanAssertsNothing: what drift shows, and what settle does, is not
// what the digest speaks of.
func TestAPartOfAPlanAssertsNothing(t *testing.T) {
	p := one(t).make()
	if p.Digest == "" || plan.NarrowToDrift(p).Digest != "" || p.NarrowToObject(key(t, "CDN/a")).Digest != "" || p.NarrowToUnanswered(nil).Digest != "" {
		t.Error("a part has a digest")
	}
}

// TestWhatIsKeptBesideDiffers: what goes along with a list is distinguished from what
// git speaks of.
func TestWhatIsKeptBesideDiffers(t *testing.T) {
	const want = `{hostname: h.example.com, upstreams: [{name: o, scheme: https}]}`
	have := func(scheme, beside string) string {
		return `{hostname: h.example.com, upstreams: [{name: o, scheme: ` + scheme + beside + `}]}`
	}
	planned := func(live string) *plan.Plan {
		return git(t, cdn("a", want)).has("CDN/a", live).applied("CDN/a", have("http", "")).make()
	}
	then := planned(have("http", ", weight: x"))
	for live, expected := range map[string][]string{
		have("http", ", weight: v"):          {`CDN/a: live: upstreams[o].weight, which git does not mention, changed from "x" to "v"`},
		have("http", ""):                     {`CDN/a: live: upstreams[o].weight, which git does not mention, was "x"; now it needs no change`},
		have("http", ", weight: x, port: z"): {`CDN/a: live: upstreams[o].port, which git does not mention, is now "z"; the plan does not list it`},
		have("https", ", weight: x"): {
			`CDN/a: live: upstreams[o].scheme was "http"; now it needs no change`, `CDN/a: apply would now leave it as it is; the plan would change it`,
		},
	} {
		if got := plan.Differences(then, planned(live)); !slices.Equal(got, expected) {
			t.Errorf("%s: %q", live, got)
		}
	}
}
