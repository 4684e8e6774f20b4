package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"

	"trueup/internal/diag"
	"trueup/internal/files"
	"trueup/internal/kind"
	"trueup/internal/ledger"
	"trueup/internal/manifest"
	"trueup/internal/plan"
)

// write writes what is not in git, and over what is where that was asked for.
func (p *pulling) write(ctx context.Context) error {
	if p.opts.diff {
		return nil
	}
	if err := p.writeAll(); err != nil || !p.opts.replace {
		return err
	}
	for _, item := range p.items {
		if item.verdict != pullDiffers {
			continue
		}
		if err := p.replace(ctx, item); err != nil {
			return err
		}
	}
	return nil
}

// findTarget finds the folder: the one that was named, or the first of the project's
// that holds manifests or is not there yet, or manifests in the current one.
func (p *pulling) findTarget() (files.Folder, error) {
	dir := p.opts.dir
	if p.opts.file != "" {
		dir = filepath.Dir(p.opts.file)
	}
	if dir != "" {
		return files.FolderAt(p.app.dir(), dir), nil
	}
	for _, name := range p.project.Manifests {
		info, err := os.Stat(filepath.Join(p.project.Dir, name))
		if err == nil && info.IsDir() || errors.Is(err, fs.ErrNotExist) && !mayBeSource(name) && path.Ext(name) != ".json" {
			shown := p.project.Shown(p.app.dir(), name)
			return files.Folder{Base: p.project.Dir, Inside: filepath.Clean(name), Display: filepath.ToSlash(shown)}, nil
		}
	}
	if len(p.project.Manifests) > 0 {
		return files.Folder{}, errors.New("trueup.yaml names only files of manifests, and no folder: add --dir DIR or --file FILE")
	}
	return files.FolderAt(p.app.dir(), manifests), nil
}

// fileOf is where an object is written below the folder.
func (p *pulling) fileOf(item *pulled) string {
	if p.opts.file != "" {
		return filepath.Base(p.opts.file)
	}
	return path.Join(item.live.Kind.Plural(), fileNameOf(item.key.Name)+".yaml")
}

// writeAll writes the objects that git does not have. A file that is there
// already and says something else is left.
func (p *pulling) writeAll() error {
	at := p.target
	list, err := p.files()
	if err != nil || len(list) == 0 {
		return err
	}
	if err := os.MkdirAll(at.Base, 0o755); err != nil {
		return fmt.Errorf("%s: %w", at.Display, files.WithoutPath(err))
	}
	root, err := os.OpenRoot(at.Base)
	if err != nil {
		return fmt.Errorf("%s: %w", at.Display, files.WithoutPath(err))
	}
	defer func() { _ = root.Close() }()
	for _, f := range list {
		name := at.Name(f.name)
		done, err := "", files.NoLink(root, path.Dir(name))
		if err == nil {
			done, err = files.WriteNew(root, files.File{Name: name, Content: f.content})
		}
		if err != nil {
			return fmt.Errorf("%s: %w", at.Shown(f.name), files.WithoutPath(err))
		}
		for _, item := range f.items {
			if done == files.Kept {
				item.refuse(at.Shown(f.name)+" exists with other content", "move it away, or choose another place with --dir or --file")
				continue
			}
			item.verdict = pullWritten
		}
	}
	return nil
}

// pullFile is a file and the objects in it.
type pullFile struct {
	name    string
	content []byte
	items   []*pulled
}

func (p *pulling) files() ([]pullFile, error) {
	var files []pullFile
	var drafts []manifest.Draft
	for _, item := range p.items {
		if item.verdict != pullNew {
			continue
		}
		name := p.fileOf(item)
		if n := len(files); n > 0 && files[n-1].name == name {
			files[n-1].items = append(files[n-1].items, item)
		} else {
			files = append(files, pullFile{name, item.text, []*pulled{item}})
		}
		drafts = append(drafts, item.draft)
	}
	if p.opts.file == "" || len(files) == 0 {
		return files, nil
	}
	var err error
	files[0].content, err = manifest.Write(drafts...)
	return files, err
}

// replace writes an object over its manifest, and leaves the rest of the file as
// it is.
func (p *pulling) replace(ctx context.Context, item *pulled) error {
	if !mayBeSource(item.has.Path) {
		item.refuse(item.has.Path+" is not a YAML file, and pull writes YAML", "move the object to a .yaml file, or write it by hand")
		return nil
	}
	if item.has.Keep {
		item.refuse("its manifest has the annotation "+kind.KeepAnnotation+", which would be lost", "edit it by hand; --diff shows how")
		return nil
	}
	_, findings, err := manifest.Load(ctx, []manifest.Source{{Data: item.text}}, p.project.ManifestOptions(false, p.app.global.parallelism))
	if err != nil {
		return err
	}
	if at := slices.IndexFunc(findings, func(f diag.Finding) bool { return f.Severity == diag.Error }); at >= 0 {
		item.refuseFor(findings[at])
		return nil
	}
	full := p.app.full(filepath.FromSlash(item.has.Path))
	root, err := os.OpenRoot(filepath.Dir(full))
	if err != nil {
		return fmt.Errorf("%s: %w", item.has.Path, files.WithoutPath(err))
	}
	defer func() { _ = root.Close() }()
	data, err := root.ReadFile(filepath.Base(full))
	if err != nil {
		return fmt.Errorf("%s: %w", item.has.Path, files.WithoutPath(err))
	}
	// Another object of the file may have been replaced by this run.
	before, o, err := p.reread(ctx, item, data)
	if err != nil {
		return err
	}
	content := o.ReplaceIn(data, item.text)
	after, _, err := p.reread(ctx, item, content)
	if err != nil || !p.onlyChanged(item, before, after) {
		item.refuse("its document can't be replaced in "+item.has.Path+" without changing others", "edit it by hand; --diff shows how")
		return nil
	}
	if err := files.Replace(root, files.File{Name: filepath.Base(full), Content: content}); err != nil {
		return fmt.Errorf("%s: %w", item.has.Path, err)
	}
	item.verdict = pullReplaced
	return nil
}

// reread reads a file's text as manifests, with the object in them.
func (p *pulling) reread(ctx context.Context, item *pulled, data []byte) (*manifest.Set, *manifest.Object, error) {
	set, findings, err := manifest.Load(ctx, []manifest.Source{{Data: data, Display: item.has.Path}}, p.project.ManifestOptions(false, p.app.global.parallelism))
	if err == nil {
		err = invalid(findings, "this one stays as it is")
	}
	if err != nil {
		return nil, nil, err
	}
	o := set.Find(item.key)
	if o == nil {
		return nil, nil, fmt.Errorf("%s: %s was removed just now: run pull again", item.has.Path, item.key)
	}
	return set, o, nil
}

// onlyChanged reports whether a file has the objects that it had, all but one as
// they were, and that one as live.
func (p *pulling) onlyChanged(item *pulled, before, after *manifest.Set) bool {
	if len(before.Objects) != len(after.Objects) {
		return false
	}
	for _, o := range after.Objects {
		was := before.Find(o.Key())
		switch {
		case was == nil:
			return false
		case o.Key() == item.key:
			if !p.settled(item, o.Spec) {
				return false
			}
		case was.Digest != o.Digest || was.Namespace != o.Namespace || was.APIVersion != o.APIVersion:
			return false
		}
	}
	return true
}

// adopt records what was written, so that lists are git's whole (docs/design.md 0.1). What
// an earlier run wrote and could not record is recorded too.
func (p *pulling) adopt(ctx context.Context) error {
	all := map[kind.Key]ledger.Adoption{}
	for _, item := range p.items {
		if item.adopt = p.adopts(item); !item.adopt {
			continue
		}
		all[item.key] = ledger.Adoption{
			Spec: item.taken.Spec, Digest: plan.SpecDigest(item.live.Kind, item.taken.Spec),
			Reason: "pulled from live", By: p.app.config().Claim().Actor,
			RemoteName: item.remoteName(), UID: item.live.UID, CreationTimestamp: item.live.CreationTimestamp,
		}
	}
	if len(all) == 0 {
		return nil
	}
	if err := p.ledger.AdoptAll(ctx, all); err != nil {
		for _, item := range p.items {
			item.adopt = false
		}
		return fmt.Errorf("the manifests are written, but not all are adopted: %w; run pull again", ledgerError(err))
	}
	return nil
}

// adopts reports whether the ledger is to learn of an object: of what it never knew,
// if it stands where a plan reads it, as it was pulled. What it knows is another branch's too, and that
// branch's next apply would remove what is only in the manifest of this one. For
// the same reason it learns nothing of what is written over a manifest: an apply
// records that where it is merged.
func (p *pulling) adopts(item *pulled) bool {
	if p.opts.diff || p.view.Problem != "" || !p.view.Records[item.key].Blank() {
		return false
	}
	switch item.verdict {
	case pullWritten:
		return p.project.Reads(p.app.dir(), p.app.full(item.file))
	case pullSame:
		return p.project.Reads(p.app.dir(), p.app.full(item.has.Path)) && slices.Equal(item.has.Spec, item.taken.Spec)
	case pullReplaced, pullNew, pullDiffers, pullGoing, pullRefused:
	}
	return false
}

// remoteName is the server's name where it is another than git's.
func (item *pulled) remoteName() string {
	if item.live.Name == item.key.Name {
		return ""
	}
	return item.live.Name
}
