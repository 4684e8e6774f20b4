package report

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"runtime/debug"
	"strings"
	"testing"
	"unicode"

	"trueup/internal/apply"
	"trueup/internal/diag"
	"trueup/internal/kind"
	"trueup/internal/merge"
	"trueup/internal/plan"
	"trueup/internal/safetext"
	"trueup/internal/view"
)

func TestMain(m *testing.M) {
	debug.SetGCPercent(400) // the tests write thousands of reports, and keep none
	os.Exit(m.Run())
}

// full takes so many bytes and then fails, as a full disk does.
type full struct{ room int }

var errFull = errors.New("no space left on device")

func (f *full) Write(p []byte) (int, error) {
	if len(p) > f.room {
		n := f.room
		f.room = 0
		return n, errFull
	}
	f.room -= len(p)
	return len(p), nil
}

func TestWriteReturnsTheErrorOfTheWriter(t *testing.T) {
	doc := goldenCases()[0].doc
	for _, name := range Formats() {
		size := len(render(t, name, doc, view.TextOptions{}))
		for _, room := range []int{0, 1, size / 2, size - 1} {
			if err := Write(&full{room}, name, doc, view.TextOptions{}); !errors.Is(err, errFull) {
				t.Errorf("%s with room for %d of %d bytes: %v", name, room, size, err)
			}
		}
		if err := Write(&full{size}, name, doc, view.TextOptions{}); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestWriteRefusesAnUnknownFormat(t *testing.T) {
	err := Write(&bytes.Buffer{}, "yaml", Document{}, view.TextOptions{})
	if err == nil || !strings.Contains(err.Error(), "text, markdown, json") {
		t.Errorf("%v", err)
	}
}

func TestWriteJSONRefusesABrokenBody(t *testing.T) {
	doc := Document{Plan: &plan.Plan{Items: []plan.Item{{Op: plan.Patch, Request: &plan.Request{Body: json.RawMessage("{")}}}}}
	if err := Write(&bytes.Buffer{}, "json", doc, view.TextOptions{}); err == nil {
		t.Error("no error")
	}
	if got := string(render(t, "text", doc, view.TextOptions{})); !strings.Contains(got, "{}") {
		t.Error(got)
	}
}

func TestClean(t *testing.T) {
	for in, want := range map[string]string{
		"plain text":                           "plain text",
		"a\nb\tc\rd":                           `a\nb\tc\rd`,
		"\x1b[31m\a\x7f":                       `\x1b[31m\x07\x7f`,
		"\u0085\u009b":                         `\u0085\u009b`,
		"a\u202eb\u2066c":                      `a\u202eb\u2066c`,
		"\u200b\ufeff\u2028\u00ad\u00a0\u3000": `\u200b\ufeff\u2028\u00ad\u00a0\u3000`,
		"\ufe0f\u2800\u3164\u115f\u17b4\u180b\U000e0041": `\ufe0f\u2800\u3164\u115f\u17b4\u180b\U000e0041`,
		"\U000e0041\ue000": `\U000e0041\ue000`,
		"\xff\xc3":         `\xff\xc3`,
		"\ufffd":           "\ufffd",
		"漢字 é ❤":           "漢字 é ❤",
		"❤\ufe0f":          `❤\ufe0f`,
	} {
		if got := clean(in).String(); got != want {
			t.Errorf("clean(%q) = %s, want %s", in, got, want)
		}
	}
}

// TestNothingUnseenIsPrinted holds, over all of Unicode, that nothing is printed
// which nobody sees, and that every letter and number is printed as it is.
func TestNothingUnseenIsPrinted(t *testing.T) {
	var all, letters strings.Builder
	for r := rune(0); r <= unicode.MaxRune; r++ {
		if r == 0x40000 {
			r = 0xE0000 // the planes between have no characters
		}
		all.WriteRune(r)
		if unicode.In(r, unicode.L, unicode.N) && !diag.IsInvisible(r) {
			letters.WriteRune(r)
		}
	}
	for _, text := range []string{Clean(all.String()), strings.ReplaceAll(safetext.CleanJSON([]byte(all.String())).String(), "\n", "")} {
		for _, r := range text {
			if diag.IsInvisible(r) {
				t.Errorf("U+%04X is printed", r)
			}
		}
	}
	if Clean(letters.String()) != letters.String() || safetext.CleanJSON([]byte(letters.String())).String() != letters.String() {
		t.Error("a letter or number is printed as another")
	}
}

func TestCleanForCommands(t *testing.T) {
	for in, want := range map[string]string{"a\x1bb": `a\x1bb`, " ::error ::x": `\ ::error ::x`, "##[x]": `#\x23[x]`} {
		if got := Clean(in); got != want {
			t.Errorf("Clean(%q) = %s, want %s", in, got, want)
		}
	}
	in := "{\"a\":\"\u202e\U000e0041\u0085\x7f##[x] # é\"}\n"
	got := safetext.CleanJSON([]byte(in)).String()
	if want := "{\"a\":\"\\u202e\\udb40\\udc41\\u0085\\u007f\\u0023#[x] # é\"}\n"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	var a, b map[string]string
	if err := errors.Join(json.Unmarshal([]byte(in), &a), json.Unmarshal([]byte(got), &b)); err != nil || a["a"] != b["a"] {
		t.Errorf("%q became %q: %v", a, b, err)
	}
}

// TestSmallCases are lines that the example of the goldens does not have.
func TestSmallCases(t *testing.T) {
	many := `{"spec":{"a1":1,"a2":1,"a3":1,"a4":1,"a5":1,"a6":1,"a7":1,"a8":1,"a9":1,"b1":1,"b2":1,"b3":1,"b4":1,"b5":1}}`
	for name, c := range map[string]struct {
		doc  Document
		want string
	}{
		"parts": {
			itemDoc(plan.Item{Op: plan.Patch, Request: &plan.Request{Method: "PATCH", Path: "/x", Body: json.RawMessage(many)}}),
			"{a1; a2; a3; a4; a5; a6; a7; a8; a9; b1; b2; b3; 2 more}",
		},
		"prefixes": {
			itemDoc(plan.Item{Op: plan.Post, Purge: &plan.PurgeInfo{Hostname: "h", Prefixes: 2}, After: []kind.Key{key("A", "a"), key("B", "b")}}),
			"2 prefixes on h     after A a, B b are verified",
		},
		"everything": {
			itemDoc(plan.Item{Op: plan.Post, Purge: &plan.PurgeInfo{Hostname: "h", Paths: 1, Prefixes: 1, Sample: []string{"/a", "/*"}}}),
			"everything (1 path and 1 prefix) on h",
		},
		"a purge that is held": {
			itemDoc(plan.Item{Op: plan.Blocked, Reason: "wait", Purge: &plan.PurgeInfo{Hostname: "h", Paths: 1, Sample: []string{"/a"}}}),
			"  x blocked: wait\n    paths: /a\n\nPlan",
		},
		"moved by somebody": {
			itemDoc(plan.Item{Op: plan.Patch, Changes: changes([]merge.Difference{{Path: "a", Class: merge.DriftOverwrite, Live: "1", Desired: "1", Moved: true}})}),
			"~ a                                 moves back from 3 to 1  undoes a change outside git",
		},
		"conflict with an absent base": {
			itemDoc(plan.Item{Op: plan.Patch, Changes: changes([]merge.Difference{{Path: "a", Class: merge.Conflict, Live: "1", Desired: "2"}})}),
			"conflict: this change and live both changed it; git wins\n",
		},
		"conflict with what is gone": {
			itemDoc(plan.Item{Op: plan.Patch, Changes: changes([]merge.Difference{{Path: "a", Class: merge.Conflict, Base: "1", Desired: "2"}})}),
			"conflict: this change changed it, and live lacks it (was \"1\"); git wins\n",
		},
		"no spec": {
			itemDoc(plan.Item{Op: plan.Create, Request: &plan.Request{Method: "POST", Path: "/x", Body: json.RawMessage(`{"spec":[]}`)}}),
			"  + create\n    POST CDN x\n",
		},
		"deleted under the name that the server gave it": {
			itemDoc(plan.Item{Op: plan.Delete, RemoteName: "x-1", Request: &plan.Request{Method: "DELETE", Path: "/cdns/x-1"}}),
			"\n    DELETE CDN x-1\n",
		},
		"no body": {itemDoc(plan.Item{Op: plan.Create}), "  + create\n"},
		"no drift": {
			Document{Command: "drift", Plan: &plan.Plan{}},
			"Drift: nothing that git manages changed outside git.\n",
		},
		"a finding without a file": {
			Document{Findings: diag.List{{Rule: "r", Message: "m"}}},
			"warning: m [r]\n\n1 warning.\n",
		},
		"errors alone": {
			Document{Objects: 2, Findings: diag.List{{Path: "f", Rule: "r", Message: "m", Severity: diag.Error}}},
			"f: error: m [r]\n\n1 error, 2 objects.\n",
		},
	} {
		if got := string(render(t, "text", c.doc, view.TextOptions{})); !strings.Contains(got, c.want) {
			t.Errorf("%s:\n%s\nhas no %q", name, got, c.want)
		}
	}
}

// TestWhatIsRemovedIsNamed: elements of lists by what they are, and everything else as fields.
func TestWhatIsRemovedIsNamed(t *testing.T) {
	item := plan.Item{Key: key("CDN", "shop"), Op: plan.Patch}
	for _, path := range []string{"locations[/a/*]", `locations["x]y"]`, "firewall.rules[bots]", "upstreams[o].servers[h:443]", "tls", "locations[/b/*].headers.X", "unknown[0]"} {
		item.Changes = append(item.Changes, plan.Change{Difference: merge.Difference{Path: path, Class: merge.Removed, Live: "was"}})
	}
	item.Changes = append(item.Changes, plan.Change{Difference: merge.Difference{Path: "locations[/left]", Class: merge.Removed, Live: "was", Left: true}})
	doc := Document{Command: "plan", Plan: &plan.Plan{Items: []plan.Item{item}, Summary: plan.Summary{Change: 1, Removed: 7}}}
	const want = "3 fields, 1 firewall rule, 2 locations, 1 server removed"
	for format, line := range map[string]string{"text": "1 to change (" + want + ").", "markdown": "- **" + want + "**", "html": "<b>" + want + "</b>"} {
		if got := string(render(t, format, doc, view.TextOptions{})); !strings.Contains(got, line) {
			t.Errorf("%s:\n%s\nhas no %q", format, got, line)
		}
	}
}

func itemDoc(item plan.Item) Document {
	item.Key = key("CDN", "x")
	return Document{Command: "plan", Plan: &plan.Plan{Items: []plan.Item{item}}}
}

func TestProgressLine(t *testing.T) {
	for _, c := range []struct {
		event apply.Event
		want  string
	}{
		{apply.Event{Key: key("CDN", "shop"), Phase: "sent", Message: "PATCH"}, "CDN/shop  sent  PATCH"},
		{apply.Event{Key: key("CDN", "shop"), Phase: "end"}, "CDN/shop  end"},
		{apply.Event{Key: key("::error ::", "a"), Phase: "x\ny"}, `\::error ::/a  x\ny`},
	} {
		if got := ProgressLine(c.event); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}

// TestMarkdownFits holds that the report is never longer than a comment may be,
// that whole items are left out, and that what must be seen comes first.
func TestMarkdownFits(t *testing.T) {
	pl := examplePlan()
	for i := range 400 {
		item := changedItem()
		item.Key = kind.Key{Kind: "CDN", Name: fmt.Sprintf("n%d", i)}
		item.Changes = changes([]merge.Difference{{Path: "tls.forced", Class: merge.Changed, Live: "false", Desired: fmt.Sprint(i)}})
		pl.Items = append(pl.Items, item)
	}
	pl.Items = append(pl.Items, plan.Item{Key: key("CDN", "last"), Op: plan.Blocked, Reason: "why"})
	pl.WeighRisks()
	out := render(t, "markdown", Document{Command: "plan", Plan: pl}, view.TextOptions{})
	checkMarkdown(t, out, maxMarkdown, "")
	if len(out) < maxMarkdown*9/10 {
		t.Errorf("only %d bytes are used", len(out))
	}
	shown := strings.Count(string(out), "<details")
	if !strings.Contains(string(out), "\n> **This is not whole: it leaves out ") || shown < 100 {
		t.Errorf("%d are shown, and the top is %.2000q", shown, out)
	}
	if strings.Contains(string(out), "<code>CDN last</code> blocked") {
		t.Error("something else takes the place of what must be shown")
	}
}

func TestMarkdownOfOneHugeItem(t *testing.T) {
	item := changedItem()
	for i := range 1000 {
		item.Changes = append(item.Changes, plan.Change{Difference: merge.Difference{Path: fmt.Sprintf("headers.h%d", i), Class: merge.Changed, Desired: strings.Repeat("é", 300)}})
	}
	out := render(t, "markdown", Document{Command: "plan", Plan: &plan.Plan{Items: []plan.Item{item, createdItem()}}}, view.TextOptions{})
	checkMarkdown(t, out, maxMarkdown, "")
	for _, want := range []string{" more\n```\n\n</details>", "<code>CDN news</code> to create"} {
		if !strings.Contains(string(out), want) {
			t.Errorf("%q is missing", want)
		}
	}
}

func TestFenceBeatsBackticks(t *testing.T) {
	for content, want := range map[string]string{"a": "```", "``": "```", "```": "````", "x ````` y": "``````"} {
		if got := safetext.Fence("text", []safeText{clean(content)}).String(); !strings.HasPrefix(got, want+"text\n") {
			t.Errorf("%s: %s", content, got)
		}
	}
}

func TestColourIsThePaletteAlone(t *testing.T) {
	t.Setenv("NO_COLOR", "1")
	doc := goldenCases()[0].doc
	coloured := render(t, "text", doc, view.TextOptions{Color: true})
	plainText := render(t, "text", doc, view.TextOptions{})
	if !bytes.Contains(coloured, []byte("\x1b[1mCDN shop\x1b[")) || bytes.Contains(plainText, []byte("\x1b")) {
		t.Error("the option does not decide")
	}
	if got := sgr().ReplaceAll(coloured, nil); !bytes.Equal(got, plainText) {
		t.Error("colour changes the text")
	}
}

// TestNextOfWhatLiveDoesNotShow: an override helps where a value came back
// otherwise, and not where nothing did.
func TestNextOfWhatLiveDoesNotShow(t *testing.T) {
	key := kind.Key{Kind: "CDN", Name: "shop"}
	for want, mismatches := range map[string][]merge.Mismatch{
		"the server has something else than what was sent for CDN/shop":                    {{Path: "spec.tls.forced", Sent: "true", Returned: "false"}},
		"live does not show what the server confirmed for CDN/shop: check again with plan": nil,
	} {
		steps := view.NextSteps(&apply.Result{Outcomes: []apply.ItemOutcome{{Key: key, Verdict: apply.NotConverged, Mismatches: mismatches}}})
		if len(steps) != 1 || !strings.Contains(steps[0].String(), want) {
			t.Errorf("%q, want %q", steps, want)
		}
	}
}

// TestNumbersAndTheirTexts: a number that the server returns for a text is shown as that text is.
func TestNumbersAndTheirTexts(t *testing.T) {
	for _, tt := range []struct {
		live, git any
		want      string
	}{
		{json.Number("60"), "300", `"60" → "300"`},
		{"60", json.Number("300"), `"60" → "300"`},
		{true, "false", `"true" → "false"`},
		{json.Number("60"), json.Number("300"), "60 → 300"},
		{json.Number("60"), "auto", `60 → "auto"`},
	} {
		r := view.LoggedRows(plan.LoggedChanges{Changes: []plan.Change{{Difference: merge.Difference{Path: "x", Live: tt.live, Desired: tt.git}}}}, true)[0]
		if got := r.Before.String() + " → " + r.After.String(); got != tt.want {
			t.Errorf("%s, want %s", got, tt.want)
		}
	}
}
