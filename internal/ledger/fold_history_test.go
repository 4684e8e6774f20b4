package ledger

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"trueup/internal/blob"
	"trueup/internal/canon"
	"trueup/internal/e2e/gitremote"
	"trueup/internal/e2e/long"
	"trueup/internal/kind"
)

// size is what a ledger has and a plan reads after so many purges.
type size struct{ purges, files, bytes, requests, read int }

// TestHistoryStaysSmall makes purges by the real code: a hundred a day, five by an apply. From TRUEUP_LONG=250
// on, it writes what that costs to docs/ledger.md with -update.
func TestHistoryStaysSmall(t *testing.T) {
	historyStaysSmall(t, newMemoryBlobs(), nil)
}

// TestHistoryStaysSmallInGit asks for the size of the refs as git packs them.
func TestHistoryStaysSmallInGit(t *testing.T) {
	blobs := refBlobs{memoryBlobs: newMemoryBlobs(), refRecord: &refRecord{}}
	blobs.drops = true
	historyStaysSmall(t, blobs.memoryBlobs, &blobs)
	bare := gitremote.Bare(t)
	cmd := exec.CommandContext(t.Context(), "git", "fast-import", "--quiet")
	var folded strings.Builder
	for name, content := range blobs.blobs {
		if name, ok := strings.CutPrefix(name, foldedDir+"/"); ok {
			fmt.Fprintf(&folded, "M 100644 inline %s\ndata %d\n%s\n", name, len(content), content)
		}
	}
	cmd.Dir, cmd.Stdin = bare, strings.NewReader(commitTo("before", blobs.before)+commitTo("now", blobs.now)+commitTo("folded", []string{folded.String()}))
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	gitremote.Cmd(t, bare, "repack", "-adfq")
	var size int64
	for _, name := range must1(filepath.Glob(filepath.Join(bare, "objects", "pack", "*.pack")))(t) {
		size += must1(os.Stat(name))(t).Size()
	}
	t.Logf("git packs %d and %d commits as %d bytes", len(blobs.before), len(blobs.now), size)
	if size > 30_000_000 {
		t.Errorf("git packs %d bytes", size)
	}
}

// refBlobs records the commits of a ref, as GitRefStore makes them.
type refBlobs struct {
	memoryBlobs
	*refRecord
}

// refRecord has what each commit changes, before the last blob that is Whole and since.
type refRecord struct{ before, now []string }

func (r refBlobs) Create(ctx context.Context, blobs ...blob.Blob) error {
	var change strings.Builder
	for _, b := range blobs {
		if b.Whole {
			r.before, r.now = r.now, nil
		}
		for _, name := range b.Replaces {
			if !b.Whole {
				fmt.Fprintf(&change, "D %s\n", name)
			}
		}
		fmt.Fprintf(&change, "M 100644 inline %s\ndata %d\n%s\n", b.Name, len(b.Content), b.Content)
	}
	r.now = append(r.now, change.String())
	return r.memoryBlobs.Create(ctx, blobs...)
}

// commitTo returns the commands of git fast-import for commits of a branch.
func commitTo(branch string, changes []string) string {
	var b strings.Builder
	for _, change := range changes {
		fmt.Fprintf(&b, "commit refs/heads/%s\ncommitter trueup <trueup@localhost> 0 +0000\ndata 0\n%s\n", branch, change)
	}
	return b.String()
}

// historyStaysSmall makes purges in a store, which is that of a git ref if that is given.
func historyStaysSmall(t *testing.T, blobs memoryBlobs, ref *refBlobs) {
	t.Helper()
	purges := min(100_000, long.Times(400))
	store := func() *logStore {
		if ref == nil {
			return newLogStore(blobs, nil, 0)
		}
		s := newLogStore(ref, nil, 0)
		s.inGit = true
		return s
	}
	s := store()
	must(t, s.WriteGenesis(t.Context(), 0, testGenesis()))
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	cfg := testConfig(t.TempDir())
	cfg.ID, cfg.Workspace, cfg.NewID, cfg.Now = "ledger-1", kind.Workspace{UUID: testWorkspace}, uuid.NewString, func() time.Time { return now }
	g := testGenesis()
	g.Seq, g.Origins = 2, cfg.Origins
	must(t, s.WriteGenesis(t.Context(), 1, g))
	var keys []kind.Key // those in git
	var sizes []size
	open := func() *Ledger {
		store := store()
		cfg.Backend = store
		blobs.calls = nil
		return must1(Open(t.Context(), cfg))(t)
	}
	const each = 5
	for n := each; n <= purges; n += each {
		now = now.Add(each * 24 * time.Hour / 100)
		keys = keys[max(0, len(keys)-50):]
		for i := range each {
			keys = append(keys, kind.Key{Kind: "Purge", Name: fmt.Sprintf("rel-%06d-%.7s", n+i, uuid.NewString())})
		}
		if n%(purges/50) < each {
			view := must1(open().ReadView(t.Context(), keys))(t)
			if view.Problem != "" || len(view.Records) < min(n-each, 50) {
				t.Fatalf("after %d purges: %d records, %s", n-each, len(view.Records), view.Problem)
			}
			now := size{purges: n, files: len(blobs.blobs), requests: len(blobs.calls)}
			for _, content := range blobs.blobs {
				now.bytes += len(content)
			}
			for _, call := range blobs.calls {
				_, name, _ := strings.Cut(call, " ")
				now.read += len(blobs.blobs[name])
			}
			t.Logf("%+v", now)
			sizes = append(sizes, now)
			if ref == nil && (now.requests > 8 || now.read > 300_000) || now.files > 1000 || now.bytes > 60_000_000 {
				t.Errorf("it costs too much: %+v", now)
			}
		}
		applyPurges(t, open(), keys, each, &now)
	}
	l := open()
	verified := must1(l.Verify(t.Context()))(t)
	if verified.Records != purges/each*each || len(verified.Damage) > 0 {
		t.Errorf("it has %d records, and damage %q", verified.Records, verified.Damage)
	}
	last := sizes[len(sizes)-1]
	t.Logf("%+v\n%s", last, plotOf(sizes))
	if purges == 100_000 && ref == nil && flag.Lookup("update").Value.String() == "true" {
		writeHistory(t, sizes)
	}
}

// must1 returns a value, or fails the test.
func must1[T any](value T, err error) func(testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		must(t, err)
		return value
	}
}

// applyPurges is an apply of a project whose last purges are new.
func applyPurges(t *testing.T, l *Ledger, keys []kind.Key, each int, now *time.Time) {
	t.Helper()
	ctx := t.Context()
	view := must1(l.ReadView(ctx, keys))(t)
	commit := strings.ReplaceAll(uuid.NewString(), "-", "")
	claim := Claim{RunID: commit[:10], RunURL: "https://ci.example.com/runs/" + commit[:10], Actor: "deployer", Commit: commit + commit[:8], Tool: "trueup 1.0.0"}
	at := NewInstant(*now, *now)
	l.BeginRun(view.Head, ApplyHead{Claim: claim}, at, func(context.Context, *ApplyHead) ([]string, bool) { return nil, true })
	for _, key := range keys[len(keys)-each:] {
		spec := fmt.Appendf(nil, `{"hostname":"shop.example.com","paths":["/assets/%s.css","/assets/%s.js","/index.html"]}`, key.Name, key.Name)
		_, err := l.Claim(ctx, key, Intent{Spec: spec, Digest: canon.Digest(spec), At: at})
		must(t, err)
		*now = now.Add(time.Second)
		must(t, l.RecordPosted(ctx, key, AcceptedAnswer{HTTP: 201}))
	}
	tree := canon.Digest([]byte(commit))
	_, err := l.FinishRun(ctx, view, ApplyEnd{Keys: keys, Spec: func(kind.Key) []byte { return nil }, Whole: true, Tree: &tree})
	must(t, err)
}

// plotOf draws how the store and the reads of a plan grow.
func plotOf(sizes []size) string {
	var b strings.Builder
	draw := func(what, unit string, of func(size) float64) {
		most := 0.0
		for _, s := range sizes {
			most = max(most, of(s))
		}
		const height = 6
		for row := height; row > 0; row-- {
			label := ""
			if row == height {
				label = fmt.Sprintf("%.3g %s", most, unit)
			}
			fmt.Fprintf(&b, "%10s |", label)
			for _, s := range sizes {
				b.WriteByte(".#"[min(1, max(0, int(of(s)/most*height+0.5)-row+1))])
			}
			b.WriteByte('\n')
		}
		fmt.Fprintf(&b, "%10s +%s %d purges: %s\n", "", strings.Repeat("-", len(sizes)), sizes[len(sizes)-1].purges, what)
	}
	draw("the store", "MB", func(s size) float64 { return float64(s.bytes) / 1e6 })
	draw("a plan reads", "kB", func(s size) float64 { return float64(s.read) / 1e3 })
	return b.String()
}

func writeHistory(t *testing.T, sizes []size) {
	t.Helper()
	const path = "../../docs/ledger.md"
	text := string(must1(os.ReadFile(path))(t))
	table := "| purges | files | the store | a plan reads |\n|--:|--:|--:|--:|\n"
	for _, s := range sizes {
		if slices.Contains([]int{2000, 100_000}, s.purges) {
			table += fmt.Sprintf("| %d | %d | %.1f MB | %d times, %d kB |\n", s.purges, s.files, float64(s.bytes)/1e6, s.requests, s.read/1000)
		}
	}
	before, rest, found := strings.Cut(text, "<!-- history -->\n")
	_, after, ended := strings.Cut(rest, "<!-- end of history -->\n")
	if !found || !ended {
		t.Fatalf("%s has no place for the history", path)
	}
	now := before + "<!-- history -->\n" + table + "\n```text\n" + plotOf(sizes) + "```\n<!-- end of history -->\n" + after
	must(t, os.WriteFile(path, []byte(now), 0o600))
}
