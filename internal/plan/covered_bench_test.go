package plan

import (
	"fmt"
	"testing"

	"trueup/internal/kind"
	"trueup/internal/purge"
)

// BenchmarkPointOut runs at the documented limits of one hostname: all absolute
// paths in one request, all prefix paths in 50 others, half of the paths covered.
func BenchmarkPointOut(b *testing.B) {
	own := countedRequest{key: kind.Key{Name: "own"}, item: &Item{}}
	for i := range purge.MaxPaths {
		own.spec.Paths = append(own.spec.Paths, fmt.Sprintf("/static/section-%d/asset-%d.js", i%(2*purge.MaxPrefixes), i))
	}
	of := &hostLimitTracker{uses: make([]countedRequest, 50), posts: []countedRequest{own}}
	for i := range purge.MaxPrefixes {
		u := &of.uses[i%50]
		u.posted = true
		u.spec.Paths = append(u.spec.Paths, fmt.Sprintf("/static/section-%d/*", i*7919%purge.MaxPrefixes))
	}
	for b.Loop() {
		own.item.Hints = nil
		of.hintCovered()
		if len(own.item.Hints) != maxCovering+1 {
			b.Fatal(own.item.Hints)
		}
	}
}
