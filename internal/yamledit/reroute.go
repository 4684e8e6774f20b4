package yamledit

import (
	"fmt"
	"slices"

	"go.yaml.in/yaml/v3"

	"trueup/internal/canon"
	"trueup/internal/diag"
	"trueup/internal/kind"
	"trueup/internal/manifest"
	"trueup/internal/rules"
)

// SubmitRoute is how manifests reach the platform: by its API, or by the vendor's command line, where a kind
// may have another apiVersion and needs metadata.namespace.
type SubmitRoute struct {
	// Vendor is the vendor's name in the envelope of the command line, and empty for the API.
	Vendor string
	// Workspace is the name for metadata.namespace; empty if it is not known.
	Workspace string
}

// ReroutedDocument is a document that Convert changed.
type ReroutedDocument struct {
	Key      kind.Key
	Line     int
	From, To string // values of apiVersion
	Added    bool   // metadata.namespace was added
}

// CheckVendor returns an error unless a kind has an envelope with the vendor's name.
func CheckVendor(vendor string) error {
	isVendor := func(k *kind.Kind) bool {
		_, ok := k.AliasVersion(vendor)
		return ok
	}
	if !slices.ContainsFunc(kind.AllKinds(), isVendor) {
		return fmt.Errorf("--envelope is %q: write lower-case letters, digits and hyphens, as in the middle of the envelope's name", vendor)
	}
	return nil
}

// String says what was done to the document.
func (d ReroutedDocument) String() string {
	namespace := ""
	if d.Added {
		namespace = ", metadata.namespace added"
	}
	return d.Key.String() + ": " + d.From + " became " + d.To + namespace
}

// Convert edits apiVersion of the documents of a file, and adds metadata.namespace for the command line. It changes nothing
// else: trueup does not send a namespace. If it can't, it returns findings and no text.
func (r SubmitRoute) Convert(t manifest.FileText) ([]byte, []ReroutedDocument, diag.List) {
	e := &rerouter{editor: newEditor(t.Path, t.Data), route: r}
	for _, doc := range e.docs {
		if root := manifest.RootNode(doc); root != nil && root.Kind == yaml.MappingNode {
			e.convertDocument(root)
		}
	}
	if !e.file.Findings.HasErrors() {
		if out, ok := e.applyEdits(e.edits); ok {
			return out, e.done, nil
		}
		e.file.AddError(1, 1, "", "", "its envelope can't be changed without changing more", "write apiVersion and metadata as plain text, without anchors")
	}
	return nil, nil, e.file.Findings
}

type rerouter struct {
	*editor
	route SubmitRoute
	done  []ReroutedDocument
	edits []textEdit
}

func (e *rerouter) fail(n *yaml.Node, rule, field, message, fix string) bool {
	e.file.AddError(n.Line, n.Column, rule, field, message, fix)
	return false
}

// convertDocument edits one document, if its kind has another envelope.
func (e *rerouter) convertDocument(root *yaml.Node) {
	from, name := manifest.ScalarText(manifest.MemberValue(root, "apiVersion")), manifest.ScalarText(manifest.MemberValue(root, "kind"))
	metadata := manifest.MemberValue(root, "metadata")
	done := ReroutedDocument{Key: kind.Key{Kind: name, Name: manifest.ScalarText(manifest.MemberValue(metadata, "name"))}, Line: root.Line, From: from}
	k, ok := kind.FindByEnvelope(from, name)
	if !ok || k.Alias == nil {
		return
	}
	if done.To = k.APIVersion; e.route.Vendor != "" {
		done.To, _ = k.AliasVersion(e.route.Vendor)
	}
	if done.Key.Name == "" || slices.ContainsFunc(metadata.Content, manifest.IsMerge) {
		e.fail(root, "", "", fmt.Sprintf("the envelope of %s has no metadata with a name, or a merge key (<<) there", done.Key), "write metadata and its name as plain text")
		return
	}
	if e.editEnvelope(root, metadata, &done) && (done.From != done.To || done.Added) {
		e.done = append(e.done, done)
	}
}

func (e *rerouter) editEnvelope(root, metadata *yaml.Node, done *ReroutedDocument) bool {
	if version := manifest.MemberValue(root, "apiVersion"); done.From != done.To {
		from, to, ok := e.scalarRange(version)
		if !ok {
			return e.fail(version, "", "apiVersion", "apiVersion is not written as plain text", "write apiVersion: "+done.From)
		}
		e.edits = append(e.edits, scalarEdit(version, from, to, requote(e.text(from, to), done.To), done.To))
	}
	done.Added = e.route.Vendor != "" && manifest.MemberValue(metadata, "namespace") == nil
	return !done.Added || e.addNamespace(metadata)
}

// requote returns a text in the same quotes as another.
func requote(old, text string) string {
	if quote := old[:1]; quote == `"` || quote == "'" {
		return quote + text + quote
	}
	return text
}

// addNamespace adds metadata.namespace after the name, in the same style.
func (e *rerouter) addNamespace(metadata *yaml.Node) bool {
	if e.route.Workspace == "" {
		return e.fail(metadata, rules.Namespace, "metadata.namespace", "the command-line route needs the workspace",
			"name it as workspace: in trueup.yaml")
	}
	key, value := manifest.MemberPair(metadata, "name")
	from, keyEnd, isKey := e.scalarRange(key)
	_, to, isText := e.scalarRange(value)
	if !isKey || !isText {
		return e.fail(value, "", "metadata.name", "the name is not written as plain text", "write name: "+value.Value)
	}
	written, name := requote(e.text(from, keyEnd), "namespace"), e.route.Workspace
	if written[0] == '"' || manifest.ResolveScalar(name) != manifest.PlainText {
		name = string(canon.Append(nil, name))
	}
	added := []*yaml.Node{value, {Kind: yaml.ScalarNode, Value: "namespace"}, {Kind: yaml.ScalarNode, Value: e.route.Workspace}}
	text := ", " + written + ": " + name
	if metadata.Style&yaml.FlowStyle == 0 {
		to, text = e.file.Lines.LineEnd(value.Line), "\n"+e.text(e.file.Lines.LineStart(key.Line), from)+written+": "+name
		text = string(newSource(e.file.Lines.Data).breakLines([]byte(text)))
	}
	e.edits = append(e.edits, textEdit{to, to, text, added[:1], added})
	return true
}
