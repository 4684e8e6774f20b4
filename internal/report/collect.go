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
	"trueup/internal/plan"
	"trueup/internal/reqtest"
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
	if in.Tests != nil && slices.ContainsFunc(in.Tests.Cases, func(c reqtest.Case) bool { return c.Result == reqtest.Failed && len(c.Failures) == 0 }) {
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
	// shards has the file of each shard.
	shards map[int]string
	// owners has the file that lists a project, and results where the result of each project is.
	owners, results map[string]string
	shardOf         map[string]int
}

// Collect reads the results of many projects below a folder, with all their shard files, and merges them. It rejects
// results that are missing, or that do not belong together.
func Collect(fsys fs.FS, tool string) (Document, error) {
	c := &collection{fsys, tool, ShardFile{}, "", map[int]string{}, map[string]string{}, map[string]string{}, map[string]int{}}
	names, err := jsonFiles(fsys)
	if err != nil {
		return Document{}, err
	}
	var wrong []error
	for _, name := range names {
		if isShard, _ := path.Match("shard-*-of-*.json", path.Base(name)); isShard {
			wrong = append(wrong, about(name, c.addShard(name)))
		}
	}
	if err := errors.Join(wrong...); err != nil {
		return Document{}, err
	}
	if err := c.complete(names); err != nil {
		return Document{}, err
	}
	m := &Merger{}
	for _, project := range slices.Sorted(maps.Keys(c.results)) {
		doc, err := c.read(project)
		if err != nil {
			wrong = append(wrong, about(c.results[project], err))
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

// addShard reads a shard file, which must agree with the first one.
func (c *collection) addShard(name string) error {
	var s ShardFile
	if err := c.open(name, func(r io.Reader) error { return readJSON(r, &s) }); err != nil {
		return err
	}
	if err := formatIs("shard", s.Format, ShardFormat); err != nil {
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
	c.shards[s.Shard] = name
	for _, p := range s.Projects {
		if !fs.ValidPath(p) {
			return fmt.Errorf("the project %.300q is not a path inside the folder of the search", p)
		}
		if other := c.owners[p]; other != "" {
			return fmt.Errorf("the project %.300s is also in %s: each project belongs to one shard", p, other)
		}
		c.owners[p], c.results[p], c.shardOf[p] = name, path.Join(path.Dir(name), p, ResultName), s.Shard
	}
	return nil
}

// agree reports why a shard file is not one of the same run as the others.
func (c *collection) agree(s ShardFile) error {
	switch other, taken := c.shards[s.Shard]; {
	case s.Shards < 1 || s.Shard < 1 || s.Shard > s.Shards:
		return fmt.Errorf("it is for shard %d of %d, which does not exist", s.Shard, s.Shards)
	case s.Shards != c.first.Shards:
		return fmt.Errorf("it is for one of %d shards, but %s is for one of %d: merge the results of one run", s.Shards, c.at, c.first.Shards)
	case s.Commit != c.first.Commit:
		return fmt.Errorf("it is for the commit %.60q, but %s is for %.60q: merge the results of one commit", s.Commit, c.at, c.first.Commit)
	case s.Command != c.first.Command:
		return fmt.Errorf("it is for %.60q, but %s is for %.60q: merge the results of one command", s.Command, c.at, c.first.Command)
	case taken:
		return fmt.Errorf("it is for shard %d, and so is %s: remove the older one with its results", s.Shard, other)
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
	var missing []string
	for i := 1; i <= c.first.Shards; i++ {
		if c.shards[i] == "" {
			missing = append(missing, fmt.Sprintf("%d", i))
		}
	}
	var wrong []error
	if missing != nil {
		wrong = append(wrong, fmt.Errorf("shard %s of %d is missing: run it, or copy its results into this folder", strings.Join(missing, ", "), c.first.Shards))
	}
	known := map[string]bool{}
	for _, name := range c.shards {
		known[name] = true
	}
	there := map[string]bool{}
	for _, name := range names {
		there[name] = true
	}
	for _, p := range slices.Sorted(maps.Keys(c.results)) {
		if known[c.results[p]] = true; !there[c.results[p]] {
			wrong = append(wrong, fmt.Errorf("%s is missing, the result of the project %s in shard %d: its run did not end, so run the shard again", c.results[p], p, c.shardOf[p]))
		}
	}
	for _, name := range names {
		if !known[name] {
			wrong = append(wrong, fmt.Errorf("%s: no shard file beside it lists it: remove it, or add its shard file", name))
		}
	}
	return errors.Join(wrong...)
}

// read returns the result of a project, which must agree with its shard file.
func (c *collection) read(project string) (doc Document, err error) {
	err = c.open(c.results[project], func(r io.Reader) error {
		doc, err = ReadResult(r)
		return err
	})
	if err != nil {
		return doc, err
	}
	of := doc.Project
	switch {
	case of == nil:
		return doc, errors.New("it does not say its project: it is not a result of trueup each")
	case of.Tool != c.tool:
		return doc, madeBy(of.Tool, c.tool)
	case of.Path != project:
		return doc, fmt.Errorf("it is the result of the project %.300q", of.Path)
	case of.Shard != c.shardOf[project] || of.Shards != c.first.Shards:
		return doc, fmt.Errorf("it is of shard %d of %d, and not %d of %d: run the shard again", of.Shard, of.Shards, c.shardOf[project], c.first.Shards)
	case of.Commit != c.first.Commit:
		return doc, fmt.Errorf("it is of the commit %.60q, and not %.60q: run the shard again", of.Commit, c.first.Commit)
	case cmp.Or(doc.Command, c.first.Command) != c.first.Command:
		return doc, fmt.Errorf("it is a result of %.60q, and not of %.60q", doc.Command, c.first.Command)
	}
	return doc, nil
}

func (c *collection) open(name string, read func(io.Reader) error) error {
	f, err := c.fsys.Open(name)
	if err != nil {
		return err
	}
	return errors.Join(read(f), f.Close())
}
