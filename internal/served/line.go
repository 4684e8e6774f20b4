package served

import (
	"fmt"
	"slices"
	"strings"

	"trueup/internal/kind"
	"trueup/internal/route"
)

// location is the property that names the location which serves a request.
const location = "location"

// Label returns the path and the host of a location.
func (m Match) Label() string {
	if m.Host == "" {
		return m.Path
	}
	return m.Path + " of " + m.Host
}

// Unless returns what an answer depends on if some locations are unclear, or "".
func (f Found) Unless() string {
	switch len(f.Unclear) {
	case 0:
		return ""
	case 1:
		return ", unless " + f.Unclear[0].Label() + " matches"
	}
	return fmt.Sprintf(", unless one of %d others matches", len(f.Unclear))
}

// Place returns FILE:LINE, or "" for a live location.
func (m Match) Place() string { return place(m.File, m.Line) }

func place(file string, line int) string {
	if file == "" {
		return ""
	}
	return fmt.Sprintf("%s:%d", file, line)
}

// cell is what a side has of a property.
type cell struct {
	value route.Value
	text  string
}

// lines returns how the sides serve the request under rules that select alike. It leaves out what no side sets.
func (r *Request) lines(rules []route.Reading) []Line {
	at := ""
	selected, _ := r.line(location, func(f Found) *cell {
		var labels []string
		for _, m := range f.Matching {
			if !slices.ContainsFunc(rules, func(rule route.Reading) bool { return slices.Contains(m.Rules, rule.String()) }) {
				continue
			}
			labels = append(labels, m.Label())
			if f.Side == Git && at == "" {
				at = m.Place()
			}
		}
		text := strings.Join(labels, " or ")
		if text == "" {
			text = "no location matches"
		}
		return &cell{route.Value{Text: text}, text}
	})
	selected.Place = at
	lines := []Line{selected}
	for facet := range route.Facet(len(route.Behaviour{})) {
		l, isSet := r.line(facet.String(), func(f Found) *cell {
			l := f.winners[rules[0]]
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
func (r *Request) siteLines(plain bool) []Line {
	cdn, _ := line("served by", r.Sides, func(f Found) *cell {
		text := f.Object
		switch {
		case text == "":
			text = "no CDN"
		case kind.HostKey(f.Hostname) != r.Host:
			text += ", which has a location of this host"
		}
		if f.Note != "" {
			text += "; " + f.Note
		}
		return &cell{route.Value{Text: f.Object}, text}
	})
	for _, f := range r.Sides {
		if f.Side == Git {
			cdn.Place = place(f.File, f.Line)
		}
	}
	lines := []Line{cdn}
	for facet := range route.SiteFacet(len(route.Site{}.Facets)) {
		l, isSet := r.line(facet.String(), func(f Found) *cell { return &cell{f.site.Facets[facet], f.site.Describe(facet)} })
		if isSet && facet != route.Hostname {
			lines = append(lines, l)
		}
	}
	if !plain {
		return lines
	}
	http, _ := r.line("plain HTTP", func(f Found) *cell {
		tls, _ := f.site.Facets[route.TLS].Tree().(map[string]any)
		text := "unknown, because tls.forced is not set"
		switch tls["forced"] {
		case "true":
			text = "sent on to TLS"
		case "false":
			text = "not sent on to TLS"
		}
		return &cell{route.Value{Text: text}, text}
	})
	return append(lines, http)
}

// line compares one property of the sides that have a CDN and the property, and reports whether one of them sets it.
func (r *Request) line(what string, of func(Found) *cell) (l Line, isSet bool) {
	return line(what, r.Sides, func(f Found) *cell {
		if f.site == nil {
			return nil
		}
		return of(f)
	})
}

func line(what string, sides []Found, of func(Found) *cell) (l Line, isSet bool) {
	l = Line{What: what, Values: map[string]string{}}
	values, texts := map[route.Value]bool{}, map[string]bool{}
	for _, f := range sides {
		if c := of(f); c != nil {
			values[c.value], texts[c.text], l.Values[f.Side] = true, true, c.text
			isSet = isSet || c.value != route.Value{}
		}
	}
	l.Differs = len(values) > 1
	for _, f := range sides { // values that differ must not look equal
		if c := of(f); c != nil && len(texts) < len(values) {
			l.Values[f.Side] = c.value.Text
		}
	}
	return l, isSet
}
