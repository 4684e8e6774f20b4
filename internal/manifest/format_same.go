package manifest

import (
	"bytes"
	"fmt"
	"hash/fnv"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// errDiffers is a fault of this program that was noticed in time.
var errDiffers = left(0, "the result would have another meaning")

// sameFile holds that two texts have the same lines but for white space and
// their order, the same values in the same forms, and comments to this program
// at the same fields.
func sameFile(before, after []byte) error {
	if !slices.Equal(significantLines(before), significantLines(after)) {
		return errDiffers
	}
	return sameNodes(before, after)
}

// significantLines are the lines of a text without their white space and the hyphens before
// them, sorted.
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

// sameNodes holds that two texts are the same documents.
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

// marked says of each comment to this program which fields and elements it
// governs, sorted.
func marked(text []byte) []string {
	if !bytes.Contains(text, []byte(markName)) {
		return nil
	}
	f := &file{lines: lines{data: text}, marks: findMarks(text)}
	var all []string
	number := 0
	_ = decode(text, func(doc *yaml.Node) { // it was read before
		number++
		root := rootOf(doc)
		if root == nil {
			return
		}
		l := newFieldLines(root)
		marks := l.comments(f.takeMarks(f.endOf(root.Line)))
		if len(marks) == 0 {
			return
		}
		names := newNames(root, f.lines.count())
		for _, m := range marks {
			from, to, _ := l.covered(m)
			all = append(all, fmt.Sprintf("%d %s %s %s %x", number, m.word, m.rule, m.reason, names.between(from, to)))
		}
	})
	slices.Sort(all)
	return all
}

// names are sums over the fields and elements of a document that begin up to a
// line, each by its path. What is between two lines has the same sum as the same
// fields elsewhere, whatever their order.
type names []uint64

func newNames(root *yaml.Node, lines int) names {
	n := make(names, lines+2)
	n.add(root, 0)
	for i := 1; i < len(n); i++ {
		n[i] += n[i-1]
	}
	return n
}

// add adds what is below a node, whose path has a sum, to the lines.
func (n names) add(node *yaml.Node, path uint64) {
	step := 1
	if node.Kind == yaml.MappingNode {
		step = 2
	}
	for i := 0; i+step <= len(node.Content) && node.Kind != yaml.AliasNode; i += step {
		name := strconv.Itoa(i)
		if step == 2 {
			name = node.Content[i].Value
		}
		h := fnv.New64a()
		_, _ = fmt.Fprintf(h, "%d %d %s", path, step, name) // a hash takes everything
		n[min(node.Content[i].Line, len(n)-2)] += h.Sum64()
		n.add(node.Content[i+step-1], h.Sum64())
	}
}

func (n names) between(from, to int) uint64 {
	if from < 1 || to < from {
		return 0
	}
	return n[min(to, len(n)-1)] - n[min(from, len(n)-1)-1]
}
