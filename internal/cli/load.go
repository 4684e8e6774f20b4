package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"slices"
	"strings"

	"trueup/internal/api"
	"trueup/internal/config"
	"trueup/internal/diag"
	"trueup/internal/files"
	"trueup/internal/forge"
	"trueup/internal/kind"
	"trueup/internal/manifest"
	"trueup/internal/reconcile"
	"trueup/internal/report"
)

// config returns the options of the run, from its flags and its Env.
func (a *app) config() config.Options {
	o := config.Options{
		Getenv: a.env.Getenv, Cwd: a.env.Dir, Dir: a.dir(), Stdin: a.env.Stdin, StdinIsTTY: a.env.StdinIsTTY,
		Now: a.env.Now, Sleep: a.env.Sleep, Log: a.log, Verbose: a.global.verbose, Clean: report.Clean,
		Profile: a.global.profile, Shared: a.shared,
		Writes:  slices.Contains([]string{"apply", "ledger settle", "ledger init"}, a.running),
		Sandbox: a.global.sandbox, SandboxFaults: a.settings.sandboxFaults, DiskIsKept: a.settings.diskIsKept,
		ReadOnly: config.IsReadOnly(a.env.Getenv),
		API: api.ClientConfig{
			RequestTimeout: a.settings.requestTimeout, Parallelism: a.settings.parallelism, WritesPerSecond: a.settings.writesPerSecond,
			Retry: a.env.Retry, Budget: a.shared.Budget, UserAgent: userAgent(), Now: a.env.Now, Warn: a.warn,
		},
		Tool: toolName(), Open: a.openPlatform, Begin: a.beginPhase,
	}
	if a.global.verbose {
		o.API.Trace = a.trace
	}
	return o
}

func (a *app) inCI() bool { return config.InCI(a.env.Getenv) }

func (a *app) warn(w api.Warning) {
	a.log(slog.LevelWarn, fmt.Sprintf("the server warns about %s %s: %s", w.Op, strings.TrimSuffix(w.Kind+"/"+w.Name, "/"), w.Text))
}

// openPlatform opens the platform of a run, or the sandbox.
func (a *app) openPlatform(ctx context.Context, p config.Project, set *manifest.Set) (*config.Platform, error) {
	switch {
	case a.global.sandbox:
		return a.config().OpenSandboxPlatform(ctx, p, set)
	case !p.Exists():
		return nil, a.noProject()
	}
	return a.config().OpenPlatform(p)
}

// findProject reads the project in the folder of -C. Without -C, it reads the nearest one in the current
// folder and those above it.
func (a *app) findProject() (config.Project, error) {
	if a.global.dir == "" {
		return config.FindProject(a.dir())
	}
	if _, err := os.Stat(a.dir()); err != nil {
		return config.Project{}, fmt.Errorf("-C %s: %w", a.global.dir, files.WithoutPath(err))
	}
	return config.ReadProject(a.dir())
}

// searched returns where findProject looks, for messages.
func (a *app) searched() string {
	if a.global.dir != "" {
		return "in " + a.global.dir + ", which -C names (trueup does not search the folders above it)"
	}
	return "here or above"
}

func (a *app) noProject() error {
	return fmt.Errorf("there is no %s %s, so trueup does not know the workspace: run trueup init, or try --sandbox", config.ProjectFile, a.searched())
}

// sources opens PATHs, or else the manifests of the project.
func (a *app) sources(p config.Project, paths []string) ([]manifest.PathSource, error) {
	return p.OpenSources(a.dir(), paths, func() (io.Reader, error) {
		if err := a.config().TokenFromInput(); err != nil {
			return nil, err
		}
		return a.stdin("manifests"), nil
	})
}

// splitObjects separates PATHs from names of objects, KIND/NAME with wildcards. A name of a file is a PATH.
func (a *app) splitObjects(args []string) (paths, objects []string) {
	for _, arg := range args {
		of, _, hasName := strings.Cut(arg, "/")
		_, isKind := kind.FindKind(of)
		if _, err := os.Lstat(a.full(arg)); err != nil && hasName && (isKind || strings.Contains(of, "*")) {
			objects = append(objects, arg)
		} else {
			paths = append(paths, arg)
		}
	}
	return paths, objects
}

// filesOf returns the PATHs, or those of their files that have the named objects.
func (a *app) filesOf(ctx context.Context, p config.Project, args []string) ([]string, error) {
	paths, objects := a.splitObjects(args)
	filter, err := kind.ParseFilter(objects...)
	if filter == nil {
		return args, err
	}
	l, err := a.loadOf(ctx, p, paths)
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

// texts reads the files of PATHs, or else of the project, without parsing them.
func (a *app) texts(ctx context.Context, p config.Project, paths []string) ([]manifest.FileText, diag.List, error) {
	paths, err := a.filesOf(ctx, p, paths)
	if err != nil {
		return nil, nil, err
	}
	list, err := a.sources(p, paths)
	if err != nil {
		return nil, nil, err
	}
	return manifest.Texts(list, manifest.Limits{})
}

// load reads the project and its manifests, and runs every offline check. Paths replace the manifests of the project;
// more adds to them.
func (a *app) load(ctx context.Context, paths []string, more ...manifest.PathSource) (config.LoadedProject, error) {
	p, err := a.findProject()
	if err != nil {
		return config.LoadedProject{}, err
	}
	return a.loadOf(ctx, p, paths, more...)
}

// loadOf is load for a project that the caller has read, or is about to write.
func (a *app) loadOf(ctx context.Context, p config.Project, paths []string, more ...manifest.PathSource) (config.LoadedProject, error) {
	paths, err := a.filesOf(ctx, p, paths)
	if err != nil {
		return config.LoadedProject{}, err
	}
	list, err := a.sources(p, paths)
	if err != nil {
		return config.LoadedProject{}, err
	}
	opts := p.ManifestOptions(a.settings.parallelism)
	opts.Strict = p.Strict
	reading := a.begin("reading manifests")
	defer reading.end()
	opts.Progress = reading.reached
	if opts.Own, err = a.config().OwnRules(p); err != nil {
		return config.LoadedProject{}, err
	}
	l, err := p.LoadManifests(ctx, append(list, more...), opts)
	if a.member != nil && err == nil {
		l.Findings = append(l.Findings, opts.Judge(slices.Clone(a.member.warnings))...)
		l.Findings.Sort()
	}
	if err == nil && l.IsEmpty() && len(paths) > 0 && !saysNothing(list) {
		err = fmt.Errorf("there is no manifest in %s", strings.Join(paths, ", "))
	}
	return l, err
}

// saysNothing reports whether standard input has text, which then is comments: a command had nothing to write.
func saysNothing(list []manifest.PathSource) bool {
	return slices.ContainsFunc(list, func(s manifest.PathSource) bool { return len(s.Data) > 0 })
}

// loadValid is load, but returns an error for invalid manifests. The error says what was not done, such as "nothing was
// written".
func (a *app) loadValid(ctx context.Context, paths []string, notDone string) (config.LoadedProject, error) {
	l, err := a.load(ctx, paths)
	if err == nil {
		err = l.RefuseInvalid(notDone)
	}
	return l, err
}

// history returns a reader of the manifests in earlier commits.
func (a *app) history(l config.LoadedProject, paths []string) *reconcile.CommitReader {
	ci, _ := forge.Detect(a.env.Getenv, readEvent) // without its event file, ci is incomplete
	return reconcile.NewCommitReader(reconcile.CommitReaderConfig{
		Cwd: a.dir(), Paths: paths, LoadedProject: l, Options: l.Project.ManifestOptions(a.settings.parallelism),
		CI: ci, InCI: a.inCI(), GitDir: a.env.Getenv("GIT_DIR") != "",
	})
}

// stdin returns standard input. At a terminal it logs that it waits.
func (a *app) stdin(what string) io.Reader {
	if a.env.StdinIsTTY {
		a.log(slog.LevelInfo, "reading "+what+" from the terminal: end with Ctrl-D on its own line")
	}
	return a.env.Stdin
}

// full returns the absolute path of a file that the user named. A relative name starts in the folder of -C.
func (a *app) full(name string) string { return files.AbsolutePath(a.dir(), name) }

// errSource is the error for a result file whose name may be that of a manifest.
var errSource = errors.New("the name ends like a manifest, and trueup never writes a result over one: choose another ending")
