package manifest

import (
	"fmt"
	"os"
	"slices"
	"testing"
)

// TestNamesAreThoseOfLoad: what completion offers is what the manifests have, in every
// example and in the corpus.
func TestNamesAreThoseOfLoad(t *testing.T) {
	folders := []string{"../../examples"}
	if root := os.Getenv("TRUEUP_CORPUS"); root != "" {
		folders = append(folders, root+"/cdns", root+"/volumesnapshots-adapted")
	}
	for _, folder := range folders {
		checkNames(t, PathSource{FS: os.DirFS(folder), Path: "."})
	}
	const head = "apiVersion: delivery/v2.1\nkind: CDN\nmetadata:\n"
	for _, text := range []string{
		head + "  name: a\nspec:\n  hostname: a.example.com # b\n",
		head + "  # name: b\n  labels:\n    name: c\n  name: 'a'\nspec: {}\n---\n" + head + "    name: \"d\"\r\n",
		"apiVersion: delivery/v2.1\nkind: CDN\nmetadata: {name: a}\nspec: {hostname: a.example.com}\n",
		"{apiVersion: delivery/v2.1, kind: CDN, metadata: {name: a}}\n",
		"- a\n", "", "---\n", "a\n", "\n\n---\nkind: CDN\n",
	} {
		checkNames(t, PathSource{Data: []byte(text)})
	}
}

func checkNames(t *testing.T, source PathSource) {
	t.Helper()
	set, _, err := Load(t.Context(), []PathSource{source}, LoadSettings{})
	if err != nil {
		t.Fatal(err)
	}
	known := func(set *Set) (all []string) {
		for _, o := range set.Objects {
			all = append(all, fmt.Sprintln(o.Key(), o.Host, o.Path))
		}
		return all
	}
	if is, want := known(LoadNames(t.Context(), []PathSource{source}, LoadSettings{})), known(set); !slices.Equal(is, want) {
		t.Errorf("%s %q: %q, not %q", source.Path, source.Data, is, want)
	}
}
