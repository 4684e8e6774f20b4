package manifest

import (
	"trueup/internal/diag"
)

func snapshotSource() Rule {
	return Rule{
		Name:     "snapshot-source",
		Severity: diag.Error,
		Summary:  "A snapshot does not name the disk that it is taken of.",
		Why: "spec.source.persistentVolumeClaimName is required and is exactly the name of the disk " +
			"(docs/platform.md 2.1). It is the only source that the platform knows: volumeSnapshotContentName, " +
			"which a Kubernetes cluster uses to import a snapshot, and the claim directly below spec, as " +
			"older resources had it, mean nothing here.",
		Fix: "Write spec.source.persistentVolumeClaimName with the name of the disk, and no other source.",
		Bad: `apiVersion: snapshot.storage.k8s.io/v1
kind: VolumeSnapshot
metadata:
  name: db-2026-11-21
  namespace: acme
spec:
  source:
    volumeSnapshotContentName: snapcontent-db
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
		object: only(snapshot, checkSnapshotSource),
	}
}

func checkSnapshotSource(s *subject) {
	const claim = "persistentVolumeClaimName"
	source := mapping(s.Tree, "source")
	if s.Tree[claim] != nil {
		s.report("spec."+claim, "the disk is named below spec and not below spec.source", "move it below spec.source")
	}
	if source["volumeSnapshotContentName"] != nil {
		s.report("spec.source.volumeSnapshotContentName", "a snapshot is taken of a disk; it can't be imported",
			"remove it: persistentVolumeClaimName is the one source")
	}
	if _, present := source[claim]; present {
		return
	}
	field := "spec.source"
	if source != nil {
		field += "." + claim
	}
	s.report(field, "the snapshot does not say of which disk it is", "write spec.source.persistentVolumeClaimName with the name of the disk")
}
