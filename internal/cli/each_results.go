package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync/atomic"

	"trueup/internal/exit"
	"trueup/internal/files"
	"trueup/internal/fleet"
	"trueup/internal/report"
)

// results is the folder of result files; nil writes none.
type results struct {
	root  *os.Root
	shard report.ShardFile
	facts map[string]string // of projects, by path
	lost  atomic.Bool       // a result could not be written
}

// openResults writes which projects the shard has. It removes what another run left of the shard. But it keeps what
// another try of this apply left, whose requests this one does not repeat.
func (a *app) openResults(name string, found fleet.Fleet, shard report.ShardFile) (*results, error) {
	if name == "" {
		return nil, nil
	}
	err := checkResults(name, found, shard)
	if err != nil {
		return nil, err
	}
	root, err := files.FolderAt(a.dir(), name).Make()
	if err != nil {
		return nil, fmt.Errorf("--results %s: %w", name, files.WithoutPath(err))
	}
	out := &results{root: root, shard: shard, facts: map[string]string{}}
	for _, p := range shard.Facts.Added {
		out.facts[p] = "added"
	}
	for _, m := range shard.Facts.Moved {
		out.facts[m.To] = "moved from " + m.From
	}
	for _, p := range shard.Facts.Clashing {
		out.facts[p] = "clashing"
	}
	if err := out.begin(); err != nil {
		return nil, errors.Join(fmt.Errorf("--results %s: %w", name, err), root.Close())
	}
	return out, nil
}

// keepError leaves in the results why no project could be selected, so that a merged result says it.
func (a *app) keepError(ctx context.Context, name string, shard report.ShardFile, why error) error {
	shard.Error = why.Error()
	if ctx.Err() != nil || a.global.dir != "" && name == "" {
		return nil
	}
	out, err := a.openResults(name, fleet.Fleet{}, shard)
	out.close()
	return err
}

// checkResults rejects a folder whose files a project would read as manifests.
func checkResults(name string, found fleet.Fleet, shard report.ShardFile) error {
	folder := files.Absolute(found.Root, name)
	for _, p := range found.All {
		for _, file := range []string{shard.Name(), shard.ResultName("project")} {
			full := filepath.Join(folder, filepath.FromSlash(file))
			if filepath.IsLocal(files.Shown(p.Dir, full)) && p.Settings.Reads(p.Dir, full) {
				return fmt.Errorf("--results %s: %s would read %s as a manifest: name a folder outside the projects", name, p.Path, file)
			}
		}
	}
	return nil
}

func (r *results) begin() error {
	fsys := files.FS(r.root)
	names, err := fs.Glob(fsys, report.ShardNames)
	for _, name := range names {
		if info, wrong := fs.Stat(fsys, name); wrong == nil && info.IsDir() {
			continue // it is of another program
		}
		t, wrong := report.ReadShard(fsys, name)
		switch {
		case wrong != nil:
			return fmt.Errorf("%s: %w: name another folder, or remove this one", name, wrong)
		case t.Shards != r.shard.Shards:
			return fmt.Errorf("it has %s, and this run has %d shards: name another folder, or remove this one", name, r.shard.Shards)
		case t.Shard != r.shard.Shard:
		case r.shard.Command == "apply" && r.shard.Run == t.Run:
			r.shard.Try = max(r.shard.Try, t.Try+1, 2)
		default:
			err = errors.Join(err, r.remove(t))
		}
	}
	if err = errors.Join(err, r.remove(r.shard)); err != nil {
		return err
	}
	return r.writeShard()
}

// remove removes the files of a try.
func (r *results) remove(t report.ShardFile) error {
	names := []string{t.Name()}
	for _, p := range t.Projects {
		names = append(names, t.ResultName(p))
	}
	for _, name := range names {
		if err := r.root.Remove(name); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
	}
	return nil
}

func (r *results) writeShard() error {
	text, err := json.MarshalIndent(r.shard, "", "  ")
	if err != nil {
		return err
	}
	return files.Put(r.root, files.File{Name: r.shard.Name(), Content: append(text, '\n')})
}

// end says that all results are there.
func (r *results) end() error {
	if r == nil || r.lost.Load() {
		return nil
	}
	r.shard.Ended = true
	return r.writeShard()
}

// write writes the result of a project. If it is running, that is its plan, and remains if the process is killed.
func (r *results) write(p fleet.Project, doc report.Document, running bool) error {
	if r == nil {
		return nil
	}
	if running {
		doc.ExitCode, doc.Result = exit.Interrupted, exit.Name(exit.Interrupted)
		doc.Errors = append(slices.Clone(doc.Errors), "the apply of this project has not ended")
	}
	doc.Project = &report.Origin{
		Path: p.Path, Workspace: p.Settings.Workspace.UUID, Run: r.shard.Run, Shard: r.shard.Shard, Fact: r.facts[p.Path], Running: running,
	}
	doc = report.WithoutData(doc)
	var text bytes.Buffer
	err := report.Write(&text, "json", doc, report.Options{})
	if err == nil {
		err = files.Put(r.root, files.File{Name: r.shard.ResultName(p.Path), Content: text.Bytes()})
	}
	if err != nil {
		r.lost.Store(true)
		return fmt.Errorf("--results: %w", err)
	}
	return nil
}

func (r *results) close() {
	if r != nil {
		_ = r.root.Close() // the files are written
	}
}
