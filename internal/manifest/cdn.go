package manifest

import (
	"fmt"
	"slices"
	"sync"

	"trueup/internal/routing"
)

// CDN returns what answers requests by the manifest alone, or nil if the kind serves no hostname.
func (o *Object) CDN() *routing.CDN {
	if o.Kind.SentOnce() || o.Host == "" {
		return nil
	}
	c := routing.NewCDN(o.Key(), o.Spec)
	c.Path, c.Line = o.Path, o.Line
	c.Lines = sync.OnceValue(func() []int { return o.findLines(c.Config().Locations, routing.ReadSpec(o.Spec).Locations) })
	return c
}

// findLines returns the line in the manifest of each location of a CDN. The CDN may have others than are written: such a
// location has the line of the list.
func (o *Object) findLines(locations, written []routing.Location) []int {
	fields := []string{"spec.locations"}
	for i := range written {
		fields = append(fields, fmt.Sprintf("spec.locations[%d]", i))
	}
	places := o.Places(fields)
	lines := make([]int, len(locations))
	for i, l := range locations {
		same := func(w routing.Location) bool { return w.Path == l.Path && w.Host == l.Host }
		at := i
		if at >= len(written) || !same(written[at]) {
			at = slices.IndexFunc(written, same)
		}
		lines[i] = places[at+1][0]
	}
	return lines
}
