package manifest

import (
	"fmt"
	"iter"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// same reports whether two nodes have the same values, styles and anchors, in any order of members.
// becomes replaces nodes below the first. A node without a tag is the same in any style.
func same(was, is *yaml.Node, becomes map[*yaml.Node][]*yaml.Node) bool {
	if was.Kind != is.Kind || was.Value != is.Value || was.Anchor != is.Anchor ||
		was.Tag != "" && (was.Tag != is.Tag || was.Style != is.Style) {
		return false
	}
	return slices.EqualFunc(byName(was, becomes), byName(is, nil), func(was, is *yaml.Node) bool { return same(was, is, becomes) })
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
		ok = ok && more && same(doc, other, nil)
	}
	_, more := next()
	return ok && !more
}

// documentsOf iterates over the documents of a text.
func documentsOf(text []byte) iter.Seq[*yaml.Node] {
	return func(yield func(*yaml.Node) bool) {
		more := true
		fileOf("", text).documents(func(doc *yaml.Node) { more = more && yield(doc) })
	}
}

// marked returns each trueup: comment, with the number of the field that it covers, sorted. The numbers
// are the same in any order of members.
func marked(text []byte) []string {
	f := &file{lines: lines{data: text}, marks: findMarks(text)}
	if len(f.marks) == 0 {
		return nil
	}
	var all []string
	numbers, last, i := map[int]int{}, 0, 0
	for doc := range documentsOf(text) {
		last = numberLines(doc, last, numbers)
		i++
		root := rootOf(doc)
		if root == nil {
			continue
		}
		l := newFieldLines(root)
		for _, m := range l.comments(f.takeMarks(f.endOf(root.Line))) {
			from, _, _ := l.covered(m)
			if m.Line < root.Line {
				from = 0 // the whole document
			}
			all = append(all, fmt.Sprintf("%d %s %s %s %d", i, m.word, m.Rule, m.Reason, numbers[from]))
		}
	}
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
