package manifest

import (
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"go.yaml.in/yaml/v3"

	"trueup/internal/plainyaml"
)

// TestDecodeIsTheParser: what is read without package yaml is equal to what that reads,
// with its places and its errors, in all examples and in the corpus.
func TestDecodeIsTheParser(t *testing.T) {
	folders := []string{"../../examples"}
	if root := os.Getenv("TRUEUP_CORPUS"); root != "" {
		folders = append(folders, root)
	}
	for _, folder := range folders {
		err := filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
			if err != nil || !d.Type().IsRegular() {
				return err
			}
			data, err := os.ReadFile(path)
			if err == nil {
				checkDecode(t, path, data)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

func FuzzDecode(f *testing.F) {
	for _, text := range []string{"a: 1\n---\nb: &a 2\nc: *a\n---\n- x\n", "a: 1\n---\nb:\n  - c: |\n      d\n---\n{", "{\"a\": \"\\/\"}", "a: b\r\n---\r\nc: [\r\n]\r\n"} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, data []byte) { checkDecode(t, "", data) })
}

func checkDecode(t *testing.T, path string, data []byte) {
	t.Helper()
	data, ok := fileOf(path, data).clean(data)
	if !ok {
		return
	}
	var is, was []*yaml.Node
	text := asYAML(data)
	isErr := decode(text, nil, func(doc *yaml.Node) { is = append(is, withoutComments(doc)) })
	wasErr := decodeFully(text, func(doc *yaml.Node) { was = append(was, withoutComments(doc)) })
	if !reflect.DeepEqual(is, was) || !reflect.DeepEqual(isErr, wasErr) {
		t.Errorf("%s: %d documents, %v, not %d, %v: or they differ", path, len(is), isErr, len(was), wasErr)
	}
	// The nodes of a pool are good as long as each document is looked at.
	n, pool := 0, new(plainyaml.Pool)
	_ = decode(text, pool, func(doc *yaml.Node) {
		if n++; n > len(was) || !reflect.DeepEqual(withoutComments(doc), was[n-1]) {
			t.Errorf("%s: with a pool, document %d differs", path, n)
		}
	})
}

func withoutComments(n *yaml.Node) *yaml.Node {
	n.HeadComment, n.LineComment, n.FootComment = "", "", ""
	for _, below := range n.Content {
		withoutComments(below)
	}
	return n
}
