package cli

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
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
	lost  atomic.Bool // a result could not be written
}

// openResults writes which projects the shard has. It removes what another run left of the shard. But it keeps what
// another try of this apply left, whose requests this one does not repeat.
func (a *app) openResults(name string, shard report.ShardFile) (*results, error) {
	if name == "" {
		return nil, nil
	}
	root, err := files.FolderAt(a.dir(), name).Make()
	if err != nil {
		return nil, fmt.Errorf("--results %s: %w", name, files.WithoutPath(err))
	}
	out := &results{root: root, shard: shard}
	if err := out.begin(); err != nil {
		return nil, errors.Join(fmt.Errorf("--results %s: %w", name, err), root.Close())
	}
	return out, nil
}

func (r *results) begin() error {
	tries, err := r.earlier()
	if err != nil {
		return err
	}
	for _, t := range tries {
		if r.shard.Command == "apply" && r.shard.SameRun(t) {
			r.shard.Try = max(r.shard.Try, t.Try+1, 2)
		} else {
			err = errors.Join(err, r.remove(t))
		}
	}
	if err = errors.Join(err, r.remove(r.shard)); err != nil {
		return err
	}
	return r.writeShard()
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

// earlier returns the earlier tries of the shard. It rejects a folder with results of another number of shards.
func (r *results) earlier() (tries []report.ShardFile, err error) {
	fsys := files.FS(r.root)
	names, err := fs.Glob(fsys, report.ShardNames)
	for _, name := range names {
		t, err := report.ReadShard(fsys, name)
		switch {
		case err != nil:
			return nil, fmt.Errorf("%s: %w: name another folder, or remove this one", name, err)
		case t.Shards != r.shard.Shards:
			return nil, fmt.Errorf("it has %s, and this run has %d shards: name another folder, or remove this one", name, r.shard.Shards)
		case t.Shard == r.shard.Shard:
			tries = append(tries, t)
		}
	}
	return tries, err
}

// remove removes the files of a try.
func (r *results) remove(t report.ShardFile) error {
	names := []string{t.Name()}
	for _, p := range t.Projects {
		names = append(names, path.Join(p, t.ResultName()))
	}
	for _, name := range names {
		if err := r.root.Remove(name); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
	}
	return nil
}

// write writes the result of a project. If it is running, that is its plan, and remains if the process is killed.
func (r *results) write(p fleet.Project, doc report.Document, running bool) error {
	if r == nil {
		return nil
	}
	if running {
		doc.ExitCode, doc.Result = exit.Interrupted, exit.Name(exit.Interrupted)
		doc.Errors = append(doc.Errors, "the apply of this project has not ended")
	}
	doc.Project = &report.Origin{
		Path: p.Path, Workspace: p.Settings.Workspace.UUID, Commit: r.shard.Commit, Tool: r.shard.Tool,
		Shard: r.shard.Shard, Shards: r.shard.Shards, Running: running,
	}
	var text bytes.Buffer
	err := report.Write(&text, "json", doc, report.Options{})
	if err == nil {
		err = files.Put(r.root, files.File{Name: path.Join(p.Path, r.shard.ResultName()), Content: text.Bytes()})
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
