package report

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"maps"
	"path"
	"slices"
	"strings"

	"trueup/internal/canon"
	"trueup/internal/exit"
	"trueup/internal/plan"
	"trueup/internal/requesttest"
)

// MaxResult limits the file of a result, in bytes.
const MaxResult = plan.MaxFile

// ReadResult reads a Document that was written as JSON. It has all that the JSON has; the places of changes in lists are
// not in it, so every warning about the manifest of a changed object counts as one about the change.
func ReadResult(r io.Reader) (Document, error) {
	var in result
	if err := readJSON(r, &in); err != nil {
		return Document{}, err
	}
	if err := formatIs("result", in.Format, ResultFormat); err != nil {
		return Document{}, err
	}
	if in.Plan != nil && in.Plan.Format != plan.Format {
		return Document{}, fmt.Errorf("the format of its plan is %.60q, not %s: use the version of trueup that made it", in.Plan.Format, plan.Format)
	}
	if in.Tests != nil && slices.ContainsFunc(in.Tests.Cases, func(c requesttest.Case) bool { return c.Result == requesttest.Failed && len(c.Failures) == 0 }) {
		return Document{}, errors.New("it is not a result: a test failed without a failure")
	}
	if in.Plan != nil {
		for i := range in.Plan.Items {
			restoreBodies(&in.Plan.Items[i])
		}
	}
	return in.Document, nil
}

// restoreBodies writes the JSON texts of an item in the canonical form again. A result has spaces and escapes in them.
func restoreBodies(item *plan.Item) {
	canonical := func(text json.RawMessage) json.RawMessage {
		if out, err := canon.Canonical(text); err == nil {
			return out
		}
		return text // empty
	}
	item.Spec = canonical(item.Spec)
	if item.Request != nil {
		item.Request.Body = canonical(item.Request.Body)
	}
}

func formatIs(what, got, want string) error {
	name, _, _ := strings.Cut(want, "/")
	switch {
	case got == want:
		return nil
	case strings.HasPrefix(got, name+"/"):
		return fmt.Errorf("its format is %.60q, and this version of trueup reads %s: use the version that made it", got, want)
	}
	return fmt.Errorf("it is not a %s of trueup each: its format is not %s", what, want)
}

// readJSON reads one JSON value and nothing else.
func readJSON(r io.Reader, to any) error {
	text, err := io.ReadAll(io.LimitReader(r, MaxResult+1))
	if err != nil {
		return err
	}
	if len(text) > MaxResult {
		return fmt.Errorf("it is larger than %d MiB", MaxResult>>20)
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	err = d.Decode(to)
	if err == nil && len(bytes.TrimSpace(text[d.InputOffset():])) > 0 {
		err = errors.New("there is more after the JSON value")
	}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return errors.New("it is cut off: copy the file again, or run its shard again")
	}
	if err != nil {
		return fmt.Errorf("it is not JSON that trueup wrote: %w", err)
	}
	return nil
}

// collection is a folder of results and shard files.
type collection struct {
	fsys  fs.FS
	tool  string // the program that must have made them
	first try    // the last of the run with most shards: all others must be of its run
	tries []try  // the shard files of its run, the first try first
	odd   []try  // those of other runs
	fleet Fleet
	wrong []string // what can't be merged, with the file
}

// try is the shard file of one try, and its name.
type try struct {
	ShardFile
	name string
}

// result returns where the result of a project is.
func (t try) result(project string) string { return path.Join(path.Dir(t.name), t.ResultName(project)) }

// Collect reads the results of many projects below a folder, with all their shard files, and merges them. The result
// names what is missing, and what does not belong to the run with most shards.
func Collect(fsys fs.FS, tool string) (Document, error) {
	c := &collection{fsys: fsys, tool: tool}
	if err := c.readShards(); err != nil {
		return Document{}, err
	}
	m := &Merger{doc: Document{Command: c.first.Command, Projects: []MergedProject{}}, fleet: &c.fleet}
	for project, tries := range c.byProject() {
		if doc, ok := c.ofProject(project, tries); ok {
			m.Add(doc)
		}
	}
	slices.Sort(c.fleet.NotReached)
	return m.finish(c.wrong), nil
}

func (c *collection) reject(name string, err error) {
	c.wrong = append(c.wrong, fmt.Sprintf("%s: %v", name, err))
}

func (c *collection) miss(format string, args ...any) {
	c.fleet.Missing = append(c.fleet.Missing, fmt.Sprintf(format, args...))
}

// newestOfMost returns the last try of the run with most shards, and of the newest of such runs. The tries are in the
// order in which they started.
func newestOfMost(all []try) (newest try) {
	shards := map[Run]map[int]bool{}
	for _, t := range all {
		if shards[t.Run] == nil {
			shards[t.Run] = map[int]bool{}
		}
		shards[t.Run][t.Shard] = true
	}
	for _, t := range all {
		if len(shards[t.Run]) >= len(shards[newest.Run]) {
			newest = t
		}
	}
	return newest
}

// readShards finds the shard files of the run with most shards.
func (c *collection) readShards() error {
	all, err := c.findShards()
	switch {
	case err != nil:
		return err
	case len(all) == 0 && len(c.wrong) > 0:
		return errors.New(strings.Join(c.wrong, "; "))
	case len(all) == 0:
		return errors.New("there is no shard-I-of-N.json in it, so no job left results: read the log of the job that selects projects, or name another folder")
	}
	slices.SortStableFunc(all, func(a, b try) int { return a.Started.Compare(b.Started) })
	c.first = newestOfMost(all)
	c.fleet.Facts = c.first.Facts
	for _, t := range slices.Backward(all) {
		// Only an apply keeps what earlier tries sent.
		same := slices.IndexFunc(c.tries, func(o try) bool {
			return t.Shard == o.Shard && (t.Command != "apply" || t.Started.Equal(o.Started))
		})
		switch {
		case t.Run != c.first.Run:
			c.odd = append(c.odd, t)
		case same >= 0:
			c.reject(t.name, fmt.Errorf("shard %d is there twice, also in %s: remove one of them with its results", t.Shard, c.tries[same].name))
		default:
			c.tries = append(c.tries, t)
		}
	}
	slices.Reverse(c.tries)
	c.missShards()
	return nil
}

// findShards reads the shard files that this version of trueup made.
func (c *collection) findShards() (all []try, err error) {
	err = fs.WalkDir(c.fsys, ".", func(name string, d fs.DirEntry, err error) error {
		if isShard, _ := path.Match(ShardNames, path.Base(name)); err != nil || d.IsDir() || !isShard {
			return err
		}
		s, err := ReadShard(c.fsys, name)
		switch {
		case err != nil:
			c.reject(name, err)
		case s.Tool != c.tool:
			c.reject(name, madeBy(s.Tool, c.tool))
		case s.Shard < 1 || s.Shard > s.Shards:
			c.reject(name, fmt.Errorf("it is for shard %d of %d, which does not exist", s.Shard, s.Shards))
		default:
			all = append(all, try{s, name})
		}
		return nil
	})
	return all, err
}

func (c *collection) missShards() {
	for i := 1; i <= c.first.Shards; i++ {
		isShard := func(t try) bool { return t.Shard == i }
		at, odd := slices.IndexFunc(c.tries, isShard), slices.IndexFunc(c.odd, isShard)
		switch {
		case at < 0 && odd >= 0:
			t := c.odd[odd]
			c.odd, c.fleet.oddShards = slices.Delete(c.odd, odd, odd+1), append(c.fleet.oddShards, i)
			c.miss("shard %d is of another run: %s: run it again", i, t.difference(c.first.Run, "in "+t.name, "in "+c.first.name))
		case at < 0:
			c.fleet.lostShards = append(c.fleet.lostShards, i)
			c.miss("shard %d of %d is missing: run it, or copy its results into this folder", i, c.first.Shards)
		case c.tries[at].Error != "":
			c.reject(c.tries[at].name, errors.New("no project could be selected: "+c.tries[at].Error))
		}
	}
	for _, t := range c.odd {
		c.reject(t.name, errors.New(t.differs(c.first.Run, c.first.name)))
	}
}

// byProject returns the tries of each project, in the order of their paths.
func (c *collection) byProject() iter.Seq2[string, []try] {
	tries := map[string][]try{}
	for _, t := range c.tries {
		for _, p := range t.Projects {
			switch others := tries[p]; {
			case !fs.ValidPath(p):
				c.reject(t.name, fmt.Errorf("the project %.300q is not a path inside the folder of the search", p))
			case len(others) > 0 && others[0].Shard != t.Shard:
				c.reject(t.name, fmt.Errorf("the project %.300s is also in %s: each project belongs to one shard", p, others[0].name))
			default:
				tries[p] = append(others, t)
			}
		}
	}
	return func(yield func(string, []try) bool) {
		for _, p := range slices.Sorted(maps.Keys(tries)) {
			if !yield(p, tries[p]) {
				return
			}
		}
	}
}

// ofProject returns the result of a project after all of its tries. It may have none, which is noted.
func (c *collection) ofProject(project string, tries []try) (doc Document, ok bool) {
	for i, t := range slices.Backward(tries) {
		last := i == len(tries)-1
		one, err := c.read(t, project)
		switch {
		case errors.Is(err, fs.ErrNotExist) && !last && !t.Ended:
			continue // it ended before it sent anything for the project
		case errors.Is(err, fs.ErrNotExist):
			fix := map[bool]string{true: "copy it into this folder", false: "its run did not end, so run the shard again"}[t.Ended]
			c.miss("%s is missing, the result of the project %s in shard %d: %s", t.result(project), project, t.Shard, fix)
		case err != nil:
			c.reject(t.result(project), err)
		case last && one.Project.Running:
			c.miss("the run of the project %s in shard %d did not end: run the shard again", project, t.Shard)
			doc, ok = withEarlier(one, Document{Command: one.Command, Project: one.Project, ExitCode: exit.Partial, Errors: one.Errors}), true
			continue
		case !ok:
			doc, ok = one, true
			continue
		default:
			doc = withEarlier(one, doc)
			continue
		}
		if last {
			c.fleet.NotReached = append(c.fleet.NotReached, project)
		}
	}
	return doc, ok
}

func madeBy(other, tool string) error {
	return fmt.Errorf("it was made by %.60q, and this is %q: merge results with the version that made them", other, tool)
}

// ReadShard reads a shard file.
func ReadShard(fsys fs.FS, name string) (s ShardFile, err error) {
	err = open(fsys, name, func(r io.Reader) error { return readJSON(r, &s) })
	return s, cmp.Or(err, formatIs("shard", s.Format, ShardFormat))
}

// read returns a result of a project, which must agree with its shard file.
func (c *collection) read(t try, project string) (doc Document, err error) {
	err = open(c.fsys, t.result(project), func(r io.Reader) error {
		doc, err = ReadResult(r)
		return err
	})
	if err != nil {
		return doc, err
	}
	switch of := doc.Project; {
	case of == nil:
		return doc, errors.New("it does not say its project: it is not a result of trueup each")
	case of.Path != project || of.Shard != t.Shard:
		return doc, fmt.Errorf("it is the result of the project %.300q in shard %d", of.Path, of.Shard)
	case of.differs(t.Run, t.name) != "":
		return doc, errors.New(of.differs(t.Run, t.name))
	case exit.Name(doc.ExitCode) == "":
		return doc, fmt.Errorf("it is damaged, because no exit code is %d: run the shard again", doc.ExitCode)
	}
	return doc, nil
}

func open(fsys fs.FS, name string, read func(io.Reader) error) error {
	f, err := fsys.Open(name)
	if err != nil {
		return err
	}
	return errors.Join(read(f), f.Close())
}
