package manifest

import (
	"crypto/sha256"
	"fmt"
	"hash"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// edited makes the edits, reads the result again, and tells whether it differs
// from what there was in the envelopes alone: every other value, its style, its
// anchor and every comment is the same.
func (e *editor) edited(before []*yaml.Node) ([]byte, bool) {
	out := e.apply()
	f := fileOf(e.file.path, out)
	after := f.read()
	if f.findings.HasErrors() || len(after) != len(before) {
		return nil, false
	}
	for i, was := range before {
		version, namespace := envelopeOf(was)
		if at, ok := e.which[was]; ok {
			version = e.done[at].To
			switch e.done[at].Namespace {
			case NamespaceAdded:
				namespace = e.route.Workspace
			case NamespaceRemoved:
				namespace = ""
			case NamespaceSame, NamespaceKept:
			}
		}
		nowVersion, nowNamespace := envelopeOf(after[i])
		if nowVersion != version || nowNamespace != namespace || printOf(was) != printOf(after[i]) {
			return nil, false
		}
	}
	return out, true
}

// envelopeOf returns what a route may change of a document.
func envelopeOf(root *yaml.Node) (version, namespace string) {
	if root.Kind != yaml.MappingNode {
		return "", ""
	}
	if metadata := peek(root, "metadata"); metadata != nil {
		namespace = peekText(peek(metadata, "namespace"))
	}
	return peekText(peek(root, "apiVersion")), namespace
}

// printOf is a fingerprint of all of a document but what a route may change.
func printOf(root *yaml.Node) [sha256.Size]byte {
	p := &printer{hash: sha256.New()}
	if root.Kind == yaml.MappingNode {
		p.free = []*yaml.Node{peek(root, "apiVersion")}
		if metadata := peek(root, "metadata"); metadata != nil && metadata.Kind == yaml.MappingNode {
			key, value := pairOf(metadata, "namespace")
			p.free = append(p.free, key, value)
		}
	}
	p.node(root)
	slices.Sort(p.comments)
	p.add("%q", p.comments)
	return [sha256.Size]byte(p.hash.Sum(nil))
}

// printer hashes a document.
type printer struct {
	hash hash.Hash
	// free are the nodes that may differ.
	free []*yaml.Node
	// comments are the lines of comments: to which node a reader gives them may
	// change when a line is put between.
	comments []string
}

func (p *printer) node(n *yaml.Node) {
	for _, c := range []string{n.HeadComment, n.LineComment, n.FootComment} {
		for line := range strings.SplitSeq(c, "\n") {
			if line != "" {
				p.comments = append(p.comments, line)
			}
		}
	}
	if slices.Contains(p.free, n) {
		return
	}
	p.add("(%d %d %q %q %q", n.Kind, n.Style, n.Tag, n.Value, n.Anchor)
	for _, below := range n.Content {
		p.node(below)
	}
	p.add(")")
}

func (p *printer) add(format string, args ...any) {
	_, _ = p.hash.Write(fmt.Appendf(nil, format, args...)) // a hash takes everything
}
