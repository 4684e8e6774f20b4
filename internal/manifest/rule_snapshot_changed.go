package manifest

import "trueup/internal/diag"

// RuleSnapshotChanged is the name of the rule that the plan checks, because it
// needs what is live.
const RuleSnapshotChanged = "snapshot-changed"

func snapshotChanged() Rule {
	return Rule{
		Name:     RuleSnapshotChanged,
		Severity: diag.Error,
		Summary:  "A snapshot is live with another spec.",
		Why: "A snapshot is a moment of a disk: the platform documents no way to change one (docs/platform.md 4.1), and " +
			"to replace it would destroy that moment and take another.",
		Fix: "Put the old spec back, and write the new snapshot as a manifest with a name of its own.",
		Bad: `# db-2026-11-21 is live, taken from the disk db-data
apiVersion: snapshot.storage.k8s.io/v1
kind: VolumeSnapshot
metadata:
  name: db-2026-11-21
  namespace: acme
spec:
  volumeSnapshotClassName: general-purpose
  source:
    persistentVolumeClaimName: db-archive
`,
		Good: `apiVersion: snapshot.storage.k8s.io/v1
kind: VolumeSnapshot
metadata:
  name: db-archive-2026-11-21
  namespace: acme
spec:
  volumeSnapshotClassName: general-purpose
  source:
    persistentVolumeClaimName: db-archive
`,
		NeedsLive: true,
	}
}
