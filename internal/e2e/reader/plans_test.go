package reader

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"pgregory.net/rapid"

	"trueup/internal/kind"
	"trueup/internal/merge"
	"trueup/internal/plan"
)

// draws makes names and values that are all different, so that each can be looked for.
type draws struct {
	t *rapid.T
	n int
}

func (d *draws) one(label string, texts ...string) string {
	return rapid.SampledFrom(texts).Draw(d.t, label)
}

// fillers are what a hostile author puts between the two ends of a text.
var fillers = []string{
	"", "", "", " and ", "://", "::error::", "##[group]", "`````", "<b>&amp;", "]]>", "%0A", "{{", "](", "\u202e", "\u200d", "\n", "\t", "\" → \"", "    # already so",
	strings.Repeat(" ", 400), strings.Repeat("x", 700), strings.Repeat("y", 3000), strings.Repeat("広告 ", 90), strings.Repeat("long text ", 30),
}

// text returns a text with ends of its own.
func (d *draws) text() string {
	d.n++
	return fmt.Sprintf("v%dq%sqw%d", d.n, rapid.SampledFrom(fillers).Draw(d.t, "filler"), d.n)
}

// key returns the name of an element.
func (d *draws) key() string {
	d.n++
	hostile := d.one("key", "", "", "", "", "-a", "/*", "].action.x: 300    # so", "é", " spaced", "`", "{x}", strings.Repeat("deep/", 50))
	return fmt.Sprintf("k%d%sm%d", d.n, hostile, d.n)
}

// pair returns two values that differ, perhaps only behind a long equal beginning.
func (d *draws) pair() (before, after any) {
	switch rapid.IntRange(0, 7).Draw(d.t, "pair") {
	case 2:
		d.n++
		pad := strings.Repeat("z", 300)
		old, current := fmt.Sprintf("v%dq%s<%da>%[2]sqw%[1]d", d.n, pad, d.n), fmt.Sprintf("v%dq%s<%db>%[2]sqw%[1]d", d.n, pad, d.n)
		switch rapid.IntRange(0, 2).Draw(d.t, "in") {
		case 0:
			return []any{d.text(), old}, []any{d.text(), current, d.text()}
		case 1:
			return []any{map[string]any{"type": "x", "value": old}}, []any{map[string]any{"type": "x", "value": current}}
		}
		return old, current
	case 3:
		list := []any{}
		for range 20 {
			list = append(list, d.text())
		}
		if rapid.Bool().Draw(d.t, "was a list") {
			return list, d.text()
		}
		return d.text(), list
	case 0:
		d.n++
		same := fmt.Sprintf("v%dq%s", d.n, d.one("beginning", strings.Repeat(" ", 400), strings.Repeat("https://shop.example.com/ ", 20), strings.Repeat("z", 3000)))
		return fmt.Sprintf("%sqw%da", same, d.n), fmt.Sprintf("%sqw%db", same, d.n)
	case 1:
		list := []any{}
		for range rapid.SampledFrom([]int{1, 3, 3, 3, 12, 12, 40, 200}).Draw(d.t, "list") {
			list = append(list, d.text())
		}
		other := slices.Clone(list)
		for range rapid.IntRange(1, 3).Draw(d.t, "differ") {
			other[rapid.IntRange(0, len(list)-1).Draw(d.t, "at")] = d.text()
		}
		return list, other
	}
	return d.text(), d.text()
}

// element is a new list element, perhaps with many fields.
func (d *draws) element() any {
	object := map[string]any{"name": d.text()}
	for i := range rapid.IntRange(0, 12).Draw(d.t, "fields") {
		object[fmt.Sprintf("f%d", i)] = d.text()
	}
	if rapid.Bool().Draw(d.t, "nested") {
		object["action"] = map[string]any{"type": d.text(), "list": []any{d.text(), d.text()}}
	}
	return object
}

// elementFields are fields of list elements, of each class.
var elementFields = []string{
	"firewall.rules[%s].enabled", "firewall.rules[%s].action.ratelimit.rate", "firewall.rules[%s].action.type", "locations[%s].rewrite",
	"locations[%s].cache.edgeTTL", "locations[%s].cache.browserTTL", "locations[%s].headers.h", "locations[%s].cors.allowOrigins", "upstreams[%s].scheme",
}

func (d *draws) class() merge.ChangeKind {
	return rapid.SampledFrom([]merge.ChangeKind{merge.Changed, merge.Changed, merge.DriftOverwrite, merge.TakeOver, merge.Conflict, merge.Removed}).Draw(d.t, "class")
}

func (d *draws) change() plan.Change {
	c := plan.Change{Difference: merge.Difference{Class: d.class()}, Cause: rapid.SampledFrom([]plan.Cause{plan.FromThisChange, plan.FromPending, plan.FromDrift}).Draw(d.t, "cause")}
	field := d.one("field", append(elementFields, "tls.x%s", "unknown%s", "firewall.rules[%s]", "locations[%s]", "upstreams[%s]")...)
	c.Path = fmt.Sprintf(field, d.key())
	switch whole := strings.HasSuffix(field, "[%s]"); {
	case whole && rapid.Bool().Draw(d.t, "gone"):
		c.Live = d.element()
	case whole:
		c.Desired = d.element()
	case rapid.IntRange(0, 3).Draw(d.t, "kind") == 0:
		c.Desired = d.text()
	default:
		c.Live, c.Desired = d.pair()
	}
	if rapid.IntRange(0, 3).Draw(d.t, "place") > 0 {
		c.Line, c.Column = d.n, 3
	}
	return c
}

// repeated is one change of one field in many elements.
func (d *draws) repeated() (found []plan.Change) {
	field, cause := d.one("field", elementFields...), rapid.SampledFrom([]plan.Cause{plan.FromThisChange, plan.FromPending}).Draw(d.t, "cause")
	before, after := d.text(), d.text()
	for range rapid.SampledFrom([]int{2, 3, 3, 12, 13, 13, 13, 20, 20, 60, 200}).Draw(d.t, "elements") {
		d.n++
		c := plan.Change{Difference: merge.Difference{Path: fmt.Sprintf(field, fmt.Sprintf("k%dm", d.n)), Class: merge.Changed, Live: before, Desired: after}, Cause: cause}
		found = append(found, c)
	}
	return found
}

func (d *draws) cdn(changes ...plan.Change) plan.Item {
	d.n++
	name := fmt.Sprintf("cdn-%d-x", d.n)
	return plan.Item{
		Key: kind.Key{Kind: "CDN", Name: name}, Op: plan.Patch, Path: "m/" + name + ".yaml", Line: 1, Changes: changes,
		Request: &plan.Request{Method: "PATCH", Path: "/cdns/" + name, Body: json.RawMessage(`{"spec":{}}`)},
	}
}

// family is several CDNs that differ in the last element at most.
func (d *draws) family() (items []plan.Item) {
	same := d.repeated()
	for range rapid.IntRange(3, 6).Draw(d.t, "family") {
		changes := slices.Clone(same)
		if last := &changes[len(changes)-1]; rapid.Bool().Draw(d.t, "differs") {
			d.n++
			last.Path = strings.ReplaceAll(last.Path, last.Path[strings.Index(last.Path, "["):strings.Index(last.Path, "]")], fmt.Sprintf("[k%dm", d.n))
		}
		items = append(items, d.cdn(changes...))
	}
	return items
}

// purge posts up to 1000 paths; anywhere among them are prefixes.
func (d *draws) purge() plan.Item {
	item := d.cdn()
	item.Kind, item.Op = "Purge", plan.Post
	info := &plan.PurgeInfo{Hostname: item.Name + ".example.com"}
	var paths []string
	prefixes := rapid.SampledFrom([]int{0, 1, 2, 30}).Draw(d.t, "prefixes")
	for i := range rapid.SampledFrom([]int{1, 9, 10, 11, 11, 100, 1000}).Draw(d.t, "paths") {
		d.n++
		paths = append(paths, fmt.Sprintf("/v%dq/file%d.html", d.n, i))
	}
	for range prefixes {
		d.n++
		at := rapid.IntRange(0, len(paths)).Draw(d.t, "at")
		paths = slices.Insert(paths, at, fmt.Sprintf("/v%dq%s*", d.n, d.one("prefix", "", "/", strings.Repeat("/deep", 20))))
	}
	if rapid.IntRange(0, 4).Draw(d.t, "all") == 0 {
		paths, info.Everything = append(paths, "/*"), true
		prefixes++
	}
	info.Paths, info.Prefixes, info.Sample = len(paths)-prefixes, prefixes, paths[:min(10, len(paths))]
	item.Purge, item.Request = info, d.request("POST", map[string]any{"hostname": info.Hostname, "paths": paths})
	return item
}

func (d *draws) request(method string, spec map[string]any) *plan.Request {
	body, err := json.Marshal(map[string]any{"spec": spec})
	if err != nil {
		d.t.Fatal(err)
	}
	return &plan.Request{Method: method, Path: "/x", Body: body}
}

func (d *draws) creation() plan.Item {
	item := d.cdn()
	item.Op = plan.Create
	item.Request = d.request("POST", map[string]any{
		"hostname":  d.text(),
		"locations": []any{map[string]any{"path": "/" + d.key(), "rewrite": d.text(), "headers": map[string]any{"a": d.text()}}, map[string]any{"path": "/x", "upstream": "o"}},
		"upstreams": []any{map[string]any{"name": "o", "scheme": "https", "servers": []any{map[string]any{"host": d.text(), "port": "443"}}}},
		"firewall":  map[string]any{"rules": []any{d.element(), d.element()}},
	})
	return item
}

func (d *draws) items() []plan.Item {
	switch rapid.IntRange(0, 9).Draw(d.t, "object") {
	case 0:
		return d.family()
	case 1:
		return []plan.Item{d.purge()}
	case 2:
		return []plan.Item{d.creation()}
	case 3:
		return []plan.Item{d.cdn(d.repeated()...)}
	}
	item := d.cdn()
	for range rapid.SampledFrom([]int{1, 1, 2, 3, 15}).Draw(d.t, "changes") {
		item.Changes = append(item.Changes, d.change())
	}
	for range rapid.IntRange(0, 1).Draw(d.t, "dropped") {
		item.Collateral = append(item.Collateral, merge.PathValue{Path: fmt.Sprintf("locations[%s].cors.maxAge", d.key()), Value: d.text()})
	}
	if rapid.IntRange(0, 4).Draw(d.t, "first contact") == 0 {
		item.Op, item.Request, item.Reason, item.NeedsPerson = plan.Blocked, nil, "git does not own it", true
		item.FirstContact = append(item.FirstContact, merge.PathValue{Path: fmt.Sprintf("locations[%s]", d.key()), Value: d.element()})
	}
	return []plan.Item{item}
}

// drawPlan makes a plan of up to 60 objects.
func drawPlan(t *rapid.T) *plan.Plan {
	d := &draws{t: t}
	pl := &plan.Plan{Format: plan.Format}
	for range rapid.SampledFrom([]int{1, 1, 1, 1, 1, 1, 1, 2, 2, 3, 8}).Draw(t, "objects") {
		pl.Items = append(pl.Items, d.items()...)
	}
	if rapid.IntRange(0, 99).Draw(t, "many") == 0 {
		for len(pl.Items) < 60 {
			pl.Items = append(pl.Items, d.items()...)
		}
		pl.Items = pl.Items[:60]
	}
	for range rapid.SampledFrom([]int{0, 0, 0, 1, 2}).Draw(t, "settings") {
		d.n++
		pl.Settings = append(pl.Settings, plan.ChangedSetting{
			Path: "trueup.yaml", Field: fmt.Sprintf("overrides: CDN spec.f%d", d.n), Now: map[string]any{"ignore": d.text()}, Consequence: "hides 1 difference",
			Hides: []plan.HiddenField{{Key: kind.Key{Kind: "CDN", Name: "other"}, Path: "unknown" + d.key(), Git: d.text(), Live: d.text()}},
		})
	}
	if rapid.IntRange(0, 6).Draw(t, "drift") == 0 {
		for i := range pl.Items {
			pl.Items[i].Happened = pl.Items[i].Op == plan.Patch
		}
	}
	pl.WeighRisks()
	return pl
}

// fact is something in a plan that a reader must see: the names on the way to it, and the ends of its values.
type fact struct {
	object, unit  string
	risk          kind.Risk
	keys          []string
	before, after []string
}

// isGrave reports whether a risk is of a class that no format may count.
func isGrave(r kind.Risk) bool { return r >= kind.RiskAvailability }

func riskIn(kindName, path string, v any) kind.Risk {
	k, _ := kind.FindKind(kindName)
	return k.Spec().FindField(path).RiskOf(v, nil)
}

// factsOf returns what a reader of a plan must see.
func factsOf(pl *plan.Plan) (facts []fact) {
	add := func(object, path string, risk kind.Risk, before, after []string) {
		if isGrave(risk) {
			facts = append(facts, fact{object, object + " " + path, risk, namesIn(path), before, after})
		}
	}
	for _, s := range pl.Settings {
		add("", s.Field, kind.RiskServes, nil, endsOf(s.Now))
		for _, h := range s.Hides {
			add("", h.Path, max(riskIn(h.Kind, h.Path, h.Live), riskIn(h.Kind, h.Path, h.Git)), nil, append(endsOf(h.Live), endsOf(h.Git)...))
		}
	}
	for _, item := range pl.Items {
		for _, c := range item.Changes {
			before, after := differing(c.Live, c.Desired)
			if item.Happened {
				before, after = after, before
			}
			add(item.Name, c.Path, c.Risk, before, after)
		}
		for _, v := range append(slices.Clone(item.Collateral), item.FirstContact...) {
			add(item.Name, v.Path, riskIn(item.Kind, v.Path, v.Value), endsOf(v.Value), nil)
		}
		spec := item.BodySpec()
		if item.Op == plan.Post {
			paths, _ := spec["paths"].([]any)
			for _, p := range paths {
				if text, _ := p.(string); strings.HasSuffix(text, "*") {
					facts = append(facts, fact{item.Name, item.Name + text, kind.RiskAvailability, []string{text}, nil, nil})
				}
			}
			if item.Purge.Everything {
				facts = append(facts, fact{item.Name, item.Name, kind.RiskAvailability, []string{"everything"}, nil, nil})
			}
		}
		if item.Op == plan.Create {
			for name, v := range spec {
				for _, part := range partsOf(v) {
					if risk := riskIn("CDN", name, part); isGrave(risk) {
						facts = append(facts, fact{item.Name, fmt.Sprint(item.Name, name, endsOf(part)), risk, []string{name}, nil, endsOf(part)})
					}
				}
			}
		}
	}
	return facts
}

// partsOf returns the elements of the lists in a value, or the value.
func partsOf(v any) (parts []any) {
	switch v := v.(type) {
	case []any:
		return v
	case map[string]any:
		for _, below := range v {
			parts = append(parts, partsOf(below)...)
		}
		return parts
	}
	return []any{v}
}

// differing returns the ends of the texts that only one of two values has, or all if one is absent.
func differing(before, after any) (a, b []string) {
	x, y := endsOf(before), endsOf(after)
	if _, isList := before.([]any); !isList {
		return x, y
	}
	only := func(x, y []string) []string {
		return slices.DeleteFunc(slices.Clone(x), func(s string) bool { return slices.Contains(y, s) })
	}
	return only(x, y), only(y, x)
}

// endsOf returns the first and the last characters of each text in a value.
func endsOf(v any) (ends []string) {
	switch v := v.(type) {
	case string:
		if from, to := strings.Index(v, "q"), strings.LastIndex(v, "q"); strings.HasPrefix(v, "v") && from > 0 && from < to {
			if i := strings.Index(v, "<"); strings.HasSuffix(v[:max(i, 0)], "zzz") { // it differs in the middle alone
				return []string{v[:from+1], v[i : strings.Index(v, ">")+1], v[to:]}
			}
			return []string{v[:from+1], v[to:]}
		}
		return []string{v}
	case []any:
		for _, e := range v {
			ends = append(ends, endsOf(e)...)
		}
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			ends = append(ends, endsOf(v[name])...)
		}
	}
	return ends
}

// namesIn returns the field and the names of elements in a path that was drawn.
func namesIn(path string) []string {
	list, rest, ok := strings.Cut(path, "[")
	end := strings.LastIndex(rest, "]")
	if !ok || end < 0 {
		return []string{path}
	}
	return slices.DeleteFunc([]string{list, rest[:end], strings.TrimPrefix(rest[end+1:], ".")}, func(s string) bool { return s == "" })
}
