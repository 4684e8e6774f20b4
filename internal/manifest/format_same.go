package manifest

import (
	"fmt"
	"hash/fnv"
	"slices"
	"strconv"
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
	anyOrder := newDifference()
	anyOrder.order = true
	if !slices.EqualFunc(was, is, anyOrder.isAll) {
		return errDiffers
	}
	if !slices.Equal(marked(before), marked(after)) {
		return left(0, "a trueup:ignore comment would move to another field")
	}
	return nil
}

// marked returns each trueup: comment with the fields that it covers, sorted.
func marked(text []byte) []string {
	f := &file{lines: lines{data: text}, marks: findMarks(text)}
	var all []string
	number := 0
	if len(f.marks) == 0 {
		return nil
	}
	_ = decode(text, func(doc *yaml.Node) { // it was read before
		number++
		root := rootOf(doc)
		if root == nil {
			return
		}
		l, starting := newFieldLines(root), map[int]uint64{}
		sumPaths(root, 0, starting)
		for _, m := range l.comments(f.takeMarks(f.endOf(root.Line))) {
			from, _, _ := l.covered(m)
			governed := starting[from]
			if m.line < root.Line {
				governed = 0 // the whole document
			}
			all = append(all, fmt.Sprintf("%d %s %s %s %x", number, m.word, m.rule, m.reason, governed))
		}
	})
	slices.Sort(all)
	return all
}

// sumPaths adds a hash of the path of each field and element below a node to the line on which it starts.
// path is the hash of the node.
func sumPaths(node *yaml.Node, path uint64, starting map[int]uint64) {
	size := 1
	if node.Kind == yaml.MappingNode {
		size = 2
	}
	i := 0
	for parts := range slices.Chunk(node.Content, size) {
		name := strconv.Itoa(i)
		if i++; size == 2 {
			name = parts[0].Value
		}
		h := fnv.New64a()
		_, _ = fmt.Fprintf(h, "%d %d %s", path, size, name) // a hash takes everything
		starting[parts[0].Line] += h.Sum64()
		sumPaths(parts[size-1], h.Sum64(), starting)
	}
}
