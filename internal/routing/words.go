package routing

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"trueup/internal/canon"
	"trueup/internal/diag"
	"trueup/internal/kind"
)

// String returns the name of the facet.
func (f Facet) String() string {
	return [...]string{
		"origin", "upstream settings", "action", "cache level", "edge TTL", "browser TTL", "cache settings", "CORS",
		"image service", "rewrite", "headers", "other fields", "TLS", "secure link", "firewall", "other fields of the CDN",
	}[f]
}

// effect returns what a difference of the facet does to requests.
func (f Facet) effect() RequestEffect {
	switch {
	case f == Origin:
		return OtherOrigin
	case slices.Contains([]Facet{CacheLevel, EdgeTTL, BrowserTTL, Cache}, f):
		return OtherCaching
	}
	return OtherRules
}

// Tree returns the value decoded, with numbers and booleans as text. It is nil for an absent one.
func (v ServedValue) Tree() any {
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

// Describe returns a facet in words: "1 h", "a:443, b:443 over https", "on, allowOrigins: *", "not set". Rules of the firewall
// are their names.
func (b *Behaviour) Describe(f Facet) string {
	v := b[f]
	switch {
	case v.Known:
		return kind.FormatDuration(v.Time)
	case f == Origin:
		return v.describeOrigin(false)
	}
	if f == Firewall {
		v = b[namedFirewall]
	}
	tree := v.Tree()
	if rules := rulesOf(tree); f == Firewall && len(rules) > 0 {
		names := diag.MapList(rules, func(rule map[string]any) any { return rule["name"] })
		tree.(map[string]any)["rules"] = names
	}
	return DescribeValue(tree)
}

// rulesOf returns the rules of a firewall.
func rulesOf(firewall any) []map[string]any {
	return objectsOf(canon.At(firewall, "rules"))
}

// alignRuleNames gives rules of a firewall before the new names of those afterwards that do the same.
func alignRuleNames(was, is []map[string]any) {
	hasName := func(rules []map[string]any, name any) bool {
		return slices.ContainsFunc(rules, func(r map[string]any) bool { return textOf(r["name"]) == textOf(name) })
	}
	doesSame := func(a, b map[string]any) bool { return remainderOf(a, "name") == remainderOf(b, "name") }
	for _, rule := range was {
		for _, other := range is {
			if !hasName(is, rule["name"]) && !hasName(was, other["name"]) && doesSame(rule, other) {
				rule["name"] = other["name"]
			}
		}
	}
}

// Servers returns the servers of the location as host:port, sorted. It is empty if the upstream is not listed.
func (l *Location) Servers() []string { return serversOf(objectsOf(l.Behaviour[Origin].Tree())) }

func serversOf(upstreams []map[string]any) (servers []string) {
	for _, m := range upstreams {
		for _, s := range objectsOf(m["servers"]) {
			servers = append(servers, addressOf(s))
		}
	}
	slices.Sort(servers)
	return servers
}

func addressOf(server map[string]any) string {
	return strings.TrimSuffix(kind.HostKey(textOf(server["host"]))+":"+textOf(server["port"]), ":")
}

const overScheme = " over " // between servers and their scheme

// describeOrigin describes an Origin: the servers, and their weights if they are not all equal.
func (v ServedValue) describeOrigin(isWeighted bool) string {
	if v.Text == "" {
		return "no upstream"
	}
	upstreams := objectsOf(v.Tree())
	if len(upstreams) == 0 {
		return "upstream " + quoteOdd(v.Text)
	}
	texts := make([]string, len(upstreams))
	for i, u := range upstreams {
		servers := objectsOf(u["servers"])
		isWeighted := isWeighted || slices.ContainsFunc(servers, func(s map[string]any) bool { return s["weight"] != servers[0]["weight"] })
		names := make([]string, len(servers))
		for i, s := range servers {
			if names[i] = quoteOdd(addressOf(s)); isWeighted {
				names[i] += " weight " + DescribeValue(s["weight"])
			}
		}
		slices.Sort(names)
		texts[i] = cmp.Or(strings.Join(names, ", "), "no servers")
		if u["scheme"] != nil {
			texts[i] += overScheme + DescribeValue(u["scheme"])
		}
	}
	return strings.Join(texts, ", or ")
}

// objectsOf returns the objects of a list, or the only one.
func objectsOf(v any) (out []map[string]any) {
	list, isList := v.([]any)
	if !isList {
		list = []any{v}
	}
	for _, e := range list {
		if m, ok := e.(map[string]any); ok {
			out = append(out, m)
		}
	}
	return out
}

// DescribeValue returns a decoded value in one line.
func DescribeValue(v any) string {
	var parts []string
	switch v := v.(type) {
	case nil:
		return "not set"
	case map[string]any:
		if v["enabled"] != nil {
			parts = append(parts, describeSwitch(v["enabled"]))
		}
		for _, name := range canon.SortedKeys(v) {
			if name != "enabled" {
				parts = append(parts, quoteOdd(name)+": "+describeInner(v[name]))
			}
		}
	case []any:
		for _, e := range v {
			parts = append(parts, describeInner(e))
		}
	default:
		if text := textOf(v); text != "" {
			return quoteOdd(text)
		}
	}
	return cmp.Or(strings.Join(parts, ", "), "empty")
}

// quoteOdd returns a name or text of a manifest, in quotes if it has other characters than names usually have, so that it can't
// be taken for words of the sentence around it.
func quoteOdd(text string) string {
	isOdd := func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("._-/*:", r)
	}
	if text == "" || strings.ContainsFunc(text, isOdd) {
		return strconv.Quote(text)
	}
	return text
}

// quoteNames returns names in a row, each as quoteOdd has it.
func quoteNames(names []string) string {
	quoted := diag.MapList(names, quoteOdd)
	return strings.Join(quoted, ", ")
}

func describeInner(v any) string {
	if _, ok := v.(string); ok || v == nil {
		return DescribeValue(v)
	}
	return "(" + DescribeValue(v) + ")"
}

func describeSwitch(v any) string {
	switch v {
	case "true":
		return "on"
	case "false":
		return "off"
	}
	return DescribeValue(v)
}

// String returns the origin and the edge TTL.
func (l *Location) String() string {
	if (l.Behaviour[EdgeTTL] == ServedValue{}) {
		return l.Describe(Origin)
	}
	return l.Describe(Origin) + ", edge TTL " + l.Describe(EdgeTTL)
}

// PropertyDifference is one property that differs, in words.
type PropertyDifference struct {
	What   string `json:"what"`
	Before string `json:"before"`
	After  string `json:"after"`
	effect RequestEffect
}

// isServerDefault reports whether the server fills in what differs where no manifest has it.
func (d PropertyDifference) isServerDefault() bool {
	return slices.ContainsFunc([]Facet{Connection, CacheLevel, EdgeTTL, BrowserTTL, Images, TLS}, func(f Facet) bool {
		return strings.HasPrefix(d.What, f.String())
	})
}

// A line has so many characters of a value, and so many parts of a longer one.
const (
	maxTold  = 100
	maxParts = 3
)

// String returns the difference in a line. Of long values it has the parts that differ, or none.
func (d PropertyDifference) String() string {
	isLong := func() bool { return max(utf8.RuneCountInString(d.Before), utf8.RuneCountInString(d.After)) > maxTold }
	if isLong() && !strings.Contains(d.Before+d.After, `"`) { // parts of a quoted text could be taken for words
		d.Before, d.After = differingParts(d.Before, d.After), differingParts(d.After, d.Before)
	}
	if d.Before == d.After || isLong() {
		return "other " + d.What
	}
	return d.What + " " + d.Before + " → " + d.After
}

// differingParts returns the first parts of a text that another one lacks, and how many others there are.
func differingParts(text, other string) string {
	all, others := strings.Split(text, ", "), strings.Split(other, ", ")
	own := slices.DeleteFunc(slices.Clone(all), func(part string) bool { return slices.Contains(others, part) })
	own = own[:min(len(own), maxParts)]
	switch more := len(all) - len(own); {
	case more == 0:
		return text
	case len(own) == 0:
		return diag.Plural(more, "other", "others")
	default:
		return strings.Join(own, ", ") + " and " + diag.Plural(more, "other", "others")
	}
}

// compareAnswers returns what differs in two answers under a reading. The parts of the CDNs come last.
func (known *outcomeCache) compareAnswers(before, after Responder, reading Interpretation) (out []PropertyDifference) {
	was, is := before.behaviour(), after.behaviour()
	for f := range facets {
		switch a, b := was[f], is[f]; {
		case a == b && a.Known && reading.Without == Units:
			if was, is := before.manifestTTL(f), after.manifestTTL(f); was != is {
				out = append(out, PropertyDifference{What: f.String(), Before: was, After: is, effect: f.effect()})
			}
		case a != b:
			id := facetChange{f, a, b}
			if f == Firewall {
				id = facetChange{f, was[namedFirewall], is[namedFirewall]}
			}
			found, isKnown := known.facets[id]
			if !isKnown {
				found = id.differences(was, is)
				known.facets[id] = found
			}
			out = append(out, found...)
		}
	}
	return out
}

// facetChange is the value of a facet before and after.
type facetChange struct {
	Facet
	before, after ServedValue
}

// differences describes the change, which is the one of two behaviours.
func (c facetChange) differences(was, is *Behaviour) (found []PropertyDifference) {
	before, after := c.before.Tree(), c.after.Tree()
	switch {
	case c.Facet == Origin:
		was, is := describeOrigins(c.before, c.after)
		found = []PropertyDifference{newDifference(c.String(), before, after, was, is)}
	case c.before.Known || c.after.Known:
		found = []PropertyDifference{newDifference(c.String(), before, after, was.Describe(c.Facet), is.Describe(c.Facet))}
	case c.Facet == Firewall:
		// A rule that does the same under another name is the same rule.
		alignRuleNames(rulesOf(before), rulesOf(after))
		fallthrough
	default:
		found = compareTrees(c.String(), before, after)
	}
	for i := range found {
		found[i].effect = c.effect()
	}
	return found
}

// manifestTTL returns a time to live as in the manifest.
func (l *Location) manifestTTL(f Facet) string {
	return cmp.Or(l.times[f-EdgeTTL], fmt.Sprintf("%d second", int64(l.Behaviour[f].Time.Seconds())))
}

// describeOrigins describes two Origins without what they share: the weights, or the scheme.
func describeOrigins(a, b ServedValue) (was, is string) {
	was, is = a.describeOrigin(false), b.describeOrigin(false)
	if was == is {
		was, is = a.describeOrigin(true), b.describeOrigin(true)
	}
	if at := strings.LastIndex(was, overScheme); at >= 0 && strings.HasSuffix(is, was[at:]) {
		was, is = was[:at], strings.TrimSuffix(is, was[at:])
	}
	return was, is
}

// newDifference returns the difference of two values in their words, or as JSON if the words are equal.
func newDifference(what string, a, b any, before, after string) PropertyDifference {
	if before == after {
		before, after = string(canon.Encode(a)), string(canon.Encode(b))
	}
	return PropertyDifference{What: what, Before: before, After: after}
}

// compareTrees returns the fields that differ in two values. An absent object has no fields, and the objects of a list with
// names of their own are its fields.
func compareTrees(what string, a, b any) []PropertyDifference {
	was, oldNames := namedObjects(a)
	is, newNames := namedObjects(b)
	if len(oldNames)+len(newNames) > 0 && (oldNames != nil || a == nil) && (newNames != nil || b == nil) {
		out := compareFields(what, was, is, true)
		oldNames = slices.DeleteFunc(oldNames, func(name string) bool { return is[name] == nil })
		newNames = slices.DeleteFunc(newNames, func(name string) bool { return was[name] == nil })
		if !slices.Equal(oldNames, newNames) {
			out = append(out, PropertyDifference{What: "order of " + what, Before: quoteNames(oldNames), After: quoteNames(newNames)})
		}
		return out
	}
	was, wasObject := a.(map[string]any)
	is, isObject := b.(map[string]any)
	if !wasObject && a != nil || !isObject && b != nil {
		return []PropertyDifference{newDifference(what, a, b, DescribeValue(a), DescribeValue(b))}
	}
	return compareFields(what, was, is, false)
}

// compareFields returns the fields that differ in two objects. Fields that are objects with a name are on or off.
func compareFields(what string, was, is map[string]any, areNamed bool) (out []PropertyDifference) {
	names := slices.Concat(canon.SortedKeys(was), canon.SortedKeys(is))
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		a, b, path := was[name], is[name], what+" "+quoteOdd(name)
		switch {
		case reflect.DeepEqual(a, b):
		case areNamed && a == nil:
			out = append(out, PropertyDifference{What: path, Before: "off", After: "on"})
		case areNamed && b == nil:
			out = append(out, PropertyDifference{What: path, Before: "on", After: "off"})
		case name == "enabled" && !areNamed:
			out = append(out, newDifference(what, a, b, describeSwitch(a), describeSwitch(b)))
		default:
			out = append(out, compareTrees(path, a, b)...)
		}
	}
	return out
}

// namedObjects returns the objects of a list and their names, in its order. names is nil, and not only empty, for what is no
// list, and unless each object has a name of its own.
func namedObjects(v any) (objects map[string]any, names []string) {
	list, isList := v.([]any)
	if !isList {
		return nil, nil
	}
	objects, names = map[string]any{}, []string{}
	for _, m := range objectsOf(list) {
		name := textOf(m["name"])
		objects[name], names = m, append(names, name)
	}
	if len(objects) != len(list) || objects[""] != nil {
		return nil, nil
	}
	return objects, names
}
