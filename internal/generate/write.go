package generate

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"trueup/internal/config"
	"trueup/internal/diag"
	"trueup/internal/files"
	"trueup/internal/kind"
	"trueup/internal/ledger"
	"trueup/internal/manifest"
	"trueup/internal/plan"
	"trueup/internal/safetext"
	"trueup/internal/yamledit"
)

// makeDrafts makes the manifest of each object, and refuses those that would be wrong.
func (r *pullRun) makeDrafts(ctx context.Context) error {
	progress, end := r.Begin("making manifests")
	defer end()
	failed := make([]error, len(r.Items))
	var done atomic.Int64
	diag.InParallel(len(r.Items), func(n int) {
		i := r.Items[n]
		if i.Verdict == Refused {
			return
		}
		if i.live.Terminating {
			i.Verdict, i.Reason = LeftOut, "it is being deleted"
			return
		}
		if r.setVerdict(i); i.Verdict == Differs && ctx.Err() == nil {
			failed[n] = r.draftReplacement(ctx, i)
		}
		r.noteDifferenceFromPast(i)
		r.dropFromMemory(i)
		progress(int(done.Add(1)), len(r.Items))
	})
	if err := cmp.Or(cmp.Or(failed...), context.Cause(ctx)); err != nil {
		return err
	}
	for _, i := range r.New() {
		if err := r.draftNewManifest(i); err != nil {
			return err
		}
	}
	return r.refuseInvalid(ctx)
}

// draftNewManifest chooses the file of a new manifest, and makes its text.
func (r *pullRun) draftNewManifest(i *PulledObject) (err error) {
	if r.opts.Dir != ToStdout {
		if r.target == (files.Folder{}) {
			if r.target, err = r.findTarget(); err != nil {
				return err
			}
		}
		i.File = r.target.ShownPath(i.fileName())
		i.draft.Schema = r.project.SchemaAt(r.FullPath(i.File))
	}
	i.After, err = yamledit.WriteManifest(i.draft)
	if r.opts.Dir == ToStdout {
		i.draft = yamledit.Draft{} // nothing is recorded
	}
	return err
}

// draftReplacement makes the texts of a manifest that differs from live.
func (r *pullRun) draftReplacement(ctx context.Context, i *PulledObject) (err error) {
	i.draft.Schema = r.project.SchemaAt(r.FullPath(i.File))
	i.Dropped = plan.UnappliedFields(i.live.Kind, r.project.Overrides, r.view.Records[i.Key()], i.manifest.Spec, i.live)
	document, err := r.editValues(ctx, i)
	if err != nil || i.InPlace || i.Verdict == Refused {
		return err
	}
	git := i.draft
	git.Spec = plan.SortSpecSets(git.Kind, r.project.Overrides, i.manifest.Spec)
	if i.Before, err = yamledit.WriteManifest(git); err != nil {
		return err
	}
	i.After, err = yamledit.WriteManifest(i.draft)
	i.Lost = yamledit.FindLost(document, i.After)
	return err
}

// dropFromMemory drops what the run does not need any more of an object in git, because there may be many.
func (r *pullRun) dropFromMemory(i *PulledObject) {
	switch {
	case i.Verdict == InGit:
		i.live.Spec = nil
		if bytes.Equal(i.draft.Spec, i.manifest.Spec) {
			i.draft.Spec = i.manifest.Spec
		}
	case i.Verdict == Differs && r.opts.Diff:
		i.live.Spec, i.draft = nil, yamledit.Draft{}
		i.cutEqualLines()
	case i.Verdict == Differs && !r.opts.Replace:
		i.live.Spec, i.draft, i.Before, i.After = nil, yamledit.Draft{}, nil, nil
	case i.Verdict == Differs:
		i.draft, i.Before = yamledit.Draft{}, nil
	}
}

// shownContext is how many equal lines around a difference stay in memory.
const shownContext = 10

// cutEqualLines leaves out the equal lines at the beginning and the end of Before and After.
func (i *PulledObject) cutEqualLines() {
	before, after := strings.SplitAfter(string(i.Before), "\n"), strings.SplitAfter(string(i.After), "\n")
	head, tail := diag.SharedEnds(before, after)
	i.LeftOut, tail = max(head-shownContext, 0), max(tail-shownContext, 0)
	i.Before = []byte(strings.Join(before[i.LeftOut:len(before)-tail], ""))
	i.After = []byte(strings.Join(after[i.LeftOut:len(after)-tail], ""))
}

// New returns the items with manifests that are new.
func (r *PullResult) New() []*PulledObject {
	return slices.DeleteFunc(slices.Clone(r.Items), func(i *PulledObject) bool { return i.Verdict != New })
}

func (r *pullRun) setVerdict(i *PulledObject) {
	k := i.live.Kind
	spec, unknown := plan.ManageableSpec(k, r.project.Overrides, i.live.Spec, r.opts.AllFields)
	if !r.planIsEmpty(i, spec) {
		// What git has managed until now can't be left out: apply would remove it.
		spec, unknown = plan.ManageableSpec(k, r.project.Overrides, i.live.Spec, true)
	}
	i.Unknown = unknown
	if bytes.Equal(spec, i.live.Spec) {
		spec = i.live.Spec // once in memory
	}
	i.draft = yamledit.Draft{Kind: k, Name: i.Name, Spec: spec, Head: r.headLines(i), Silence: "live has it"}
	if !r.project.Exists() {
		i.draft.Namespace = r.platform.Workspace.Name
	}
	switch {
	case i.manifest == nil:
		i.Verdict = New
	case r.planIsEmpty(i, i.manifest.Spec):
		i.Verdict = InGit
	default:
		i.Verdict = Differs
	}
}

// headLines returns the lines above a manifest: where it came from, without any text of the server.
func (r *pullRun) headLines(i *PulledObject) []string {
	origin := "the sandbox"
	if base := r.platform.API.Endpoints[i.live.Kind.Area].Base; base != nil && !r.Sandbox {
		origin = base.Scheme + "://" + base.Host
	}
	lines := []string{safetext.Clean(fmt.Sprintf("From live on %s, by trueup pull: workspace %s of %s.",
		r.platform.API.Now().UTC().Format(time.DateOnly), r.platform.Workspace.Name, origin)).EscapeCommands().String()}
	readsLedger := r.ledger != nil && r.view.Problem == ""
	if readsLedger && i.live.Kind.IsCreateOnly() && r.view.Records[i.Key()].State != ledger.Posted {
		lines = append(lines, "Created outside trueup, for example in the console, so trueup never deletes it.")
	}
	return lines
}

// findTarget returns the folder for new files: the one that the user named, or the project's first that
// holds manifests or does not exist yet, or manifests in the current one.
func (r *pullRun) findTarget() (files.Folder, error) {
	switch {
	case r.opts.Dir != "":
		return files.FolderAt(r.Dir(), r.opts.Dir), nil
	case len(r.project.Manifests) == 0:
		return files.FolderAt(r.Dir(), config.ManifestsDir), nil
	}
	for _, name := range r.project.Manifests {
		info, err := os.Stat(filepath.Join(r.project.Dir, name))
		if err == nil && info.IsDir() || errors.Is(err, fs.ErrNotExist) && !manifest.IsYAML(name) && path.Ext(name) != ".json" {
			return r.project.FolderInside(r.Dir(), name), nil
		}
	}
	return files.Folder{}, errors.New("trueup.yaml names only files of manifests, and no folder: add --dir DIR")
}

func (i *PulledObject) fileName() string {
	return path.Join(i.live.Kind.Plural(), fileNameOf(i.Name)+".yaml")
}

// refuseInvalid refuses new manifests that would be invalid beside those in git, or whose plan would
// not be empty.
func (r *pullRun) refuseInvalid(ctx context.Context) error {
	sources := slices.Clone(r.sources)
	byPath := map[string]*PulledObject{}
	for n, i := range r.New() {
		path := fmt.Sprintf("\x00%d", n) // no file has that name
		byPath[path] = i
		sources = append(sources, manifest.PathSource{Data: i.After, Display: path})
	}
	if len(byPath) == 0 {
		return nil
	}
	l, err := r.project.LoadManifests(ctx, sources, r.manifestOptions())
	if err != nil {
		return err
	}
	for _, f := range l.Findings {
		i := byPath[f.Path]
		switch {
		case f.Severity != diag.Error:
		case i == nil: // for example that there are too many
			return config.LoadedProject{Findings: diag.List{f}}.RefuseInvalid("nothing was written")
		case i.Verdict == New:
			i.refuseForFinding(f)
		}
	}
	for _, i := range byPath {
		if i.Verdict != New {
			continue
		}
		if o := l.Set.Find(i.Key()); o == nil || !r.planIsEmpty(i, o.Spec) {
			i.refuseItem("the manifest would not describe what is live", "this is a bug in trueup: report it with the platform's answer (-v)")
		}
	}
	return nil
}

func (i *PulledObject) refuseForFinding(f diag.Finding) {
	text := f.Message
	if !strings.Contains(text, f.Field) {
		text = f.Field + ": " + text
	}
	i.refuseItem(fmt.Sprintf("%s [%s]", text, f.Rule), "fix it where it was created and pull again, or keep it out of git; see trueup explain "+f.Rule)
}

// maxFileName bounds the name of an object's file, in bytes, without its ending: some file systems that
// encrypt take 143.
const maxFileName = 120

// oddCharacter matches characters that some file systems lack or change the case of. It also matches a leading dot,
// which hides a file, and a leading hyphen, which makes the name look like a flag. deviceName matches the names of
// Windows' devices, with any extension.
var (
	oddCharacter = diag.Pattern(`^[.-]|[^a-z0-9._-]`)
	deviceName   = diag.Pattern(`^(con|prn|aux|nul|com[0-9]|lpt[0-9])(\.|$)`)
)

// fileNameOf returns the name of an object's file, without its ending: safe on every file system, and another for each
// name. One that is not as the object's begins with a digest, after a percent sign that no other file has.
func fileNameOf(name string) string {
	safe := oddCharacter().ReplaceAllString(strings.ToLower(name), "_")
	if safe == name && len(name) <= maxFileName && !deviceName().MatchString(name) {
		return name
	}
	sum := sha256.Sum256([]byte(name))
	safe = fmt.Sprintf("%%%x-%s", sum[:8], safe)
	return safe[:min(len(safe), maxFileName)]
}

func (r *pullRun) writeManifests(ctx context.Context) error {
	if err := r.writeNew(); err != nil || !r.opts.Replace {
		return err
	}
	byFile := map[string][]*PulledObject{}
	for _, i := range r.Items {
		if i.Verdict == Differs {
			byFile[i.File] = append(byFile[i.File], i)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(byFile)) {
		if err := r.replaceManifest(ctx, byFile[name]); err != nil {
			return err
		}
	}
	return nil
}

func (r *pullRun) writeNew() error {
	items := r.New()
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
	for _, i := range items {
		state, err := files.WriteManifest(root, files.File{Name: r.target.NameInBase(i.fileName()), Content: i.After})
		if err != nil {
			return fmt.Errorf("%s: %w", i.File, files.WithoutPath(err))
		}
		if i.Verdict = Written; state == files.Kept {
			i.refuseItem(i.File+" exists with other content", "move it away, or choose another place with --dir")
		}
	}
	return nil
}

// recordAdopted writes what was adopted to the ledger, so that git owns its lists whole (docs/design.md 0.1). It
// also records what an earlier run wrote and could not record.
func (r *pullRun) recordAdopted(ctx context.Context) error {
	all := map[kind.Key]ledger.Adoption{}
	for _, i := range r.Items {
		if i.Adopted = r.shouldAdopt(i); !i.Adopted {
			continue
		}
		a := newAdoption(i.live.Kind, i.draft.Spec, "pulled from live")
		a.UID, a.CreationTimestamp = i.live.UID, i.live.CreationTimestamp
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
	return fmt.Errorf("the manifests are written, but not all are adopted: %w; run pull again", config.ExplainLedgerError(err))
}

// shouldAdopt reports whether to record an object: one without a record, whose manifest has what was pulled, where plans
// read it. An object with a record may be in other branches too, whose next apply would remove what only this branch
// has. For the same reason it records no manifest that it replaced: apply does that once the change is merged.
func (r *pullRun) shouldAdopt(i *PulledObject) bool {
	isWritten := i.Verdict == Written || i.Verdict == InGit && slices.Equal(i.manifest.Spec, i.draft.Spec)
	return isWritten && !r.opts.Diff && r.view.Problem == "" && r.view.Records[i.Key()].IsBlank() && r.readsFile(i.File)
}

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
		if data, _, e.err = files.Read(r.FullPath(i.File), manifest.MaxFile); e.err == nil {
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
	return set, cmp.Or(err, config.LoadedProject{Findings: findings}.RefuseInvalid("this one stays as it is"))
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
	full := r.FullPath(name)
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
