package manifest

import (
	"fmt"

	"trueup/internal/diag"
)

const namespaceRule = "namespace"

func namespace() Rule {
	return Rule{
		Name:     namespaceRule,
		Severity: diag.Error,
		Summary:  "metadata.namespace is missing where it is needed, or names another workspace.",
		Why: "A snapshot needs metadata.namespace, the name of the workspace and the same as in the address " +
			"of the request (docs/platform.md 2.1). Where a project file names the workspace, it may be left out " +
			"and is the project's; a manifest that names another one belongs to another project, and is " +
			"refused before it is created in the wrong place.",
		Fix: "Write the workspace's name in metadata.namespace, or leave it out where trueup.yaml names the " +
			"workspace.",
		Bad: `apiVersion: snapshot.storage.k8s.io/v1
kind: VolumeSnapshot
metadata:
  name: db-2026-11-21
spec:
  source:
    persistentVolumeClaimName: db-data
  volumeSnapshotClassName: general-purpose
`,
		Good: `apiVersion: snapshot.storage.k8s.io/v1
kind: VolumeSnapshot
metadata:
  name: db-2026-11-21
  namespace: acme
spec:
  source:
    persistentVolumeClaimName: db-data
  volumeSnapshotClassName: general-purpose
`,
		object: checkNamespace,
	}
}

func checkNamespace(s *subject) {
	namespace, _ := text(mapping(s.Doc, "metadata"), "namespace")
	workspace := s.Options.Workspace
	switch {
	case namespace == "" && workspace == "" && s.Kind.Name == snapshot:
		s.report("metadata.namespace", "the snapshot does not say in which workspace it is taken",
			"write metadata.namespace, or name the workspace in trueup.yaml")
	case namespace != "" && workspace != "" && namespace != workspace:
		s.report("metadata.namespace", fmt.Sprintf("the workspace is %q here and %q in trueup.yaml", namespace, workspace),
			fmt.Sprintf("write %s, or leave metadata.namespace out", workspace))
	}
}
