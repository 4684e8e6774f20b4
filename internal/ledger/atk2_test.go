package ledger

import (
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"trueup/internal/blob"
)

// TestFirstFoldOfMany measures.
func TestFirstFoldOfMany(t *testing.T) {
	dir := t.TempDir()
	s := newLogStore(blob.FolderStore(dir), nil, 0)
	must(t, s.WriteGenesis(t.Context(), 0, testGenesis()))
	w := &foldWorld{t: t}
	for round := range 100 {
		var changes []recordChange
		for i := range 1000 {
			rec := w.record(fmt.Sprintf("release-2026-%06d", round*1000+i))
			rec.Spec = CanonicalJSON(`{"hostname":"www.shop.example.com","paths":["/a/very/long/path/index.html","/another/path/to/purge","/images/*"]}`)
			rec.Claim = &Claim{RunID: "1234567", RunURL: "https://github.com/acme/shop/actions/runs/1234567", Actor: "alice", Commit: strings.Repeat("a", 40), Tool: "trueup 1.0"}
			rec.Outcome = &Outcome{How: Created, HTTP: 201}
			changes = append(changes, recordChange{rec: rec})
		}
		must(t, errors.Join(putAll(t.Context(), s, changes)...))
	}
	s = newLogStore(blob.FolderStore(dir), nil, 0)
	runtime.GC()
	var most uint64
	stop := make(chan bool)
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			select {
			case <-stop:
				return
			case <-time.After(20 * time.Millisecond):
				var m runtime.MemStats
				runtime.ReadMemStats(&m)
				most = max(most, m.HeapInuse)
			}
		}
	})
	must1(s.Read(t.Context(), nil))(t)
	t.Logf("read: heap %d MB", most>>20)
	began := time.Now()
	must(t, FoldNow(t.Context(), s, testNow.AddDate(0, 1, 0)))
	t.Logf("fold took %s", time.Since(began))
	close(stop)
	wg.Wait()
	t.Logf("heap %d MB", most>>20)
}
