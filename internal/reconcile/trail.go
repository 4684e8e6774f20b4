package reconcile

import (
	"context"
	"errors"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"trueup/internal/diag"
	"trueup/internal/git"
	"trueup/internal/kind"
	"trueup/internal/manifest"
	"trueup/internal/plan"
)

// What ReadTrails reads at most. Past that, no commit is proven.
const (
	mostFiles    = 200
	mostCommits  = 500
	mostVersions = 20_000 // files times commits
	// mostRemovals bounds the newest commits in which to look for a removed object, and mostDeltas the
	// files that they, and others, changed.
	mostRemovals = 50
	mostDeltas   = 2_000
	trailTimeout = 10 * time.Second
)

var errTooMuch = errors.New("too many changes to read")

// versionReader reads the versions of manifests.
type versionReader struct {
	*CommitReader
	contents map[string]parsedFile // contents are those that were read, by their ids
	trails   map[kind.Key]plan.ManifestHistory
	// begins are the places in trails where a manifest comes out of nothing, by commit.
	begins map[string][]historyStart
}

type parsedFile struct {
	set   *manifest.Set
	sound bool // sound is false if the set may lack objects
}

type historyStart struct {
	key kind.Key
	at  int
}

// ReadTrails returns how the manifests of objects came to be what HEAD has, for those that it can prove it of. It
// never fails a run.
func (r *CommitReader) ReadTrails(ctx context.Context, keys []kind.Key) map[kind.Key]plan.ManifestHistory {
	ctx, cancel := context.WithTimeout(ctx, trailTimeout)
	defer cancel()
	if r.explainable(ctx).Problem != "" {
		return nil
	}
	t := versionReader{CommitReader: r, contents: map[string]parsedFile{}, trails: map[kind.Key]plan.ManifestHistory{}, begins: map[string][]historyStart{}}
	files := map[string][]kind.Key{}
	var gone []kind.Key
	for _, key := range keys {
		if o := r.Set.Find(key); o == nil {
			gone = append(gone, key)
		} else if name := t.fileOf(o.Path); name != "" {
			files[name] = append(files[name], key)
		}
	}
	if err := t.followFiles(ctx, files); err != nil {
		clear(t.trails)
	}
	_ = t.followRemovals(ctx, gone) // those that it found are proven
	return t.trails
}

// fileOf returns the file of an object from the folder of names, or "".
func (r *CommitReader) fileOf(shown string) string {
	for i, place := range r.shown {
		place = path.Clean(filepath.ToSlash(place))
		if name := path.Join(r.names[i], pathInside(place, shown)); isBelow(place, shown) && filepath.IsLocal(name) && !strings.Contains(name, "\n") {
			return name
		}
	}
	return ""
}

// followFiles makes the trails of the objects in some files.
func (t *versionReader) followFiles(ctx context.Context, files map[string][]kind.Key) error {
	names := slices.Sorted(maps.Keys(files))
	if names = names[:min(len(names), mostFiles)]; len(names) == 0 {
		return nil
	}
	log, err := t.repository.Log(ctx, names, min(mostCommits, mostVersions/len(names)))
	if err != nil || len(log) == 0 {
		return err
	}
	at := map[string]int{}
	for i, e := range log {
		at[e.ID] = i
	}
	var versions []string
	for _, name := range names {
		versions = append(versions, "HEAD:./"+name)
		for _, e := range log {
			versions = append(versions, e.ID+":./"+name)
		}
	}
	ids, err := t.repository.BlobIDs(ctx, versions)
	if err == nil {
		err = t.readContents(ctx, ids)
	}
	if err != nil {
		return err
	}
	for i, name := range names {
		own := ids[i*(len(log)+1):][:len(log)+1]
		for _, key := range files[name] {
			if own[0] == own[1] {
				t.trails[key] = t.makeTrail(key, log, at, own[1:])
			}
		}
	}
	return t.markPossibleMoves(ctx)
}

func commitOf(e git.LogCommit) plan.Commit {
	return plan.Commit{ID: e.ID, Subject: e.Subject, Author: e.Author, Time: e.Time}
}

// makeTrail returns the versions of an object by the ids of the contents of its file.
func (t *versionReader) makeTrail(key kind.Key, log []git.LogCommit, at map[string]int, ids []string) plan.ManifestHistory {
	trail := make(plan.ManifestHistory, len(log))
	for i, e := range log {
		v := &trail[i]
		v.Commit = commitOf(e)
		object, known := t.findObject(ids[i], key)
		v.Object, v.Open = object, !known || object == nil // another file may have it
		begins := object != nil && len(e.Parents) == 0
		for _, parent := range e.Parents {
			j, here := at[parent]
			if !here {
				v.Open = true
				continue
			}
			v.Parents = append(v.Parents, j)
			before, known := t.findObject(ids[j], key)
			v.Open = v.Open || !known
			begins = begins || object != nil && before == nil
		}
		if begins || len(e.Parents) == 0 {
			t.begins[e.ID] = append(t.begins[e.ID], historyStart{key, i})
		}
	}
	return trail
}

// markPossibleMoves opens the versions before which the object may have been elsewhere: in another file, or in a commit
// that this clone lacks.
func (t *versionReader) markPossibleMoves(ctx context.Context) error {
	commits := slices.Sorted(maps.Keys(t.begins))
	deltas, err := t.readDeltas(ctx, commits, nil)
	if err != nil {
		return err
	}
	for _, commit := range commits {
		cut := t.repository.Shallow && t.lacksParent(ctx, commit)
		for _, b := range t.begins[commit] {
			moved := slices.ContainsFunc(deltas[commit], func(d git.Change) bool {
				o, known := t.findObject(d.Was.ID, b.key)
				return o != nil || !known
			})
			v := &t.trails[b.key][b.at]
			v.Open = v.Open || cut || moved
		}
	}
	return nil
}

// lacksParent reports whether this clone lacks a parent of a commit.
func (r *CommitReader) lacksParent(ctx context.Context, commit string) bool {
	parents, err := r.repository.Parents(ctx, commit)
	return err != nil || slices.ContainsFunc(parents, func(parent string) bool {
		_, err := r.repository.ResolveCommit(ctx, parent)
		return err != nil
	})
}

// followRemovals makes the trails of objects that one of the newest commits removed.
func (t *versionReader) followRemovals(ctx context.Context, keys []kind.Key) error {
	if len(keys) == 0 {
		return nil
	}
	log, err := t.repository.Log(ctx, t.names, mostRemovals)
	if err != nil {
		return err
	}
	log = slices.DeleteFunc(log, func(e git.LogCommit) bool { return len(e.Parents) != 1 })
	commits := diag.MapList(log, func(e git.LogCommit) string { return e.ID })
	deltas, err := t.readDeltas(ctx, commits, t.names)
	if err != nil {
		return err
	}
	for _, key := range keys {
		for _, e := range log {
			was, is, known := t.findBeforeAndAfter(deltas[e.ID], key)
			if is != nil || !known {
				break // it is not clear when it left
			}
			if was != nil {
				t.trails[key] = plan.ManifestHistory{{Commit: commitOf(e), Parents: []int{1}}, {Object: was}}
				break
			}
		}
	}
	return nil
}

// findBeforeAndAfter returns an object before and after a commit, as far as the commit changed its file.
func (t *versionReader) findBeforeAndAfter(deltas []git.Change, key kind.Key) (was, is *manifest.Object, known bool) {
	known = true
	for _, d := range deltas {
		before, _ := t.findObject(d.Was.ID, key)
		after, sure := t.findObject(d.Is.ID, key)
		if known = known && sure; before != nil {
			was = before
		}
		if after != nil {
			is = after
		}
	}
	return was, is, known
}

// readDeltas returns and reads the manifests that commits changed.
func (t *versionReader) readDeltas(ctx context.Context, commits, names []string) (map[string][]git.Change, error) {
	if len(commits) == 0 {
		return nil, nil
	}
	deltas, err := t.repository.ChangesOfCommits(ctx, commits, names)
	if err != nil {
		return nil, err
	}
	var ids []string
	for commit, all := range deltas {
		all = slices.DeleteFunc(all, func(d git.Change) bool { return !t.names.mayHold(d.Name) })
		deltas[commit] = all
		for _, d := range all {
			ids = append(ids, d.Was.ID)
			if names != nil {
				ids = append(ids, d.Is.ID)
			}
		}
	}
	if len(ids) > mostDeltas {
		return nil, errTooMuch
	}
	return deltas, t.readContents(ctx, ids)
}

// readContents reads the manifests in contents.
func (t *versionReader) readContents(ctx context.Context, ids []string) error {
	ids = slices.DeleteFunc(slices.Clone(ids), func(id string) bool {
		_, known := t.contents[id]
		return known || id == ""
	})
	slices.Sort(ids)
	ids = slices.Compact(ids)
	tree, err := t.repository.ReadBlobs(ctx, ids, ".yaml")
	if err != nil {
		return err
	}
	options := t.options
	options.Progress, options.Strict = nil, false
	for _, id := range ids {
		set, findings, err := manifest.Load(ctx, []manifest.PathSource{{FS: tree, Path: id + ".yaml"}}, options)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err == nil {
			t.contents[id] = parsedFile{set, !findings.HasErrors()}
		}
	}
	return nil
}

// findObject returns an object in a content, and whether it is known to be there or not.
func (t *versionReader) findObject(id string, key kind.Key) (o *manifest.Object, known bool) {
	if id == "" {
		return nil, true
	}
	c, ok := t.contents[id]
	if !ok {
		return nil, false
	}
	o = c.set.Find(key)
	return o, o != nil || c.sound
}
