// Package generate writes files that people keep in git: manifests of live objects, of purges and of snapshots, and
// what a new repository needs. A manifest of a live object is written only if its plan is empty; a file that is not
// understood is not changed. It records in the ledger what git owns or was sent before, and sends nothing to the
// platform.
package generate

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"trueup/internal/config"
	"trueup/internal/diag"
	"trueup/internal/files"
	"trueup/internal/kind"
	"trueup/internal/ledger"
	"trueup/internal/manifest"
	"trueup/internal/plan"
	"trueup/internal/yamledit"
)

// PullOptions say where the manifests go. Without Dir, it is the project's folder of manifests.
type PullOptions struct {
	Dir           string     // gets one file per object; ToStdout neither reads manifests nor records anything
	AllFields     bool       // keeps fields that the schema does not know
	Diff, Replace bool       // Diff writes nothing, Replace overwrites manifests that differ from live
	Past          PastMoment // takes what live was then, unless it is empty; needs Replace
}

// PullVerdict says what a run did with an object.
type PullVerdict string

// The verdicts. New and Differs are for runs that write nothing, or not over manifests.
const (
	Written  PullVerdict = "written"
	Replaced PullVerdict = "replaced"
	New      PullVerdict = "not in git"
	InGit    PullVerdict = "in git"
	Differs  PullVerdict = "differs"
	LeftOut  PullVerdict = "left out" // the platform is deleting it
	Refused  PullVerdict = "not written"
)

// PulledObject is a live object (schemas/pull.schema.json).
type PulledObject struct {
	Kind    string      `json:"kind"`
	Name    string      `json:"name"`
	Verdict PullVerdict `json:"verdict"`
	// File is where its manifest is or would be. Line is 0 for a new file.
	File   string `json:"file,omitempty"`
	Line   int    `json:"line,omitempty"`
	Reason string `json:"reason,omitempty"`
	Fix    string `json:"fix,omitempty"`
	// Unknown are the fields that live has and the manifest lacks, because the schema does not know them.
	Unknown []string `json:"leftOut,omitempty"`
	Adopted bool     `json:"adopted"`
	// Dropped are the fields of git that live replaces, and that git has changed since the last apply.
	Dropped []string `json:"dropped,omitempty"`
	// Before and After are the manifests in git and of live, if they differ. InPlace says that other values are enough:
	// Before is then the document as it is, and After keeps its comments. With Options.Diff, both are only the part that
	// differs and what is around it; LeftOut lines are before that.
	Before  []byte   `json:"-"`
	After   []byte   `json:"-"`
	LeftOut int      `json:"-"`
	InPlace bool     `json:"-"`
	Lost    []string `json:"-"` // what else of the document After lacks

	live     kind.LiveObject // with Options.Past, its spec is that of then
	now      kind.LiveObject
	manifest *manifest.Object // in git, nil for none
	draft    yamledit.Draft
}

// Key names the object as git does.
func (i *PulledObject) Key() kind.Key { return kind.Key{Kind: i.Kind, Name: i.Name} }

// ShortKey names the object as users type it.
func (i *PulledObject) ShortKey() string { return i.live.Kind.Short + "/" + i.Name }

func (i *PulledObject) refuseItem(reason, fix string) {
	i.Verdict, i.Reason, i.Fix = Refused, reason, fix
	if i.manifest == nil {
		i.File = ""
	}
}

// PullResult is what a run did.
type PullResult struct {
	Items        []*PulledObject
	Partial      bool   // true if the platform did not list all objects
	Adopted      int    // counts the items that the ledger learnt about
	Problem, Fix string // Problem says why the ledger was not read, and Fix what to do; empty if it was
	// Doubts ask whether the workspace is right, and say how to find out.
	Doubts []string
	Unread string // Unread names the folder that was written to, if plans do not read it
}

// CountVerdicts returns how many items have one of the verdicts.
func (r *PullResult) CountVerdicts(verdicts ...PullVerdict) (n int) {
	for _, i := range r.Items {
		if slices.Contains(verdicts, i.Verdict) {
			n++
		}
	}
	return n
}

// ExitCode returns the exit code of a run without an error.
func (r *PullResult) ExitCode(diff bool) int {
	switch {
	case r.Partial || r.CountVerdicts(Refused) > 0:
		return diag.ExitPartial
	case diff && r.CountVerdicts(New, Differs) > 0:
		return diag.ExitChanges
	}
	return diag.ExitOK
}

type pullRun struct {
	config.Options
	PullResult
	opts     PullOptions
	project  config.Project
	set      *manifest.Set         // the manifests in git
	sources  []manifest.PathSource // where they are
	platform *config.Platform
	ledger   *ledger.Ledger
	view     ledger.View
	writes   map[kind.Key][]ledger.LogEntry // since Options.Past, the newest first
	target   files.Folder                   // where new files are written
	edited   sync.Map                       // the files of manifests that differ, by name
}

// PullManifests writes manifests of the live objects that were asked for. The result is nil if nothing was
// written; otherwise it describes what was, even if there is an error.
func PullManifests(ctx context.Context, cfg config.Options, p config.Project, asked PullSelection, opts PullOptions) (*PullResult, error) {
	r := &pullRun{Options: cfg, opts: opts, project: p, set: &manifest.Set{}}
	if opts.Dir != ToStdout {
		if err := r.readManifests(ctx); err != nil {
			return nil, err
		}
	}
	var err error
	if r.platform, err = cfg.Open(ctx, p, r.set); err != nil {
		return nil, err
	}
	defer r.platform.Close()
	if err := r.readLive(ctx, asked); err != nil {
		return nil, err
	}
	if err := r.makeDrafts(ctx); err != nil {
		return nil, err
	}
	if opts.Dir == ToStdout {
		return &r.PullResult, nil
	}
	if !opts.Diff {
		err = r.writeManifests(ctx)
	}
	err = errors.Join(err, r.recordAdopted(ctx))
	if opts.Dir != "" && !r.readsFile(opts.Dir) {
		r.Unread = opts.Dir
	}
	return &r.PullResult, err
}

func (r *pullRun) readsFile(name string) bool { return r.project.ReadsFile(r.Dir(), r.FullPath(name)) }

func (r *pullRun) manifestOptions() manifest.LoadSettings {
	return r.project.ManifestOptions(r.API.Parallelism)
}

// readManifests reads the manifests of the project, except in folders that do not exist yet, and those of
// the place that is written to.
func (r *pullRun) readManifests(ctx context.Context) error {
	isMissing := func(name string) bool {
		_, err := os.Lstat(name)
		return errors.Is(err, fs.ErrNotExist)
	}
	there := r.project
	there.Manifests = slices.DeleteFunc(slices.Clone(there.Manifests), func(name string) bool { return isMissing(filepath.Join(there.Dir, name)) })
	var more []string
	if len(r.project.Manifests) == 0 {
		more = append(more, ".")
	}
	if name := r.opts.Dir; name != "" && !r.readsFile(name) && !isMissing(r.FullPath(name)) {
		more = append(more, name)
	}
	configured, err := there.OpenManifests(r.Dir())
	others, wrong := r.OpenPaths(more)
	if err = errors.Join(err, wrong); err != nil {
		return err
	}
	r.sources = slices.Concat(configured, others)
	opts := r.manifestOptions()
	progress, end := r.Begin("reading manifests")
	defer end()
	opts.Progress = progress
	l, err := r.project.LoadManifests(ctx, r.sources, opts)
	r.set = l.Set
	return cmp.Or(err, l.RefuseInvalid("nothing was written, because trueup can't tell what is in git"))
}

// planIsEmpty reports whether the plan of an object is empty if git has the spec.
func (r *pullRun) planIsEmpty(i *PulledObject, spec []byte) bool {
	return plan.NeedsNoRequest(i.live.Kind, r.project.Overrides, r.view.Records[i.Key()], spec, i.live)
}

// PastMoment names a moment of the ledger's log, which Text describes: before an entry, before the first of a commit, or at a time.
// With Run, it is before the run that wrote the entry.
type PastMoment struct {
	Text   string
	Entry  int
	Run    bool
	Commit string
	Time   time.Time
}

// pastWriteCollector collects the writes since a moment.
type pastWriteCollector struct {
	PastMoment
	writes  []ledger.LogEntry // the newest first
	matched int               // how many of them there are up to the oldest that the moment names
	last    ledger.LogEntry   // that one
	named   map[kind.Key]bool // the objects of those that the moment names
}

// addWrite adds a write, and reports whether an older one may belong to the moment.
func (w *pastWriteCollector) addWrite(e ledger.LogEntry) bool {
	if e.Kind == "" { // a hold
		return true
	}
	matches, more := false, false
	switch {
	case w.Run && w.matched == 0:
		matches, more = e.Entry == w.Entry, true
	case w.Run: // several local runs have the same name
		more, matches = w.last.At.Sub(e.At) < time.Hour, w.isOfRun(e)
	case w.Entry > 0:
		matches = e.Entry >= w.Entry
	case w.Commit != "":
		matches, more = strings.HasPrefix(commitOf(e), w.Commit), true // it may have been applied several times
	default:
		matches = !e.At.Before(w.Time)
	}
	if w.writes = append(w.writes, e); matches {
		w.matched, w.last, w.named[e.Key] = len(w.writes), e, true
	}
	return matches || more
}

// isBefore reports whether the moment that was asked for may be older than the log.
func (w *pastWriteCollector) isBefore(begin ledger.LogBegin) bool {
	switch {
	case begin.Entry == 0:
		return false
	case w.Run || w.Commit != "":
		return w.matched == 0 || w.last.At.Sub(begin.At) < time.Hour // older writes may be of the same run
	case w.Entry > 0:
		return w.Entry < begin.Entry
	}
	return w.Time.Before(begin.At)
}

func (w *pastWriteCollector) isOfRun(e ledger.LogEntry) bool {
	return e.By == w.last.By && commitOf(e) == commitOf(w.last) && w.last.At.Sub(e.At).Abs() < time.Hour
}

func commitOf(e ledger.LogEntry) string { return cmp.Or(e.Claim, &ledger.Claim{}).Commit }

// readWrites reads what was written since the moment that was asked for. It returns the objects to pull, and notes what can't
// come back.
func (r *pullRun) readWrites(ctx context.Context, asked PullSelection) (found PullSelection, err error) {
	w, wants := &pastWriteCollector{PastMoment: r.opts.Past, named: map[kind.Key]bool{}}, asked.hasKey
	if w.Run {
		wants = nil
	}
	var begin ledger.LogBegin
	err = r.view.ProblemError()
	if err == nil {
		begin, err = r.ledger.ReadLog(ctx, wants, w.addWrite)
	}
	if err == nil && w.isBefore(begin) {
		err = fmt.Errorf("the ledger's log begins with entry %d of %s: it has no older writes. Name a later entry or time", begin.Entry, begin.At.UTC().Format(time.RFC3339))
	}
	if err == nil && w.matched == 0 {
		err = fmt.Errorf("nothing was written to these objects since %s: trueup log shows what was", w.Text)
	}
	if found = r.selectWrites(w); err == nil && len(found) == 0 {
		err = errors.New(strings.Join(r.Doubts, " ") + " Nothing was pulled")
	}
	return found, config.ExplainLedgerError(err)
}

// selectWrites keeps the writes to the objects that are named, and returns these objects.
func (r *pullRun) selectWrites(w *pastWriteCollector) (found PullSelection) {
	for i := w.matched - 1; i >= 0 && w.Run; i-- { // what the run wrote after the entry is named, too
		if e := w.writes[i]; w.isOfRun(e) {
			w.named[e.Key], w.last = true, e
		}
	}
	r.writes = map[kind.Key][]ledger.LogEntry{}
	for _, e := range w.writes[:w.matched] {
		k, _ := kind.FindKind(e.Kind)
		switch {
		case !w.named[e.Key]:
			continue
		case !k.CanPatch():
			r.Doubts = append(r.Doubts, fmt.Sprintf("%s was %s in entry %d, which can't be undone.", e.Key, e.Did, e.Entry))
			continue
		case r.writes[e.Key] == nil:
			found = append(found, objectPattern{text: e.String(), kind: k, name: e.Name})
		}
		r.writes[e.Key] = append(r.writes[e.Key], e)
	}
	return found
}

// usePastSpecs puts what live had before the writes in place of what it has now.
func (r *pullRun) usePastSpecs() {
	for _, i := range r.Items {
		writes := r.writes[i.Key()]
		if len(writes) == 0 {
			continue
		}
		i.now = i.live
		spec, err := plan.SpecBefore(i.live.Kind, r.project.Overrides, writes)
		switch {
		case err != nil:
			i.refuseItem(err.Error(), "write the manifest by hand: trueup log -p shows what git changed")
		case spec == nil:
			i.refuseItem(fmt.Sprintf("it was created in entry %d", writes[len(writes)-1].Entry), "the platform documents no deletion: remove its manifest, and delete it in the console")
		default:
			i.live.Spec = spec
		}
	}
}

// noteDifferenceFromPast notes an object that will differ from what live had before, although git gets all that trueup has written since.
func (r *pullRun) noteDifferenceFromPast(i *PulledObject) {
	writes := r.writes[i.Key()]
	if len(writes) == 0 || i.Verdict == Refused {
		return
	}
	oldest := writes[len(writes)-1]
	rec := r.view.Records[i.Key()]
	if plan.FingerprintAfter(i.live.Kind, r.project.Overrides, rec, i.draft.Spec, i.now) != oldest.Live.Sum {
		i.Reason = fmt.Sprintf("something else changed fields since entry %d that trueup did not write: they stay", oldest.Entry)
	}
}
