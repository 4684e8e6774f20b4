package manifest

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"trueup/internal/diag"
	"trueup/internal/kind"
)

// maxName is the longest name of a Kubernetes-style resource.
const maxName = 253

func checkNameShape(s *subject) {
	name := text(mapping(s.Doc, "metadata"), "name") // without one, the schema reports it
	if problem := nameProblem(name); name != "" && problem != "" {
		s.report("metadata.name", fmt.Sprintf("the name %+q %s", short(name), problem), "use lower-case letters, digits, hyphens and dots")
	}
}

// confusable are characters that look like dots and slashes, or become such when a program normalises
// text (Unicode NFKC).
const confusable = "\u2024\u2025\u2026\u3002\ufe52\uff0e\uff61\u2044\u2215\u29f8\uff0f\u29f5\ufe68\uff3c"

func nameProblem(name string) string {
	switch {
	case len(name) > maxName:
		return fmt.Sprintf("is longer than %d bytes", maxName)
	case strings.ContainsAny(name, `/\`):
		return "has a slash"
	case name == "." || strings.Contains(name, "..") || strings.ContainsAny(name, "?#%;"+confusable):
		return "would change the path of the request"
	case strings.ContainsFunc(name, diag.Unseen), !utf8.ValidString(name):
		return "has invisible characters"
	}
	return ""
}

func checkNameOdd(s *subject) {
	name := text(mapping(s.Doc, "metadata"), "name")
	plain := strings.Trim(name, "-.") == name && strings.ToLower(name) == name && !strings.ContainsFunc(name, func(r rune) bool { return !inHostname(r) })
	if !plain && nameProblem(name) == "" {
		s.report("metadata.name", fmt.Sprintf("the name %q may be refused", name),
			"use lower-case letters, digits, hyphens and dots, and start and end with a letter or digit")
	}
}

const namespaceRule = "namespace"

func checkNamespace(s *subject) {
	namespace := text(mapping(s.Doc, "metadata"), "namespace")
	workspace := s.Options.Workspace
	switch {
	case namespace == "" && workspace == "" && s.Kind.Name == snapshot:
		s.report("metadata.namespace", "the snapshot has no workspace",
			"write metadata.namespace, or let trueup.yaml name the workspace")
	case namespace != "" && workspace != "" && namespace != workspace:
		s.report("metadata.namespace", fmt.Sprintf("the workspace is %q here and %q in trueup.yaml", namespace, workspace),
			fmt.Sprintf("write %s, or remove metadata.namespace", workspace))
	}
}

func checkHostnameShape(s *subject) {
	for _, h := range s.unusual() {
		if problem, fix := h.problem(); problem != "" {
			s.report(h.at, fmt.Sprintf("the %s %q %s", h.noun, h.text, problem), fix)
		}
	}
}

func checkHostnameOdd(s *subject) {
	for _, h := range s.unusual() {
		if problem, _ := h.problem(); problem != "" {
			continue
		}
		if odd := h.oddities(); len(odd) > 0 {
			s.report(h.at, fmt.Sprintf("the %s %q has %s", h.noun, h.text, strings.Join(odd, " and ")),
				"write a domain of lower-case letters, digits and hyphens")
		}
	}
}

// oddities names what is unusual in a valid host.
func (h host) oddities() []string {
	if h.server && inBrackets(h.text) {
		return []string{"brackets around its address"}
	}
	odd := hostnameOddities(h.text)
	if endsInNumber(h.text) {
		odd = append(odd, "a number as its last label")
	}
	if h.noun == "hostname" && !strings.Contains(h.text, ".") {
		odd = append(odd, "only one label")
	}
	return odd
}

func checkHostnameTaken(set *Set, r *reporter) {
	first := firstByHost(set)
	for _, o := range set.Objects {
		if before := first[kind.HostKey(o.Host)]; o.Kind.Name == cdn && o.Host != "" && before != o {
			line, _ := before.Place("spec.hostname")
			r.reportOn(o, "spec.hostname",
				fmt.Sprintf("%[2]s has the hostname %[1]s too (%[3]s:%[4]d)", o.Host, before.Key(), before.Path, line),
				"give one of them another hostname")
		}
	}
}

// firstByHost returns the first CDN of each hostname, in the form of kind.HostKey.
func firstByHost(set *Set) map[string]*Object {
	first := map[string]*Object{}
	for _, o := range set.Objects {
		if key := kind.HostKey(o.Host); o.Kind.Name == cdn && o.Host != "" && first[key] == nil {
			first[key] = o
		}
	}
	return first
}

func checkServerOwned(s *subject) {
	metadata := mapping(s.Doc, "metadata")
	for _, field := range []string{
		"status", "metadata.uid", "metadata.resourceVersion", "metadata.generation", "metadata.creationTimestamp", "metadata.managedFields",
		"metadata.selfLink", "metadata.deletionTimestamp", "metadata.deletionGracePeriodSeconds", "metadata.ownerReferences",
	} {
		owner := s.Doc
		name, below := strings.CutPrefix(field, "metadata.")
		if below {
			owner = metadata
		}
		if _, has := owner[name]; has {
			s.report(field, field+" is a field that the server owns", "remove it: it was copied from an answer of the platform")
		}
	}
}

const (
	classField        = "spec.volumeSnapshotClassName"
	onlySnapshotClass = "general-purpose"
)

func checkSnapshotClass(s *subject) {
	const fix = "write volumeSnapshotClassName: " + onlySnapshotClass
	class, present := s.Tree["volumeSnapshotClassName"]
	if !present {
		s.report(classField, "the snapshot names no class", fix)
		return
	}
	if name, ok := class.(string); ok && name != onlySnapshotClass {
		s.report(classField, fmt.Sprintf("the platform has no snapshot class %q", name), fix)
	}
}

func checkSnapshotSource(s *subject) {
	const claim = "persistentVolumeClaimName"
	source := mapping(s.Tree, "source")
	if s.Tree[claim] != nil {
		s.report("spec."+claim, "the disk belongs below spec.source, not below spec", "move it below spec.source")
	}
	if source["volumeSnapshotContentName"] != nil {
		s.report("spec.source.volumeSnapshotContentName", "a snapshot is taken from a disk; it can't be imported",
			"remove it: persistentVolumeClaimName is the only source")
	}
	if _, present := source[claim]; present {
		return
	}
	field := "spec.source"
	if source != nil {
		field += "." + claim
	}
	s.report(field, "the snapshot does not name its disk", "write spec.source.persistentVolumeClaimName with the name of the disk")
}
