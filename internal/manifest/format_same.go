package manifest

import (
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// errDiffers reports a bug of this program, before it changes a file.
var errDiffers = left(0, "the result would have another meaning")

// sameFile checks that two texts have the same lines, apart from white space and order, the same values
// and styles, and trueup: comments at the same fields.
func sameFile(before, after []byte) error {
	if !slices.Equal(significantLines(before), significantLines(after)) {
		return errDiffers
	}
	return sameNodes(before, after)
}

// significantLines returns the sorted lines of a text without white space and leading hyphens.
func significantLines(text []byte) []string {
	var all []string
	for line := range strings.Lines(string(text)) {
		all = append(all, strings.Join(strings.Fields(strings.TrimLeft(line, " -\n")), ""))
	}
	slices.Sort(all)
	for len(all) > 0 && all[0] == "" {
		all = all[1:]
	}
	return all
}

// sameNodes checks that two texts are the same documents.
func sameNodes(before, after []byte) error {
	was, err := parse(before)
	if err != nil {
		return left(0, err.Error())
	}
	is, err := parse(after)
	if err != nil {
		return errDiffers
	}
	if !slices.EqualFunc(was, is, func(was, is *yaml.Node) bool { return same(was, is, nil) }) {
		return errDiffers
	}
	if !slices.Equal(marked(before, was), marked(after, is)) {
		return left(0, "a trueup:ignore comment would move to another field")
	}
	return nil
}

// same reports whether two nodes have the same values, styles and anchors, in any order of members, once
// the nodes in becomes are others. A node without a tag is the same in any style.
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

// marked returns each trueup: comment, with the number of the field that it covers, sorted. The numbers
// are the same in any order of members.
func marked(text []byte, docs []*yaml.Node) []string {
	f := &file{lines: lines{data: text}, marks: findMarks(text)}
	if len(f.marks) == 0 {
		return nil
	}
	var all []string
	numbers, last := map[int]int{}, 0
	for i, doc := range docs {
		last = numberLines(doc, last, numbers)
		root := rootOf(doc)
		if root == nil {
			continue
		}
		l := newFieldLines(root)
		for _, m := range l.comments(f.takeMarks(f.endOf(root.Line))) {
			from, _, _ := l.covered(m)
			if m.line < root.Line {
				from = 0 // the whole document
			}
			all = append(all, fmt.Sprintf("%d %s %s %s %d", i, m.word, m.rule, m.reason, numbers[from]))
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
