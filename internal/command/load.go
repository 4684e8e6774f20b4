package command

import (
	"context"
	"errors"

	"trueup/internal/config"
	"trueup/internal/manifest"
)

// openPlatform opens the platform of a run, or the sandbox.
func (run *Run) openPlatform(ctx context.Context, p config.Project, set *manifest.Set) (*config.Platform, error) {
	switch {
	case run.Sandbox:
		return run.OpenSandboxPlatform(ctx, p, set)
	case !p.Exists():
		return nil, run.noProjectError()
	}
	return run.OpenPlatform(p)
}

func (run *Run) noProjectError() error {
	return errors.New(run.LackOfProject() + " does not know the workspace: run trueup init, or try --sandbox")
}

// errSource is the error for a result file whose name may be that of a manifest.
var errSource = errors.New("the name ends like a manifest, and trueup never writes a result over one: choose another ending")
