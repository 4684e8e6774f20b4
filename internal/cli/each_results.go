package cli

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"sync"

	"trueup/internal/files"
	"trueup/internal/report"
)

// results is the file of the results of a shard, with a line for each; nil writes none.
type results struct {
	lock sync.Mutex
	file *os.File
	err  error // of the first line that was not written whole: nothing follows it
}

// openResults begins the file of the results of a shard. It keeps what another try of this apply left, whose requests
// this one does not repeat.
func (a *app) openResults(name string, shard report.Shard) (*results, error) {
	if name == "" {
		return nil, nil
	}
	r := &results{}
	root, err := files.FolderAt(a.dir(), name).OpenOrCreate()
	if err == nil {
		err = errors.Join(r.open(root, shard), root.Close())
	}
	if err != nil {
		return nil, fmt.Errorf("--results %s: %w", name, errors.Join(files.WithoutPath(err), r.close()))
	}
	return r, nil
}

// open opens the file, and removes what is not of this run.
func (r *results) open(root *os.Root, shard report.Shard) error {
	names, err := fs.Glob(files.OpenFS(root), report.ShardNames)
	if err != nil {
		return err
	}
	for _, name := range names {
		if !strings.HasSuffix(name, fmt.Sprintf("-of-%d.jsonl", shard.Shards)) {
			return fmt.Errorf("it has results of another number of shards: name another folder, or remove %s", name)
		}
	}
	if r.file, err = root.OpenFile(shard.Name(), os.O_RDWR|os.O_CREATE|os.O_APPEND|files.NoWait, 0o644); err != nil {
		return err
	}
	size := int64(0)
	if shard.Command == "apply" {
		size = report.SizeOf(shard.Run, r.file)
	}
	if err = r.file.Truncate(size); err != nil {
		return err
	}
	return r.writeLine(shard)
}

// writeResult writes the result of a project.
func (r *results) writeResult(doc report.Document) error {
	if r == nil {
		return nil
	}
	var text bytes.Buffer
	if err := report.Write(&text, "json", doc, report.Options{}); err != nil {
		return err
	}
	return r.writeLine(json.RawMessage(text.Bytes()))
}

func (r *results) writeLine(v any) error {
	line, err := json.Marshal(v)
	if err != nil {
		return err
	}
	r.lock.Lock()
	defer r.lock.Unlock()
	if r.err == nil {
		_, r.err = r.file.Write(append(line, '\n'))
	}
	return r.err
}

func (r *results) close() error {
	if r == nil || r.file == nil {
		return nil
	}
	return r.file.Close()
}
