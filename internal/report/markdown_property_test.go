package report

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"trueup/internal/e2e/long"
	"trueup/internal/view"

	"github.com/yuin/goldmark/ast"
	"pgregory.net/rapid"

	"trueup/internal/diag"
	"trueup/internal/kind"
	"trueup/internal/merge"
	"trueup/internal/plan"
)

// anyText is a text that breaks out of something somewhere, or any other.
func anyText() *rapid.Generator[string] {
	return rapid.OneOf(rapid.SampledFrom(seeds), rapid.String(), rapid.Map(rapid.SliceOfN(rapid.SampledFrom(seeds), 1, 3), func(s []string) string { return strings.Join(s, "") }))
}

func anyChange() *rapid.Generator[plan.Change] {
	causes := []plan.Cause{plan.FromThisChange, plan.FromPending, plan.FromDrift, plan.FromBoth, plan.FromTakeOver, plan.FromRemoval, plan.FromLiveOnly, plan.FromRefusal, plan.FromUnknown}
	return rapid.Custom(func(t *rapid.T) plan.Change {
		value := func(name string) any {
			switch s := anyText().Draw(t, name); rapid.IntRange(0, 3).Draw(t, name+" form") {
			case 0:
				return nil
			case 1:
				return map[string]any{s: s, "list": []any{s, map[string]any{s: nil}, []any{s}}}
			default:
				return s
			}
		}
		c := plan.Change{
			Difference: merge.Difference{
				Path: rapid.SampledFrom([]string{"tls.forced", "locations[/a].cache", "a.b.c", ""}).Draw(t, "field") + anyText().Draw(t, "path"), Class: rapid.SampledFrom(classes).Draw(t, "class"),
				Base: value("base"), Live: value("live"), Desired: value("desired"), Moved: rapid.IntRange(0, 9).Draw(t, "moved") == 0,
			},
			Cause: rapid.SampledFrom(causes).Draw(t, "cause"), By: rapid.SampledFrom([]plan.ChangeOrigin{"", plan.ByThisChange}).Draw(t, "by"),
		}
		c.Cause = ofAuthor(c.Cause, c.By)
		return c
	})
}

// rename adds to an item a change of one field in several elements.
func rename(item *plan.Item, list, field, from, to string, names ...string) {
	for _, name := range names {
		item.Changes = append(item.Changes, plan.Change{
			Difference: merge.Difference{Path: list + "[" + name + "]." + field, Class: merge.Changed, Live: from, Desired: to}, Cause: plan.FromPending,
		})
	}
}

func anyItem() *rapid.Generator[plan.Item] {
	return rapid.Custom(func(t *rapid.T) plan.Item {
		item := plan.Item{
			Key: kind.Key{Kind: rapid.SampledFrom([]string{"CDN", "Purge", "x"}).Draw(t, "kind"), Name: anyText().Draw(t, "name")},
			Op:  rapid.SampledFrom(ops).Draw(t, "op"), Path: anyText().Draw(t, "file"), Line: 1, Reason: anyText().Draw(t, "reason"), Fix: anyText().Draw(t, "fix"),
			Changes: rapid.SliceOfN(anyChange(), 0, 12).Draw(t, "changes"),
		}
		if rapid.Bool().Draw(t, "renamed") {
			rename(&item, "locations", "host", anyText().Draw(t, "from"), anyText().Draw(t, "to"), anyText().Draw(t, "element"), "/b")
		}
		if item.Op == plan.Post {
			item.Purge = &plan.PurgeInfo{Hostname: anyText().Draw(t, "host"), Paths: 3, Sample: []string{anyText().Draw(t, "sample")}}
		}
		if rapid.Bool().Draw(t, "sends") {
			item.Request = &plan.Request{Method: "POST", Path: "/x", Body: body(anyText().Draw(t, "body"))}
		}
		for range rapid.IntRange(0, 2).Draw(t, "values") {
			v := merge.PathValue{Path: anyText().Draw(t, "value path"), Value: anyText().Draw(t, "value")}
			item.Preserved, item.FirstContact = append(item.Preserved, v), append(item.FirstContact, v)
		}
		// An enormous item has so many lines of the same kind.
		for i := range rapid.SampledFrom([]int{0, 0, 0, 0, 400}).Draw(t, "more") {
			item.Changes = append(item.Changes, plan.Change{Difference: merge.Difference{Path: "headers.h" + strconv.Itoa(i), Class: merge.Changed, Desired: "広告 " + strconv.Itoa(i)}, Cause: plan.FromThisChange})
		}
		return item
	})
}

func anyDocument() *rapid.Generator[Document] {
	return rapid.Custom(func(t *rapid.T) Document {
		pl := &plan.Plan{
			Items:  rapid.SliceOfN(anyItem(), 0, 15).Draw(t, "items"),
			Digest: anyText().Draw(t, "digest"), Offline: rapid.Bool().Draw(t, "offline"), Notes: rapid.SliceOfN(anyText(), 0, 2).Draw(t, "notes"),
			Blame:   &plan.ComparedCommits{Ref: anyText().Draw(t, "ref"), Base: anyText().Draw(t, "base"), Problem: anyText().Draw(t, "problem"), Fix: anyText().Draw(t, "what to do")},
			Summary: plan.Summary{Create: 99999, Change: 99999, Purge: 99999, Delete: 1, Deferred: 1, InFlight: 1, Blocked: 1, Kept: 1, Unchanged: 1, Removed: 1, Drifted: 1, Unmanaged: 1},
		}
		if rapid.Bool().Draw(t, "advised") {
			s := anyText().Draw(t, "advice")
			pl.Advice = diag.List{{Path: s, Line: 1, Rule: s, Message: s, Fix: s, Source: s, Severity: diag.Advice}}
		}
		return Document{
			Command: "plan", Sandbox: rapid.Bool().Draw(t, "sandbox"), Plan: pl, Errors: rapid.SliceOfN(anyText(), 0, 2).Draw(t, "errors"),
			RunURL: rapid.SampledFrom([]string{"https://ci.example.com/runs/7", "https://ci.example.com/a)b", "javascript:alert(1)", ""}).Draw(t, "run"),
			Files:  []SideReport{{"html", anyText().Draw(t, "page")}},
		}
	})
}

// TestMarkdownOfAnyPlan: whatever a plan is and whatever room there is, the
// report fits and nothing in it is obeyed, and each part is there or counted.
func TestMarkdownOfAnyPlan(t *testing.T) {
	long.SetChecks(t, 40)
	rapid.Check(t, func(rt *rapid.T) {
		doc := anyDocument().Draw(rt, "document")
		budget := rapid.OneOf(rapid.IntRange(2000, 6000), rapid.IntRange(2000, 100_000)).Draw(rt, "room")
		out := []byte(renderMarkdown(doc, view.TextOptions{}, budget).String())
		checkPlain(rt, "markdown", out)
		checkMarkdown(rt, out, budget, doc.RunURL)
		shown, left := 0, 0
		for n := parsed(out).FirstChild(); n != nil; n = n.NextSibling() {
			if n.Kind() == ast.KindParagraph && strings.HasPrefix(string(n.Lines().Value(out)), "**") {
				break // what is left out is named below
			}
			if n.Kind() == ast.KindFencedCodeBlock {
				shown++
			}
		}
		if m := regexp.MustCompile(`\*\*(\d+) more parts? did not fit`).FindSubmatch(out); m != nil {
			left, _ = strconv.Atoi(string(m[1]))
		}
		if all := len(markdownBlocks(doc, view.TextOptions{})); shown+left != all || all > 0 && len(out) == 0 {
			rt.Fatalf("%d parts are shown and %d counted of %d, in %q", shown, left, all, out)
		}
	})
}

// TestMarkdownStarvesNobody: an enormous object leaves room for others of its
// rank, and those of one rank for the ranks below.
func TestMarkdownStarvesNobody(t *testing.T) {
	huge := func(name string, class merge.ChangeKind) plan.Item {
		item := plan.Item{Key: key("CDN", name), Op: plan.Patch}
		for i := range 3000 {
			item.Changes = append(item.Changes, changes([]merge.Difference{{Path: fmt.Sprintf("headers.h%d", i), Class: class, Base: "1", Live: "2", Desired: "3"}})...)
		}
		return item
	}
	pl := &plan.Plan{Items: []plan.Item{
		huge("drifted", merge.DriftOverwrite), huge("changed", merge.Changed), changedItem(), createdItem(), purgeItem(), blockedItem(),
	}}
	for _, budget := range []int{8000, maxMarkdown} {
		out := renderMarkdown(Document{Command: "plan", Plan: pl}, view.TextOptions{}, budget).String()
		checkMarkdown(t, []byte(out), budget, "")
		if len(out) < budget*8/10 {
			t.Errorf("%d bytes of %d are used", len(out), budget)
		}
		for _, name := range []string{"CDN drifted", "CDN changed", "CDN shop", "CDN news", "Purge rel-42", "CDN legacy"} {
			if !strings.Contains(out, "<summary><code>"+strings.ReplaceAll(name, ":", "&#58;")+"</code>") {
				t.Errorf("%s has no room in %d", name, budget)
			}
		}
	}
}

// TestMarkdownWithoutRoom: a report that has no room for its summary is none: half
// of one would mislead.
func TestMarkdownWithoutRoom(t *testing.T) {
	doc := Document{Command: "plan", Plan: explainedPlan()}
	if out := renderMarkdown(doc, view.TextOptions{}, 400).String(); out != "" {
		t.Errorf("%q", out)
	}
	// Names are what the head loses first.
	advised := *doc.Plan
	advised.Advice = append(advised.Advice, advised.Advice...)
	out := renderMarkdown(scored(Document{Command: "plan", Plan: &advised}), view.TextOptions{}, 2000).String()
	checkMarkdown(t, []byte(out), 2000, "")
	for _, want := range []string{"- **1 purge to post**", "- **2 conflicts of git and live**", "- **4 pieces of advice**", "Digest <code>", "more parts did not fit.**", "> **This is not whole: it leaves out 19 changes, 2 that may expose protected content; 11 that may serve other content, or none; "} {
		if !strings.Contains(out, want) {
			t.Errorf("%q is missing in %s", want, out)
		}
	}
}

// TestMarkdownOrder: counts, risks and objects come before what the plan was made from.
func TestMarkdownOrder(t *testing.T) {
	doc := goldenCases()[0].doc
	doc.Plan.Digest = "sha256:9b1c"
	out := string(render(t, "markdown", doc, view.TextOptions{}))
	at := 0
	for _, want := range []string{"## Plan: ", "\n- **", " that may serve other content", "<summary><code>CDN shop", "<summary><code>Purge", "\nCauses: ", "Ledger <code>", "Digest <code>sha256"} {
		i := strings.Index(out[at:], want)
		if i < 0 {
			t.Fatalf("%q is not below %q in\n%s", want, out[:at], out)
		}
		at += i
	}
}

// scored is a document as Write passes it on.
func scored(doc Document) Document {
	doc.score = view.NewPlanScore(doc.Plan, doc.Apply != nil)
	return doc
}
