package config

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"trueup/internal/diag"
	"trueup/internal/files"
	"trueup/internal/kind"
	"trueup/internal/manifest"
)

// FindProject reads the project in the folder of -C. Without -C, it reads the nearest one in the current
// folder and those above it.
func (o Options) FindProject() (Project, error) {
	if o.Chdir == "" {
		return FindProject(o.Dir())
	}
	if _, err := os.Stat(o.Dir()); err != nil {
		return Project{}, fmt.Errorf("-C %s: %w", o.Chdir, files.WithoutPath(err))
	}
	return ReadProject(o.Dir())
}

// SearchedFolders returns where FindProject looks, for messages.
func (o Options) SearchedFolders() string {
	if o.Chdir != "" {
		return "in " + o.Chdir + ", which -C names (trueup does not search the folders above it)"
	}
	return "here or above"
}

// FullPath returns the absolute path of a file that the user named. A relative name starts in the folder of -C.
func (o Options) FullPath(name string) string { return files.AbsolutePath(o.Dir(), name) }

// OpenStdin returns standard input. At a terminal it logs that it waits.
func (o Options) OpenStdin(what string) io.Reader {
	if o.StdinIsTTY {
		o.Inform("reading %s from the terminal: end with Ctrl-D on its own line", what)
	}
	return o.Stdin
}

// SplitObjects separates PATHs from names of objects, KIND/NAME with wildcards. A name of a file is a PATH.
func (o Options) SplitObjects(args []string) (paths, objects []string) {
	for _, arg := range args {
		of, _, hasName := strings.Cut(arg, "/")
		_, isKind := kind.FindKind(of)
		if _, err := os.Lstat(o.FullPath(arg)); err != nil && hasName && (isKind || strings.Contains(of, "*")) {
			objects = append(objects, arg)
		} else {
			paths = append(paths, arg)
		}
	}
	return paths, objects
}

// filesWithObjects returns the PATHs, or those of their files that have the named objects.
func (o Options) filesWithObjects(ctx context.Context, p Project, args []string) ([]string, error) {
	paths, objects := o.SplitObjects(args)
	filter, err := kind.ParseFilter(objects...)
	if filter == nil {
		return args, err
	}
	l, err := o.LoadManifests(ctx, p, paths)
	if err != nil {
		return nil, err
	}
	var named []string
	for _, obj := range l.Set.Objects {
		if filter(obj.Key()) && !slices.Contains(named, obj.Path) {
			named = append(named, obj.Path)
		}
	}
	return named, CheckPatterns(objects, l.Set)
}

// CheckPatterns rejects a pattern that matches no manifest.
func CheckPatterns(patterns []string, set *manifest.Set) error {
	for _, pattern := range patterns {
		filter, _ := kind.ParseFilter(pattern) // the caller has read it
		if !slices.ContainsFunc(set.Objects, func(obj *manifest.Object) bool { return filter(obj.Key()) }) {
			return fmt.Errorf("%s matches no manifest%s", pattern, diag.DidYouMean(pattern, diag.MapList(kind.KeysOf(set.Objects), kind.Key.String)))
		}
	}
	return nil
}

// ReadFileTexts reads the files of PATHs, or else of the project, without parsing them.
func (o Options) ReadFileTexts(ctx context.Context, p Project, paths []string) ([]manifest.FileText, diag.List, error) {
	paths, err := o.filesWithObjects(ctx, p, paths)
	if err != nil {
		return nil, nil, err
	}
	list, err := o.OpenSources(p, paths)
	if err != nil {
		return nil, nil, err
	}
	return manifest.ReadTexts(list, manifest.Limits{})
}

// LoadProject reads the project and its manifests, and runs every offline check. Paths replace the manifests of the project;
// more adds to them.
func (o Options) LoadProject(ctx context.Context, paths []string, more ...manifest.PathSource) (LoadedProject, error) {
	p, err := o.FindProject()
	if err != nil {
		return LoadedProject{}, err
	}
	return o.LoadManifests(ctx, p, paths, more...)
}

// LoadManifests is LoadProject for a project that the caller has read, or is about to write.
func (o Options) LoadManifests(ctx context.Context, p Project, paths []string, more ...manifest.PathSource) (LoadedProject, error) {
	paths, err := o.filesWithObjects(ctx, p, paths)
	if err != nil {
		return LoadedProject{}, err
	}
	list, err := o.OpenSources(p, paths)
	if err != nil {
		return LoadedProject{}, err
	}
	opts := p.ManifestOptions(o.API.Parallelism)
	opts.Strict = p.Strict
	progress, end := o.Begin("reading manifests")
	defer end()
	opts.Progress = progress
	if opts.Own, err = o.ReadOwnRules(p); err != nil {
		return LoadedProject{}, err
	}
	l, err := p.LoadManifests(ctx, append(list, more...), opts)
	if len(o.Warnings) > 0 && err == nil {
		l.Findings = append(l.Findings, opts.ApplyStrict(slices.Clone(o.Warnings))...)
		l.Findings.Sort()
	}
	isText := func(s manifest.PathSource) bool { return len(s.Data) > 0 } // of comments, from a command that had nothing to write
	if err == nil && l.IsEmpty() && len(paths) > 0 && !slices.ContainsFunc(list, isText) {
		err = fmt.Errorf("there is no manifest in %s", strings.Join(paths, ", "))
	}
	return l, err
}

// LoadValid is LoadProject, but returns an error for invalid manifests. The error says what was not done, such as "nothing was
// written".
func (o Options) LoadValid(ctx context.Context, paths []string, notDone string) (LoadedProject, error) {
	l, err := o.LoadProject(ctx, paths)
	return l, cmp.Or(err, l.RefuseInvalid(notDone))
}

// WarnIfNoManifests warns if there are no manifests, and says how to get some.
func (o Options) WarnIfNoManifests(l LoadedProject) {
	switch {
	case !l.IsEmpty():
	case !l.Project.Exists():
		o.Warn("there is neither a trueup.yaml nor a manifest here: run trueup init")
	default:
		o.Warn("there is no manifest here: trueup pull writes them from what is live")
	}
}
