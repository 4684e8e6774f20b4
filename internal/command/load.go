package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"slices"
	"strings"

	"trueup/internal/config"
	"trueup/internal/diag"
	"trueup/internal/files"
	"trueup/internal/forge"
	"trueup/internal/kind"
	"trueup/internal/manifest"
	"trueup/internal/reconcile"
)

func (run *Run) inCI() bool { return config.InCI(run.Getenv) }

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

// FindProject reads the project in the folder of -C. Without -C, it reads the nearest one in the current
// folder and those above it.
func (run *Run) FindProject() (config.Project, error) {
	if run.chdir == "" {
		return config.FindProject(run.Dir)
	}
	if _, err := os.Stat(run.Dir); err != nil {
		return config.Project{}, fmt.Errorf("-C %s: %w", run.chdir, files.WithoutPath(err))
	}
	return config.ReadProject(run.Dir)
}

// searchedFolders returns where findProject looks, for messages.
func (run *Run) searchedFolders() string {
	if run.chdir != "" {
		return "in " + run.chdir + ", which -C names (trueup does not search the folders above it)"
	}
	return "here or above"
}

func (run *Run) noProjectError() error {
	return fmt.Errorf("there is no %s %s, so trueup does not know the workspace: run trueup init, or try --sandbox", config.ProjectFile, run.searchedFolders())
}

// openSources opens PATHs, or else the manifests of the project.
func (run *Run) openSources(p config.Project, paths []string) ([]manifest.PathSource, error) {
	return p.OpenSources(run.Dir, paths, func() io.Reader { return run.stdin("manifests") })
}

// splitObjects separates PATHs from names of objects, KIND/NAME with wildcards. A name of a file is a PATH.
func (run *Run) splitObjects(args []string) (paths, objects []string) {
	for _, arg := range args {
		of, _, hasName := strings.Cut(arg, "/")
		_, isKind := kind.FindKind(of)
		if _, err := os.Lstat(run.FullPath(arg)); err != nil && hasName && (isKind || strings.Contains(of, "*")) {
			objects = append(objects, arg)
		} else {
			paths = append(paths, arg)
		}
	}
	return paths, objects
}

// filesWithObjects returns the PATHs, or those of their files that have the named objects.
func (run *Run) filesWithObjects(ctx context.Context, p config.Project, args []string) ([]string, error) {
	paths, objects := run.splitObjects(args)
	filter, err := kind.ParseFilter(objects...)
	if filter == nil {
		return args, err
	}
	l, err := run.loadManifests(ctx, p, paths)
	if err != nil {
		return nil, err
	}
	var named []string
	for _, o := range l.Set.Objects {
		if filter(o.Key()) && !slices.Contains(named, o.Path) {
			named = append(named, o.Path)
		}
	}
	return named, reconcile.CheckPatterns(objects, l.Set)
}

// readFileTexts reads the files of PATHs, or else of the project, without parsing them.
func (run *Run) readFileTexts(ctx context.Context, p config.Project, paths []string) ([]manifest.FileText, diag.List, error) {
	paths, err := run.filesWithObjects(ctx, p, paths)
	if err != nil {
		return nil, nil, err
	}
	list, err := run.openSources(p, paths)
	if err != nil {
		return nil, nil, err
	}
	return manifest.ReadTexts(list, manifest.Limits{})
}

// LoadProject reads the project and its manifests, and runs every offline check. Paths replace the manifests of the project;
// more adds to them.
func (run *Run) LoadProject(ctx context.Context, paths []string, more ...manifest.PathSource) (config.LoadedProject, error) {
	p, err := run.FindProject()
	if err != nil {
		return config.LoadedProject{}, err
	}
	return run.loadManifests(ctx, p, paths, more...)
}

// loadManifests is load for a project that the caller has read, or is about to write.
func (run *Run) loadManifests(ctx context.Context, p config.Project, paths []string, more ...manifest.PathSource) (config.LoadedProject, error) {
	paths, err := run.filesWithObjects(ctx, p, paths)
	if err != nil {
		return config.LoadedProject{}, err
	}
	list, err := run.openSources(p, paths)
	if err != nil {
		return config.LoadedProject{}, err
	}
	opts := p.ManifestOptions(run.API.Parallelism)
	opts.Strict = p.Strict
	reading := run.startPhase("reading manifests")
	defer reading.end()
	opts.Progress = reading.setProgress
	if opts.Own, err = run.ReadOwnRules(p); err != nil {
		return config.LoadedProject{}, err
	}
	l, err := p.LoadManifests(ctx, append(list, more...), opts)
	if run.member != nil && err == nil {
		l.Findings = append(l.Findings, opts.ApplyStrict(slices.Clone(run.member.warnings))...)
		l.Findings.Sort()
	}
	isText := func(s manifest.PathSource) bool { return len(s.Data) > 0 } // of comments, from a command that had nothing to write
	if err == nil && l.IsEmpty() && len(paths) > 0 && !slices.ContainsFunc(list, isText) {
		err = fmt.Errorf("there is no manifest in %s", strings.Join(paths, ", "))
	}
	return l, err
}

// loadValid is load, but returns an error for invalid manifests. The error says what was not done, such as "nothing was
// written".
func (run *Run) loadValid(ctx context.Context, paths []string, notDone string) (config.LoadedProject, error) {
	l, err := run.LoadProject(ctx, paths)
	if err == nil {
		err = l.RefuseInvalid(notDone)
	}
	return l, err
}

// commitReader returns a reader of the manifests in earlier commits.
func (run *Run) commitReader(l config.LoadedProject, paths []string) *reconcile.CommitReader {
	ci, _ := forge.Detect(run.Getenv, readEventFile) // without its event file, ci is incomplete
	return reconcile.NewCommitReader(reconcile.CommitReaderConfig{
		Cwd: run.Dir, Paths: paths, LoadedProject: l, Options: l.Project.ManifestOptions(run.API.Parallelism),
		CI: ci, InCI: run.inCI(),
	})
}

// stdin returns standard input. At a terminal it logs that it waits.
func (run *Run) stdin(what string) io.Reader {
	if run.StdinIsTTY {
		run.Log(slog.LevelInfo, "reading "+what+" from the terminal: end with Ctrl-D on its own line")
	}
	return run.Stdin
}

// FullPath returns the absolute path of a file that the user named. A relative name starts in the folder of -C.
func (run *Run) FullPath(name string) string { return files.AbsolutePath(run.Dir, name) }

// errSource is the error for a result file whose name may be that of a manifest.
var errSource = errors.New("the name ends like a manifest, and trueup never writes a result over one: choose another ending")

// HasChdir reports whether -C names another folder.
func (run *Run) HasChdir() bool { return run.chdir != "" }
