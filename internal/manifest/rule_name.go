package manifest

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"trueup/internal/diag"
)

// maxName is the longest name of a Kubernetes-style resource.
const maxName = 253

func checkNameShape(s *subject) {
	name, ok := text(mapping(s.Doc, "metadata"), "name")
	if !ok || name == "" {
		return // the schema's to report
	}
	if problem := nameProblem(name); problem != "" {
		s.report("metadata.name", fmt.Sprintf("the name %+q %s", short(name), problem), "use lower-case letters, digits, hyphens and dots")
	}
}

// confusable are the characters of Unicode that are made into dots and slashes
// where texts are normalised (NFKC), or look like them.
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
	name, ok := text(mapping(s.Doc, "metadata"), "name")
	if !ok || name == "" || nameProblem(name) != "" {
		return
	}
	plain := strings.Trim(name, "-.") == name && strings.ToLower(name) == name && !strings.ContainsFunc(name, notOfHostname)
	if !plain {
		s.report("metadata.name", fmt.Sprintf("the name %q may be refused", name),
			"use lower-case letters, digits, hyphens and dots, and start and end with a letter or digit")
	}
}

const namespaceRule = "namespace"

func checkNamespace(s *subject) {
	namespace, _ := text(mapping(s.Doc, "metadata"), "namespace")
	workspace := s.Options.Workspace
	switch {
	case namespace == "" && workspace == "" && s.Kind.Name == snapshot:
		s.report("metadata.namespace", "the snapshot has no workspace",
			"write metadata.namespace, or name the workspace in trueup.yaml")
	case namespace != "" && workspace != "" && namespace != workspace:
		s.report("metadata.namespace", fmt.Sprintf("the workspace is %q here and %q in trueup.yaml", namespace, workspace),
			fmt.Sprintf("write %s, or remove metadata.namespace", workspace))
	}
}
