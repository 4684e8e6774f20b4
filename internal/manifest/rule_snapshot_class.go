package manifest

import (
	"fmt"

	"trueup/internal/diag"
)

func snapshotClass() Rule {
	return Rule{
		Name:     "snapshot-class",
		Severity: diag.Error,
		Summary:  "The class of a snapshot is not general-purpose.",
		Why: "spec.volumeSnapshotClassName must be general-purpose (docs/platform.md 2.1). Manifests from a " +
			"Kubernetes cluster name the class of that cluster's driver, which this platform does not have.",
		Fix: "Write volumeSnapshotClassName: general-purpose.",
		Bad: `apiVersion: snapshot.storage.k8s.io/v1
kind: VolumeSnapshot
metadata:
  name: db-2026-11-21
  namespace: acme
spec:
  source:
    persistentVolumeClaimName: db-data
  volumeSnapshotClassName: csi-snapclass
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
		object: only(snapshot, checkSnapshotClass),
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
