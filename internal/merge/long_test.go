package merge

import (
	"encoding/json"
	"fmt"
	"runtime"
	"slices"
	"testing"
	"time"
)

// TestLongLists: a list that was made to take all day takes seconds: one that is
// turned around, one whose keys are all incomplete, and a set without a key.
func TestLongLists(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: one goroutine, and slow with the race detector")
	}
	const n = 3_000
	list := func(with func(i int) string) []any {
		out := make([]any, n)
		for i := range out {
			if err := json.Unmarshal([]byte(with(i)), &out[i]); err != nil {
				t.Fatal(err)
			}
		}
		return out
	}
	bare := list(func(i int) string { return fmt.Sprintf(`{"path":"/%d"}`, i) })
	hosted := list(func(i int) string { return fmt.Sprintf(`{"path":"/%d","host":"h%d"}`, n-i, i) })
	odd := list(func(i int) string { return fmt.Sprintf(`{"%d":{"%d":1}}`, i%7, i) })
	turned := slices.Clone(bare)
	slices.Reverse(turned)
	turnedOdd := slices.Clone(odd)
	slices.Reverse(turnedOdd)
	keyed := &Rules{Fields: map[string]*Rules{"l": {Key: []string{"host", "path"}}}}
	set := &Rules{Fields: map[string]*Rules{"l": {Set: true}}}
	for name, in := range map[string]Input{
		"turned around":   {Rules: keyed, Applied: spec(bare), Desired: spec(turned), Live: spec(bare)},
		"incomplete keys": {Rules: keyed, Applied: spec(bare), Desired: spec(bare), Live: spec(hosted)},
		"set":             {Rules: set, Applied: spec(odd), Desired: spec(odd), Live: spec(turnedOdd)},
	} {
		start := time.Now()
		Compare(in)
		if took := time.Since(start); took > time.Minute {
			t.Errorf("%s took %s", name, took)
		}
	}
}

func spec(list []any) map[string]any { return map[string]any{"l": list} }

// TestHistoryOfALongList: to tell whose change each line of a list is takes no
// longer per line where there are more.
func TestHistoryOfALongList(t *testing.T) {
	rules := &Rules{Fields: map[string]*Rules{"locations": {Key: []string{"path"}, Item: &Rules{}}}}
	locations := func(n int, ttl string) any {
		list := make([]any, n)
		for i := range list {
			list[i] = map[string]any{"path": fmt.Sprintf("/p%d", i), "ttl": ttl}
		}
		return map[string]any{"locations": list}
	}
	cost := func(was, now any, n int) uint64 {
		res := Compare(Input{Rules: rules, Applied: was, Live: was, Desired: now})
		if len(res.Changes) != n {
			t.Fatalf("%d changes", len(res.Changes))
		}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		h := NewManifestDiff(rules, was, now)
		for _, c := range res.Changes {
			if !h.TouchedByGit(c) {
				t.Fatalf("%s is not git's", c.Path)
			}
		}
		runtime.ReadMemStats(&after)
		return after.TotalAlloc - before.TotalAlloc
	}
	turned := func(n int) any {
		list := slices.Clone(locations(n, "1").(map[string]any)["locations"].([]any))
		slices.Reverse(list)
		return map[string]any{"locations": list}
	}
	for what, of := range map[string]func(n int) uint64{
		"moved":   func(n int) uint64 { return cost(locations(n+1, "1"), turned(n+1), n) },
		"changed": func(n int) uint64 { return cost(locations(n, "1"), locations(n, "2"), n) },
		"removed": func(n int) uint64 { return cost(locations(n, "1"), locations(0, "1"), n) },
	} {
		if few, many := of(500), of(2000); many > 6*few {
			t.Errorf("%s: %d bytes for 500 elements, %d for 2000", what, few, many)
		}
	}
}
