package git

import (
	"io/fs"
	"strings"
	"testing"
)

// FuzzOutput: what git prints of a repository, and what is in its objects, is
// refused or understood; a tree of it holds no name that leads elsewhere.
func FuzzOutput(f *testing.F) {
	id := strings.Repeat("a", 40)
	for _, seed := range []string{
		"100644 blob " + id + "     12\tmanifests/shop.yaml\x00120000 blob " + id + "      3\tlink\x00", "160000 commit " + id + "       -\tsub\x00",
		"100644 blob " + id + " 1\t../x\x00100644 blob " + id + " 1\t.\x00100644 blob " + id + " 1\ta\x00100644 blob " + id + " 1\ta/b\x00",
		id + " blob 3\nabc\n", id + " blob -3\nabc\n", id + " missing\n", "100644 a\x00" + strings.Repeat("\x01", 20) + "40000 b\x00" + strings.Repeat("\x02", 20),
		id + "\trefs/heads/main\n" + id + "\trefs/heads/main^{}\n", "100644 blob " + id + " -1\ta\x00",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, out string) {
		if content, rest, err := cutObject([]byte(out)); err == nil && len(content)+len(rest) >= len(out) {
			t.Fatalf("%q holds %q and %q", out, content, rest)
		}
		listsRef(out, "refs/heads/main")
		files, err := parseTreeFiles(out)
		if err == nil {
			files, err = chooseReadable(files, nil)
		}
		if err != nil {
			return
		}
		tree, err := newTree(files, make([][]byte, len(files)))
		if err != nil {
			return
		}
		found := 0
		err = fs.WalkDir(tree, ".", func(name string, d fs.DirEntry, err error) error {
			if err != nil || !fs.ValidPath(name) {
				t.Fatalf("%q: %q, %v", out, name, err)
			}
			if !d.IsDir() {
				found++
			}
			return nil
		})
		if err != nil || found != len(files) {
			t.Fatalf("%q has %d files, and %d were found: %v", out, len(files), found, err)
		}
	})
}
