package yamledit

import (
	"bytes"
	"fmt"
	"iter"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"trueup/internal/yamltext"
)

// sameNodes reports whether two nodes have the same values, styles and anchors, in any order of members.
// becomes replaces nodes below the first. A node without a tag is the same in any style.
func sameNodes(was, is *yaml.Node, becomes map[*yaml.Node][]*yaml.Node) bool {
	if was.Kind != is.Kind || was.Value != is.Value || was.Anchor != is.Anchor ||
		was.Tag != "" && (was.Tag != is.Tag || was.Style != is.Style) {
		return false
	}
	return slices.EqualFunc(byName(was, becomes), byName(is, nil), func(was, is *yaml.Node) bool { return sameNodes(was, is, becomes) })
}

// byName returns what is below a node, and the members of a mapping sorted by name.
func byName(n *yaml.Node, becomes map[*yaml.Node][]*yaml.Node) []*yaml.Node {
	content := n.Content
	if len(becomes) > 0 {
		content = nil
		for _, below := range n.Content {
			if is, ok := becomes[below]; ok {
				content = append(content, is...)
			} else {
				content = append(content, below)
			}
		}
	}
	if n.Kind != yaml.MappingNode {
		return content
	}
	pairs := slices.Collect(slices.Chunk(content, 2))
	slices.SortStableFunc(pairs, func(a, b []*yaml.Node) int { return strings.Compare(a[0].Value, b[0].Value) })
	return slices.Concat(pairs...)
}

// sameDocuments reports whether two texts have the same documents.
func sameDocuments(was, is []byte) bool {
	next, stop := iter.Pull(documentsOf(is))
	defer stop()
	ok := true
	for doc := range documentsOf(was) {
		other, more := next()
		ok = ok && more && sameNodes(doc, other, nil)
	}
	_, more := next()
	return ok && !more
}

// documentsOf iterates over the documents of a text.
func documentsOf(text []byte) iter.Seq[*yaml.Node] {
	return func(yield func(*yaml.Node) bool) {
		more := true
		yamltext.NewFile("", text).Documents(func(doc *yaml.Node) { more = more && yield(doc) })
	}
}

// listMarks returns each trueup: comment, with the number of the field that it covers, sorted. The numbers
// are the same in any order of members.
func listMarks(text []byte) []string {
	if !bytes.Contains(text, []byte(yamltext.MarkName)) {
		return nil
	}
	var all []string
	numbers, last, i := map[int]int{}, 0, 0
	f := yamltext.NewFile("", text)
	f.Documents(func(doc *yaml.Node) {
		last = numberLines(doc, last, numbers)
		i++
		root := yamltext.Root(doc)
		if root == nil {
			return
		}
		for _, m := range yamltext.PlaceMarks(root, f.TakeMarks(f.EndOf(root.Line))) {
			from := m.From
			if m.Line < root.Line {
				from = 0 // the whole document
			}
			all = append(all, fmt.Sprintf("%d %s %s %s %d", i, m.Word, m.Rule, m.Reason, numbers[from]))
		}
	})
	slices.Sort(all)
	return all
}

// numberLines gives each line the number of the last node that starts there, and returns the highest number.
func numberLines(n *yaml.Node, last int, numbers map[int]int) int {
	last++
	numbers[n.Line] = last
	for _, below := range byName(n, nil) {
		last = numberLines(below, last, numbers)
	}
	return last
}
