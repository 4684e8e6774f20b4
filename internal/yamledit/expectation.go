package yamledit

import (
	"cmp"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v4"

	"trueup/internal/kind"
	"trueup/internal/manifest"
)

// Expectation is what a test of a document of kind.RequestTest is to expect.
type Expectation struct {
	// Line is where the document starts, and Test the index of the test.
	Line, Test int
	Value      map[string]any
}

// WithExpectations returns a file with the expectations of tests. Everything else stays, with comments and layout.
func WithExpectations(data []byte, all []Expectation) ([]byte, error) {
	e := newEditor("", data)
	var edits []textEdit
	for _, x := range all {
		test := e.findTest(x)
		if test == nil {
			return nil, errors.New("the file changed while it was read")
		}
		more, err := e.expectationEdits(test, x.Value)
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", test.Line, err)
		}
		edits = append(edits, more...)
	}
	out, ok := e.applyEdits(edits)
	if !ok {
		return nil, errors.New("a comment or another part of the file would change: write the expectations by hand")
	}
	return out, nil
}

// findTest returns the node of a test, or nil.
func (e *editor) findTest(x Expectation) *yaml.Node {
	for _, doc := range e.docs {
		if root := manifest.RootNode(doc); root != nil && root.Line == x.Line {
			if tests := manifest.MemberValue(manifest.MemberValue(root, "spec"), "tests"); tests != nil && x.Test < len(tests.Content) {
				return tests.Content[x.Test]
			}
		}
	}
	return nil
}

// expectationEdits returns the edits that give a test an expectation: scalars in their places, or else the whole of it.
func (e *editor) expectationEdits(test *yaml.Node, value map[string]any) ([]textEdit, error) {
	const name = "expect"
	key, old := manifest.MemberPair(test, name)
	after := cmp.Or(manifest.MemberValue(test, "urls"), manifest.MemberValue(test, "url"))
	if after == nil || hasAnchor(test) {
		return nil, errors.New("an anchor shares a part of the test with others: write expect by hand")
	}
	if old != nil {
		if edits, ok := e.scalarEdits(old, value); ok {
			return edits, nil
		}
	}
	if test.Style&yaml.FlowStyle != 0 {
		return nil, errors.New("the test is in braces: write expect by hand, or put each field of the test on its own line")
	}
	if old != nil && len(commentLines(key))+len(commentLines(old)) > 0 {
		return nil, errors.New("expect has a comment, which would be lost: write expect by hand")
	}
	field, _ := kind.RequestTestKind().Root().FieldAt([]string{"spec", "tests[]"})
	text, err := EncodeSnippet(map[string]any{name: value}, field)
	if err != nil {
		return nil, err
	}
	_, is := manifest.MemberPair(manifest.RootNode(newEditor("", []byte(text)).docs[0]), name)
	margin := "\n" + strings.Repeat(" ", test.Content[0].Column-1)
	text = strings.ReplaceAll(strings.TrimSuffix(text, "\n"), "\n", margin)
	if old != nil {
		return []textEdit{{e.file.Lines.NodeOffset(key), e.file.Lines.LineEnd(lastLine(old)), text, []*yaml.Node{old}, []*yaml.Node{is}}}, nil
	}
	at := e.file.Lines.LineEnd(lastLine(after))
	return []textEdit{{at, at, margin + text, []*yaml.Node{after}, []*yaml.Node{after, textNode(name), is}}}, nil
}

// scalarEdits returns the edits that give a node a value with the same fields, if that takes only other scalars.
func (e *editor) scalarEdits(n *yaml.Node, value any) (edits []textEdit, ok bool) {
	if object, isObject := value.(map[string]any); isObject {
		ok = n.Kind == yaml.MappingNode && len(n.Content) == 2*len(object)
		for name, below := range object {
			at := manifest.MemberValue(n, name)
			if !ok || at == nil {
				return nil, false
			}
			var more []textEdit
			more, ok = e.scalarEdits(at, below)
			edits = append(edits, more...)
		}
		return edits, ok
	}
	is := nodeBuilder{}.valueNode(value, nil)
	from, to, isScalar := e.scalarRange(n)
	if is.Kind != yaml.ScalarNode || !isScalar {
		return nil, false
	}
	if n.Value == is.Value && (n.Tag == "!!str") == (is.Tag == "!!str") {
		return nil, true
	}
	text, _ := EncodeSnippet(value, nil)
	text = strings.TrimSuffix(text, "\n")
	if is.Tag == "!!str" && strings.ContainsAny(is.Value, ",[]{}") {
		text = strconv.Quote(is.Value)
	}
	return []textEdit{scalarEdit(n, from, to, text, is.Value)}, true
}

func lastLine(n *yaml.Node) int {
	last := n.Line
	for _, below := range n.Content {
		last = max(last, lastLine(below))
	}
	return last
}
