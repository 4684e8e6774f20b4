package route

import (
	"fmt"
	"slices"
	"strings"
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

// matches asks one location whether it matches a request; unclear says that it may.
func (l *Location) matches(r Request) (matches, unclear bool) {
	start, _, _ := strings.Cut(l.Path, "*")
	begins := strings.HasPrefix(r.Path, start)
	switch {
	case !l.clear():
		unclear = begins || strings.HasPrefix(r.Path, Normal(start))
	case l.MayServe(r.Host):
		matches = l.Path == r.Path || begins && strings.HasSuffix(l.Path, "*")
	}
	return matches, unclear
}

// TestMatchingAll compares the locations that match, and those that may, with what each one says. Many patterns and
// hosts are unusual.
func TestMatchingAll(t *testing.T) {
	checks(t, 5000)
	path := rapid.OneOf(paths("/ab", 3), paths("/ab*", 4), paths("/a.", 4), rapid.StringOfN(rapid.SampledFrom([]rune("/a *.%2f")), 0, 5, -1))
	host := rapid.OneOf(rapid.SampledFrom([]string{"", "", "h", "*.h", "a.h", "*.a.h"}), rapid.StringOfN(rapid.SampledFrom([]rune("ah.*")), 0, 5, -1))
	location := rapid.Custom(func(t *rapid.T) Location { return Location{Path: path.Draw(t, "path"), Host: host.Draw(t, "host")} })
	rapid.Check(t, func(t *rapid.T) {
		var sites [2]*Site
		for on := range sites {
			sites[on] = &Site{Locations: rapid.SliceOfN(location, 0, 12).Draw(t, "locations")}
			for i := range sites[on].Locations {
				sites[on].Locations[i].Index = i
			}
		}
		m := NewMap(sites[0], sites[1])
		for range 10 {
			r := Request{host.Draw(t, "host"), Normal(path.Draw(t, "path"))}
			mayDiffer := false
			for _, site := range sites {
				var matching, unclear []*Location
				for i := range site.Locations {
					l := &site.Locations[i]
					switch matches, mayMatch := l.matches(r); {
					case matches:
						matching = append(matching, l)
					case mayMatch:
						unclear = append(unclear, l)
					}
				}
				mayDiffer = mayDiffer || len(unclear) > 0
				if got, gotUnclear := site.Matching(r); !slices.Equal(got, matching) || !slices.Equal(gotUnclear, unclear) {
					t.Fatalf("%q: %v, unclear %v; want %v, unclear %v", r, got, gotUnclear, matching, unclear)
				}
			}
			differ := !slices.Equal(sites[0].Locations, sites[1].Locations)
			if got := m.MayDiffer(r); got != (differ && mayDiffer) {
				t.Fatalf("%q may differ: %v", r, got)
			}
		}
	})
}

// BenchmarkMatching: no request asks every location, whether these differ in their paths or hosts, or are unclear.
func BenchmarkMatching(b *testing.B) {
	for name, location := range map[string]func(int) Location{
		"exact":   func(i int) Location { return Location{Path: fmt.Sprint("/", i)} },
		"prefix":  func(i int) Location { return Location{Path: fmt.Sprint("/", i, "/*")} },
		"host":    func(i int) Location { return Location{Path: "/*", Host: fmt.Sprint("h", i)} },
		"domain":  func(i int) Location { return Location{Path: "/*", Host: fmt.Sprint("*.h", i)} },
		"unclear": func(i int) Location { return Location{Path: fmt.Sprint("/", i, "/*/a")} },
	} {
		for _, n := range []int{100, 10000} {
			b.Run(fmt.Sprintf("%s/n=%d", name, n), func(b *testing.B) {
				s := &Site{}
				for i := range n {
					s.Locations = append(s.Locations, location(i))
				}
				r := Request{"a.h12", "/12/b/a"}
				s.Matching(r) // makes the index
				for b.Loop() {
					s.Matching(r)
				}
			})
		}
	}
}
