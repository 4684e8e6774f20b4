package report

import (
	"encoding/json"
	"fmt"
	"html"
	"regexp"
	"strings"
	"testing"

	"trueup/internal/e2e/long"
	"trueup/internal/view"

	"pgregory.net/rapid"

	"trueup/internal/apply"
	"trueup/internal/canon"
	"trueup/internal/diag"
	"trueup/internal/kind"
	"trueup/internal/merge"
	"trueup/internal/plan"
)

// riskyTexts makes values that are all different, so that each can be looked for.
type riskyTexts struct {
	t *rapid.T
	n int
}

func (r *riskyTexts) text() string {
	r.n++
	middle := rapid.SampledFrom([]string{"", " and ", "://", "::", "##[", "`", "\u202e", "&", "<b>", strings.Repeat("long text ", 3), strings.Repeat("x", 700), strings.Repeat("y", 9000), strings.Repeat("広告 ", 90)}).Draw(r.t, "text")
	return fmt.Sprintf("v%d%sw%d", r.n, middle, r.n)
}

// value is a text, or an object that may be long.
func (r *riskyTexts) value() any {
	if rapid.IntRange(0, 2).Draw(r.t, "form") > 0 {
		return r.text()
	}
	object := map[string]any{}
	for i := range rapid.IntRange(1, 30).Draw(r.t, "fields") {
		object[fmt.Sprintf("f%d", i)] = r.text()
	}
	return map[string]any{"name": r.text(), "list": []any{r.text(), object}}
}

// change is one of a field of a CDN.
func (r *riskyTexts) change() plan.Change {
	r.n++
	field := rapid.SampledFrom([]string{
		"locations[/%d/*].rewrite", "locations[/%d/*].cache.edgeTTL", "locations[/%d/*].headers.H", "locations[/%d/*]", "locations[/%d/*].cors.x",
		"upstreams[o%d].servers[h:443]", "upstreams[o%d].servers[h:443].weight", "tls.x%d", "unknown%d", "headers.a%d", "locations[/%d/" + strings.Repeat("deep/", 60) + "*].upstream",
	}).Draw(r.t, "field")
	c := plan.Change{
		Difference: merge.Difference{Path: fmt.Sprintf(field, r.n), Class: rapid.SampledFrom([]merge.ChangeKind{
			merge.Changed, merge.DriftOverwrite, merge.TakeOver, merge.Conflict, merge.Removed, merge.UnknownBase, plan.ServerNormalised,
		}).Draw(r.t, "class")},
		Cause: rapid.SampledFrom([]plan.Cause{plan.FromThisChange, plan.FromPending, plan.FromDrift, plan.FromUnknown}).Draw(r.t, "cause"),
	}
	switch rapid.IntRange(0, 4).Draw(r.t, "what happens") {
	case 0:
		c.Desired = r.value()
	case 1:
		c.Live = r.value()
	case 2:
		c.Live, c.Desired, c.Moved = map[string]any{"path": "/"}, map[string]any{"path": "/"}, true
	case 3:
		c.Live, c.Desired = r.value(), r.value()
	default:
		same := r.text()
		c.Live, c.Desired = "a"+same+"b", "c"+same+"d"
	}
	return c
}

func (r *riskyTexts) item(i int) plan.Item {
	item := plan.Item{
		Key: kind.Key{Kind: "CDN", Name: fmt.Sprintf("cdn-%d", i)}, Op: plan.Patch, Path: fmt.Sprintf("m/%d.yaml", i), Line: 1,
		Request: &plan.Request{Method: "PATCH", Path: fmt.Sprintf("/cdns/cdn-%d", i), Body: json.RawMessage(`{"spec":{}}`)},
	}
	switch rapid.IntRange(0, 9).Draw(r.t, "operation") {
	case 0:
		spec := map[string]any{
			"hostname": r.text(), "unknown": r.value(), "locations": []any{map[string]any{"path": "/" + r.text(), "rewrite": r.value()}, map[string]any{"path": "/x", "upstream": "o"}},
			"upstreams": []any{map[string]any{"name": "o", "servers": []any{map[string]any{"host": r.text(), "port": "443"}}}},
		}
		body, err := json.Marshal(map[string]any{"spec": spec})
		if err != nil {
			r.t.Fatal(err)
		}
		item.Op, item.Request.Body = plan.Create, body
	case 1: // one of many that are alike
		item.Changes = []plan.Change{{Difference: merge.Difference{Path: "locations[/*].upstream", Class: merge.Changed, Live: "one", Desired: rapid.SampledFrom([]string{"two", "three"}).Draw(r.t, "upstream")}}}
	case 2: // one of many that are alike until their details are read
		item.Changes = []plan.Change{{Difference: merge.Difference{Path: "unknown", Class: merge.Changed, Desired: map[string]any{
			"same": strings.Repeat("s", view.MaxInline), "other": rapid.SampledFrom([]string{"detail-a", "detail-b", "detail-c"}).Draw(r.t, "detail"),
		}}}}
	case 3: // more lines of one rule than a remark of others would list
		for range 2 * view.MaxParts {
			r.n++
			item.Changes = append(item.Changes, plan.Change{Difference: merge.Difference{Path: fmt.Sprintf("unknown%d", r.n), Class: merge.Changed, Desired: fmt.Sprintf("v%dw", r.n)}})
		}
	default:
		for range rapid.SampledFrom([]int{1, 1, 2, 3, 15}).Draw(r.t, "changes") {
			item.Changes = append(item.Changes, r.change())
		}
		for range rapid.IntRange(0, 2).Draw(r.t, "dropped") {
			r.n++
			item.Collateral = append(item.Collateral, merge.PathValue{Path: fmt.Sprintf("locations[/%d].cors.maxAge", r.n), Value: r.text()})
		}
	}
	return item
}

func riskyPlan(t *rapid.T) *plan.Plan {
	r := &riskyTexts{t: t}
	pl := &plan.Plan{Format: plan.Format}
	sizes := []int{1, 2, 5, 30}
	if testing.Short() {
		sizes = sizes[:3]
	}
	for i := range rapid.SampledFrom(sizes).Draw(t, "items") {
		pl.Items = append(pl.Items, r.item(i))
	}
	for range rapid.IntRange(0, 2).Draw(t, "settings") {
		r.n++
		pl.Settings = append(pl.Settings, plan.ChangedSetting{
			Path: "trueup.yaml", Field: fmt.Sprintf("overrides: CDN spec.f%d", r.n), Now: map[string]any{"ignore": r.text()}, Consequence: "hides 1 difference",
			Hides: []plan.HiddenField{{Key: key("CDN", "cdn-0"), Path: fmt.Sprintf("hidden%d", r.n), Git: r.text(), Live: r.text()}},
		})
	}
	for i := range rapid.SampledFrom([]int{0, 1, 2 * maxAnnotations}).Draw(t, "advice") {
		pl.Advice = append(pl.Advice, diag.Finding{Rule: "other", Path: "m/a.yaml", Line: i + 1, Severity: diag.Warning, Message: fmt.Sprintf("advice %d", i)})
	}
	return weighed(pl)
}

func textsIn(v any) (texts []string) {
	switch v := v.(type) {
	case string:
		texts = append(texts, v)
	case []any:
		for _, e := range v {
			texts = append(texts, textsIn(e)...)
		}
	case map[string]any:
		for _, name := range canon.SortedKeys(v) {
			texts = append(texts, textsIn(v[name])...)
		}
	}
	return texts
}

var tag = regexp.MustCompile(`<[^>]*>`)

// below begins a line of a value that Markdown has on several.
var below = regexp.MustCompile(`\n[-+]   `)

// readers undo what each format does to a text.
var readers = map[string]func(string) string{
	"text":        func(s string) string { return s },
	"markdown":    func(s string) string { return html.UnescapeString(below.ReplaceAllString(s, "")) },
	"html":        func(s string) string { return html.UnescapeString(tag.ReplaceAllString(s, "")) },
	"json":        jsonStrings,
	"github":      func(s string) string { return strings.NewReplacer("%25", "%", "%0A", "\n").Replace(s) },
	"sarif":       func(s string) string { return html.UnescapeString(jsonStrings(s)) },
	"junit":       html.UnescapeString,
	"codequality": jsonStrings,
}

// jsonStrings are all strings of a JSON text.
func jsonStrings(s string) string {
	var v any
	if err := json.Unmarshal([]byte(s), &v); err != nil {
		return ""
	}
	return strings.Join(textsIn(v), "\n")
}

// TestRisksBeforeAdvice: no number of warnings takes the place of a setting or of a
// change of the first two risks.
func TestRisksBeforeAdvice(t *testing.T) {
	pl := &plan.Plan{
		Format:   plan.Format,
		Settings: []plan.ChangedSetting{{Path: "trueup.yaml", Field: "workspace.uuid", Was: "a", Now: "b", Consequence: "c"}},
		Items: []plan.Item{{
			Key: key("CDN", "shop"), Op: plan.Patch, Path: "m/shop.yaml", Line: 1,
			Changes: changes([]merge.Difference{{Path: "upstreams[o].servers[foreign:443]", Class: merge.Changed, Desired: "foreign"}}),
		}},
	}
	for i := range maxResults + 1 {
		pl.Advice = append(pl.Advice, diag.Finding{Rule: "other", Path: "m/a.yaml", Line: i + 1, Severity: diag.Warning, Message: "advice"})
	}
	found := remarks(Document{Command: "plan", Plan: weighed(pl)})
	if found[0].rule != "plan/setting" || found[1].rule != "plan/serves" {
		t.Errorf("first are %s and %s", found[0].rule, found[1].rule)
	}
	log := jsonStrings(string(render(t, "sarif", Document{Command: "plan", Plan: pl}, view.TextOptions{})))
	for _, path := range []string{pl.Settings[0].Field, pl.Items[0].Changes[0].Path} {
		if !strings.Contains(log, path) {
			t.Errorf("SARIF lacks %s", path)
		}
	}
}

// TestSettingsAfterApply: a report of an apply shows the settings, too.
func TestSettingsAfterApply(t *testing.T) {
	pl := &plan.Plan{Format: plan.Format, Settings: []plan.ChangedSetting{{Path: "trueup.yaml", Field: "workspace.uuid", Was: "a", Now: "b", Consequence: "c"}}}
	for name, read := range readers {
		if out := read(string(render(t, name, Document{Command: "apply", Plan: pl, Apply: &apply.Result{}}, view.TextOptions{}))); !strings.Contains(out, "workspace.uuid") {
			t.Errorf("%s lacks the setting", name)
		}
	}
}

// TestEachRiskIsMarkedWhereItIs: as many lines of an object have the words of a risk as the Risks of the plan count.
func TestEachRiskIsMarkedWhereItIs(t *testing.T) {
	long.SetChecks(t, 40)
	rapid.Check(t, func(rt *rapid.T) {
		for _, item := range riskyPlan(rt).Items {
			for _, risk := range []kind.Risk{kind.RiskServes, kind.RiskSecurity} {
				marked := 0
				for _, r := range view.NewObjectView(item, view.TextOptions{}).Lines() {
					marked += strings.Count(r.Cause.String()+r.Text.String(), risk.Meaning())
				}
				if want := item.CountWithRisk(risk) - view.CountStopping(item, risk); marked != want {
					rt.Fatalf("%d lines of %s say %q, and %d are counted: %+v", marked, item.Key, risk.Meaning(), want, item)
				}
			}
		}
	})
}
