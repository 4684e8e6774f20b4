package manifest

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"trueup/internal/canon"
	"trueup/internal/diag"
	"trueup/internal/kind"
)

// The envelope of the project file, which may lie among the manifests.
const (
	projectVersion = "trueup/v1"
	projectKind    = "Project"
)

const notMapping = "the document is not a mapping"

// HoldsNothing reports whether a finding says that a document is a list or plain text, which can hold
// no object.
func HoldsNothing(f diag.Finding) bool { return f.Rule == ruleUnknownKind && f.Message == notMapping }

// document checks one document and converts it to an object.
func (w *worker) document(doc *yaml.Node) {
	w.file.start()
	root := rootOf(doc)
	if root == nil || w.file.ofFile.worst == diag.Error {
		return
	}
	marks := w.file.takeMarks(w.file.endOf(root.Line))
	if root.Kind != yaml.MappingNode {
		w.file.fail(root.Line, root.Column, ruleUnknownKind, "", notMapping,
			"write apiVersion, kind, metadata and spec")
		return
	}
	apiVersion, name := peek(root, "apiVersion"), peek(root, "kind")
	if text := peekText(apiVersion); text == projectVersion && peekText(name) == projectKind {
		return
	}
	k, ok := kindOf(root)
	if !ok {
		w.unknownKind(root, apiVersion, name)
		return
	}
	w.object(k, root, marks)
}

// kindOf finds the kind of a document, which may be kind.RequestTest.
func kindOf(root *yaml.Node) (*kind.Kind, bool) {
	apiVersion, name := peekText(peek(root, "apiVersion")), peekText(peek(root, "kind"))
	if k := kind.RequestTest(); apiVersion == k.APIVersion && name == k.Name {
		return k, true
	}
	return kind.ForEnvelope(apiVersion, name)
}

// rootOf returns the value of a document, or nil for one that holds only comments.
func rootOf(doc *yaml.Node) *yaml.Node {
	if len(doc.Content) == 0 {
		return nil
	}
	if n := doc.Content[0]; !isEmpty(n) {
		return n
	}
	return nil
}

func isEmpty(n *yaml.Node) bool { return n.Kind == yaml.ScalarNode && isPlain(n) && n.Value == "" }

func (w *worker) unknownKind(root, apiVersion, name *yaml.Node) {
	version, kindName := peekText(apiVersion), peekText(name)
	if version == "" && kindName == "" {
		before := len(w.file.findings)
		w.convert.reset(w.file)
		w.convert.value(root, root, nil)
		if len(w.file.findings) > before {
			return
		}
	}
	report := func(at *yaml.Node, field, message, fix string) *diag.Finding {
		at = cmp.Or(at, root)
		return w.file.fail(at.Line, at.Column, ruleUnknownKind, field, message, fix)
	}
	unmanaged := fmt.Sprintf("trueup does not manage the kind %s of %s", quoteName(kindName), quoteName(version))
	switch known := nearKind(kindName); {
	case kindName == "":
		report(name, "kind", "the document has no kind", writeKnown())
	case strings.HasSuffix(kindName, "List") && peek(root, "items") != nil:
		report(name, "kind", "a list of objects in one document", "write each item as its own document, with a line --- between them")
	case known == nil:
		report(name, "kind", unmanaged, writeKnown())
	case known.Name == kindName:
		x := report(apiVersion, "apiVersion", fmt.Sprintf("the apiVersion of %s is not %s", kindName, quoteName(version)), "write apiVersion: "+known.APIVersion)
		x.Write = otherCase(version, []string{known.APIVersion})
	default:
		x := report(name, "kind", unmanaged, fmt.Sprintf("did you mean kind: %s with apiVersion: %s?", known.Name, known.APIVersion))
		if strings.EqualFold(version, known.APIVersion) {
			x.Write = otherCase(kindName, []string{known.Name})
		}
	}
}

// writeKnown is the fix for a kind that resembles none.
func writeKnown() string {
	var all []string
	for _, k := range kind.All() {
		all = append(all, k.Name+" ("+k.APIVersion+")")
	}
	return "write one of " + strings.Join(all, ", ") + ", or move the file out of the manifests"
}

// nearKind returns the kind that a name probably means, in another case or misspelt, or nil.
func nearKind(name string) *kind.Kind {
	const slips = 2
	for _, k := range kind.Documents() {
		if diag.Distance(strings.ToLower(name), strings.ToLower(k.Name)) <= min(slips, len(k.Name)/2) {
			return k
		}
	}
	return nil
}

// object converts and checks a document of a known kind.
func (w *worker) object(k *kind.Kind, root *yaml.Node, marks []Silence) {
	c := &w.convert
	c.reset(w.file)
	c.exempt = w.options.Undocumented[k.Name]
	doc, _ := c.value(root, root, k.Root()).(map[string]any)
	if c.stopped {
		return
	}
	o := w.reduce(k, root, doc)
	w.checkSchema(doc, k)
	tree, _ := doc["spec"].(map[string]any)
	s := &subject{Object: o, Doc: doc, Tree: tree, Options: w.options, file: w.file}
	for i := range Rules() {
		if rule := &Rules()[i]; rule.Severity != diag.Advice {
			s.run(rule)
		}
	}
	w.file.place(o)
	if len(marks) > 0 {
		o.Silences = w.silences(root, marks)
		w.silence(o)
	}
	w.file.settle()
	switch {
	case k == kind.RequestTest():
		w.tests = append(w.tests, o)
	case o.Name != "":
		w.objects = append(w.objects, o)
	}
}

func (w *worker) reduce(k *kind.Kind, root *yaml.Node, doc map[string]any) *Object {
	c := &w.convert
	o := &Object{
		Kind: k, Path: w.file.path, Line: root.Line, Column: root.Column,
		Namespace: w.options.Workspace,
	}
	all, end := slices.Concat(c.out.json, c.out.places), len(c.out.json) // one piece of memory
	o.positions, o.Spec = positions{all[:end], all[end:]}, all[c.spec.from:c.spec.to:c.spec.to]
	o.Digest = canon.Digest(o.Spec)
	o.APIVersion = text(doc, "apiVersion")
	metadata := mapping(doc, "metadata")
	o.Name = text(metadata, "name")
	o.Keep = kind.Kept(metadata)
	o.Namespace = cmp.Or(text(metadata, "namespace"), o.Namespace)
	if k.HostField != "" {
		o.Host = text(mapping(doc, "spec"), k.HostField)
	}
	return o
}

// settle drops general findings about fields that have a more specific one, so that no two ask for
// different values. Then it reports how many more there are.
func (f *file) settle() {
	best := map[string]int{}
	for _, x := range f.findings[f.from:] {
		best[x.Field] = max(best[x.Field], precision(x))
	}
	own := slices.DeleteFunc(f.findings[f.from:], func(x diag.Finding) bool {
		return slices.Contains([]string{ruleUnknownField, ruleSchema, ruleUnquoted, ruleEmpty}, x.Rule) && precision(x) < best[x.Field]
	})
	f.findings = f.findings[:f.from+len(own)]
	if more := f.ofDocument; more.count > 0 {
		f.unshown(fmt.Sprintf("the document has %d more findings, which are not shown", more.count), more.worst)
	}
}

// precision ranks findings about one field, from general to specific: a warning, then errors about the
// type, about how the value is written, and about what it means.
func precision(x diag.Finding) int {
	switch {
	case x.Severity == diag.Warning:
		return 0
	case x.Rule == ruleSchema:
		return 1
	case x.Rule == ruleUnquoted, x.Rule == ruleEmpty, strings.HasPrefix(x.Rule, "yaml-"):
		return 2
	}
	return 3
}
