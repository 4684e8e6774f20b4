package cli

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"

	"trueup/internal/diag"
	"trueup/internal/files"
	"trueup/internal/forge"
	"trueup/internal/history"
	"trueup/internal/manifest"
	"trueup/internal/project"
)

// findProject reads the project of the run: that of the folder that -C names, or else the nearest
// from the current folder upwards.
func (a *app) findProject() (project.Project, error) {
	if a.global.dir == "" {
		return project.Near(a.dir())
	}
	if _, err := os.Stat(a.dir()); err != nil {
		return project.Project{}, fmt.Errorf("-C %s: %w", a.global.dir, files.WithoutPath(err))
	}
	return project.In(a.dir())
}

// searched returns where findProject looks, for messages.
func (a *app) searched() string {
	if a.global.dir != "" {
		return "in " + a.global.dir + ", which -C names (trueup does not search the folders above it)"
	}
	return "here or above"
}

func (a *app) noProject() error {
	return fmt.Errorf("there is no %s %s, so trueup does not know the workspace: run trueup init, or try --sandbox", project.File, a.searched())
}

// sources opens PATHs, or else the manifests of the project.
func (a *app) sources(p project.Project, paths []string) ([]manifest.Source, error) {
	s := project.NewSources(a.dir(), a.manifestInput)
	err := s.Open(p, paths)
	return s.List, err
}

// texts reads the files of PATHs, or else of the project, without reading them as manifests.
func (a *app) texts(p project.Project, paths []string) ([]manifest.Text, diag.List, error) {
	list, err := a.sources(p, paths)
	if err != nil {
		return nil, nil, err
	}
	return manifest.Texts(list, manifest.Limits{})
}

// manifestInput returns standard input, unless the token comes from there.
func (a *app) manifestInput() (io.Reader, error) {
	if err := a.config().TokenFromInput(); err != nil {
		return nil, err
	}
	return a.stdin("manifests"), nil
}

// load reads the project and the manifests, and more of them, and runs every offline check.
func (a *app) load(ctx context.Context, paths []string, strict bool, more ...manifest.Source) (project.Loaded, error) {
	p, err := a.findProject()
	if err != nil {
		return project.Loaded{}, err
	}
	return a.loadOf(ctx, p, paths, strict, more...)
}

// loadOf is load for a project that was read, or that init is about to write.
func (a *app) loadOf(
	ctx context.Context, p project.Project, paths []string, strict bool, more ...manifest.Source,
) (project.Loaded, error) {
	list, err := a.sources(p, paths)
	if err != nil {
		return project.Loaded{}, err
	}
	reading := a.begin("reading manifests")
	defer reading.end()
	opts := p.ManifestOptions(strict, a.global.parallelism)
	opts.Progress = reading.reached
	l, err := p.Load(ctx, append(list, more...), opts)
	if err == nil && l.IsEmpty() && len(paths) > 0 {
		err = fmt.Errorf("there is no manifest in %s", strings.Join(paths, ", "))
	}
	return l, err
}

// history returns the reader of what git had before.
func (a *app) history(l project.Loaded, paths []string) *history.Reader {
	ci, _ := forge.Detect(a.env.Getenv, readEvent) // without its event, CI still says a part
	return history.New(history.Config{
		Cwd: a.dir(), Paths: paths, Loaded: l, Options: l.Project.ManifestOptions(false, a.global.parallelism),
		CI: ci, InCI: a.inCI(), GitDir: a.env.Getenv("GIT_DIR") != "",
	})
}
