package report

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"testing"

	"trueup/internal/diag"
	"trueup/internal/kind"
	"trueup/internal/merge"
	"trueup/internal/plan"
	"trueup/internal/routing"
	"trueup/internal/view"
)

// TestWhatIsLeftSaysSo: drift that stays is no change, and differs from one in
// every format that people read.
func TestWhatIsLeftSaysSo(t *testing.T) {
	left := plan.Change{Difference: merge.Difference{Path: "tls.forced", Class: merge.DriftOverwrite, Base: "true", Live: "false", Desired: "true", Left: true}, Cause: plan.FromDrift}
	gone := plan.Change{Difference: merge.Difference{Path: "cors", Class: merge.DriftOverwrite, Desired: "x", Left: true}, Cause: plan.FromDrift}
	added := plan.Change{Difference: merge.Difference{Path: "headers", Class: merge.DriftOverwrite, Live: "y", Left: true}, Cause: plan.FromDrift}
	doc := Document{Command: "plan", Plan: &plan.Plan{Format: plan.Format, Items: []plan.Item{
		{Key: kind.Key{Kind: "CDN", Name: "a"}, Op: plan.Kept, Reason: "it was changed outside git", Fix: "take it into git", Changes: []plan.Change{gone, added, left}},
		{Key: kind.Key{Kind: "CDN", Name: "b"}, Op: plan.Kept, Deleted: true, Reason: "it was deleted outside git", Fix: "make it again"},
	}}}
	for _, format := range []string{"text", "markdown", "html"} {
		text := string(render(t, format, doc, view.TextOptions{}))
		if n := strings.Count(text, "left as it is (--drift report)"); n != 3 {
			t.Errorf("%s says it %d times: %s", format, n, text)
		}
		for _, want := range []string{"it was changed outside git", "take it into git", "it was deleted outside git", "make it again"} {
			if !strings.Contains(text, want) {
				t.Errorf("%s does not say %q: %s", format, want, text)
			}
		}
	}
	text := string(render(t, "text", doc, view.TextOptions{}))
	for _, want := range []string{`"false" (git: "true")`, `absent (git: "x")`, `"y" (git: absent)`} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in %s", want, text)
		}
	}
}

// TestANewFormatLosesNothing: what a format leaves out of a plan is appended to it, or it is no report.
func TestANewFormatLosesNothing(t *testing.T) {
	doc := Document{Command: "plan", Plan: weighed(&plan.Plan{Items: []plan.Item{changedItem(), purgeItem()}})}
	forgetful := outputFormat{write: func(io.Writer, Document, view.TextOptions) error { return nil }, rest: writeLines}
	var out bytes.Buffer
	if err := forgetful.writeDocument(&out, doc, view.TextOptions{}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`CDN/shop: secureLink.tokenName: "t" → "token" (may expose protected content`, "CDN/shop: not sent: locations[/api/*].cors.maxAge", "Purge/rel-42: paths: /static/*"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is not in %s", want, out.String())
		}
	}
	forgetful.rest = nil
	if err := forgetful.writeDocument(&out, doc, view.TextOptions{}); err == nil {
		t.Error("a report without the changes is one")
	}
}

// TestDeletionsAreCounted: a comment that has no room for all deletions is not whole, and says so; annotations name them.
func TestDeletionsAreCounted(t *testing.T) {
	pl := &plan.Plan{Format: plan.Format}
	for n := range 700 {
		key := kind.Key{Kind: "VolumeSnapshot", Name: fmt.Sprintf("snapshot-of-a-volume-with-a-long-name-%d", n)}
		pl.Items = append(pl.Items, plan.Item{Key: key, Op: plan.Delete, Cause: plan.FromRemoval})
	}
	doc := Document{Command: "plan", Plan: weighed(pl)}
	if fitsInComment(doc) {
		t.Error("a comment has room for 700 deletions")
	}
	if text := string(render(t, "markdown", doc, view.TextOptions{})); !strings.Contains(text, "This is not whole: it leaves out ") || !strings.Contains(text, "because they delete an object") {
		t.Errorf("the comment says that it is whole: %.1000s", text)
	}
	if text := string(render(t, "github", doc, view.TextOptions{})); !strings.Contains(text, "VolumeSnapshot/snapshot-of-a-volume-with-a-long-name-10: ") {
		t.Errorf("no annotation names it: %.1000s", text)
	}
	for line := range strings.Lines(string(render(t, "github", doc, view.TextOptions{}))) {
		if len(line) > 4096 {
			t.Errorf("an annotation has %d bytes", len(line))
		}
		if strings.Contains(line, " more of this kind") && (!strings.Contains(line, "of them below; the others have ") || strings.Contains(line, "does not show")) {
			t.Errorf("the last annotation is %.300s", line)
		}
	}
	pl.Items = pl.Items[:5]
	if doc = (Document{Command: "plan", Plan: weighed(pl)}); !fitsInComment(doc) {
		t.Error("a comment has no room for 5 deletions")
	}
}

// TestAdviceHidesNoUnservedRequests: warnings about manifests take no annotation from requests that are no longer served.
func TestAdviceHidesNoUnservedRequests(t *testing.T) {
	shop := kind.Key{Kind: "CDN", Name: "shop"}
	pl := &plan.Plan{Format: plan.Format, Items: []plan.Item{{Key: shop, Op: plan.Patch}}, Requests: []routing.RequestChange{{Effect: routing.Dark, Objects: []kind.Key{shop}}}}
	for i := range 3 * maxAnnotations {
		pl.Advice = append(pl.Advice, diag.Finding{Rule: "other", Path: "m/a.yaml", Line: i + 1, Severity: diag.Warning, Message: "advice"})
	}
	if found := remarks(Document{Command: "plan", Plan: weighed(pl)}); found[0].rule != "plan/unserved" {
		t.Errorf("%s is first", found[0].rule)
	}
}
