package git

import (
	"os"
	"path/filepath"
	"testing"
)

// TestLog: a merge that changes nothing is no entry, and a commit that the log leaves out is not in the way.
func TestLog(t *testing.T) {
	dir := repository(t)
	r, ctx := at(t, dir), t.Context()
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("a.yaml", "1")
	commitAll(t, dir, "first")
	run(t, dir, "checkout", "-q", "-b", "feature")
	write("a.yaml", "2")
	commitAll(t, dir, "second\n\nwith a body")
	run(t, dir, "checkout", "-q", "main")
	write("b.yaml", "1")
	commitAll(t, dir, "other")
	run(t, dir, "-c", "user.name=t", "-c", "user.email=t@example.com", "merge", "-q", "--no-ff", "-m", "both", "feature")

	log, err := r.Log(ctx, []string{"a.yaml"}, 50)
	if err != nil || len(log) != 2 {
		t.Fatalf("log %+v, %v", log, err)
	}
	second, first := log[0], log[1]
	if second.Subject != "second" || second.Author != "t" || second.Time.IsZero() || second.Parents[0] != first.ID || len(first.Parents) != 0 {
		t.Errorf("log %+v", log)
	}
	if log, err := r.Log(ctx, []string{"a.yaml"}, 1); err != nil || len(log) != 1 || len(log[0].Parents) != 1 {
		t.Errorf("bounded log %+v, %v", log, err)
	}
	deltas, err := r.ChangesOfCommits(ctx, []string{second.ID, first.ID}, nil)
	if err != nil || len(deltas[second.ID]) != 1 || deltas[second.ID][0].Name != "project/a.yaml" || deltas[first.ID][0].Was.ID != "" {
		t.Fatalf("deltas %v, %v", deltas, err)
	}
	ids, err := r.BlobIDs(ctx, []string{"HEAD:./a.yaml", "HEAD:./no such file", first.ID + ":./a.yaml", "HEAD:./"})
	if err != nil || ids[0] != deltas[second.ID][0].Is.ID || ids[1] != "" || ids[2] != deltas[second.ID][0].Was.ID || ids[3] != "" {
		t.Errorf("ids %q, %v", ids, err)
	}
	tree, err := r.ReadBlobs(ctx, []string{ids[0]}, ".yaml")
	if err != nil {
		t.Fatal(err)
	}
	if f, err := tree.Open(ids[0] + ".yaml"); err != nil {
		t.Error(err)
	} else {
		_ = f.Close()
	}
}
