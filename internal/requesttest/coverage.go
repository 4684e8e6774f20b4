package requesttest

import (
	"fmt"

	"trueup/internal/diag"
	"trueup/internal/manifest"
	"trueup/internal/routing"
)

// Coverage says which locations and upstreams the tests reach.
type Coverage struct {
	Locations Share     `json:"locations"`
	Upstreams Share     `json:"upstreams"`
	Missing   []Missing `json:"missing"`
}

// Share is how many of all are reached.
type Share struct {
	Reached int `json:"reached"`
	Of      int `json:"of"`
}

// Missing is a location or upstream that no test reaches.
type Missing struct {
	Object string `json:"object"`
	What   string `json:"what"` // location or upstream
	Name   string `json:"name"`
	File   string `json:"file"`
	Line   int    `json:"line"`
}

// Add adds another share.
func (s *Share) Add(o Share) { s.Reached, s.Of = s.Reached+o.Reached, s.Of+o.Of }

// Percent returns the share in percent, rounded down. Of nothing it is 100.
func (s Share) Percent() int {
	if s.Of == 0 {
		return 100
	}
	return 100 * s.Reached / s.Of
}

// describe returns the share in words, such as "1 of 2 locations (50%)".
func (s Share) describe(noun string) string {
	return fmt.Sprintf("%d of %s (%d%%)", s.Reached, diag.Plural(s.Of, noun, noun+"s"), s.Percent())
}

// String returns the shares in words.
func (c *Coverage) String() string {
	return c.Locations.describe("location") + " and " + c.Upstreams.describe("upstream")
}

// Cover returns the coverage of cases among the locations and upstreams of manifests. A case reaches a location that
// serves its request under some reading.
func Cover(cases []Case, objects []*manifest.Object) *Coverage {
	reached := map[string]bool{}
	for _, c := range cases {
		if c.answer == nil {
			continue
		}
		for _, a := range c.answer.ListAnswers() {
			if a.Location != nil {
				reached[a.CDN.String()+" "+a.FieldPath()], reached[a.CDN.String()+" "+a.Upstream] = true, true
			}
		}
	}
	all := &Coverage{Missing: []Missing{}}
	for _, o := range objects {
		if !o.Kind.SentOnce() {
			all.addObject(o, func(what string) bool { return reached[o.Key().String()+" "+what] })
		}
	}
	return all
}

// addObject adds the locations and upstreams of an object.
func (c *Coverage) addObject(o *manifest.Object, isReached func(what string) bool) {
	var fields []string
	var missing []Missing
	count := func(s *Share, isReached bool, m Missing, field string) {
		s.Add(Share{Of: 1})
		if isReached {
			s.Reached++
			return
		}
		m.Object, m.File = o.Key().String(), o.Path
		missing, fields = append(missing, m), append(fields, field)
	}
	config := routing.ReadSpec(o.Spec)
	for _, l := range config.Locations {
		count(&c.Locations, isReached(l.FieldPath()), Missing{What: "location", Name: l.Host + l.Path}, l.FieldPath())
	}
	for i, name := range config.Upstreams {
		count(&c.Upstreams, isReached(name), Missing{What: "upstream", Name: name}, fmt.Sprintf("spec.upstreams[%d]", i))
	}
	if fields == nil {
		return
	}
	for i, at := range o.Places(fields) {
		missing[i].Line = at[0]
	}
	c.Missing = append(c.Missing, missing...)
}
