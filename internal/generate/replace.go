package generate

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"trueup/internal/config"
	"trueup/internal/diag"
	"trueup/internal/files"
	"trueup/internal/kind"
	"trueup/internal/manifest"
	"trueup/internal/yamledit"
)

// editedFile is a file with manifests that differ from live. It is read once: what others write to it later stays.
type editedFile struct {
	read  sync.Once
	lines manifest.LineIndex
	set   *manifest.Set
	err   error
}

// openManifestFile reads the file of an object in git, unless another object did.
func (r *pullRun) openManifestFile(ctx context.Context, i *PulledObject) (*editedFile, error) {
	file, _ := r.edited.LoadOrStore(i.File, &editedFile{})
	e := file.(*editedFile)
	e.read.Do(func() {
		var data []byte
		if data, _, e.err = files.Read(r.fullPath(i.File), manifest.MaxFile); e.err == nil {
			e.lines = manifest.LineIndex{Data: data}
			e.lines.Count() // from here on, goroutines may share it
			e.set, e.err = r.reloadManifests(ctx, i.File, data)
		}
	})
	if e.err != nil {
		return nil, fmt.Errorf("%s: %w", i.File, files.WithoutPath(e.err))
	}
	return e, nil
}

func (r *pullRun) reloadManifests(ctx context.Context, name string, text []byte) (*manifest.Set, error) {
	set, findings, err := manifest.Load(ctx, []manifest.PathSource{{Data: text, Display: name}}, r.manifestOptions())
	if err == nil {
		err = config.LoadedProject{Findings: findings}.RefuseInvalid("this one stays as it is")
	}
	return set, err
}

// editValues edits the document of an object where other values suffice to make its plan empty. It returns the document.
func (r *pullRun) editValues(ctx context.Context, i *PulledObject) (was []byte, err error) {
	e, err := r.openManifestFile(ctx, i)
	if err != nil {
		return nil, err
	}
	if len(e.set.Objects) == 1 && !r.opts.Replace {
		r.edited.Delete(i.File) // nothing else needs it, and there may be many
	}
	o := e.set.Find(i.Key())
	if o == nil || o.Digest != i.manifest.Digest {
		i.refuseChanged()
		return nil, nil
	}
	i.manifest = o
	was, is := yamledit.WithValues(o, &e.lines, i.draft.Spec)
	if is == nil {
		return was, nil
	}
	set, findings, err := manifest.Load(ctx, []manifest.PathSource{{Data: is}}, r.manifestOptions())
	if err != nil || findings.HasErrors() {
		return was, err
	}
	if o := set.Find(i.Key()); o != nil && r.planIsEmpty(i, o.Spec) {
		i.Before, i.After, i.InPlace, i.draft.Spec = was, is, true, o.Spec
	}
	return was, nil
}

func (i *PulledObject) refuseChanged() {
	i.refuseItem(i.File+" changed while trueup read it", "run pull again when nothing writes to it")
}

// replaceManifest writes what is live in place of the manifests of a file, and keeps the rest of it.
func (r *pullRun) replaceManifest(ctx context.Context, items []*PulledObject) error {
	e, err := r.openManifestFile(ctx, items[0])
	if err != nil {
		return err
	}
	for _, i := range items {
		if err := r.refuseUnsafeReplace(ctx, i); err != nil {
			return err
		}
	}
	items = slices.DeleteFunc(items, func(i *PulledObject) bool { return i.Verdict == Refused })
	if len(items) == 0 {
		return nil
	}
	text := r.replacedText(ctx, e, items)
	if text == nil {
		for _, i := range items {
			i.refuseItem("it can't be replaced in "+i.File+" without changing others", "edit it by hand; --diff shows how")
		}
		return nil
	}
	err = r.overwriteFile(items[0].File, e.lines.Data, text)
	for _, i := range items {
		switch {
		case errors.Is(err, manifest.ErrChanged):
			i.refuseChanged()
		case err == nil:
			i.Verdict = Replaced
		}
	}
	if errors.Is(err, manifest.ErrChanged) {
		return nil
	}
	return err
}

// overwriteFile writes a file that is still as it was read.
func (r *pullRun) overwriteFile(name string, was, text []byte) error {
	full := r.fullPath(name)
	root, err := os.OpenRoot(filepath.Dir(full))
	if err != nil {
		return fmt.Errorf("%s: %w", name, files.WithoutPath(err))
	}
	defer func() { _ = root.Close() }()
	return manifest.FileText{FS: files.OpenFS(root), Name: filepath.Base(full), Path: name, Data: was}.Replace(text)
}

// refuseUnsafeReplace refuses an item whose manifest would lose what matters, or would be invalid.
func (r *pullRun) refuseUnsafeReplace(ctx context.Context, i *PulledObject) error {
	switch {
	case !manifest.IsYAML(i.File):
		i.refuseItem(i.File+" is not a YAML file, and pull writes YAML", "move the object to a .yaml file, or write it by hand")
		return nil
	case i.manifest.Keep && !i.InPlace:
		i.refuseItem("its manifest has the annotation "+kind.KeepAnnotation+", which would be lost", "edit it by hand; --diff shows how")
		return nil
	}
	_, findings, err := manifest.Load(ctx, []manifest.PathSource{{Data: i.After}}, r.manifestOptions())
	if at := slices.IndexFunc(findings, func(f diag.Finding) bool { return f.Severity == diag.Error }); at >= 0 {
		i.refuseForFinding(findings[at])
	}
	return err
}

// replacedText returns a file with the manifests of items as they are live, or nil if that would change others.
func (r *pullRun) replacedText(ctx context.Context, e *editedFile, items []*PulledObject) []byte {
	texts, byKey := map[*manifest.Object][]byte{}, map[kind.Key]*PulledObject{}
	for _, i := range items {
		texts[i.manifest], byKey[i.Key()] = i.After, i
	}
	text := yamledit.ReplaceDocuments(&e.lines, texts)
	after, err := r.reloadManifests(ctx, "", text)
	if err != nil || len(e.set.Objects) != len(after.Objects) {
		return nil
	}
	for _, o := range after.Objects {
		was, i := e.set.Find(o.Key()), byKey[o.Key()]
		isRight := i != nil && r.planIsEmpty(i, o.Spec) ||
			i == nil && was != nil && was.Digest == o.Digest && was.Namespace == o.Namespace && was.APIVersion == o.APIVersion
		if !isRight {
			return nil
		}
	}
	return text
}
