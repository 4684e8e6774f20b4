package plan_test

import (
	"encoding/json"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"trueup/internal/canon"
	"trueup/internal/kind"
	"trueup/internal/plan"
)

// TestMakeOnManyProcessors: the plan is the same on one processor and on several, and if it drops the specs of live
// objects.
func TestMakeOnManyProcessors(t *testing.T) {
	const objects = 600
	made := func(release bool) ([]byte, plan.Inputs) {
		var purges []string
		for _, i := range []int{1, 2, 590} {
			purges = append(purges, purge(fmt.Sprintf("p%d", i), fmt.Sprintf("{hostname: c%d.example.com, paths: [/section-0/*, /elsewhere]}", i)))
		}
		w := crowd(t, objects, 50, 3, purges...)
		w.in.Release = release
		p, findings := plan.NewPlanner(w.in).Make()
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

// TestManyDifferences: of many objects that differ, the requests that are answered as before are only counted, until
// a target asks for them.
func TestManyDifferences(t *testing.T) {
	w := crowd(t, 1001, 100, 3)
	as := func(p *plan.Plan, classes int) {
		t.Helper()
		a := p.Items[0].Answers
		if a.Classes != 4 || a.Changed != 3 || len(a.Groups) != 3 || len(a.Unchanged) != classes {
			t.Errorf("%d of %d classes change, %d are listed and %d that stay", a.Changed, a.Classes, len(a.Groups), len(a.Unchanged))
		}
	}
	as(w.make(), 0)
	as(w.with(func(o *plan.Options) {
		o.Targets = func(key kind.Key) bool { return key.Name == "c7" }
	}).make(), 1)
}

// TestManyLiveOnlyFields: a field that only live has is no change, so the requests that stay as they are are listed.
func TestManyLiveOnlyFields(t *testing.T) {
	w := crowd(t, 1001, 0, 3)
	for i := range 1001 {
		name, ttl := fmt.Sprintf("c%d", i), "3600"
		if i == 7 {
			ttl = "60"
		}
		w.has("CDN/"+name, strings.Replace(large(name, 3, ttl), "{", "{comment: theirs, ", 1))
	}
	for _, it := range w.make().Items {
		if a := it.Answers; it.Name == "c7" && (it.Op != plan.Patch || len(a.Unchanged) != 1) || it.Name != "c7" && it.Op != plan.None {
			t.Errorf("%s: %s %+v", it.Key, it.Op, a)
		}
	}
}
