package routing

import (
	"cmp"
	"slices"
	"strings"
)

// Property is one property of how a request is answered, in words. Values has one for each side that has the property, and
// Place is FILE:LINE of git's.
type Property struct {
	What    string            `json:"what"`
	Values  map[string]string `json:"values"`
	Place   string            `json:"place,omitempty"`
	Differs bool              `json:"differs"`
}

// compareSides returns a property, which valueOf returns for each side that has it, and reports whether one of them sets it.
func (q *RequestAnswer) compareSides(what string, valueOf func(side int) (v Value, words string, has bool)) (p Property, isSet bool) {
	p = Property{What: what, Values: map[string]string{}}
	values, words, texts := map[Value]bool{}, map[string]bool{}, map[string]string{}
	for i, f := range q.Sides {
		if v, text, has := valueOf(i); has {
			values[v], words[text], p.Values[f.Side], texts[f.Side] = true, true, text, v.Text
			isSet = isSet || v != Value{}
		}
	}
	p.Differs = len(values) > 1
	if len(words) < len(values) { // values that differ must not look equal
		p.Values = texts
	}
	return p, isSet
}

// describeLocation returns how the sides answer the request under readings that select alike. It leaves out what no side
// sets.
func (q *RequestAnswer) describeLocation(readings []int) []Property {
	selected, _ := q.compareSides("location", func(side int) (Value, string, bool) {
		var labels []string
		for _, r := range readings {
			if l := q.Location(side, r); l != nil {
				labels = append(labels, Match{Path: l.Path, Host: l.Host}.Label())
			}
		}
		text := cmp.Or(strings.Join(slices.Compact(labels), " or "), "no location matches")
		return Value{Text: text}, text, q.Sides[side].CDN != nil
	})
	if l := q.Location(0, readings[0]); l != nil {
		cdn := q.Sides[0].CDN
		selected.Place = placeOf(cdn.Path, cdn.LineOf(l))
	}
	all := []Property{selected}
	for facet := range facets {
		p, isSet := q.compareSides(facet.String(), func(side int) (v Value, words string, has bool) {
			l := q.Location(side, readings[0])
			if l == nil {
				return v, "", false
			}
			return l.Behaviour[facet], l.Describe(facet), true
		})
		if isSet {
			all = append(all, p)
		}
	}
	return all
}

// describeSite returns what all requests of the host have in common; plain are those without TLS.
func (q *RequestAnswer) describeSite(plain bool) []Property {
	cdn, _ := q.compareSides("served by", func(side int) (Value, string, bool) {
		f := q.Sides[side]
		text := cmp.Or(f.Object, "no CDN")
		if f.CDN != nil && f.Hostname != q.Host {
			text += ", which has a location of this host"
		}
		if f.Note != "" {
			text += "; " + f.Note
		}
		return Value{Text: f.Object}, text, true
	})
	cdn.Place = placeOf(q.Sides[0].File, q.Sides[0].Line)
	all := []Property{cdn}
	for facet := range cdnFacets {
		p, isSet := q.compareSides(facet.String(), func(side int) (v Value, words string, has bool) {
			if c := q.Sides[side].CDN; c != nil {
				return c.Config().Facets[facet], c.Config().Describe(facet), true
			}
			return v, "", false
		})
		if isSet {
			all = append(all, p)
		}
	}
	if !plain {
		return all
	}
	http, _ := q.compareSides("plain HTTP", func(side int) (v Value, words string, has bool) {
		c := q.Sides[side].CDN
		if c == nil {
			return v, "", false
		}
		tls, _ := c.Config().Facets[TLS].Tree().(map[string]any)
		text := "unknown, because tls.forced is not set"
		switch tls["forced"] {
		case "true":
			text = "sent on to TLS"
		case "false":
			text = "not sent on to TLS"
		}
		return Value{Text: text}, text, true
	})
	return append(all, http)
}
