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
)

// replace writes what is live in place of the manifest of an object, and keeps the rest of its file.
func (r *run) replace(ctx context.Context, i *Item) error {
	if !manifest.IsYAML(i.File) {
		i.refuse(i.File+" is not a YAML file, and pull writes YAML", "move the object to a .yaml file, or write it by hand")
		return nil
	}
	file, text, err := r.inPlace(ctx, i)
	if text == nil && err == nil {
		text, err = r.rewrite(ctx, i, file)
	}
	if err != nil || i.Verdict == Refused {
		return err
	}
	full := r.full(i.File)
	root, err := os.OpenRoot(filepath.Dir(full))
	if err == nil {
		defer func() { _ = root.Close() }()
		err = files.Replace(root, files.File{Name: filepath.Base(full), Content: text})
	}
	if err != nil {
		return fmt.Errorf("%s: %w", i.File, files.WithoutPath(err))
	}
	i.Verdict = Replaced
	return nil
}

// inPlace returns the file of an object and, if other values suffice, the file with what is live.
func (r *run) inPlace(ctx context.Context, i *Item) (file, text []byte, err error) {
	// This run may have replaced another object of the file.
	if file, _, err = files.Read(r.full(i.File), manifest.MaxFile); err != nil {
		return nil, nil, fmt.Errorf("%s: %w", i.File, files.WithoutPath(err))
	}
	before, err := r.reread(ctx, i, file)
	if err != nil {
		return nil, nil, err
	}
	text, ok := before.Find(i.Key()).WithValues(file, i.draft.Spec)
	if ok {
		after, err := r.reread(ctx, i, text)
		i.InPlace = err == nil && r.changesOnly(i, before, after)
	}
	if !i.InPlace {
		text = nil
	}
	return file, text, nil
}

// rewrite returns a file with a new document in place of that of an object, or refuses it.
func (r *run) rewrite(ctx context.Context, i *Item, file []byte) ([]byte, error) {
	if i.manifest.Keep {
		i.refuse("its manifest has the annotation "+kind.KeepAnnotation+", which would be lost", "edit it by hand; --diff shows how")
		return nil, nil
	}
	_, findings, err := manifest.Load(ctx, []manifest.Source{{Data: i.After}}, r.manifestOptions())
	if err != nil {
		return nil, err
	}
	if at := slices.IndexFunc(findings, func(f diag.Finding) bool { return f.Severity == diag.Error }); at >= 0 {
		i.refuseFor(findings[at])
		return nil, nil
	}
	before, err := r.reread(ctx, i, file)
	if err != nil {
		return nil, err
	}
	text := before.Find(i.Key()).ReplaceIn(file, i.After)
	after, err := r.reread(ctx, i, text)
	if err != nil || !r.changesOnly(i, before, after) {
		i.refuse("its document can't be replaced in "+i.File+" without changing others", "edit it by hand; --diff shows how")
	}
	return text, nil
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
