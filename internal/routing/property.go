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
func (q *RequestAnswer) compareSides(what string, valueOf func(side int) (v ServedValue, words string, has bool)) (p Property, isSet bool) {
	p = Property{What: what, Values: map[string]string{}}
	values, words, texts := map[ServedValue]bool{}, map[string]bool{}, map[string]string{}
	for i, f := range q.Sides {
		if v, text, has := valueOf(i); has {
			values[v], words[text], p.Values[f.Side], texts[f.Side] = true, true, text, v.Text
			isSet = isSet || v != ServedValue{}
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
	selected, _ := q.compareSides("location", func(side int) (ServedValue, string, bool) {
		var labels []string
		for _, r := range readings {
			a, label := q.responder(side, r), "no location matches"
			if a.Location != nil {
				label = MatchedLocation{Path: a.Path, Host: a.Host}.Label()
			}
			if q.isOther(side, r) {
				label += " in " + a.CDN.String()
			}
			labels = append(labels, label)
		}
		text := strings.Join(slices.Compact(slices.Sorted(slices.Values(labels))), " or ")
		return ServedValue{Text: text}, text, q.Sides[side].CDN != nil
	})
	selected.Place = placeOf(q.responder(0, readings[0]).Place())
	end := ofCDN
	for side := range q.Sides {
		if q.isOther(side, readings[0]) {
			end = facets
		}
	}
	return append([]Property{selected}, q.describeFacets(Origin, end, func(side int) *Behaviour {
		if a := q.responder(side, readings[0]); a.Location != nil || q.isOther(side, readings[0]) {
			return a.behaviour()
		}
		return nil
	})...)
}

// isOther reports whether a CDN answers under a reading that is not the one of the site.
func (q *RequestAnswer) isOther(side, reading int) bool {
	cdn := q.responder(side, reading).CDN
	return cdn != nil && cdn != q.Sides[side].CDN
}

// describeFacets returns some facets of the sides that have a behaviour. It leaves out those that no side sets, except the
// edge TTL of what an origin answers: who asks about a request wants to know about caching.
func (q *RequestAnswer) describeFacets(from, to Facet, behaviourOf func(side int) *Behaviour) (all []Property) {
	for facet := from; facet < to; facet++ {
		hasOrigin := false
		p, isSet := q.compareSides(facet.String(), func(side int) (v ServedValue, words string, has bool) {
			if b := behaviourOf(side); b != nil {
				hasOrigin = hasOrigin || b[Origin] != ServedValue{}
				return b[facet], b.Describe(facet), true
			}
			return v, "", false
		})
		if isSet || facet == EdgeTTL && hasOrigin {
			all = append(all, p)
		}
	}
	return all
}

// describeSite returns what all requests of the host have in common.
func (q *RequestAnswer) describeSite() []Property {
	cdn, _ := q.compareSides("served by", func(side int) (ServedValue, string, bool) {
		f := q.Sides[side]
		text := cmp.Or(f.Object, "no CDN")
		if f.CDN != nil && f.Hostname != q.Host {
			text += ", which has a location of this host"
		}
		if f.Note != "" {
			text += "; " + f.Note
		}
		return ServedValue{Text: f.Object}, text, true
	})
	cdn.Place = placeOf(q.Sides[0].File, q.Sides[0].Line)
	return append([]Property{cdn}, q.describeFacets(ofCDN, facets, func(side int) *Behaviour { return Responder{CDN: q.Sides[side].CDN}.behaviour() })...)
}
