package ledger

import (
	"regexp"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"trueup/internal/kind"
)

// TestIndexPaths: every key is told by its paths, and by those of no other; they
// are of letters and of a length that every store takes.
func TestIndexPaths(t *testing.T) {
	safe := regexp.MustCompile(`^[A-Za-z0-9._=-]{1,255}$`)
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.OneOf(rapid.String(), rapid.StringMatching(`[a-zA-Z._=/-]{150,700}`)).Draw(t, "name")
		key := Key{Workspace: testWorkspace, Key: kind.Key{Kind: rapid.StringMatching(part().String()).Draw(t, "kind"), Name: name}}
		seq := rapid.IntRange(1, 1<<40).Draw(t, "seq")
		at := time.Unix(rapid.Int64Range(0, 1<<37).Draw(t, "time"), 0)
		rec := Record{Workspace: key.Workspace, Key: key.Key, Seq: seq, State: Unknown, ClaimedAt: &at, AcceptedAt: &at}
		entries := rec.entries()
		if len(entries) != 2 {
			t.Fatalf("entries are %v", entries)
		}
		for _, p := range entries {
			if got, ok := indexed(testWorkspace, p); !ok || got != key {
				t.Errorf("%s is of %+v, %t", p, got, ok)
			}
			for piece := range strings.SplitSeq(p, "/") {
				if !safe.MatchString(piece) || strings.Trim(piece, ".") == "" {
					t.Errorf("%s holds %q", p, piece)
				}
			}
		}
	})
}

func TestIndexForeign(t *testing.T) {
	const dir = indexDir + "/" + testWorkspace + "/"
	for _, p := range []string{
		"", "open", dir, dir + "open", dir + "open/", dir + "open/=", dir + "open/Purge=a", dir + "open/Purge=A=1", dir + "open/note.txt",
		dir + "202611", dir + "202611/2109", dir + "202611/2109/", dir + "202611/2109/Purge", dir + "202611/2109/Purge=a/b",
		dir + "202611/2109/Purge=a_", dir + "2026112109/Purge=a", "index/other/202611/2109/Purge=a",
	} {
		if key, ok := indexed(testWorkspace, p); ok {
			t.Errorf("%q is taken for one of %+v", p, key)
		}
	}
}
