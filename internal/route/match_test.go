package route

import (
	"testing"

	"pgregory.net/rapid"
)

// TestMatching compares the location that is selected of those that match with an interpreter that asks every one.
func TestMatching(t *testing.T) {
	all := requests()
	rapid.Check(t, func(t *rapid.T) {
		sketch, _ := sketches(t)
		site := Read(sketch.spec(t))
		for i := range 20 {
			r := all[(rapid.IntRange(0, len(all)-1).Draw(t, "from")+i*101)%len(all)]
			matching, unclear := site.Matching(Request{r.host, r.path})
			if len(unclear) > 0 {
				t.Fatalf("%v: %d locations are unclear", r, len(unclear))
			}
			winners := Select(matching)
			for _, reading := range Readings() {
				got := -1
				if l := winners[reading]; l != nil {
					got = l.Index
				}
				if want := sketch.serves(reading, r.host, r.path); got != want {
					t.Fatalf("%s of %v: %d, want %d", reading, r, got, want)
				}
			}
		}
	})
}
