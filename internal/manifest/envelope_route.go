package manifest

import (
	"bytes"
	"fmt"
	"slices"

	"go.yaml.in/yaml/v3"

	"trueup/internal/diag"
	"trueup/internal/kind"
)

// Route is a way on which manifests reach the platform: its API, or the
// command-line route, where a kind may have another apiVersion and needs
// metadata.namespace (docs/platform.md 2.3).
type Route struct {
	// Vendor is the vendor's name in the envelope of the command-line route, and
	// empty for the API.
	Vendor string
	// Workspace is the name for metadata.namespace; empty where it is not known.
	Workspace string
}

// Rerouted is a document of a file that was looked at.
type Rerouted struct {
	Key  kind.Key
	Line int
	// From and To are values of apiVersion. They are equal where the envelope was
	// the right one, and To is empty where the kind has one envelope only.
	From, To string
	// Namespace says what became of metadata.namespace.
	Namespace NamespaceChange
}

// NamespaceChange is what becomes of metadata.namespace.
type NamespaceChange uint8

// A namespace that was there for the command-line route may be kept: where
// nothing else says which workspace is meant, or it can't be cut out alone.
const (
	NamespaceSame NamespaceChange = iota
	NamespaceAdded
	NamespaceRemoved
	NamespaceKept
)

// Convert gives the documents of a file the envelopes of the route, and changes
// nothing else: it edits apiVersion and metadata.namespace in the source text,
// and what it returns was read again and compared. The list holds why it can't
// be done; then there is no text.
func (r Route) Convert(t Text) ([]byte, []Rerouted, diag.List) {
	f := fileOf(t.Path, t.Data)
	docs := f.read()
	e := &editor{file: f, route: r, which: map[*yaml.Node]int{}}
	for _, doc := range docs {
		e.document(doc)
	}
	if f.findings.HasErrors() {
		return nil, nil, f.findings
	}
	out, ok := e.edited(docs)
	if !ok && e.keepNamespaces() {
		out, ok = e.edited(docs)
	}
	if !ok {
		f.fail(1, 1, "", "", "its envelope can't be changed without changing more", "write apiVersion and metadata as plain text, without anchors")
		return nil, nil, f.findings
	}
	bom := t.Data[:len(t.Data)-len(f.lines.data)]
	return append(bytes.Clone(bom), out...), e.done, nil
}

// read returns the documents of the file that hold something.
func (f *file) read() []*yaml.Node {
	var docs []*yaml.Node
	f.documents(func(doc *yaml.Node) {
		f.start()
		if len(doc.Content) > 0 && !isNothing(doc.Content[0]) {
			docs = append(docs, doc.Content[0])
		}
	})
	return docs
}

// editor collects the edits of a file.
type editor struct {
	file  *file
	route Route
	edits []edit
	done  []Rerouted
	// which is the number in done of a document that has another envelope.
	which map[*yaml.Node]int
	// near is the place that was looked for last.
	near spot
}

// edit replaces bytes of the source.
type edit struct {
	from, to int
	text     string
	// cuts is the number, in editor.done, of the document whose namespace it cuts
	// out, or -1.
	cuts int
}

// document decides what becomes of a document.
func (e *editor) document(root *yaml.Node) {
	if root.Kind != yaml.MappingNode {
		return
	}
	from, name := peekText(peek(root, "apiVersion")), peekText(peek(root, "kind"))
	if from == projectVersion && name == projectKind {
		return
	}
	metadata := peek(root, "metadata")
	var objectName *yaml.Node
	if metadata != nil {
		objectName = peek(metadata, "name")
	}
	done := Rerouted{Key: kind.Key{Kind: name, Name: peekText(objectName)}, Line: root.Line, From: from}
	k, _, ok := kind.ForEnvelope(from, name)
	if !ok || k.Alias == nil {
		e.done = append(e.done, done)
		return
	}
	if done.To = k.APIVersion; e.route.Vendor != "" {
		done.To, _ = k.AliasVersion(e.route.Vendor)
	}
	if problem := oddEnvelope(root, metadata); problem != "" {
		e.file.fail(root.Line, root.Column, "", "", fmt.Sprintf("the envelope of %s %s", done.Key, problem), "write apiVersion, kind, metadata and its name once each, as plain text")
		return
	}
	if e.elsewhere(metadata) {
		return
	}
	e.reroute(root, metadata, done)
}

// oddEnvelope says why the envelope of a document is not edited: a member that
// stands twice, or comes from elsewhere.
func oddEnvelope(root, metadata *yaml.Node) string {
	if metadata == nil || metadata.Kind != yaml.MappingNode || peekText(peek(metadata, "name")) == "" {
		return "has no metadata with a name"
	}
	for _, n := range []*yaml.Node{root, metadata} {
		seen := map[string]bool{}
		for i := 0; i+1 < len(n.Content); i += 2 {
			key := n.Content[i]
			if isMerge(key) || key.Kind != yaml.ScalarNode {
				return "includes members from elsewhere"
			}
			if seen[key.Value] {
				return "has " + quoteName(key.Value) + " twice"
			}
			seen[key.Value] = true
		}
	}
	return ""
}

// elsewhere refuses a manifest of another workspace: without its namespace it
// would be one of this.
func (e *editor) elsewhere(metadata *yaml.Node) bool {
	n := peek(metadata, "namespace")
	if n == nil {
		return false
	}
	switch namespace := peekText(n); {
	case namespace == "" || n.Tag != "!!str":
		e.file.fail(n.Line, n.Column, namespaceRule, "metadata.namespace", "the workspace is not text", "write its name, or remove metadata.namespace")
	case e.route.Workspace != "" && namespace != e.route.Workspace:
		e.file.fail(n.Line, n.Column, namespaceRule, "metadata.namespace",
			fmt.Sprintf("the workspace is %s here, and you asked for %s", quoteName(namespace), quoteName(e.route.Workspace)),
			"convert it in the project of that workspace")
	default:
		return false
	}
	return true
}

// reroute collects the edits of a document.
func (e *editor) reroute(root, metadata *yaml.Node, done Rerouted) {
	toAPI, changes := e.route.Vendor == "", done.From != done.To
	if changes && !e.setVersion(peek(root, "apiVersion"), done) {
		return
	}
	switch named := peek(metadata, "namespace") != nil; {
	case !toAPI && !named:
		if !e.addNamespace(metadata) {
			return
		}
		done.Namespace = NamespaceAdded
	case toAPI && named && changes:
		done.Namespace = NamespaceKept
		if cut, ok := e.cutNamespace(metadata); ok && e.route.Workspace != "" {
			cut.cuts = len(e.done)
			e.edits = append(e.edits, cut)
			done.Namespace = NamespaceRemoved
		}
	}
	e.which[root] = len(e.done)
	e.done = append(e.done, done)
}

// keepNamespaces takes back the edits that cut out a namespace, and tells whether
// there were any.
func (e *editor) keepNamespaces() bool {
	before := len(e.edits)
	e.edits = slices.DeleteFunc(e.edits, func(x edit) bool {
		if x.cuts >= 0 {
			e.done[x.cuts].Namespace = NamespaceKept
		}
		return x.cuts >= 0
	})
	return len(e.edits) < before
}
