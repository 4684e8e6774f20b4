package merge

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"
	"trueup/internal/canon"
	"trueup/internal/kind"
)

func decode(t testing.TB, s string) any {
	t.Helper()
	if s == "" {
		return nil
	}
	v, err := canon.Decode([]byte(s))
	if err != nil {
		t.Fatalf("%s: %v", s, err)
	}
	return v
}

func encode(v any) string { return string(canon.Encode(v)) }

// specRules is a small platform with every shape that rules can have.
func specRules() *Rules {
	text := &Rules{Type: kind.Text}
	server := &Rules{Fields: map[string]*Rules{
		"host": text, "port": text, "weight": text, "id": {ReadOnly: true},
	}}
	upstream := &Rules{Fields: map[string]*Rules{
		"name": text, "scheme": text, "q": {Type: kind.Number},
		"servers": {Key: []string{"host", "port"}, Set: true, Join: ":", Item: server},
	}}
	location := &Rules{Fields: map[string]*Rules{
		"host": text, "path": text, "ttl": text, "rid": {ReadOnly: true},
		"cache": {Fields: map[string]*Rules{"level": text, "on": {Type: kind.Bool}}},
		"tags":  {Set: true, Item: text},
	}}
	constraint := &Rules{Discriminator: "type", Fields: map[string]*Rules{"type": text, "ip": {}, "asn": {}}}
	rule := &Rules{Fields: map[string]*Rules{
		"name":        text,
		"action":      {Discriminator: "type", Fields: map[string]*Rules{"type": text, "deny": {}, "limit": {}}},
		"constraints": {Item: &Rules{Item: constraint}},
	}}
	return &Rules{Fields: map[string]*Rules{
		"hostname":  text,
		"tls":       {Fields: map[string]*Rules{"forced": text, "auto": text}},
		"rate":      {Type: kind.Number},
		"state":     {ReadOnly: true},
		"upstreams": {Key: []string{"name"}, Set: true, Item: upstream},
		"locations": {Key: []string{"host", "path"}, Item: location},
		"rules":     {Key: []string{"name"}, Item: rule},
		"plain":     {},
	}}
}

// overridden is specRules with what a user may say in the project file.
func overridden() *Rules {
	r := specRules()
	r.Fields["tls"].Fields["forced"] = &Rules{Type: kind.Text, Ignore: true}
	r.Fields["locations"].Set = true
	r.Fields["locations"].Item.Fields["ttl"] = &Rules{Type: kind.Text, Ignore: true}
	r.Fields["rules"].Item.Fields["action"].ReadOnly = true
	r.Fields["rules"].Item.Fields["constraints"].Item.Item.Fields["asn"].Ignore = true
	return r
}

// keyPool are the keys that elements of each list may have.
var keyPool = map[string][]map[string]any{
	"upstreams":   {{"name": "a"}, {"name": "b"}, {"name": "c"}},
	"rules":       {{"name": "r"}, {"name": "s"}, {"name": "t"}},
	"servers":     {{"host": "a", "port": "80"}, {"host": "a", "port": "443"}, {"host": "b", "port": "80"}},
	"locations":   {{"path": "/a"}, {"path": "/b", "host": "h"}, {"path": "/c"}},
	"constraints": nil, "tags": nil, "plain": nil,
}

// dice draws small decisions, so that rapid can shrink a whole tree.
type dice struct{ *rapid.T }

func (d dice) roll(n int) int  { return rapid.IntRange(0, n-1).Draw(d.T, "roll") }
func (d dice) in(n int) bool   { return d.roll(n) == n-1 }
func (d dice) of(v ...any) any { return v[d.roll(len(v))] }
func (d dice) scalar(r *Rules) any {
	switch r.scalarType() {
	case kind.Text:
		return d.of("1", "x", "true")
	case kind.Bool:
		return d.of(true, false)
	case kind.Number:
		return d.of(json.Number("1"), json.Number("2"))
	case kind.AnyType, kind.ObjectType, kind.ListType:
	}
	return d.of("1", "true", json.Number("300"), true)
}

// object makes what a manifest may say below r.
func (d dice) object(r *Rules) map[string]any {
	out := map[string]any{}
	if r != nil {
		for _, k := range canon.SortedKeys(anyMap(r.Fields)) {
			if d.in(2) {
				out[k] = d.member(k, r.Fields[k])
			}
		}
		if r.Discriminator != "" {
			out[r.Discriminator] = d.of("ip", "asn", "deny", "limit")
		}
	}
	if d.in(6) {
		out["x"] = d.scalar(nil)
	}
	return out
}

func anyMap(m map[string]*Rules) map[string]any {
	out := map[string]any{}
	for k := range m {
		out[k] = nil
	}
	return out
}

func (d dice) member(name string, r *Rules) any {
	if pool, ok := keyPool[name]; ok {
		return d.list(pool, r)
	}
	if len(r.Fields) > 0 {
		return d.object(r)
	}
	return d.scalar(r)
}

func (d dice) list(pool []map[string]any, r *Rules) []any {
	out := []any{}
	for i := range pool {
		if d.in(2) {
			out = append(out, d.element(pool[i], r))
		}
	}
	for pool == nil && len(out) < 2 && d.in(2) {
		out = append(out, d.element(nil, r))
	}
	return out
}

func (d dice) element(key map[string]any, r *Rules) any {
	item := r.elementRules()
	switch {
	case key == nil && item != nil && item.Item != nil:
		return d.list(nil, item)
	case key == nil && (item == nil || len(item.Fields) == 0):
		return d.scalar(item)
	}
	out := d.object(item)
	for _, k := range r.Key {
		delete(out, k)
	}
	for k, v := range key {
		out[k] = v
	}
	return out
}

// vary makes another tree out of one: what live or a record may hold.
func (d dice) vary(name string, r *Rules, v any, live bool) any {
	switch t := v.(type) {
	case map[string]any:
		return d.varyObject(r, t, live)
	case []any:
		return d.varyList(name, r, t, live)
	}
	switch roll := d.roll(12); {
	case roll == 11:
		return d.scalar(r)
	case roll == 10 && d.in(6):
		return d.of(map[string]any{"x": "1"}, []any{"1"})
	case roll > 6 && live:
		return otherCarrier(v)
	}
	return v
}

// otherCarrier is the same scalar as a server may answer it.
func otherCarrier(v any) any {
	switch v {
	case "1", "300", "80", "443":
		return json.Number(v.(string))
	case "true":
		return true
	}
	return v
}

func (d dice) varyObject(r *Rules, m map[string]any, live bool) map[string]any {
	out := map[string]any{}
	_, isLocation := m["path"]
	for _, k := range canon.SortedKeys(m) {
		if m[k] == nil || d.in(9) && (!isKey(k) || k == "host" && isLocation) {
			continue
		}
		if isKey(k) {
			out[k] = m[k]
			if live && d.in(3) {
				out[k] = otherCarrier(m[k])
			}
			continue
		}
		out[k] = d.vary(k, r.fieldRules(k), m[k], live)
	}
	if isLocation && d.in(3) {
		out["host"] = "h"
	}
	d.addFields(r, out)
	return out
}

// addFields adds what git does not say.
func (d dice) addFields(r *Rules, out map[string]any) {
	for more := 0; more < 2 && d.in(3); more++ {
		k := d.extraField(r)
		if _, has := out[k]; has || isKey(k) {
			continue
		}
		out[k] = d.scalar(nil)
		if child := r.fieldRules(k); child != nil && (len(child.Fields) > 0 || keyPool[k] != nil) {
			out[k] = d.member(k, child)
		}
	}
}

func isKey(field string) bool {
	return slices.Contains([]string{"name", "path", "host", "port"}, field)
}

func (d dice) extraField(r *Rules) string {
	names := []string{"x", "y"}
	if r != nil {
		names = append(names, canon.SortedKeys(anyMap(r.Fields))...)
	}
	return names[d.roll(len(names))]
}

func (d dice) varyList(name string, r *Rules, list []any, live bool) []any {
	out := []any{}
	for _, e := range list {
		if e != nil && !d.in(8) {
			out = append(out, d.vary("", r.elementRules(), e, live))
		}
	}
	if d.in(4) {
		if e, ok := d.newcomer(keyPool[name], r, append(slices.Clone(out), list...)); ok {
			out = append(out, e)
		}
	}
	if len(out) > 1 && d.in(4) {
		out[0], out[len(out)-1] = out[len(out)-1], out[0]
	}
	return out
}

// newcomer is an element whose key none of the others has.
func (d dice) newcomer(pool []map[string]any, r *Rules, others []any) (any, bool) {
	if pool == nil {
		return d.element(nil, r), true
	}
	for _, key := range pool {
		free := true
		for _, e := range others {
			free = free && !sameElement(r, e, key)
		}
		if free {
			return d.element(key, r), true
		}
	}
	return nil, false
}

// withNulls puts a few literal nulls into what git says.
func (d dice) withNulls(r *Rules, v any) {
	switch t := v.(type) {
	case map[string]any:
		for _, k := range canon.SortedKeys(t) {
			d.withNulls(r.fieldRules(k), t[k])
		}
		if k := d.extraField(r); d.in(6) && t[k] == nil && !isKey(k) {
			t[k] = nil
		}
	case []any:
		for _, e := range t {
			d.withNulls(r.elementRules(), e)
		}
	}
}

// triples draws one comparison.
func triples(t *rapid.T) Input {
	d := dice{t}
	in := Input{Rules: specRules()}
	if d.in(4) {
		in.Rules = overridden()
	}
	want := d.object(in.Rules)
	delete(want, "state")
	d.withNulls(in.Rules, want)
	in.Desired = want
	in.Live = d.vary("", in.Rules, want, true)
	if d.roll(4) > 0 {
		in.Applied = d.vary("", in.Rules, want, false)
	}
	for d.roll(3) == 0 && len(in.Pending) < 3 {
		in.Pending = append(in.Pending, d.vary("", in.Rules, want, false))
	}
	in.TakeOver = d.in(5)
	return in
}

// some is a list of the one value, if it is any.
func some(v any) []any {
	if v == nil {
		return nil
	}
	return []any{v}
}

func (in Input) String() string {
	return fmt.Sprintf("\n applied %s\n pending %s\n desired %s\n live    %s\n takeOver %v",
		encode(in.Applied), encode(in.Pending), encode(in.Desired), encode(in.Live), in.TakeOver)
}
