package requesttest

import (
	"fmt"

	"trueup/internal/diag"
	"trueup/internal/manifest"
	"trueup/internal/routing"
)

// Coverage says which locations and upstreams the tests reach.
type Coverage struct {
	Locations ReachedCount    `json:"locations"`
	Upstreams ReachedCount    `json:"upstreams"`
	Missing   []UncoveredPart `json:"missing"`
}

// ReachedCount is how many of all are reached.
type ReachedCount struct {
	Reached int `json:"reached"`
	Of      int `json:"of"`
}

// UncoveredPart is a location or upstream that no test reaches.
type UncoveredPart struct {
	Object string `json:"object"`
	What   string `json:"what"` // location or upstream
	Name   string `json:"name"`
	File   string `json:"file"`
	Line   int    `json:"line"`
}

// Add adds another share.
func (s *ReachedCount) Add(o ReachedCount) { s.Reached, s.Of = s.Reached+o.Reached, s.Of+o.Of }

// describe returns the share in words, such as "1 of 2 locations (50%)". All of nothing is 100%.
func (s ReachedCount) describe(noun string) string {
	percent := 100
	if s.Of > 0 {
		percent = 100 * s.Reached / s.Of // rounded down
	}
	return fmt.Sprintf("%d of %s (%d%%)", s.Reached, diag.Plural(s.Of, noun, noun+"s"), percent)
}

// String returns the shares in words.
func (c *Coverage) String() string {
	return c.Locations.describe("location") + " and " + c.Upstreams.describe("upstream")
}

// MeasureCoverage returns the coverage of cases among the locations and upstreams of manifests. A case reaches a location that
// serves its request under some reading.
func MeasureCoverage(cases []Case, objects []*manifest.Object) *Coverage {
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
	all := &Coverage{Missing: []UncoveredPart{}}
	for _, o := range objects {
		if !o.Kind.IsSendOnce() {
			all.addObject(o, func(what string) bool { return reached[o.Key().String()+" "+what] })
		}
	}
	return all
}

// addObject adds the locations and upstreams of an object.
func (c *Coverage) addObject(o *manifest.Object, isReached func(what string) bool) {
	var fields []string
	missing := len(c.Missing)
	count := func(s *ReachedCount, isReached bool, what, name, field string) {
		s.Of++
		if isReached {
			s.Reached++
			return
		}
		c.Missing = append(c.Missing, UncoveredPart{Object: o.Key().String(), What: what, Name: name, File: o.Path})
		fields = append(fields, field)
	}
	config := routing.ReadConfigJSON(o.Spec)
	for _, l := range config.Locations {
		count(&c.Locations, isReached(l.FieldPath()), "location", l.Host+l.Path, l.FieldPath())
	}
	for i, name := range config.Upstreams {
		count(&c.Upstreams, isReached(name), "upstream", name, fmt.Sprintf("spec.upstreams[%d]", i))
	}
	for i, at := range o.Positions(fields) {
		c.Missing[missing+i].Line = at[0]
	}
}
