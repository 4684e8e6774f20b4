package yamledit

import (
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"

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

// Convert edits apiVersion of the documents of a file, and adds metadata.namespace for the command line. It changes nothing
// else: trueup does not send a namespace. It also returns what it did to
// each document. If it can't, it returns findings and no text.
func (r SubmitRoute) Convert(t manifest.FileText) (out []byte, done, findings diag.List) {
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
	done  diag.List
	edits []textEdit
}

func (e *rerouter) fail(n *yaml.Node, rule, field, message, fix string) bool {
	e.file.AddError(n.Line, n.Column, rule, field, message, fix)
	return false
}

// convertDocument edits one document, if its kind has another envelope.
func (e *rerouter) convertDocument(root *yaml.Node) {
	version, metadata := manifest.MemberValue(root, "apiVersion"), manifest.MemberValue(root, "metadata")
	key := kind.Key{Kind: manifest.ScalarText(manifest.MemberValue(root, "kind")), Name: manifest.ScalarText(manifest.MemberValue(metadata, "name"))}
	was := manifest.ScalarText(version)
	k, ok := kind.FindByEnvelope(was, key.Kind)
	if !ok || k.Alias == nil {
		return
	}
	is := k.APIVersion
	if e.route.Vendor != "" {
		is, _ = k.AliasVersion(e.route.Vendor)
	}
	if key.Name == "" || slices.ContainsFunc(metadata.Content, manifest.IsMerge) {
		e.fail(root, "", "", fmt.Sprintf("the envelope of %s has no metadata with a name, or a merge key (<<) there", key), "write metadata and its name as plain text")
		return
	}
	var done []string
	if was != is {
		from, to, ok := e.scalarRange(version)
		if !ok {
			e.fail(version, "", "apiVersion", "apiVersion is not written as plain text", "write apiVersion: "+was)
			return
		}
		e.edits = append(e.edits, scalarEdit(version, from, to, formatInStyle(version, is, true), is))
		done = append(done, was+" became "+is)
	}
	if e.route.Vendor != "" && manifest.MemberValue(metadata, "namespace") == nil {
		if !e.addNamespace(metadata) {
			return
		}
		done = append(done, "metadata.namespace added")
	}
	if done != nil {
		e.done = append(e.done, diag.Finding{
			Rule: "fmt/envelope", Path: e.file.Path, Line: root.Line, Column: 1,
			Message: "the envelope is of the other route", Fix: key.String() + ": " + strings.Join(done, ", "),
		})
	}
}

// addNamespace adds metadata.namespace after the name, in the same style.
func (e *rerouter) addNamespace(metadata *yaml.Node) bool {
	if e.route.Workspace == "" {
		return e.fail(metadata, rules.Namespace, "metadata.namespace", "the command-line route needs the workspace",
			"name it as workspace: in trueup.yaml")
	}
	key, value := manifest.MemberPair(metadata, "name")
	from, _, isKey := e.scalarRange(key)
	_, to, isText := e.scalarRange(value)
	if !isKey || !isText {
		return e.fail(value, "", "metadata.name", "the name is not written as plain text", "write name: "+value.Value)
	}
	member := formatInStyle(key, "namespace", true) + ": " + formatInStyle(key, e.route.Workspace, true)
	added := []*yaml.Node{value, {Kind: yaml.ScalarNode, Value: "namespace"}, {Kind: yaml.ScalarNode, Value: e.route.Workspace}}
	text := ", " + member
	if metadata.Style&yaml.FlowStyle == 0 {
		to, text = e.file.Lines.LineEnd(value.Line), "\n"+e.text(e.file.Lines.LineStart(key.Line), from)+member
		text = string(e.breakLines([]byte(text)))
	}
	e.edits = append(e.edits, textEdit{to, to, text, added[:1], added})
	return true
}
