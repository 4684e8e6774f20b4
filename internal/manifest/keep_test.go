package manifest

import (
	"context"
	"fmt"
	"testing"
)

// TestTheAnnotationThatKeeps: it is read, and only it goes without a warning.
func TestTheAnnotationThatKeeps(t *testing.T) {
	for _, c := range []struct {
		annotations string
		keep        bool
		findings    int
	}{
		{`{trueup.dev/keep: "true"}`, true, 0},
		{`{trueup.dev/keep: true}`, true, 0},
		{`{trueup.dev/keep: "false"}`, false, 0},
		{`{trueup.dev/keep: "true", owner: data}`, true, 1},
		{`{owner: data}`, false, 1},
	} {
		text := fmt.Sprintf("apiVersion: snapshot.storage.k8s.io/v1\nkind: VolumeSnapshot\nmetadata:\n  name: db-2026-11-21\n  annotations: %s\n"+
			"spec: {source: {persistentVolumeClaimName: data}, volumeSnapshotClassName: general-purpose}\n", c.annotations)
		set, findings, err := Load(context.Background(), []PathSource{{Data: []byte(text)}}, LoadSettings{Workspace: "acme"})
		if err != nil || len(findings) != c.findings || len(set.Objects) != 1 {
			t.Errorf("%s: %v, %v", c.annotations, findings, err)
			continue
		}
		if got := set.Objects[0].Keep; got != c.keep {
			t.Errorf("%s: keep is %v", c.annotations, got)
		}
	}
}
