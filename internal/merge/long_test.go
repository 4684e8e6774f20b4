package merge

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"time"
)

// TestLongLists: a list that was made to take all day takes seconds: one that is
// turned around, one whose keys are all incomplete, and a set without a key.
func TestLongLists(t *testing.T) {
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
