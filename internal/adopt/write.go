package adopt

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"trueup/internal/diag"
	"trueup/internal/exit"
	"trueup/internal/files"
	"trueup/internal/kind"
	"trueup/internal/ledger"
	"trueup/internal/manifest"
	"trueup/internal/plan"
	"trueup/internal/project"
)

func (r *run) write(ctx context.Context) error {
	if err := r.writeNew(); err != nil || !r.opts.Replace {
		return err
	}
	for _, i := range r.Items {
		if i.Verdict == Differs {
			if err := r.replace(ctx, i); err != nil {
				return err
			}
		}
	}
	return nil
}

func (r *run) writeNew() error {
	items := r.newItems()
	if len(items) == 0 {
		return nil
	}
	err := os.MkdirAll(r.target.Base, 0o755)
	var root *os.Root
	if err == nil {
		root, err = os.OpenRoot(r.target.Base)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", r.target.Display, files.WithoutPath(err))
	}
	defer func() { _ = root.Close() }()
	atOnce := 1
	if r.opts.File != "" {
		atOnce = len(items)
	}
	for batch := range slices.Chunk(items, atOnce) {
		text := batch[0].After
		if len(batch) > 1 {
			if text, err = manifest.Write(draftsOf(batch)...); err != nil {
				return err
			}
		}
		state, err := files.WriteManifest(root, files.File{Name: r.target.Name(r.fileOf(batch[0])), Content: text})
		if err != nil {
			return fmt.Errorf("%s: %w", batch[0].File, files.WithoutPath(err))
		}
		for _, i := range batch {
			if i.Verdict = Written; state == files.Kept {
				i.refuse(i.File+" exists with other content", "move it away, or choose another place with --dir or --file")
			}
		}
	}
	return nil
}

// replace overwrites the manifest of an object, and keeps the rest of its file.
func (r *run) replace(ctx context.Context, i *Item) error {
	switch {
	case !manifest.IsYAML(i.File):
		i.refuse(i.File+" is not a YAML file, and pull writes YAML", "move the object to a .yaml file, or write it by hand")
		return nil
	case i.manifest.Keep:
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
	text = before.Find(i.Key()).ReplaceIn(text, i.After)
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

// record writes what was adopted to the ledger, so that git owns its lists whole (docs/design.md 0.1). It
// also records what an earlier run wrote and could not record.
func (r *run) record(ctx context.Context) error {
	all := map[kind.Key]ledger.Adoption{}
	for _, i := range r.Items {
		if i.Adopted = r.adopts(i); !i.Adopted {
			continue
		}
		a := ledger.Adoption{
			Spec: i.draft.Spec, Digest: plan.SpecDigest(i.live.Kind, i.draft.Spec), Reason: "pulled from live", By: r.Claim().Actor,
			UID: i.live.UID, CreationTimestamp: i.live.CreationTimestamp,
		}
		if i.live.Name != i.Name {
			a.RemoteName = i.live.Name
		}
		all[i.Key()] = a
	}
	if len(all) == 0 {
		return nil
	}
	err := r.ledger.AdoptAll(ctx, all)
	if err == nil {
		r.Adopted = len(all)
		return nil
	}
	for _, i := range r.Items {
		i.Adopted = false
	}
	if ledger.Problem(err) != nil {
		err = exit.With(exit.NeedsPerson, ledger.WithFix(err))
	}
	return fmt.Errorf("the manifests are written, but not all are adopted: %w; run pull again", err)
}

// adopts reports whether to record an object: one without a record, whose manifest has what was pulled, where plans
// read it. An object with a record may be in other branches too, whose next apply would remove what only this branch
// has. For the same reason it records no manifest that it replaced: apply does that once the change is merged.
func (r *run) adopts(i *Item) bool {
	isWritten := i.Verdict == Written || i.Verdict == InGit && slices.Equal(i.manifest.Spec, i.draft.Spec)
	return isWritten && !r.opts.Diff && r.view.Problem == "" && r.view.Records[i.Key()].Blank() && r.reads(i.File)
}
