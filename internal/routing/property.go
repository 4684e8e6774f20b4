package routing

import "slices"

// Property is one property of how a request is answered, in words. Values has one for each side that has the property, and
// Place is FILE:LINE of git's.
type Property struct {
	What    string            `json:"what"`
	Values  map[string]string `json:"values"`
	Place   string            `json:"place,omitempty"`
	Differs bool              `json:"differs"`
}

// cell is what a side has of a property.
type cell struct {
	value Value
	text  string
}

// lines returns how the sides answer the request under readings that select alike. It leaves out what no side sets.
func (q *RequestAnswer) lines(readings []int) []Property {
	h, at := q.table, ""
	selected, _ := q.property("location", func(side int) *cell {
		var labels []string
		for _, r := range readings {
			l := h.answer(q.node, side, r).Location
			if l == nil || slices.Contains(labels, labelOf(l)) {
				continue
			}
			labels = append(labels, labelOf(l))
			if q.Sides[side].Side == Git && at == "" {
				cdn := q.Sides[side].cdn
				at = place(cdn.Path, cdn.line(l))
			}
		}
		text := joinLabels(labels)
		if text == "" {
			text = "no location matches"
		}
		return &cell{Value{Text: text}, text}
	})
	selected.Place = at
	lines := []Property{selected}
	for facet := range facets {
		l, isSet := q.property(facet.String(), func(side int) *cell {
			l := h.answer(q.node, side, readings[0]).Location
			if l == nil {
				return nil
			}
			return &cell{l.Behaviour[facet], l.Describe(facet)}
		})
		if isSet {
			lines = append(lines, l)
		}
	}
	return lines
}

// siteLines returns what all requests of the host have in common; plain are those without TLS.
func (q *RequestAnswer) siteLines(plain bool) []Property {
	cdn, _ := propertyOf("served by", q.Sides, func(side int) *cell {
		f := q.Sides[side]
		text := f.Object
		switch {
		case text == "":
			text = "no CDN"
		case f.Hostname != q.Host:
			text += ", which has a location of this host"
		}
		if f.Note != "" {
			text += "; " + f.Note
		}
		return &cell{Value{Text: f.Object}, text}
	})
	for _, f := range q.Sides {
		if f.Side == Git {
			cdn.Place = place(f.File, f.Line)
		}
	}
	lines := []Property{cdn}
	for facet := range cdnFacets {
		l, isSet := q.property(facet.String(), func(side int) *cell {
			config := q.Sides[side].cdn.Config()
			return &cell{config.Facets[facet], config.Describe(facet)}
		})
		if isSet {
			lines = append(lines, l)
		}
	}
	if !plain {
		return lines
	}
	http, _ := q.property("plain HTTP", func(side int) *cell {
		tls, _ := q.Sides[side].cdn.Config().Facets[TLS].Tree().(map[string]any)
		text := "unknown, because tls.forced is not set"
		switch tls["forced"] {
		case "true":
			text = "sent on to TLS"
		case "false":
			text = "not sent on to TLS"
		}
		return &cell{Value{Text: text}, text}
	})
	return append(lines, http)
}

// property compares one property of the sides that have a CDN and the property, and reports whether one of them sets it.
func (q *RequestAnswer) property(what string, of func(side int) *cell) (p Property, isSet bool) {
	return propertyOf(what, q.Sides, func(side int) *cell {
		if q.Sides[side].cdn == nil {
			return nil
		}
		return of(side)
	})
}

func propertyOf(what string, sides []Found, of func(side int) *cell) (p Property, isSet bool) {
	p = Property{What: what, Values: map[string]string{}}
	values, texts := map[Value]bool{}, map[string]bool{}
	cells := make([]*cell, len(sides))
	for i, f := range sides {
		if cells[i] = of(i); cells[i] != nil {
			c := cells[i]
			values[c.value], texts[c.text], p.Values[f.Side] = true, true, c.text
			isSet = isSet || c.value != Value{}
		}
	}
	p.Differs = len(values) > 1
	for i, f := range sides { // values that differ must not look equal
		if cells[i] != nil && len(texts) < len(values) {
			p.Values[f.Side] = cells[i].value.Text
		}
	}
	return p, isSet
}
