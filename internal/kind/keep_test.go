package kind

import (
	"testing"

	"trueup/internal/canon"
)

func TestKept(t *testing.T) {
	for _, c := range []struct {
		value any
		kept  bool
	}{
		{"true", true},
		{true, true},
		{"yes", true},
		{"", true},
		{"false", false},
		{false, false},
		{nil, false},
	} {
		if got := HasKeepAnnotation(map[string]any{"annotations": map[string]any{KeepAnnotation: c.value}}); got != c.kept {
			t.Errorf("%v: %v, want %v", c.value, got, c.kept)
		}
	}
	for _, meta := range []map[string]any{nil, {}, {"annotations": nil}, {"annotations": "x"}, {"annotations": map[string]any{"keep": "true"}}} {
		if HasKeepAnnotation(meta) {
			t.Errorf("%v is kept", meta)
		}
	}
	k, _ := FindKind("VolumeSnapshot")
	o, err := k.ReadObject(canon.Encode(map[string]any{"metadata": map[string]any{"name": "db", "annotations": map[string]any{KeepAnnotation: "true"}}}))
	if err != nil || !o.Keep {
		t.Errorf("live object %+v, %v", o, err)
	}
}
