//go:build linux

package ci

import (
	"maps"
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
	restored := map[string]string{}
	saves := map[string]bool{}
	for _, w := range readWorkflows(t, filepath.Join(".github", "workflows")) {
		for _, s := range w.steps() {
			switch {
			case strings.HasPrefix(s.Uses, "actions/cache/save@"):
				saves[s.With["key"]] = true
			case strings.HasPrefix(s.Uses, "actions/cache/restore@"):
				restored[s.With["key"]] = s.With["restore-keys"]
			}
		}
	}
	if len(restored) != 1 || !maps.Equal(saves, map[string]bool{seenKey: true}) {
		t.Fatalf("keys are %v, and restored are %v", saves, restored)
	}
	of := func(key, folder string) string {
		return strings.NewReplacer("${{ inputs.directory }}", folder, "${{ github.run_id }}", "7", "${{ github.run_attempt }}", "1").Replace(key)
	}
	folder := rapid.Map(rapid.StringMatching(`[ab1./-]{1,6}`), path.Clean)
	rapid.Check(t, func(t *rapid.T) {
		one := folder.Draw(t, "one")
		other := path.Clean(one + rapid.StringMatching(`([-/]?[ab1]{1,2})?`).Draw(t, "more"))
		for key, begins := range restored {
			if got := saves[key] && strings.HasPrefix(of(key, other), of(begins, one)); got != (one == other) {
				t.Fatalf("%q restores the cache of %q: %v", one, other, got)
			}
		}
	})
}

const seenKey = "trueup-seen-${{ inputs.directory }}//${{ github.run_id }}-${{ github.run_attempt }}"
