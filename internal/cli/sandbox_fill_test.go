package cli

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"trueup/internal/kind"
	"trueup/internal/sandbox/sample"
)

// TestFillEndsWhenInterrupted: who interrupts does not wait for what is left.
func TestFillEndsWhenInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	dir, world := t.TempDir(), sample.World{CDNs: 3, Seed: 1}
	a := newApp(Env{Dir: dir, Now: time.Now, Getenv: func(string) string { return "" }})
	if err := a.writeSamples(ctx, "m", kind.Workspace{Name: "acme"}, world); !errors.Is(err, context.Canceled) {
		t.Errorf("%v, want %v", err, context.Canceled)
	}
	if found, _ := os.ReadDir(filepath.Join(dir, "m", "cdns")); len(found) > 0 {
		t.Errorf("%d files were written", len(found))
	}
	live, err := a.config().SeedSandbox(ctx, t.TempDir(), kind.Workspace{}, liveSamples(world, kind.Workspace{}))
	if live != 0 || !errors.Is(err, context.Canceled) {
		t.Errorf("%d objects are live, %v", live, err)
	}
}
