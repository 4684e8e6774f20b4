package manifest_test

import (
	"io/fs"
	"strings"
	"testing"
	"testing/fstest"

	"trueup/internal/manifest"
)

// brittle is a file system in which one file can't be opened.
type brittle struct{ fstest.MapFS }

func (b brittle) Open(name string) (fs.File, error) {
	if name == "odd.yaml" {
		panic("odd")
	}
	return b.MapFS.Open(name)
}

// TestAPanicNamesItsFile: it is an error, and not the end of the process.
func TestAPanicNamesItsFile(t *testing.T) {
	files := brittle{fstest.MapFS{"odd.yaml": {}, "plain.yaml": {Data: []byte("a: 1\n")}}}
	_, _, err := manifest.Load(t.Context(), []manifest.PathSource{{FS: files, Path: ".", Display: "manifests"}}, manifest.LoadSettings{})
	if err == nil || !strings.Contains(err.Error(), "read manifests/odd.yaml: internal error: odd") {
		t.Errorf("got %v", err)
	}
}
