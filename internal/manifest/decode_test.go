package manifest

import (
	"reflect"
	"testing"

	"go.yaml.in/yaml/v4"
)

func FuzzDecode(f *testing.F) {
	for _, text := range []string{"a: 1\n---\nb: &a 2\nc: *a\n---\n- x\n", "a: 1\n---\nb:\n  - c: |\n      d\n---\n{", "{\"a\": \"\\/\"}", "a: b\r\n---\r\nc: [\r\n]\r\n"} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, data []byte) { checkDecode(t, "", data) })
}

// checkDecode fails if documents are read otherwise than by package yaml: in what they say, in their
// places and in their errors.
func checkDecode(t *testing.T, path string, data []byte) {
	t.Helper()
	data, ok := NewFileState(path, data).cleanText(data)
	if !ok {
		return
	}
	var is, was []*yaml.Node
	text := joinSurrogates(data)
	isErr := decodeDocuments(text, nil, func(doc *yaml.Node) { is = append(is, withoutComments(doc)) })
	wasErr := decodeFully(text, func(doc *yaml.Node) { was = append(was, withoutComments(doc)) })
	if !reflect.DeepEqual(is, was) || !reflect.DeepEqual(isErr, wasErr) {
		t.Errorf("%s: %d documents, %v, not %d, %v: or they differ", path, len(is), isErr, len(was), wasErr)
	}
	// The nodes of a pool are good as long as each document is looked at.
	n, pool := 0, new(NodePool)
	_ = decodeDocuments(text, pool, func(doc *yaml.Node) {
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
