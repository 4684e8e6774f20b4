package manifest

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"

	"trueup/internal/canon"
	"trueup/internal/diag"
	"trueup/internal/kind"
)

// The names of the loader's own rules.
const (
	ruleDuplicateKey  = "yaml-duplicate-key"
	ruleKey           = "yaml-key"
	ruleTag           = "yaml-tag"
	ruleNumber        = "yaml-number"
	ruleDepth         = "yaml-depth"
	ruleUnquoted      = "text-unquoted"
	ruleEmpty         = "empty-value"
	ruleUnknownKind   = "unknown-kind"
	ruleDuplicate     = "duplicate-object"
	ruleNotRegular    = "not-a-regular-file"
	ruleFileCase      = "file-name-case"
	ruleSchema        = "schema"
	ruleMisspeltField = "misspelt-field"
	ruleMisspeltValue = "misspelt-value"
	RuleUnknownField  = "unknown-field"
	RuleUnknownValue  = "unknown-value"
	ruleNotSent       = "metadata-not-sent"
)

// The envelope of the project file, which may lie among the manifests.
const (
	projectVersion = "trueup/v1"
	projectKind    = "Project"
)

// convertDocument checks one document and converts it to an object.
func (w *worker) convertDocument(doc *yaml.Node) {
	w.file.StartDocument()
	defer w.file.EndDocument()
	w.file.object = nil
	root := RootNode(doc)
	if root == nil || w.file.beyondFile.worst == diag.Error { // another error would not be kept
		return
	}
	marks := w.file.takeMarks(w.file.documentEnd(root.Line))
	if root.Kind != yaml.MappingNode {
		w.file.AddError(root.Line, root.Column, ruleUnknownKind, "", "the document is not a mapping",
			"write apiVersion, kind, metadata and spec")
		return
	}
	apiVersion, name := MemberValue(root, "apiVersion"), MemberValue(root, "kind")
	version, kindName := ScalarText(apiVersion), ScalarText(name)
	if version == projectVersion && kindName == projectKind {
		return
	}
	k, ok := kind.FindByEnvelope(version, kindName)
	if !ok {
		w.reportUnknownKind(root, apiVersion, name)
		return
	}
	w.convertObject(k, root, marks)
}

func (w *worker) reportUnknownKind(root, apiVersion, name *yaml.Node) {
	version, kindName := ScalarText(apiVersion), ScalarText(name)
	report := func(at *yaml.Node, field, message, fix string) *diag.Finding {
		at = cmp.Or(at, root)
		return w.file.AddError(at.Line, at.Column, ruleUnknownKind, field, message, fix)
	}
	unmanaged := fmt.Sprintf("trueup does not manage the kind %s of %s", diag.Quote(kindName), diag.Quote(version))
	switch known := NearestKind(kindName); {
	case kindName == "":
		report(name, "kind", "the document has no kind", knownKindsFix())
	case strings.HasSuffix(kindName, "List") && MemberValue(root, "items") != nil:
		report(name, "kind", "a list of objects in one document", "write each item as its own document, with a line --- between them")
	case known == nil:
		report(name, "kind", unmanaged, knownKindsFix())
	case known.Name == kindName:
		x := report(apiVersion, "apiVersion", fmt.Sprintf("the apiVersion of %s is not %s", kindName, diag.Quote(version)), "write apiVersion: "+known.APIVersion)
		x.Write = matchIgnoringCase(version, []string{known.APIVersion})
	default:
		x := report(name, "kind", unmanaged, fmt.Sprintf("did you mean kind: %s with apiVersion: %s?", known.Name, known.APIVersion))
		if strings.EqualFold(version, known.APIVersion) {
			x.Write = matchIgnoringCase(kindName, []string{known.Name})
		}
	}
}

// knownKindsFix is the fix for a kind that resembles none.
func knownKindsFix() string {
	all := diag.MapList(kind.AllKinds(), func(k *kind.Kind) string { return k.Name + " (" + k.APIVersion + ")" })
	return "write one of " + strings.Join(all, ", ") + ", or move the file out of the manifests"
}

// NearestKind returns the kind that a name probably means, in another case or misspelt, or nil.
func NearestKind(name string) *kind.Kind {
	const slips = 2
	for _, k := range kind.AllDocumentKinds() {
		if diag.EditDistance(strings.ToLower(name), strings.ToLower(k.Name)) <= min(slips, len(k.Name)/2) {
			return k
		}
	}
	return nil
}

// convertObject converts and checks a document of a known kind.
func (w *worker) convertObject(k *kind.Kind, root *yaml.Node, marks []CommentMark) {
	c := &w.convert
	c.reset(w.file)
	c.exempt = w.options.Undocumented[k.Name]
	silences := w.readSilences(root, marks)
	w.file.object = &Object{Silences: silences}
	doc := canon.Object(c.convertValue(root, root, k.Root()))
	if c.stopped {
		w.file.removeSilenced()
		return
	}
	o := w.buildObject(k, root, doc)
	o.Silences, w.file.object = silences, o
	w.checkSchema(doc, k)
	subject := o.newRuleSubject(doc, canon.Object(doc["spec"]), w.options, w.file)
	if subject.Run(false); k != kind.RequestTestKind() && !w.file.DocumentFindings().HasErrors() {
		for _, own := range w.options.Own {
			own.Check(subject)
		}
	}
	w.file.removeSilenced()
	dropGeneralFindings(w.file)
	switch {
	case k == kind.RequestTestKind():
		w.tests = append(w.tests, o)
	case o.Name != "":
		w.objects = append(w.objects, o)
	}
}

func (w *worker) buildObject(k *kind.Kind, root *yaml.Node, doc map[string]any) *Object {
	c := &w.convert
	o := &Object{
		Kind: k, Path: w.file.Path, Line: root.Line, Column: root.Column, APIVersion: canon.TextAt(doc, "apiVersion"),
		Name: canon.TextAt(doc, "metadata", "name"), Namespace: cmp.Or(canon.TextAt(doc, "metadata", "namespace"), w.options.Workspace),
		Keep: kind.HasKeepAnnotation(canon.Object(doc["metadata"])),
	}
	all, end := slices.Concat(c.out.json, c.out.places), len(c.out.json) // one piece of memory
	o.positions, o.Spec = jsonWithPlaces{all[:end], all[end:]}, all[c.spec.from:c.spec.to:c.spec.to]
	o.Digest = canon.Digest(o.Spec)
	if k.HostField != "" {
		o.Host = canon.TextAt(doc, "spec", k.HostField)
	}
	return o
}

// dropGeneralFindings drops general findings about fields that have a more specific one, so that no two ask for
// different values.
func dropGeneralFindings(f *FileState) {
	best := map[string]int{}
	for _, x := range f.DocumentFindings() {
		best[x.Field] = max(best[x.Field], precisionOf(x))
	}
	f.Findings = append(f.Findings[:f.from], slices.DeleteFunc(f.DocumentFindings(), func(x diag.Finding) bool {
		return slices.Contains([]string{RuleUnknownField, ruleSchema, ruleUnquoted, ruleEmpty}, x.Rule) && precisionOf(x) < best[x.Field]
	})...)
}

// precisionOf ranks findings about one field, from general to specific: a warning, then errors about the
// type, about how the value is written, and about what it means.
func precisionOf(x diag.Finding) int {
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
