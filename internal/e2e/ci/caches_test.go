//go:build linux

package ci

import (
	"path"
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// TestFoldersHaveTheirOwnCaches: a host restores the newest cache whose key begins with a restore key. So that of a
// folder must not begin the key of another: envs/prod and envs/prod-eu have different ledgers.
func TestFoldersHaveTheirOwnCaches(t *testing.T) {
	t.Parallel()
	all := readWorkflows(t, filepath.Join(".github", "workflows"))
	saves, restores := map[string]bool{}, map[string]bool{}
	for _, w := range all {
		for _, s := range w.steps() {
			switch {
			case strings.HasPrefix(s.Uses, "actions/cache/save@"):
				saves[s.With["key"]] = true
			case strings.HasPrefix(s.Uses, "actions/cache/restore@"):
				restores[s.With["restore-keys"]] = true
			}
		}
	}
	if len(saves) != 1 || len(restores) != 1 {
		t.Fatalf("keys are %v, and restored are %v", saves, restores)
	}
	of := func(keys map[string]bool, folder string) string {
		for key := range keys {
			return strings.NewReplacer("${{ inputs.directory }}", folder, "${{ github.run_id }}", "7", "${{ github.run_attempt }}", "1").Replace(key)
		}
		return ""
	}
	folder := rapid.Map(rapid.StringMatching(`[ab1./-]{1,6}`), path.Clean)
	rapid.Check(t, func(t *rapid.T) {
		one := folder.Draw(t, "one")
		other := path.Clean(one + rapid.StringMatching(`([-/]?[ab1]{1,2})?`).Draw(t, "more"))
		if got := strings.HasPrefix(of(saves, other), of(restores, one)); got != (one == other) {
			t.Fatalf("%q restores the cache of %q: %v", one, other, got)
		}
	})
}
