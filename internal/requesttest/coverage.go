package requesttest

import (
	"fmt"

	"trueup/internal/diag"
	"trueup/internal/kind"
	"trueup/internal/manifest"
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

// Cover returns the coverage of cases among the locations and upstreams of manifests. A case reaches a location that
// serves its request under some reading.
func Cover(cases []Case, objects []*manifest.Object) *Coverage {
	reached := map[kind.Key]map[int]bool{}
	for _, c := range cases {
		for _, l := range c.selected.Locations {
			if l == nil {
				continue
			}
			if reached[c.selected.CDN.Key] == nil {
				reached[c.selected.CDN.Key] = map[int]bool{}
			}
			reached[c.selected.CDN.Key][l.Index] = true
		}
	}
	all := &Coverage{Missing: []Missing{}}
	for _, o := range objects {
		if !o.Kind.SentOnce() {
			all.add(o, reached[o.Key()])
		}
	}
	return all
}

// add adds the locations and upstreams of an object.
func (c *Coverage) add(o *manifest.Object, reached map[int]bool) {
	tree := o.Tree()
	locations, _ := tree["locations"].([]any)
	upstreams, _ := tree["upstreams"].([]any)
	used := map[any]bool{}
	var fields []string
	var missing []Missing
	count := func(s *Share, isReached bool, what, field string, name any) {
		if s.Of++; isReached {
			s.Reached++
			return
		}
		text, _ := name.(string)
		missing = append(missing, Missing{Object: o.Key().String(), What: what, Name: text, File: o.Path})
		fields = append(fields, field)
	}
	for i, v := range locations {
		l, _ := v.(map[string]any)
		host, _ := l["host"].(string)
		path, _ := l["path"].(string)
		count(&c.Locations, reached[i], "location", fmt.Sprintf("spec.locations[%d]", i), host+path)
		if name, ok := l["upstream"].(string); ok && reached[i] {
			used[name] = true
		}
	}
	for i, v := range upstreams {
		u, _ := v.(map[string]any)
		name, _ := u["name"].(string)
		count(&c.Upstreams, used[name], "upstream", fmt.Sprintf("spec.upstreams[%d]", i), name)
	}
	if fields == nil {
		return
	}
	for i, at := range o.Places(fields) {
		missing[i].Line = at[0]
	}
	c.Missing = append(c.Missing, missing...)
}

// String returns the shares in words.
func (c *Coverage) String() string {
	share := func(s Share, noun string) string {
		return fmt.Sprintf("%d of %s (%d%%)", s.Reached, diag.Plural(s.Of, noun, noun+"s"), s.Percent())
	}
	return share(c.Locations, "location") + " and " + share(c.Upstreams, "upstream")
}
