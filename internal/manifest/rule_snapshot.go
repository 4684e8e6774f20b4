package manifest

import (
	"fmt"
)

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
