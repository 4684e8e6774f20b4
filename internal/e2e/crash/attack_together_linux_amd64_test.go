package crash

import (
	"fmt"
	"strings"
	"testing"

	"trueup/internal/e2e/long"
)

// TestTogether: runs of one commit at the same time, in pairs and in a crowd. Each
// ends with 0, or with 5 where another run was still at it, whatever the store.
func TestTogether(t *testing.T) {
	t.Parallel()
	program := buildFolding(t)
	rounds := long.Times(attackRounds)
	for _, store := range stores(t) {
		t.Run(store, func(t *testing.T) {
			t.Parallel()
			w := newAttackWorld(t, program, store, 1, false)
			defer w.close()
			w.ready("")
			pairs, crowd := min(50, max(2, rounds/4)), min(20, max(3, rounds/4))
			ended := map[int]int{}
			for range pairs {
				w.ttl++
				w.commit("")
				w.together(2, ended)
				w.isLive()
			}
			t.Logf("%s: exit codes of %d pairs: %v", store, pairs, ended)
			for n := range 10 {
				w.once = append(w.once, fmt.Sprintf("Purge/rel-%03d", n))
			}
			w.once = append(w.once, "VolumeSnapshot/db")
			w.ttl++
			w.commit("")
			t.Logf("%s: exit codes of %d runs at once: %v", store, crowd, w.together(crowd, map[int]int{}))
			w.must(w.run(attackApply()...))
			w.isLive()
			executed, arrived := w.platform.log()
			for _, key := range w.once {
				if executed[key] != 1 || arrived[key] != 1 {
					t.Errorf("%s arrived %d times, and was executed %d times", key, arrived[key], executed[key])
				}
			}
		})
	}
}

// together runs so many applies of the newest commit at once, and adds how they
// ended.
func (w *attackWorld) together(n int, ended map[int]int) map[int]int {
	w.t.Helper()
	dirs, runs := make([]string, n), make([]*attackRun, n)
	for i := range dirs {
		dirs[i] = w.runner()
	}
	for i, dir := range dirs {
		runs[i] = w.begin(dir, attackApply()...)
	}
	for _, r := range runs {
		w.end(r)
		ended[r.code]++
		if r.code != 0 && r.code != 5 {
			w.t.Errorf("one of %d runs at once: exit %d\n%s", n, r.code, r.said())
		}
	}
	return ended
}

// isLive asserts that the CDN is as the newest commit says.
func (w *attackWorld) isLive() {
	w.t.Helper()
	want, live := fmt.Sprintf("edgeTTL:%d ", w.ttl), ""
	w.platform.set(func() { live = fmt.Sprint(w.platform.objects["CDN/shop"]["spec"]) })
	if !strings.Contains(live, want) {
		w.t.Errorf("live is %s, and git has %s", live, want)
	}
}
