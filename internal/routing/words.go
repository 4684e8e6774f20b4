package routing

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"trueup/internal/canon"
	"trueup/internal/kind"
)

// String returns the name of the facet.
func (f Facet) String() string {
	return [...]string{
		"origin", "upstream settings", "action", "cache level", "edge TTL", "browser TTL", "cache settings", "CORS",
		"image service", "rewrite", "headers", "other fields",
	}[f]
}

// effect returns what a difference of the facet does to requests.
func (f Facet) effect() Effect {
	switch {
	case f == Origin:
		return OtherOrigin
	case slices.Contains([]Facet{CacheLevel, EdgeTTL, BrowserTTL, Cache}, f):
		return OtherCaching
	}
	return OtherRules
}

// String returns the name of the facet.
func (f CDNFacet) String() string {
	return [...]string{"TLS", "secure link", "firewall", "other fields of the CDN"}[f]
}

// Tree returns the value decoded, with numbers and booleans as text. It is nil for an absent one.
func (v Value) Tree() any {
	if v.Text == "" {
		return nil
	}
	if v.Text[0] == '{' || v.Text[0] == '[' {
		if tree, err := canon.Decode([]byte(v.Text)); err == nil {
			return tree
		}
	}
	return v.Text
}

// Describe returns a facet in words: "1 h", "a:443, b:443 over https", "on, allowOrigins: *", "not set".
func (l *Location) Describe(f Facet) string {
	v := l.Behaviour[f]
	switch {
	case v.Known:
		return kind.DurationText(v.Time)
	case f == Origin:
		return origin(v, false, nil)
	}
	return words(v.Tree())
}

// Servers returns the servers of the location as host:port, sorted. It is empty if the upstream is not listed.
func (l *Location) Servers() []string { return l.Behaviour[Origin].servers() }

func (v Value) servers() (servers []string) {
	for _, m := range objects(v.Tree()) {
		for _, s := range objects(m["servers"]) {
			servers = append(servers, address(s))
		}
	}
	slices.Sort(servers)
	return servers
}

const overScheme = " over " // between servers and their scheme

// origin describes an Origin, the servers that stay first. It has their weights if they are not all equal.
func origin(v Value, weighted bool, stay []string) string {
	if v.Text == "" {
		return "no upstream"
	}
	upstreams := objects(v.Tree())
	if len(upstreams) == 0 {
		return "upstream " + v.Text
	}
	texts := make([]string, len(upstreams))
	for i, u := range upstreams {
		servers := objects(u["servers"])
		weighted := weighted || slices.ContainsFunc(servers, func(s map[string]any) bool { return s["weight"] != servers[0]["weight"] })
		var staying, others []string
		for _, s := range servers {
			name, names := address(s), &others
			if slices.Contains(stay, name) {
				names = &staying
			}
			if weighted {
				name += " weight " + words(s["weight"])
			}
			*names = append(*names, name)
		}
		slices.Sort(staying)
		slices.Sort(others)
		names := append(staying, others...)
		texts[i] = cmp.Or(strings.Join(names, ", "), "no servers")
		if u["scheme"] != nil {
			texts[i] += overScheme + words(u["scheme"])
		}
	}
	return strings.Join(texts, ", or ")
}

func address(server map[string]any) string {
	return strings.TrimSuffix(kind.HostKey(text(server["host"]))+":"+text(server["port"]), ":")
}

// objects returns the objects of a list, or the only one.
func objects(v any) (out []map[string]any) {
	if m, ok := v.(map[string]any); ok {
		return append(out, m)
	}
	list, _ := v.([]any)
	for _, e := range list {
		if m, ok := e.(map[string]any); ok {
			out = append(out, m)
		}
	}
	return out
}

// words returns a decoded value in one line.
func words(v any) string {
	var parts []string
	switch v := v.(type) {
	case nil:
		return "not set"
	case map[string]any:
		if v["enabled"] != nil {
			parts = append(parts, onOff(v["enabled"]))
		}
		for _, name := range canon.SortedKeys(v) {
			if name != "enabled" {
				parts = append(parts, name+": "+inner(v[name]))
			}
		}
	case []any:
		for _, e := range v {
			parts = append(parts, inner(e))
		}
	default:
		return cmp.Or(text(v), "empty")
	}
	return cmp.Or(strings.Join(parts, ", "), "empty")
}

func inner(v any) string {
	if _, ok := v.(string); ok || v == nil {
		return words(v)
	}
	return "(" + words(v) + ")"
}

func onOff(v any) string {
	switch v {
	case "true":
		return "on"
	case "false":
		return "off"
	}
	return words(v)
}

// Difference is one property that differs, in words.
type Difference struct {
	What   string `json:"what"`
	Before string `json:"before"`
	After  string `json:"after"`
	effect Effect
}

// maxTold is how many characters of a value a line has.
const maxTold = 100

// String returns the difference in a line, without values that are long.
func (d Difference) String() string {
	if max(utf8.RuneCountInString(d.Before), utf8.RuneCountInString(d.After)) > maxTold {
		return "other " + d.What
	}
	return d.What + " " + d.Before + " → " + d.After
}

// differences returns what differs in two answers under a reading. The parts of the CDNs come last.
func differences(before, after Answer, reading Reading) (out []Difference) {
	for f := range facets {
		if before.Location == nil {
			break
		}
		for _, d := range before.differences(after.Location, f, reading) {
			d.effect = f.effect()
			out = append(out, d)
		}
	}
	if before.CDN == after.CDN {
		return out
	}
	was, is := before.CDN.Config().Facets, after.CDN.Config().Facets
	for f := range cdnFacets {
		if was[f] != is[f] {
			out = append(out, leaves(f.String(), was[f].Tree(), is[f].Tree())...)
		}
	}
	for i := range out {
		out[i].effect = cmp.Or(out[i].effect, OtherRules)
	}
	return out
}

// differences returns what differs in a facet of two locations under a reading.
func (l *Location) differences(after *Location, f Facet, reading Reading) []Difference {
	a, b := l.Behaviour[f], after.Behaviour[f]
	switch {
	case a == b && a.Known && reading.Without == Units && l.units != after.units && l.written(f) != after.written(f):
		return []Difference{{What: f.String(), Before: l.written(f), After: after.written(f)}}
	case a == b:
		return nil
	case f == Origin:
		was, is := originsText(a, b)
		return []Difference{differ(f.String(), a.Tree(), b.Tree(), was, is)}
	case a.Known || b.Known:
		return []Difference{differ(f.String(), a.Tree(), b.Tree(), l.Describe(f), after.Describe(f))}
	}
	return leaves(f.String(), a.Tree(), b.Tree())
}

// written returns a time to live as in the manifest.
func (l *Location) written(f Facet) string {
	v := l.Behaviour[f]
	if l.units == "" {
		return fmt.Sprintf("%d second", int64(v.Time.Seconds()))
	}
	parts := strings.Split(l.units, "\x00")
	return parts[f-EdgeTTL] + " " + l.TTLUnit
}

// originsText describes two Origins without what they share: the weights, or the scheme.
func originsText(a, b Value) (was, is string) {
	was, is = origin(a, false, b.servers()), origin(b, false, a.servers())
	if was == is {
		was, is = origin(a, true, b.servers()), origin(b, true, a.servers())
	}
	if at := strings.LastIndex(was, overScheme); at >= 0 && strings.HasSuffix(is, was[at:]) {
		was, is = was[:at], strings.TrimSuffix(is, was[at:])
	}
	return was, is
}

// differ returns the difference of two values in their words, or as JSON if the words are equal.
func differ(what string, a, b any, before, after string) Difference {
	if before == after {
		before, after = json(a), json(b)
	}
	return Difference{What: what, Before: before, After: after}
}

func json(v any) string { return string(canon.Bytes(v)) }

// leaves returns the fields that differ in two values. An absent object has no fields.
func leaves(what string, a, b any) (out []Difference) {
	before, isObject := a.(map[string]any)
	after, ok := b.(map[string]any)
	if areNamed(a, b) {
		return namedLeaves(what, named(a), named(b))
	}
	if !isObject && a != nil || !ok && b != nil {
		return []Difference{differ(what, a, b, words(a), words(b))}
	}
	names := slices.Concat(canon.SortedKeys(before), canon.SortedKeys(after))
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		a, b := before[name], after[name]
		switch {
		case json(a) == json(b):
		case name == "enabled":
			out = append(out, differ(what, a, b, onOff(a), onOff(b)))
		default:
			out = append(out, leaves(what+" "+name, a, b)...)
		}
	}
	return out
}

// areNamed reports whether one of two values is a list of named objects, and the other one too, or nothing.
func areNamed(a, b any) bool {
	was, is := named(a), named(b)
	return len(was)+len(is) > 0 && (was != nil || a == nil) && (is != nil || b == nil)
}

// named returns the objects of a list, or none unless each has a name of its own.
func named(list any) []map[string]any {
	all, names := objects(list), map[string]bool{}
	for _, m := range all {
		names[text(m["name"])] = true
	}
	elements, isList := list.([]any)
	if !isList || len(names) != len(elements) || names[""] {
		return nil
	}
	return all
}

// namedLeaves returns the differences of the objects of two lists, and of their order.
func namedLeaves(what string, was, is []map[string]any) (out []Difference) {
	index := func(list []map[string]any) (names []string, by map[string]map[string]any) {
		by = map[string]map[string]any{}
		for _, m := range list {
			names, by[text(m["name"])] = append(names, text(m["name"])), m
		}
		return names, by
	}
	before, old := index(was)
	after, current := index(is)
	gone := func(name string) bool { return current[name] == nil }
	isNew := func(name string) bool { return old[name] == nil }
	for _, name := range before {
		if gone(name) {
			out = append(out, Difference{What: what + " " + name, Before: "on", After: "off"})
		} else {
			out = append(out, leaves(what+" "+name, old[name], current[name])...)
		}
	}
	for _, name := range after {
		if isNew(name) {
			out = append(out, Difference{What: what + " " + name, Before: "off", After: "on"})
		}
	}
	before, after = slices.DeleteFunc(before, gone), slices.DeleteFunc(after, isNew)
	if !slices.Equal(before, after) {
		out = append(out, Difference{What: "order of " + what, Before: strings.Join(before, ", "), After: strings.Join(after, ", ")})
	}
	return out
}

// Describe returns a facet of the CDN in words. Rules of the firewall are their names.
func (c *Config) Describe(f CDNFacet) string {
	tree := c.Facets[f].Tree()
	firewall, _ := tree.(map[string]any)
	if rules, _ := firewall["rules"].([]any); f == Firewall && len(rules) > 0 {
		names := make([]any, 0, len(rules))
		for _, rule := range objects(rules) {
			names = append(names, rule["name"])
		}
		firewall["rules"] = names
	}
	return words(tree)
}

// String returns the origin and the edge TTL, or "nothing" for nil.
func (l *Location) String() string {
	switch {
	case l == nil:
		return nothing
	case l.Behaviour[EdgeTTL] == Value{}:
		return l.Describe(Origin)
	}
	return l.Describe(Origin) + ", edge TTL " + l.Describe(EdgeTTL)
}
