package git

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestChanges reads changes as a shell does, and with what editors set for calls of git in their hooks.
func TestChanges(t *testing.T) {
	t.Run("shell", checkChanges)
	t.Run("hook of an editor", func(t *testing.T) {
		t.Setenv("GIT_LITERAL_PATHSPECS", "1")
		t.Setenv("GIT_EXTERNAL_DIFF", "false")
		checkChanges(t)
	})
}

func checkChanges(t *testing.T) {
	dir := repository(t)
	r, ctx := at(t, dir), t.Context()
	write := func(name, text string) {
		t.Helper()
		full := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(full), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(full, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"w/a b", "w/ü\n", "w/old", "w/gone", "w/mode", "w/link-to-be", "w/same"} {
		write(name, "one "+name)
	}
	if err := os.Symlink("a b", filepath.Join(dir, "w/link")); err != nil {
		t.Fatal(err)
	}
	commitAll(t, dir, "before")
	run(t, dir, "branch", "before")
	write("w/a b", "two")
	write("w/ü\n", "two")
	for _, do := range []error{
		os.Rename(filepath.Join(dir, "w/old"), filepath.Join(dir, "w/new")),
		os.Remove(filepath.Join(dir, "w/gone")),
		os.Chmod(filepath.Join(dir, "w/mode"), 0o755),
		os.Remove(filepath.Join(dir, "w/link-to-be")),
		os.Symlink("same", filepath.Join(dir, "w/link-to-be")),
	} {
		if do != nil {
			t.Fatal(do)
		}
	}
	run(t, dir, "add", "-A")
	run(t, dir, "update-index", "--add", "--cacheinfo", "160000,"+id(t, r, "HEAD")+",project/w/module")
	run(t, dir, "-c", "user.name=t", "-c", "user.email=t@example.com", "commit", "-q", "-m", "after")
	run(t, dir, "config", "diff.relative", "true")
	run(t, dir, "config", "diff.noprefix", "true")
	c, err := r.InFolder(filepath.Join(dir, "w")).ParseRange(ctx, "before..")
	if err != nil || c.Base != id(t, r, "before") || c.Head != id(t, r, "HEAD") || c.At.IsZero() {
		t.Fatalf("range %+v, %v", c, err)
	}
	got, err := r.InFolder(filepath.Join(dir, "w")).ChangesBetween(ctx, c.Base, c.Head)
	want := []string{
		"project/w/a b Regular Regular", "project/w/gone Regular Absent", "project/w/link-to-be Regular Link", "project/w/mode Regular Regular same",
		"project/w/module Absent Submodule", "project/w/new Absent Regular", "project/w/old Regular Absent", "project/w/ü\n Regular Regular",
	}
	kinds := [...]string{"Absent", "Regular", "Link", "Submodule"}
	var shown []string
	for _, c := range got {
		text := c.Name + " " + kinds[c.Was.Kind] + " " + kinds[c.Is.Kind]
		if c.IsSame() {
			text += " same"
		}
		shown = append(shown, text)
	}
	if err != nil || !slices.Equal(shown, want) {
		t.Errorf("changes %q, %v", shown, err)
	}
	if none, err := r.ChangesBetween(ctx, c.Head, c.Head); none != nil || err != nil {
		t.Errorf("no changes: %v, %v", none, err)
	}
	for name, want := range map[string]bool{"project/w/": true, "project/w/a b": true, "project/w/gone": false, "project/w/a*": false, "w/": false, "project/w/a b/": false} {
		if has, err := r.InFolder(filepath.Join(dir, "w")).HasFile(ctx, c.Head, name); has != want || err != nil {
			t.Errorf("has %q: %v, %v", name, has, err)
		}
	}
}

func TestRange(t *testing.T) {
	dir := repository(t)
	r, ctx := at(t, dir), t.Context()
	first := id(t, r, "HEAD")
	run(t, dir, "checkout", "-q", "-b", "feature")
	commitAll(t, dir, "ours")
	run(t, dir, "checkout", "-q", "main")
	commitAll(t, dir, "theirs")
	main, feature := id(t, r, "main"), id(t, r, "feature")
	for text, want := range map[string][2]string{
		"main..feature":  {main, feature},
		"main...feature": {first, feature},
		"HEAD^..":        {first, main},
		"feature..":      {feature, main},
		"...feature":     {first, feature},
	} {
		if c, err := r.ParseRange(ctx, text); err != nil || c.Base != want[0] || c.Head != want[1] {
			t.Errorf("%s is %+v, %v", text, c, err)
		}
	}
	for _, text := range []string{"", "main", "..", "..."} {
		if c, err := r.ParseRange(ctx, text); err == nil || !strings.Contains(err.Error(), "not of the form") {
			t.Errorf("%q is %+v, %v", text, c, err)
		}
	}
	for _, text := range []string{"nowhere..main", "main..nowhere", "--all..main", "0000000000000000000000000000000000000000..main"} {
		if c, err := r.ParseRange(ctx, text); !errors.Is(err, ErrNoCommit) {
			t.Errorf("%q is %+v, %v", text, c, err)
		}
	}
}
