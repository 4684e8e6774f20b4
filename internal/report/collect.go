package report

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
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
	fsys fs.FS
	// tool is the program that must have made them.
	tool string
	// first is the shard file that the others must agree with, and at its name.
	first ShardFile
	at    string
	// tries are the shard files, and triesOf those that list a project, the first try first.
	tries   []try
	triesOf map[string][]try
	// results are where the results of a project are, that of the last try last.
	results map[string][]string
}

// try is the shard file of one try, and its name.
type try struct {
	ShardFile
	name string
}

// result returns where the result of a project is.
func (t try) result(project string) string {
	return path.Join(path.Dir(t.name), project, t.ResultName())
}

// Collect reads the results of many projects below a folder, with all their shard files, and merges them. It rejects
// results that are missing, or that do not belong together.
func Collect(fsys fs.FS, tool string) (Document, error) {
	c := &collection{fsys: fsys, tool: tool, triesOf: map[string][]try{}, results: map[string][]string{}}
	names, err := jsonFiles(fsys)
	if err != nil {
		return Document{}, err
	}
	var wrong []error
	for _, name := range names {
		if isShard, _ := path.Match(ShardNames, path.Base(name)); isShard {
			wrong = append(wrong, about(name, c.addShard(name)))
		}
	}
	slices.SortStableFunc(c.tries, func(a, b try) int { return a.Started.Compare(b.Started) })
	for _, t := range c.tries {
		wrong = append(wrong, about(t.name, c.addProjects(t)))
	}
	if err := errors.Join(wrong...); err != nil {
		return Document{}, err
	}
	if err := c.complete(names); err != nil {
		return Document{}, err
	}
	m := &Merger{doc: Document{Command: c.first.Command, Projects: []MergedProject{}}}
	for _, project := range slices.Sorted(maps.Keys(c.results)) {
		doc, err := c.ofProject(project)
		if err != nil {
			wrong = append(wrong, err)
			continue
		}
		m.Add(doc)
	}
	if err := errors.Join(wrong...); err != nil {
		return Document{}, err
	}
	return m.Document(), nil
}

// about puts the name of a file before an error.
func about(name string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", name, err)
}

func jsonFiles(fsys fs.FS) (names []string, err error) {
	err = fs.WalkDir(fsys, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || path.Ext(name) != ".json" {
			return err
		}
		if !d.Type().IsRegular() {
			return fmt.Errorf("%s: it is not a regular file", name)
		}
		names = append(names, name)
		return nil
	})
	return names, err
}

// ReadShard reads a shard file.
func ReadShard(fsys fs.FS, name string) (s ShardFile, err error) {
	err = open(fsys, name, func(r io.Reader) error { return readJSON(r, &s) })
	return s, cmp.Or(err, formatIs("shard", s.Format, ShardFormat))
}

// addShard reads a shard file, which must agree with the first one.
func (c *collection) addShard(name string) error {
	s, err := ReadShard(c.fsys, name)
	if err != nil {
		return err
	}
	if s.Tool != c.tool {
		return madeBy(s.Tool, c.tool)
	}
	if c.at == "" {
		c.first, c.at = s, name
	}
	if err := c.agree(s); err != nil {
		return err
	}
	c.tries = append(c.tries, try{s, name})
	return nil
}

func (c *collection) addProjects(t try) error {
	for _, p := range t.Projects {
		if !fs.ValidPath(p) {
			return fmt.Errorf("the project %.300q is not a path inside the folder of the search", p)
		}
		if others := c.triesOf[p]; len(others) > 0 && others[0].Shard != t.Shard {
			return fmt.Errorf("the project %.300s is also in %s: each project belongs to one shard", p, others[0].name)
		}
		c.triesOf[p] = append(c.triesOf[p], t)
	}
	return nil
}

// agree reports why a shard file is not one of the same run as the others.
func (c *collection) agree(s ShardFile) error {
	// Only an apply keeps what earlier tries sent.
	same := slices.IndexFunc(c.tries, func(t try) bool {
		return t.Shard == s.Shard && (s.Command != "apply" || t.Started.Equal(s.Started))
	})
	switch {
	case s.Shards < 1 || s.Shard < 1 || s.Shard > s.Shards:
		return fmt.Errorf("it is for shard %d of %d, which does not exist", s.Shard, s.Shards)
	case s.Shards != c.first.Shards:
		return fmt.Errorf("it is for one of %d shards, but %s is for one of %d: merge the results of one run", s.Shards, c.at, c.first.Shards)
	case s.Commit != c.first.Commit:
		return fmt.Errorf("it is for the commit %.60q, but %s is for %.60q: merge the results of one commit", s.Commit, c.at, c.first.Commit)
	case s.Command != c.first.Command:
		return fmt.Errorf("it is for %.60q, but %s is for %.60q: merge the results of one command", s.Command, c.at, c.first.Command)
	case same >= 0:
		return fmt.Errorf("shard %d is there twice, also in %s: remove one of them with its results", s.Shard, c.tries[same].name)
	}
	return nil
}

func madeBy(other, tool string) error {
	return fmt.Errorf("it was made by %.60q, and this is %q: merge results with the version that made them", other, tool)
}

// complete reports the shards and results that are missing, and files that belong to none.
func (c *collection) complete(names []string) error {
	if c.at == "" {
		return errors.New("there is no shard-I-of-N.json in it: name the folder that trueup each --results wrote, or one with the folders of all shards")
	}
	var wrong []error
	if missing := c.missingShards(); missing != nil {
		wrong = append(wrong, fmt.Errorf("shard %s of %d is missing: run it, or copy its results into this folder", strings.Join(missing, ", "), c.first.Shards))
	}
	known, there := map[string]bool{}, map[string]bool{}
	for _, t := range c.tries {
		known[t.name] = true
	}
	for _, name := range names {
		there[name] = true
	}
	for _, p := range slices.Sorted(maps.Keys(c.triesOf)) {
		for i, t := range c.triesOf[p] {
			name := t.result(p)
			if known[name] = true; there[name] {
				c.results[p] = append(c.results[p], name)
			} else if fix := c.lost(p, i); fix != "" {
				wrong = append(wrong, fmt.Errorf("%s is missing, the result of the project %s in shard %d: %s", name, p, t.Shard, fix))
			}
		}
	}
	for _, name := range names {
		if !known[name] {
			wrong = append(wrong, fmt.Errorf("%s: no shard file beside it lists it: remove it, or add its shard file", name))
		}
	}
	return errors.Join(wrong...)
}

func (c *collection) missingShards() (missing []string) {
	for i := 1; i <= c.first.Shards; i++ {
		if !slices.ContainsFunc(c.tries, func(t try) bool { return t.Shard == i }) {
			missing = append(missing, fmt.Sprintf("%d", i))
		}
	}
	return missing
}

// lost says what to do about the missing result of a try; nothing if it ended before it sent anything for the project.
func (c *collection) lost(project string, try int) (fix string) {
	switch tries := c.triesOf[project]; {
	case tries[try].Ended:
		return "copy it into this folder"
	case try == len(tries)-1:
		return "its run did not end, so run the shard again"
	}
	return ""
}

// ofProject returns the result of a project after all of its tries.
func (c *collection) ofProject(project string) (doc Document, err error) {
	names, shard := c.results[project], c.triesOf[project][0].Shard
	for i, name := range slices.Backward(names) {
		one, err := c.read(name, project)
		switch last := i == len(names)-1; {
		case err != nil:
		case last && one.Project.Running:
			err = fmt.Errorf("the run of the project %s in shard %d did not end: run the shard again", project, shard)
		case last:
			doc = one
		default:
			doc = withEarlier(one, doc)
		}
		if err != nil {
			return doc, about(name, err)
		}
	}
	return doc, nil
}

// read returns a result of a project, which must agree with its shard file.
func (c *collection) read(name, project string) (doc Document, err error) {
	err = open(c.fsys, name, func(r io.Reader) error {
		doc, err = ReadResult(r)
		return err
	})
	if err != nil {
		return doc, err
	}
	of, shard := doc.Project, c.triesOf[project][0].Shard
	switch {
	case of == nil:
		return doc, errors.New("it does not say its project: it is not a result of trueup each")
	case of.Tool != c.tool:
		return doc, madeBy(of.Tool, c.tool)
	case of.Path != project:
		return doc, fmt.Errorf("it is the result of the project %.300q", of.Path)
	case of.Shard != shard || of.Shards != c.first.Shards:
		return doc, fmt.Errorf("it is of shard %d of %d, and not %d of %d: run the shard again", of.Shard, of.Shards, shard, c.first.Shards)
	case of.Commit != c.first.Commit:
		return doc, fmt.Errorf("it is of the commit %.60q, and not %.60q: run the shard again", of.Commit, c.first.Commit)
	case exit.Name(doc.ExitCode) == "":
		return doc, fmt.Errorf("it is damaged, because no exit code is %d: run the shard again", doc.ExitCode)
	case cmp.Or(doc.Command, c.first.Command) != c.first.Command:
		return doc, fmt.Errorf("it is a result of %.60q, and not of %.60q", doc.Command, c.first.Command)
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
