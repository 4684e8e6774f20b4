package manifest

import "trueup/internal/diag"

func serverOwned() Rule {
	return Rule{
		Name:     "server-owned",
		Severity: diag.Error,
		Summary:  "The manifest holds fields that the server writes.",
		Why: "Reads return status and metadata of the server's own (docs/platform.md 2.1); they come into a " +
			"manifest when the output of a read is pasted. They can't be set, change by themselves and would " +
			"make every plan differ.",
		Fix: "Remove the fields that the findings name.",
		Bad: `apiVersion: snapshot.storage.k8s.io/v1
kind: VolumeSnapshot
metadata:
  name: db-2026-11-21
  namespace: acme
  uid: 5a1d7c0e-0000-4000-8000-000000000000
spec:
  source:
    persistentVolumeClaimName: db-data
  volumeSnapshotClassName: general-purpose
status:
  readyToUse: true
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
		object: checkServerOwned,
	}
}

func checkServerOwned(s *subject) {
	if _, has := s.Doc["status"]; has {
		s.serverOwned("status")
	}
	metadata := mapping(s.Doc, "metadata")
	for _, field := range []string{
		"uid", "resourceVersion", "generation", "creationTimestamp", "managedFields", "selfLink",
		"deletionTimestamp", "deletionGracePeriodSeconds", "ownerReferences",
	} {
		if _, has := metadata[field]; has {
			s.serverOwned("metadata." + field)
		}
	}
}

func (s *subject) serverOwned(field string) {
	s.report(field, field+" is a server-owned field", "remove it: it comes from the output of a read")
}
