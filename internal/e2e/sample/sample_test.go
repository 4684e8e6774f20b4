package sample

import (
	"encoding/json"
	"reflect"
	"slices"
	"testing"
)

// TestSamples: the same numbers make the same objects, another seed makes others,
// a larger world has those of a smaller, and as many differ as were asked for.
func TestSamples(t *testing.T) {
	t.Parallel()
	text := func(w World) []string {
		var all []string
		for s := range w.Objects() {
			raw, err := json.Marshal(s)
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, string(raw))
		}
		return all
	}
	small, large := World{CDNs: 30, Purges: 70, Snapshots: 3, Seed: 7}, World{CDNs: 40, Purges: 70, Snapshots: 3, Seed: 7}
	if got := text(small); !slices.Equal(got, text(small)) || len(got) != 103 || small.Len() != 103 || !slices.Equal(got[:30], text(large)[:30]) {
		t.Errorf("%d objects, which are not the same again", len(got))
	}
	other := small
	other.Seed++
	if text(other)[0] == text(small)[0] {
		t.Error("another seed makes the same object")
	}
	differ := map[string]bool{}
	for _, share := range []struct{ percent, objects int }{{0, 0}, {1, 1}, {10, 3}, {50, 15}, {100, 30}} {
		w := small
		w.Changed = share.percent
		n, i := 0, 0
		for s := range w.Objects() {
			if i++; s.Kind != "CDN" {
				continue
			}
			if reflect.DeepEqual(s.Spec, s.Live) {
				if differ[s.Name] {
					t.Errorf("%s differed before %d%%", s.Name, share.percent)
				}
				continue
			}
			n++
			differ[s.Name] = true
		}
		if n != share.objects || i != 103 {
			t.Errorf("%d%%: %d of %d objects differ", share.percent, n, i)
		}
	}
	if got := text(World{Purges: 5}); len(got) != 0 || (World{Purges: 5}).Len() != 0 {
		t.Errorf("purges of no CDN: %d", len(got))
	}
}
