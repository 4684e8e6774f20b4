package generate

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"trueup/internal/canon"
	"trueup/internal/config"
	"trueup/internal/diag"
	"trueup/internal/files"
	"trueup/internal/kind"
	"trueup/internal/ledger"
	"trueup/internal/manifest"
	"trueup/internal/plan"
	"trueup/internal/purge"
	"trueup/internal/yamledit"
)

// readRequests reads what the ledger has about requests in git, about others that were sent lately, about more keys, and with
// all about every request. It also returns the time by the platform's clock, and asks the platform nothing.
func (e PurgeEnv) readRequests(ctx context.Context, more []kind.Key, all bool) (view ledger.View, at time.Time, err error) {
	if !e.Project.Exists() && !e.Sandbox {
		view.Problem, view.Fix = "there is no trueup.yaml "+e.SearchedFolders()+", so trueup knows none", "run trueup init, or try --sandbox"
		return view, at, nil
	}
	keys := slices.Clone(more)
	for _, o := range e.Set.Objects {
		if o.Kind.IsRequestOnly() {
			keys = append(keys, o.Key())
		}
	}
	err = e.WithLedger(ctx, e.Project, e.Set, func(w *config.Platform, l *ledger.Ledger) (err error) {
		if at = w.API.Now(); w.Ledger.Store == "" && !all {
			return nil // plan says that the project names no ledger, and no purge is sent
		}
		if view, err = l.ReadView(ctx, keys); err != nil || view.Problem != "" || !all {
			return err
		}
		records, err := l.ListRecords(ctx)
		for _, rec := range records {
			if rec.State != "" {
				view.Records[rec.Key] = rec
			}
		}
		return err
	})
	return view, at, err
}

// These folders have the purges and the snapshots of a project that has no folder of them yet.
const (
	purgesFolder    = "purges"
	snapshotsFolder = "snapshots"
)

type requestManifest struct {
	purge.Spec
	spec      []byte
	digest    canon.Sum
	namespace string // empty if the project's is sent
	file      files.File
	// sent is what the ledger has about a request of this name, if it may have been sent.
	sent ledger.Record
	PurgeManifest
}

// sentAlready is the status of a request for which no manifest is written.
const sentAlready = "sent already"

type manifestMaker struct {
	*purgeSource
	WrittenPurges
	by       string // the command, for a comment in the manifest
	kind     *kind.Kind
	fallback string // the folder, if the project has none of the kind
	folder   files.Folder
	view     ledger.View
	at       time.Time // by the platform's clock
	unknown  string    // says why the ledger could not be read
	composed []purge.ReducedPurge
	made     []*requestManifest
}

// WritePurges names and writes manifests of what the arguments and the options purge, for the command by. For ToStdout, the
// result has the text of the manifests.
func WritePurges(ctx context.Context, env PurgeEnv, o PurgeOptions, by string, args []string) (WrittenPurges, error) {
	src, err := gatherSource(ctx, env, o, args)
	if err != nil {
		return WrittenPurges{}, err
	}
	m := &manifestMaker{purgeSource: src, by: by, kind: kind.RequestKind(), fallback: purgesFolder, WrittenPurges: WrittenPurges{
		Format: resultFormat, Sandbox: env.Sandbox, Manifests: []PurgeManifest{}, Unplaced: src.unplaced,
	}}
	if err := m.findFolder(); err != nil {
		return m.WrittenPurges, fmt.Errorf("--dir: %w", err)
	}
	m.composeRequests()
	names := m.nameRequests()
	m.readLedger(ctx, names)
	m.findPendingRequests()
	if err := m.assignNames(names); err != nil {
		return m.WrittenPurges, err
	}
	if err := m.writeManifests(ctx); err != nil {
		return m.WrittenPurges, err
	}
	m.finishResult()
	return m.WrittenPurges, nil
}

// findFolder finds the folder to write to: Dir, or the one with most objects of the kind, or one beside the other
// manifests.
func (m *manifestMaker) findFolder() error {
	switch m.Dir {
	case ToStdout:
		return nil
	case "":
		m.folder = m.defaultFolder()
		return nil
	}
	m.folder = files.FolderAt(m.PurgeEnv.Dir(), m.Dir)
	if info, err := os.Stat(m.folder.Base); err != nil || !info.IsDir() {
		return fmt.Errorf("%s is not a folder: create it first", m.Dir)
	}
	return nil
}

func (m *manifestMaker) defaultFolder() files.Folder {
	counts := map[string]int{}
	for _, o := range m.Set.Objects {
		folder := path.Dir(o.Path)
		if o.Kind == m.kind && filepath.IsLocal(filepath.FromSlash(folder)) {
			counts[folder]++
		}
	}
	switch folders := slices.Sorted(maps.Keys(counts)); {
	case len(folders) > 0:
		return files.FolderAt(m.PurgeEnv.Dir(), slices.MaxFunc(folders, func(a, b string) int { return counts[a] - counts[b] }))
	case !m.Project.Exists():
		return files.FolderAt(m.PurgeEnv.Dir(), m.fallback)
	}
	for _, name := range m.Project.Manifests {
		if info, err := os.Stat(filepath.Join(m.Project.Dir, name)); err == nil && info.IsDir() {
			return m.Project.FolderInside(m.PurgeEnv.Dir(), filepath.Join(name, m.fallback))
		}
	}
	return m.Project.FolderInside(m.PurgeEnv.Dir(), m.fallback)
}

func (m *manifestMaker) composeRequests() {
	m.composed = purge.ComposeRequests(m.wanted)
	for _, c := range m.composed {
		for _, part := range c.SplitByLimits(purge.HostLimits()) {
			tree := part.Tree()
			if len(part.Subdomains) == 0 {
				delete(tree, "subdomains")
			}
			r := &requestManifest{Spec: part, spec: canon.Encode(tree)}
			r.digest, r.SpecSummary = plan.SpecDigest(m.kind, r.spec), summaryOf(part)
			m.made = append(m.made, r)
		}
	}
}

// readLedger reads the ledger, also about these keys. Without it, trueup goes on with a warning.
func (m *manifestMaker) readLedger(ctx context.Context, keys []kind.Key) {
	var err error
	m.view, m.at, err = m.readRequests(ctx, keys, false)
	if m.unknown = m.view.Problem; err != nil {
		m.unknown = diag.OneLine(err)
	}
	if m.unknown != "" && len(m.made) > 0 {
		m.Warn("trueup can't check names against the ledger: %s", m.unknown)
	}
}

// findPendingRequests finds requests that the next apply purges anyway, by a manifest with another name.
// Manifests on standard output are applied by themselves.
func (m *manifestMaker) findPendingRequests() {
	if m.unknown != "" || m.Dir == ToStdout {
		return
	}
	requests, _ := plan.ReadRequests(m.Set, m.view, m.at)
	for _, r := range m.made {
		for _, w := range requests {
			if w.WillBeSent() && w.Status != plan.Rejected && w.Spec.CoversSpec(r.Spec) {
				r.Key, r.Status, r.File, r.Line = w.Key, files.Unchanged, w.Manifest.Path, w.Manifest.Line
				break
			}
		}
	}
}

// nameDigits is the number of digits of a digest in a name.
const nameDigits = 8

// nameRequests names the requests after the run and their content, so that each run makes new ones.
func (m *manifestMaker) nameRequests() []kind.Key {
	base := cmp.Or(m.Name, sanitizeName(m.RunName()), m.Now().UTC().Format("20060102-150405"))
	keys := make([]kind.Key, len(m.made))
	for i, r := range m.made {
		digest := strings.TrimPrefix(r.digest.String(), "sha256:")
		keys[i] = kind.Key{Kind: m.kind.Name, Name: base + "-" + digest[:nameDigits]}
	}
	return keys
}

// assignNames refuses a name that another request has, or under which an older commit was purged.
func (m *manifestMaker) assignNames(names []kind.Key) error {
	for i, r := range m.made {
		if r.Name == "" && !m.assignName(r, names[i]) {
			return fmt.Errorf("the name %s is taken: choose another with --name", names[i].Name)
		}
		if at := r.sent.AcceptedAt; at != nil && at.Before(m.commits.At) {
			return fmt.Errorf("%s was accepted at %s, before %.12s was committed: it purged older content. Choose a name for this release: --name",
				r.Key, at.UTC().Format(Clock), m.commits.Head)
		}
	}
	return nil
}

// assignName takes a name for a request, unless another request has it. A request that may have been
// sent gets a manifest again, because apply knows what to do about it.
func (m *manifestMaker) assignName(r *requestManifest, key kind.Key) bool {
	o, rec := m.Set.Find(key), m.view.Records[key]
	sent := rec.State != "" && rec.State != ledger.Rejected
	switch {
	case o != nil && plan.SpecDigest(o.Kind, o.Spec) != r.digest, sent && (rec.SpecDigest == nil || *rec.SpecDigest != r.digest):
		return false
	case o != nil:
		r.Status, r.File, r.Line = files.Unchanged, o.Path, o.Line
	case sent && !rec.IsOpen():
		r.Status = sentAlready
	}
	if r.Key = key; sent {
		r.sent = rec
		r.Says, _ = ledger.ExplainRecord(rec)
	}
	return true
}

// unwrittenRequests returns the requests that need a manifest.
func (m *manifestMaker) unwrittenRequests() []*requestManifest {
	return slices.DeleteFunc(slices.Clone(m.made), func(r *requestManifest) bool { return r.Status != "" })
}

func (r *requestManifest) fileName() string { return r.Name + ".yaml" }

// draftManifests makes the text of the manifests, and checks them beside the others.
func (m *manifestMaker) draftManifests(ctx context.Context) (err error) {
	head := []string{"Written by trueup " + m.by + ", " + m.head[0]}
	for _, line := range m.head[1:] {
		if !strings.HasPrefix(line, " ") {
			line = "and " + line
		}
		head = append(head, line)
	}
	var sources []manifest.PathSource
	isNew := map[string]bool{}
	for _, r := range m.unwrittenRequests() {
		d := yamledit.Draft{Kind: m.kind, Name: r.Name, Namespace: r.namespace, Spec: r.spec, Head: head}
		if m.Dir != ToStdout {
			d.Schema = m.Project.SchemaAt(m.folder.FullPath(r.fileName()))
		}
		r.file.Name = m.folder.NameInBase(r.fileName())
		if r.file.Content, err = yamledit.WriteManifest(d); err != nil {
			return err
		}
		source := manifest.PathSource{Data: r.file.Content, Display: m.folder.ShownPath(r.fileName())}
		sources, isNew[source.Display] = append(sources, source), true
	}
	l, err := m.LoadProject(ctx, nil, sources...)
	if err != nil {
		return err
	}
	shown := slices.DeleteFunc(slices.Clone(l.Findings), func(f diag.Finding) bool { return !isNew[f.Path] })
	for _, f := range shown[:min(maxShown, len(shown))] {
		text := fmt.Sprintf("%s: %s [%s]", f.Field, f.Message, f.Rule)
		if f.Fix != "" {
			text += "; fix: " + f.Fix
		}
		m.Warn("%s", text)
	}
	m.Set = l.Set
	return shown.ErrorIfInvalid("the manifest would be invalid, so nothing was written")
}

// writeManifests drafts and writes the manifests, or none if one of them would overwrite a file.
func (m *manifestMaker) writeManifests(ctx context.Context) error {
	if err := m.draftManifests(ctx); err != nil || m.Dir == ToStdout {
		return err
	}
	root, err := os.OpenRoot(m.folder.Base)
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }()
	for _, r := range m.unwrittenRequests() {
		if _, err := root.Lstat(filepath.FromSlash(r.file.Name)); err == nil && !files.HasContent(root, r.file) {
			return fmt.Errorf("%s exists with other content, so nothing was written: remove it, or choose another --dir or --name", r.file.Name)
		}
	}
	for _, r := range m.unwrittenRequests() {
		r.File = m.folder.ShownPath(r.fileName())
		if r.Status, err = files.WriteManifest(root, r.file); err != nil {
			return fmt.Errorf("%s: %w", r.File, files.WithoutPath(err))
		}
		if !m.Project.ReadsFile(m.PurgeEnv.Dir(), m.folder.FullPath(r.fileName())) {
			m.Warn("%s is not in a folder that plan and apply read: name it as a PATH, or choose another --dir", r.File)
		}
	}
	return nil
}

// snapshotFormat is the version of the JSON form of a Snapshot.
const snapshotFormat = "trueup.new-snapshot/v1"

// WrittenSnapshot is a manifest of a snapshot that WriteSnapshot wrote.
type WrittenSnapshot struct {
	Format  string `json:"format"`
	Sandbox bool   `json:"sandbox"`
	kind.Key
	Status string `json:"status"`
	File   string `json:"file"`
	Disk   string `json:"disk"`
	Text   []byte `json:"-"` // for standard output
}

// WriteSnapshot writes the manifest of a new snapshot of a disk for the command by. Of the options, only Name and Dir
// count; the name is by default that of the disk and the date.
func WriteSnapshot(ctx context.Context, env PurgeEnv, o PurgeOptions, by, disk string) (WrittenSnapshot, error) {
	kinds := kind.AllKinds()
	m := &manifestMaker{by: by, fallback: snapshotsFolder, purgeSource: &purgeSource{PurgeEnv: env, PurgeOptions: o, head: []string{"of the disk " + disk}}}
	m.kind = kinds[slices.IndexFunc(kinds, func(k *kind.Kind) bool { return k.IsCreateOnly() && len(k.DiskField) > 0 })]
	m.Name = cmp.Or(m.Name, sanitizeName(disk)+m.Now().UTC().Format("-2006-01-02"))
	spec, _ := m.kind.Root().Fields["spec"].ExampleValue(false).(map[string]any) // the only allowed values of other fields
	at, steps := spec, m.kind.DiskField
	for _, step := range steps[:len(steps)-1] {
		at, _ = at[step].(map[string]any)
	}
	at[steps[len(steps)-1]] = disk
	r := &requestManifest{spec: canon.Encode(spec)}
	other := slices.IndexFunc(m.Set.Objects, func(o *manifest.Object) bool { return o.Kind == m.kind })
	if other >= 0 && !m.Project.Exists() { // which would name the workspace
		r.namespace = m.Set.Objects[other].Namespace
	}
	r.Key = kind.Key{Kind: m.kind.Name, Name: m.Name}
	m.made = []*requestManifest{r}
	if disk == "" {
		return WrittenSnapshot{}, errors.New("the name of the disk is empty")
	}
	if err := m.CheckValues(); err != nil {
		return WrittenSnapshot{}, err
	}
	if err := m.findFolder(); err != nil {
		return WrittenSnapshot{}, fmt.Errorf("--dir: %w", err)
	}
	if err := m.checkNameFree(ctx); err != nil {
		return WrittenSnapshot{}, err
	}
	if err := m.writeManifests(ctx); err != nil {
		return WrittenSnapshot{}, err
	}
	return WrittenSnapshot{snapshotFormat, env.Sandbox, r.Key, r.Status, r.File, disk, r.file.Content}, nil
}

// sanitizeName returns a text without what no name has.
func sanitizeName(text string) string {
	return strings.Trim(strings.Map(func(r rune) rune {
		if strings.ContainsRune(nameRunes, r) {
			return r
		}
		return '-'
	}, strings.ToLower(text)), "-.")
}

// checkNameFree refuses a name that git or the ledger has: a snapshot is never made twice under one name.
func (m *manifestMaker) checkNameFree(ctx context.Context) error {
	key := m.made[0].Key
	if o := m.Set.Find(key); o != nil {
		return fmt.Errorf("%s is in git, in %s: choose another --name", key, o.Path)
	}
	if m.readLedger(ctx, []kind.Key{key}); m.unknown != "" {
		return nil
	}
	if rec := m.view.Records[key]; rec.State != "" && rec.State != ledger.Rejected || rec.Applied != nil {
		says, _ := ledger.ExplainRecord(rec)
		return fmt.Errorf("%s: choose another --name", says)
	}
	return nil
}
