package ledger

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"trueup/internal/kind"
)

// TestARecordThatWasTakenAwayIsDamage, while a claim that never happened is none.
func TestARecordThatWasTakenAwayIsDamage(t *testing.T) {
	file := made(t)
	bucket := newFakeBucket(t)
	far := testConfig(t.TempDir())
	far.Backend = bucket.store(t, "x")
	g, err := Init(t.Context(), far)
	must(t, err)
	far.ID = g.LedgerID
	record := filepath.FromSlash(recordPath(Key{Workspace: testWorkspace, Key: purgeKey}))
	for name, tt := range map[string]struct {
		cfg  Config
		take func()
	}{
		"file":   {file, func() { must(t, os.Remove(filepath.Join(file.Dir, "ledger", record))) }},
		"bucket": {far, func() { bucket.take(recordDir(Key{Workspace: testWorkspace, Key: purgeKey})) }},
	} {
		l := open(t, tt.cfg)
		must(t, tryClaim(t.Context(), l, purgeKey))
		must(t, l.Posted(t.Context(), purgeKey, Made{}))
		tt.take()
		cfg := tt.cfg
		if name == "bucket" {
			cfg.Backend = bucket.store(t, "x")
		}
		v, err := open(t, cfg).View(t.Context(), []kind.Key{purgeKey})
		if err != nil || !strings.Contains(v.Problem, "names the record of Purge/rel-42, which is missing") {
			t.Errorf("%s: %q, %v", name, v.Problem, err)
		}
	}
}

// take removes what the names of its objects say is in a folder.
func (f *fakeBucket) take(folder string) {
	f.set(func() {
		for name := range f.objects {
			if strings.Contains(name, folder) {
				delete(f.objects, name)
			}
		}
		f.sorted = nil
	})
}
