package cli

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"trueup/internal/diag"
	"trueup/internal/files"
	"trueup/internal/kind"
	"trueup/internal/manifest"
)

// usualFolder is where purges stand in a project that has none.
const usualFolder = "purges"

// fileOfPurge is where a purge is written in its folder.
func fileOfPurge(name string) string { return name + ".yaml" }

// purgePlace finds the folder to write to: the one that was named, or where most
// requests of the project stand, or else one beside the other manifests. For
// standard output there is none.
func (a *app) purgePlace(l loaded, dir string) (files.Folder, error) {
	switch dir {
	case onStdout:
		return files.Folder{}, nil
	case "":
		return a.usualPlace(l), nil
	}
	t := files.FolderAt(a.dir(), dir)
	if info, err := os.Stat(t.Base); err != nil || !info.IsDir() {
		return files.Folder{}, fmt.Errorf("%s is not a folder: create it first", dir)
	}
	return t, nil
}

func (a *app) usualPlace(l loaded) files.Folder {
	if folder := fullest(l.set); folder != "" {
		return files.FolderAt(a.dir(), folder)
	}
	if !l.project.exists() {
		return files.FolderAt(a.dir(), usualFolder)
	}
	t := files.Folder{Base: l.project.dir, Inside: usualFolder}
	for _, name := range l.project.Manifests {
		if info, err := os.Stat(filepath.Join(t.Base, name)); err == nil && info.IsDir() {
			t.Inside = path.Join(filepath.ToSlash(name), usualFolder)
			break
		}
	}
	t.Display = filepath.ToSlash(configuredAs(a.dir(), l.project, t.Inside))
	return t
}

// fullest is the folder that has most of the requests, or empty where none is below
// the current one.
func fullest(set *manifest.Set) string {
	counts := map[string]int{}
	for _, o := range set.Objects {
		folder := path.Dir(o.Path)
		if o.Kind.Policy == kind.Once && filepath.IsLocal(filepath.FromSlash(folder)) {
			counts[folder]++
		}
	}
	best := ""
	for _, folder := range slices.Sorted(maps.Keys(counts)) {
		if best == "" || counts[folder] > counts[best] {
			best = folder
		}
	}
	return best
}

// write makes the manifests and holds them to the rules before any is written.
func (m *purgeMaker) write(ctx context.Context) error {
	for i := range m.made {
		if n := &m.made[i]; n.status == "" {
			if err := m.draft(n); err != nil {
				return err
			}
		}
	}
	if err := m.validate(ctx); err != nil {
		return err
	}
	if m.opts.dir == onStdout {
		return nil
	}
	return m.writeFiles()
}

func (m *purgeMaker) draft(n *newManifest) error {
	head := []string{"Written by trueup " + m.by + ", " + m.source.head[0]}
	for _, line := range m.source.head[1:] {
		if !strings.HasPrefix(line, " ") {
			line = "and " + line
		}
		head = append(head, line)
	}
	d := manifest.Draft{Kind: m.kind, Name: n.key.Name, Spec: n.spec, Head: head}
	n.file.Name = m.place.Name(fileOfPurge(n.key.Name))
	if m.opts.dir != onStdout {
		d.Schema = m.loaded.project.schemaAt(m.place.Full(fileOfPurge(n.key.Name)))
	}
	var err error
	n.file.Content, err = manifest.Write(d)
	return err
}

// validate reads the new manifests beside the others.
func (m *purgeMaker) validate(ctx context.Context) error {
	var sources []manifest.Source
	shown := map[string]bool{}
	for _, n := range m.made {
		if n.status == "" {
			source := manifest.Source{Data: n.file.Content, Display: m.place.Shown(path.Base(n.file.Name))}
			sources, shown[source.Display] = append(sources, source), true
		}
	}
	l, err := m.app.load(ctx, nil, false, sources...)
	if err != nil {
		return err
	}
	findings := slices.DeleteFunc(l.findings, func(f diag.Finding) bool { return !shown[f.Path] })
	for _, f := range findings[:min(maxShown, len(findings))] {
		text := fmt.Sprintf("%s: %s [%s]", f.Field, f.Message, f.Rule)
		if f.Fix != "" {
			text += "; fix: " + f.Fix
		}
		m.app.log(slog.LevelWarn, text)
	}
	if err := refuseInvalid(l.findings, "these paths make an invalid manifest, and nothing was written"); err != nil {
		return err
	}
	m.loaded.set = l.set
	return nil
}

// writeFiles writes the manifests, none if one of them would have to overwrite
// something.
func (m *purgeMaker) writeFiles() error {
	root, err := os.OpenRoot(m.place.Base)
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }()
	for _, n := range m.made {
		if n.status != "" {
			continue
		}
		if err := files.NoLink(root, path.Dir(n.file.Name)); err != nil {
			return fmt.Errorf("%s: %w", m.place.Shown(path.Base(n.file.Name)), files.WithoutPath(err))
		}
		if _, err := root.Lstat(filepath.FromSlash(n.file.Name)); err == nil && !files.Same(root, n.file) {
			return fmt.Errorf("%s exists with other content, so nothing was written: remove it, or choose another --dir or --name", n.file.Name)
		}
	}
	for i := range m.made {
		n := &m.made[i]
		if n.status != "" {
			continue
		}
		if n.status, err = files.WriteNew(root, n.file); err != nil {
			return fmt.Errorf("%s: %w", n.file.Name, files.WithoutPath(err))
		}
		n.where = m.place.Shown(path.Base(n.file.Name))
		if n.status == files.Kept {
			return fmt.Errorf("%s exists with other content and stays as it is", n.where)
		}
		if !m.app.isRead(m.loaded.project, m.place.Full(path.Base(n.file.Name))) {
			m.app.log(slog.LevelWarn, n.where+" is not in a folder that plan and apply read: name it as a PATH, or choose another --dir")
		}
	}
	return nil
}
