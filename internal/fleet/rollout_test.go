package fleet

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"
)

func sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}

// TestRollout compares random rollouts, in time that costs nothing, with their promises.
func TestRollout(t *testing.T) {
	for range 300 {
		n, jobs, bound := rand.IntN(30), 1+rand.IntN(5), rand.IntN(5)-1
		text := []string{"", "100%", "1,100%", "1,10%,100%", "2,50%,60%,100%", "7,3,100%"}[rand.IntN(6)]
		var waves Waves
		if text != "" {
			if err := waves.Set(text); err != nil {
				t.Fatal(err)
			}
		}
		fails := make([]bool, n)
		for i := range fails {
			fails[i] = rand.IntN(6) == 0
		}
		stop := time.Duration(0)
		if rand.IntN(3) == 0 {
			stop = rand.N(10 * time.Minute)
		}
		name := fmt.Sprintf("%d projects, %d at once, %d failures allowed, waves %q, ended after %s, %v fail", n, jobs, bound, text, stop, fails)
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			if stop > 0 {
				time.AfterFunc(stop, cancel)
			}
			var mu sync.Mutex
			begun := make([]time.Time, n)
			ended := make([]time.Time, n)
			running, most := 0, 0
			r := Rollout{Jobs: jobs, Waves: waves, Pause: time.Hour, MaxFailures: bound, Sleep: sleep}
			started := r.RunProjects(ctx, n, func(i int) bool {
				mu.Lock()
				begun[i] = time.Now()
				running++
				most = max(most, running)
				mu.Unlock()
				time.Sleep(time.Duration(1+i*7919%5) * time.Second) // each ends by itself
				mu.Lock()
				defer mu.Unlock()
				ended[i] = time.Now()
				running--
				return fails[i]
			})
			if most > jobs || running > 0 {
				t.Errorf("%s: %d ran at once, and %d did not end", name, most, running)
			}
			failed := func(before time.Time) (count int) {
				for i := range started {
					if fails[i] && ended[i].Before(before) {
						count++
					}
				}
				return count
			}
			ends := waves.waveEnds(n)
			for i := range n {
				if begun[i].IsZero() == (i < started) {
					t.Errorf("%s: %d started, and project %d: %s", name, started, i, begun[i])
				}
				if i >= started {
					continue
				}
				if bound >= 0 && failed(begun[i]) > bound {
					t.Errorf("%s: project %d started after %d failures", name, i, failed(begun[i]))
				}
				for _, end := range ends {
					for j := range min(end, started) {
						if i >= end && begun[i].Before(ended[j].Add(time.Hour)) {
							t.Errorf("%s: project %d started before the pause after project %d", name, i, j)
						}
					}
				}
			}
			complete := stop == 0 && (bound < 0 || failed(time.Now().Add(time.Second)) <= bound)
			if complete && started != n {
				t.Errorf("%s: only %d started", name, started)
			}
		})
	}
}

func TestWaves(t *testing.T) {
	for text, want := range map[string][]int{
		"1,10%,100%": {1, 10, 95}, "100%": {95}, "2,1,50%,100%": {2, 48, 95}, "200,100%": {95}, "1%,1,100%": {1, 95},
	} {
		var w Waves
		if err := w.Set(text); err != nil || w.String() != text || !slices.Equal(w.waveEnds(95), want) {
			t.Errorf("%s: %v, %s, %v", text, err, w.String(), w.waveEnds(95))
		}
	}
	for _, text := range []string{"", "0", "1,,100%", "10%", "1,50", "101%", "-1,100%", "1.5%,100%", "x", "100", "1 ,100%"} {
		if err := new(Waves).Set(text); err == nil {
			t.Errorf("%q is taken", text)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringMatching(`([1-9]%?,|100%,|[1-9]0%,){0,4}100%`).Draw(t, "waves")
		n := rapid.IntRange(0, 500).Draw(t, "projects")
		var w Waves
		if err := w.Set(text); err != nil {
			t.Fatal(err)
		}
		ends := w.waveEnds(n)
		if !slices.IsSorted(ends) || len(slices.Compact(slices.Clone(ends))) != len(ends) || n > 0 && ends[len(ends)-1] != n || n == 0 && len(ends) > 0 {
			t.Fatalf("%s of %d: %v", text, n, ends)
		}
	})
}

// TestRolloutWithoutPause asks nobody to sleep.
func TestRolloutWithoutPause(t *testing.T) {
	var w Waves
	if err := w.Set("1,100%"); err != nil {
		t.Fatal(err)
	}
	r := Rollout{Waves: w, MaxFailures: -1, Sleep: func(context.Context, time.Duration) error { return errors.New("asked to sleep") }}
	if started := r.RunProjects(t.Context(), 5, func(int) bool { return true }); started != 5 {
		t.Errorf("%d started", started)
	}
}
