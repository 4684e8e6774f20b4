package adopt

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"trueup/internal/diag"
	"trueup/internal/files"
	"trueup/internal/kind"
	"trueup/internal/manifest"
	"trueup/internal/project"
	"trueup/internal/yamledit"
)

// takeValues edits the document of an object where other values suffice to make its plan empty.
func (r *run) takeValues(ctx context.Context, i *Item) error {
	file, _, err := files.Read(r.full(i.File), manifest.MaxFile)
	if err != nil {
		return fmt.Errorf("%s: %w", i.File, files.WithoutPath(err))
	}
	was, is := yamledit.WithValues(i.manifest, file, i.draft.Spec)
	if is == nil {
		return nil
	}
	set, findings, err := manifest.Load(ctx, []manifest.Source{{Data: is}}, r.manifestOptions())
	if err != nil || findings.HasErrors() {
		return err
	}
	if o := set.Find(i.Key()); o != nil && r.settled(i, o.Spec) {
		i.Before, i.After, i.InPlace = was, is, true
	}
	return nil
}

// replace writes what is live in place of the manifest of an object, and keeps the rest of its file.
func (r *run) replace(ctx context.Context, i *Item) error {
	switch {
	case !manifest.IsYAML(i.File):
		i.refuse(i.File+" is not a YAML file, and pull writes YAML", "move the object to a .yaml file, or write it by hand")
		return nil
	case i.manifest.Keep && !i.InPlace:
		i.refuse("its manifest has the annotation "+kind.KeepAnnotation+", which would be lost", "edit it by hand; --diff shows how")
		return nil
	}
	_, findings, err := manifest.Load(ctx, []manifest.Source{{Data: i.After}}, r.manifestOptions())
	if err != nil {
		return err
	}
	if at := slices.IndexFunc(findings, func(f diag.Finding) bool { return f.Severity == diag.Error }); at >= 0 {
		i.refuseFor(findings[at])
		return nil
	}
	full := r.full(i.File)
	root, err := os.OpenRoot(filepath.Dir(full))
	if err != nil {
		return fmt.Errorf("%s: %w", i.File, files.WithoutPath(err))
	}
	defer func() { _ = root.Close() }()
	// This run may have replaced another object of the file.
	text, err := root.ReadFile(filepath.Base(full))
	if err != nil {
		return fmt.Errorf("%s: %w", i.File, files.WithoutPath(err))
	}
	before, err := r.reread(ctx, i, text)
	if err != nil {
		return err
	}
	text = yamledit.Replace(before.Find(i.Key()), text, i.After)
	after, err := r.reread(ctx, i, text)
	if err != nil || !r.changesOnly(i, before, after) {
		i.refuse("its document can't be replaced in "+i.File+" without changing others", "edit it by hand; --diff shows how")
		return nil
	}
	if err := files.Replace(root, files.File{Name: filepath.Base(full), Content: text}); err != nil {
		return fmt.Errorf("%s: %w", i.File, err)
	}
	i.Verdict = Replaced
	return nil
}

func (r *run) reread(ctx context.Context, i *Item, text []byte) (*manifest.Set, error) {
	set, findings, err := manifest.Load(ctx, []manifest.Source{{Data: text, Display: i.File}}, r.manifestOptions())
	if err == nil {
		err = project.Loaded{Findings: findings}.Refuse("this one stays as it is")
	}
	if err == nil && set.Find(i.Key()) == nil {
		err = fmt.Errorf("%s: %s was removed just now: run pull again", i.File, i.Key())
	}
	return set, err
}

// changesOnly reports whether a file has the same objects after an edit, and only the item changed, to what is live.
func (r *run) changesOnly(i *Item, before, after *manifest.Set) bool {
	isRight := func(o *manifest.Object) bool {
		was := before.Find(o.Key())
		if o.Key() == i.Key() {
			return r.settled(i, o.Spec)
		}
		return was != nil && was.Digest == o.Digest && was.Namespace == o.Namespace && was.APIVersion == o.APIVersion
	}
	return len(before.Objects) == len(after.Objects) &&
		!slices.ContainsFunc(after.Objects, func(o *manifest.Object) bool { return !isRight(o) })
}
