package view

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"trueup/internal/diag"
	"trueup/internal/kind"
	"trueup/internal/routing"
	"trueup/internal/safetext"
)

// MaxInline is the most columns of an object or list on the line of its path. A longer one is below.
const MaxInline = 60

// valueContext is what a value is the value of.
type valueContext struct {
	kind, path string
	// locations are those of a new object, with their servers; nil for others.
	locations []routing.Location
}

// describeValue describes a value in words, and returns the YAML flow tokens of everything else in it. Without words it returns the
// whole flow, or if that is long, the number of values.
func describeValue(of valueContext, v any) (words safetext.Text, details []safetext.Text) {
	if d := newDescription(of, v); d != nil {
		if d.rest != nil {
			details = FlowTokens(d.rest, false)
		}
		return d.words(), details
	}
	if text := FormatLiteral(v); text.Width() <= MaxInline {
		return text, nil
	}
	switch v.(type) {
	case map[string]any, []any:
		tokens := FlowTokens(v, false)
		return safetext.F("%s:", cmp.Or(describeParts(of, v), safetext.Count(len(tokens), "value"))), tokens
	}
	return FormatValue(v, false), nil
}

// describeParts counts and names the list elements in a value, such as the rules of a firewall; empty if they have no names.
func describeParts(of valueContext, v any) safetext.Text {
	k, known := kind.FindKind(of.kind)
	if !known {
		return safetext.Text{}
	}
	parts := k.CountParts(of.path, v)
	if !slices.ContainsFunc(parts, func(p kind.PartCount) bool { return len(p.Names) > 0 }) {
		return safetext.Text{}
	}
	texts := make([]safetext.Text, len(parts))
	for i, p := range parts {
		if texts[i] = safetext.Count(p.N, p.Noun); len(p.Names) > 0 {
			texts[i] = safetext.F("%s (%s)", texts[i], JoinLimited(cleanAll(p.Names), ", "))
		}
	}
	return safetext.Join(texts, ", ")
}

// description describes an object. rest is what neither the words nor the path show; nil for nothing.
type description struct {
	object    map[string]any
	locations []routing.Location
	text      string
	rest      any
}

// tableOfDescriptions has how an object is described, by the name that its schema gives (kind.Field.Summary). Each function
// reports whether the object has what its words need.
var tableOfDescriptions = map[string]func(*description) bool{
	"tls": (*description).describeTLS, "rule": (*description).describeRule, "location": (*description).describeLocation,
	"upstream": (*description).describeUpstream, "server": (*description).describeServer,
}

func (d *description) describeTLS() bool {
	enabled := d.addChoice("enabled", ", TLS", ", no TLS")
	auto := d.addChoice("auto", ", automatic certificate", ", no automatic certificate")
	return d.addChoice("forced", ", plain HTTP sent on to TLS", ", plain HTTP not sent on to TLS") || auto || enabled
}

func (d *description) describeRule() bool {
	limits := d.addWords("%s %s per %s by %s", "action.type", "action.ratelimit.rate", "action.ratelimit.period", "action.ratelimit.identifier.type")
	d.addChoice("enabled", ", enabled", ", disabled")
	return limits
}

func (d *description) describeLocation() bool {
	serves := d.addWords("%s to %s", "action", "upstream")
	isSame := func(l routing.Location) bool { return l.Upstream == d.object["upstream"] }
	if i := slices.IndexFunc(d.locations, isSame); i >= 0 {
		if servers := d.locations[i].Servers(); len(servers) > 0 {
			d.text += safetext.F(" (%s)", JoinLimited(diag.MapList(servers, sayServer), ", ")).String()
		}
	}
	edge, _ := valuesAt(d.object, "cache.edgeTTL")
	unit, _ := valuesAt(d.object, "cache.ttlTimeUnit")
	if len(edge) == 1 && len(unit) == 1 {
		words := edge[0].String() + " " + unit[0].String()
		if d, ok := kind.DurationOf(edge[0].String(), unit[0].String()); ok {
			words = kind.FormatDuration(d)
		}
		d.text += ", cached " + words
		d.leaveOut("cache.edgeTTL", "cache.ttlTimeUnit")
		d.addWords(" (%s)", "cache.level")
	}
	if rest, _ := d.rest.(map[string]any); rest["host"] != nil {
		d.addWords(", host %s", "host")
	}
	return serves
}

func (d *description) describeUpstream() bool {
	if !d.addWords("%s to ", "scheme") {
		return false
	}
	list, _ := d.object["servers"].([]any)
	var servers []safetext.Text
	whole := len(list) <= MaxParts
	for _, v := range list {
		object, _ := v.(map[string]any)
		server := &description{object: object, rest: object}
		if !server.describeServer() {
			return false
		}
		servers, whole = append(servers, server.words()), whole && server.rest == nil
	}
	if whole {
		d.leaveOut("servers")
	}
	d.text += JoinLimited(servers, ", ").String()
	d.addWords(", health check %s", "hc2.protocol")
	return len(servers) > 0
}

func (d *description) describeServer() bool {
	named := d.addWords("%s:%s", "host", "port")
	d.addWords(" weight %s", "weight")
	return named
}

// newDescription returns the words for a value; nil if it has none.
func newDescription(of valueContext, v any) *description {
	object, isObject := v.(map[string]any)
	k, known := kind.FindKind(of.kind)
	if !isObject || !known {
		return nil
	}
	d := &description{object: object, locations: of.locations, rest: object}
	field, _ := k.Spec().FieldAt(kind.SplitAtDots(of.path))
	if field == nil || tableOfDescriptions[field.Summary] == nil {
		return nil
	}
	d.leaveOut(shownKeys(k, of, object)...)
	if !tableOfDescriptions[field.Summary](d) {
		return nil
	}
	return d
}

func (d *description) words() safetext.Text { return clean(strings.TrimPrefix(d.text, ", ")) }

// addWords adds words with values of fields. It reports whether the object has all of them.
func (d *description) addWords(format string, fields ...string) bool {
	texts, rest := make([]any, len(fields)), d.rest
	for i, field := range fields {
		values, ok := valuesAt(d.object, field)
		if !ok {
			return false
		}
		if texts[i] = JoinLimited(values, ", "); len(values) <= MaxParts {
			rest = withoutField(rest, strings.Split(field, "."))
		}
	}
	d.text, d.rest = d.text+fmt.Sprintf(format, texts...), rest
	return true
}

// addChoice adds the words for a boolean, and reports whether the object has it.
func (d *description) addChoice(field, yes, no string) bool {
	values, _ := valuesAt(d.object, field)
	words, known := map[string]string{"true": yes, "false": no}[safetext.Join(values, " ").String()]
	if known {
		d.text += words
		d.leaveOut(field)
	}
	return known
}

// leaveOut leaves fields out of the rest.
func (d *description) leaveOut(fields ...string) {
	for _, field := range fields {
		d.rest = withoutField(d.rest, strings.Split(field, "."))
	}
}

// valuesAt returns the values of a field: one, or those of a list.
func valuesAt(object map[string]any, field string) (values []safetext.Text, ok bool) {
	v := any(object)
	for step := range strings.SplitSeq(field, ".") {
		object, _ := v.(map[string]any)
		v = object[step]
	}
	list, isList := v.([]any)
	if !isList {
		list = []any{v}
	}
	for _, e := range list {
		switch e.(type) {
		case nil, map[string]any, []any:
			return nil, false
		}
		values = append(values, sayScalar(e))
	}
	return values, len(list) > 0
}

// sayScalar returns a scalar for a sentence, quoted only if needed.
func sayScalar(v any) safetext.Text {
	if s, ok := v.(string); ok && s != "" && IsPlainFlow(s) {
		return Shorten(clean(s))
	}
	return Shorten(FormatLiteral(v))
}

// sayServer returns a host and its port, quoted only if needed.
func sayServer(server string) safetext.Text {
	if IsPlainFlow(strings.ReplaceAll(server, ":", "")) {
		return Shorten(clean(server))
	}
	return Shorten(FormatLiteral(server))
}

// shownKeys returns the fields of an element's key that the brackets of its path show.
func shownKeys(k *kind.Kind, of valueContext, element map[string]any) (shown []string) {
	list, in := k.SplitElementPath(of.path)
	if in == "" {
		return nil
	}
	whole, _ := list.List.NameOf(element)
	for _, key := range list.List.Key {
		if whole == in || element[key] == in {
			shown = append(shown, key)
		}
	}
	return shown
}

// withoutField returns an object without a field and its empty parents; nil if nothing is
// left. List elements stay whole, so that a reader can tell them apart.
func withoutField(v any, path []string) any {
	if len(path) == 0 {
		return nil
	}
	object, ok := v.(map[string]any)
	if !ok {
		return v
	}
	rest := maps.Clone(object)
	if below := withoutField(object[path[0]], path[1:]); below != nil {
		rest[path[0]] = below
	} else {
		delete(rest, path[0])
	}
	if len(rest) == 0 {
		return nil
	}
	return rest
}
