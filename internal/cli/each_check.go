package cli

import (
	"context"
	"errors"
	"fmt"
	"math"
	"path"
	"path/filepath"

	"trueup/internal/config"
	"trueup/internal/files"
	"trueup/internal/fleet"
	"trueup/internal/report"
)

// check rejects values that have no meaning. changed reports whether a flag was set.
func (o *eachOptions) check(changed func(flag string) bool) error {
	return errors.Join(
		refuse(changed("rps") && !(o.rps > 0 && o.rps <= math.MaxInt32), "--rps %v: write a number above 0", o.rps), // NaN, too
		refuse(o.Jobs < 1, "--jobs %d: write 1 or more", o.Jobs),
		refuse(changed("max-failures") && o.MaxFailures < 0, "--max-failures %d: write 0 or more, or leave it out for no bound", o.MaxFailures),
		refuse(o.Pause < 0, "--pause %s: write a time above 0, such as 10m", o.Pause),
		refuse(o.Pause > 0 && len(o.Waves) == 0, "--pause is the time between waves: add --waves, or remove it"),
	)
}

// fleetFor returns the projects that the command runs in.
func (a *app) fleetFor(ctx context.Context, o eachOptions, command string) (found fleet.Fleet, err error) {
	dir, err := a.folder(nil)
	if err != nil {
		return found, err
	}
	found, err = o.selected.In(ctx, dir)
	local := command == "validate" || command == "test" || a.global.sandbox
	if n := len(found.Projects); err == nil && n > 1 && !local && a.env.Getenv(config.LedgerPin) != "" {
		err = fmt.Errorf("%s is set, but it belongs to one project, and %d are selected: unset it, or --select one", config.LedgerPin, n)
	}
	if err == nil && command == "apply" {
		_, err = a.contents(ctx, found) // two projects of one hostname would undo each other's changes
	}
	if err == nil {
		a.warnOfRemoved(found)
	}
	return found, err
}

// checkResults rejects a folder whose files a project would read as manifests.
func checkResults(name string, found fleet.Fleet, shard report.ShardFile) error {
	if name == "" {
		return nil
	}
	at, folder := map[string]fleet.Project{}, files.Absolute(found.Root, name)
	for _, p := range found.All {
		at[p.Dir] = p
	}
	written := []string{shard.Name()}
	for _, p := range shard.Projects {
		written = append(written, path.Join(p, shard.ResultName()))
	}
	for _, file := range written {
		full := filepath.Join(folder, filepath.FromSlash(file))
		for above := filepath.Dir(full); ; above = filepath.Dir(above) {
			if p, ok := at[above]; ok && p.Settings.Reads(p.Dir, full) {
				return fmt.Errorf("--results %s: %s would read %s as a manifest: name a folder outside the projects", name, p.Path, file)
			}
			if above == filepath.Dir(above) {
				break
			}
		}
	}
	return nil
}

// whyNotStarted says why some projects did not run.
func whyNotStarted(ctx context.Context, bound int) string {
	switch err := ctx.Err(); {
	case errors.Is(err, context.DeadlineExceeded):
		return context.Cause(ctx).Error()
	case err != nil:
		return "the run was interrupted"
	}
	return fmt.Sprintf("more than %d failed (--max-failures)", bound)
}
