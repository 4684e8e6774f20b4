package plan_test

import (
	"encoding/json"
	"fmt"
	"runtime"
	"testing"

	"trueup/internal/canon"
	"trueup/internal/e2e/long"
	"trueup/internal/plan"
)

// TestMakeOnManyProcessors: the plan is the same on one processor and on several, and if it drops the specs of live
// objects.
func TestMakeOnManyProcessors(t *testing.T) {
	objects := long.Choose(150, 600)
	made := func(release bool) ([]byte, plan.Inputs) {
		var purges []string
		for _, i := range []int{1, 2, objects - 10} {
			purges = append(purges, purge(fmt.Sprintf("p%d", i), fmt.Sprintf("{hostname: c%d.example.com, paths: [/section-0/*, /elsewhere]}", i)))
		}
		w := crowd(t, objects, 50, 3, purges...)
		w.in.Release = release
		p, findings := plan.NewPlanner(w.in).MakePlan()
		text, err := json.Marshal([]any{p, findings})
		if err != nil {
			t.Fatal(err)
		}
		return text, w.in
	}
	want, in := made(false)
	if len(in.Live.Objects) != objects {
		t.Fatalf("%d objects are live", len(in.Live.Objects))
	}
	for range 2 {
		got, in := made(true)
		if canon.Digest(got) != canon.Digest(want) {
			t.Error("the plan is another one")
		}
		kept := 0
		for _, o := range in.Live.Objects {
			if o.Spec != nil {
				kept++
			}
		}
		if kept != 3 {
			t.Errorf("%d specs are kept, and 3 are of CDNs that are purged", kept)
		}
		defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	}
}
