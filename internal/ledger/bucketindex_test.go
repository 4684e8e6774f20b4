package ledger

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"strings"
	"testing"
	"time"
)

// TestBucketCost: what is read does not grow with the history.
func TestBucketCost(t *testing.T) {
	f := newFakeBucket(t)
	s := f.born(t)
	cost := func() int {
		f.set(func() { f.calls = nil })
		run := f.store(t, "x")
		_, err := run.Recent(t.Context(), testWorkspace, testLately)
		must(t, err)
		_, err = run.Read(t.Context(), []Key{testRecord("a", 1).key(), testRecord("absent", 1).key()})
		must(t, err)
		return len(f.calls)
	}
	mustPut(t, s, 0, testRecord("a", 1))
	young := cost()
	for seq := 1; seq < 20; seq++ {
		mustPut(t, s, seq, testRecord("a", seq+1))
	}
	eachOld(t, bucketVersion, 1000, func(name string, content []byte) {
		f.set(func() { f.objects[s.at(name)] = object{body: content} })
	})
	if old := cost(); old != young || old != 6 {
		t.Errorf("%d requests at first, %d later: %v", young, old, f.calls)
	}
}

// TestBucketTransitions is how many requests one after the other a request that
// is sent once costs, from a run's look to its outcome.
func TestBucketTransitions(t *testing.T) {
	f := newFakeBucket(t)
	f.born(t)
	s := f.store(t, "x")
	key := testRecord("a", 1).key()
	steps := func(do func()) string {
		f.set(func() { f.calls = nil })
		do()
		f.mu.Lock()
		defer f.mu.Unlock()
		for i, call := range f.calls {
			f.calls[i] = strings.ReplaceAll(call, testWorkspace, "w")
			if at := strings.Index(call, "/Purge/"); at > 0 {
				f.calls[i] = f.calls[i][:strings.Index(f.calls[i], "/Purge/")]
			}
		}
		return strings.Join(f.calls, ", ")
	}
	read := func() {
		_, err := s.Read(t.Context(), []Key{key})
		must(t, err)
	}
	read()
	rec := testRecord("a", 1)
	at := testNow
	rec.State, rec.FirstClaimAt, rec.ClaimedAt = Claimed, &at, &at
	first := steps(func() { read(); mustPut(t, s, 0, rec) })
	// The two of the index go at once, in any order.
	const index = "PUT x/index/w/"
	if n := strings.Count(first, ", ") + 1; n != 6 || strings.Count(first, index) != 2 ||
		!strings.HasPrefix(first, "GET , PUT x/genesis/"+versionName(1)+", "+index) || !strings.HasSuffix(first, ", PUT x/records/w, GET x/records/w") {
		t.Errorf("the first claim of a run takes %d: %s", n, first)
	}
	rec.Seq, rec.State, rec.AcceptedAt = 2, Posted, &at
	const want = "GET , PUT x/records/w, GET x/records/w, DELETE x/index/w/open/Purge=a=1"
	if got := steps(func() { read(); mustPut(t, s, 1, rec) }); got != want {
		t.Errorf("an outcome takes %s", got)
	}
}

// TestBucketMarkers: what ends removes the markers of all who had it open; where
// it may not, the request is done all the same.
func TestBucketMarkers(t *testing.T) {
	const long = 100 * time.Hour
	f := newFakeBucket(t)
	f.born(t)
	recent := func() []Key {
		keys, err := f.store(t, "x").Recent(t.Context(), testWorkspace, testLately)
		must(t, err)
		return keys
	}
	must(t, live(t.Context(), f.store(t, "x"), testRecord("a", 1), life{Claimed, long, never}, life{Claimed, long, never}, life{Unknown, long, never}))
	if got := recent(); len(got) != 1 {
		t.Fatalf("recent are %v", got)
	}
	rec := testRecord("a", 4)
	mustPut(t, f.store(t, "x"), 3, rec)
	if got := recent(); len(got) != 0 {
		t.Errorf("recent are still %v", got)
	}
	f.set(func() {
		f.before = times(-1, http.MethodDelete, "", func(w http.ResponseWriter) { refuse(w, 403, "AccessDenied") })
	})
	must(t, live(t.Context(), f.store(t, "x"), testRecord("b", 1), life{Claimed, long, never}, life{Posted, long, long}))
	b := testRecord("b", 1).key()
	run := f.store(t, "x")
	keys, err := run.Recent(t.Context(), testWorkspace, testLately)
	must(t, err)
	got, err := run.Read(t.Context(), keys)
	must(t, err)
	if len(keys) != 1 || got[b].State != Posted {
		t.Errorf("recent are %v, b is %+v", keys, got[b])
	}
	// The next run that may removes what was left.
	f.set(func() { f.before = nil })
	mustPut(t, run, 0, testRecord("c", 1))
	if got := recent(); len(got) != 0 {
		t.Errorf("recent are still %v", got)
	}
}

// TestBucketCrash ends a run at each request of each step of a record's life:
// whatever is open then is found.
func TestBucketCrash(t *testing.T) {
	f := newFakeBucket(t)
	s := f.born(t)
	points := 0
	for i, to := range longLife() {
		before := maps.Clone(f.objects)
		for n, dead := 0, true; dead; n, points = n+1, points+1 {
			f.set(func() { f.objects, f.sorted = maps.Clone(before), nil })
			ctx, die := context.WithCancel(t.Context())
			left := n
			dead = false
			f.set(func() {
				f.before = func(w http.ResponseWriter, _ *http.Request) bool {
					f.mu.Lock()
					defer f.mu.Unlock()
					if left--; left < 0 {
						dead = true
						die()
						hangUp(w)
					}
					return dead
				}
			})
			err := s.another().Put(ctx, i, testRecord("a", i+1).after(to))
			die()
			f.set(func() { f.before = nil })
			if err != nil && !dead {
				t.Fatal(err)
			}
			checkFound(t, s.another(), fmt.Sprintf("step %d, request %d", i+1, n))
		}
	}
	t.Logf("%d points", points)
}
