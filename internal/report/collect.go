package report

import (
	"bufio"
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

	"trueup/internal/apply"
	"trueup/internal/canon"
	"trueup/internal/exit"
	"trueup/internal/kind"
	"trueup/internal/plan"
	"trueup/internal/requesttest"
)

// maxResult limits a line of a file of results, in bytes.
const maxResult = plan.MaxFile

// ReadResult reads a Document that was written as JSON. It has all that the JSON has; the places of changes in lists are
// not in it, so every warning about the manifest of a changed object counts as one about the change.
func ReadResult(text []byte) (Document, error) {
	var in documentJSON
	if err := unmarshal(text, &in); err != nil {
		return Document{}, err
	}
	if err := formatIs(in.Format, ResultFormat); err != nil {
		return Document{}, err
	}
	if in.Plan != nil {
		if err := formatIs(in.Plan.Format, plan.Format); err != nil {
			return Document{}, err
		}
		for i := range in.Plan.Items {
			restoreBodies(&in.Plan.Items[i])
		}
	}
	if in.Tests != nil && slices.ContainsFunc(in.Tests.Cases, func(c requesttest.Case) bool { return c.Result == requesttest.Failed && len(c.Failures) == 0 }) {
		return Document{}, errors.New("it is not a result: a test failed without a failure")
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

// unmarshal reads one JSON value and nothing else, with numbers as they are written.
func unmarshal(text []byte, to any) error {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	err := d.Decode(to)
	if err == nil && len(bytes.TrimSpace(text[d.InputOffset():])) > 0 {
		err = errors.New("there is more after the JSON value")
	}
	if err != nil {
		return fmt.Errorf("it is not JSON that trueup wrote: %w", err)
	}
	return nil
}

func formatIs(got, want string) error {
	if got != want {
		return fmt.Errorf("its format is %.60q, not %s: use the version of trueup that made it", got, want)
	}
	return nil
}

// results is the file of the results of a shard.
type results struct {
	ShardHead
	name string
	// tries has the last line of each project. Only an apply has several: it keeps what earlier ones sent.
	tries []map[string][]byte
	wrong []error // of lines that can't be read
}

// readResults reads the file of a shard. A last line without an end is not there: the process was killed while it wrote.
func readResults(fsys fs.FS, name string) (r results, err error) {
	file, err := fsys.Open(name)
	if err != nil {
		return r, err
	}
	defer func() { _ = file.Close() }()
	r.name = name
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, maxResult)
	lines.Split(func(text []byte, _ bool) (int, []byte, error) {
		if end := bytes.IndexByte(text, '\n'); end >= 0 {
			return end + 1, text[:end], nil
		}
		return 0, nil, nil
	})
	for n := 1; lines.Scan(); n++ {
		if err := r.addLine(bytes.Clone(lines.Bytes())); err != nil {
			r.wrong = append(r.wrong, fmt.Errorf("line %d: %w", n, err))
		}
	}
	switch err := lines.Err(); {
	case errors.Is(err, bufio.ErrTooLong):
		return r, fmt.Errorf("a line is larger than %d MiB", maxResult>>20)
	case err != nil:
		return r, err
	case len(r.tries) == 0:
		return r, cmp.Or(errors.Join(r.wrong...), errors.New("it is empty: run its shard again"))
	}
	return r, nil
}

// addLine adds a line: that of a try, or the result of a project, which replaces an earlier one of the same try.
func (r *results) addLine(line []byte) error {
	var head struct {
		Format  string
		Project ProjectResult
	}
	if err := unmarshal(line, &head); err != nil {
		return err
	}
	if len(r.tries) > 0 && head.Format != ShardFormat {
		path := head.Project.Path
		if !slices.Contains(r.Projects, path) {
			return fmt.Errorf("it is of the project %.300q, which is not in the shard", path)
		}
		r.tries[len(r.tries)-1][path] = line
		return nil
	}
	var shard ShardHead
	err := cmp.Or(json.Unmarshal(line, &shard), formatIs(head.Format, ShardFormat))
	if err == nil {
		r.ShardHead, r.tries = shard, append(r.tries, map[string][]byte{})
	}
	return err
}

// resultOf returns the result of a project after all tries. ok is false if there is none.
func (r *results) resultOf(project string) (doc Document, ok bool, err error) {
	for _, try := range r.tries {
		line, found := try[project]
		if !found {
			continue // it ended before it sent anything for the project
		}
		last, err := ReadResult(line)
		switch {
		case err != nil:
			return doc, false, err
		case exit.NameOf(last.ExitCode) == "":
			return doc, false, fmt.Errorf("it is damaged, because no exit code is %d: run the shard again", last.ExitCode)
		case ok:
			last = withEarlier(doc, last)
		}
		doc, ok = last, true
	}
	return doc, ok, nil
}

// collection merges the results of a run, and notes what does not belong to it.
type collection struct {
	Merger
	parts []results
}

// Collect reads the results of many projects below a folder, and merges them. The result names what is missing, and
// what does not belong to the run with most shards.
func Collect(fsys fs.FS, tool string) (Document, error) {
	c := &collection{}
	if err := c.readShards(fsys, tool); err != nil {
		return Document{}, err
	}
	of := map[string]*results{}
	for i := range c.parts {
		for _, project := range c.parts[i].Projects {
			if other := of[project]; other != nil {
				c.rejectFile(c.parts[i].name, fmt.Errorf("the project %.300s is also in %s: each project belongs to one shard", project, other.name))
				continue
			}
			of[project] = &c.parts[i]
		}
	}
	c.doc = Document{Command: c.fleet.Command, Projects: []ProjectResult{}}
	for _, project := range slices.Sorted(maps.Keys(of)) {
		c.addFrom(of[project], project)
	}
	slices.Sort(c.fleet.NotReached)
	return c.Finish(), nil
}

func (c *collection) rejectFile(name string, err error) {
	c.wrong = append(c.wrong, fmt.Sprintf("%s: %v", name, err))
}

func (c *collection) noteMissing(format string, args ...any) {
	c.fleet.Missing = append(c.fleet.Missing, fmt.Sprintf(format, args...))
}

// readShards reads the files of all shards, and keeps those of one run.
func (c *collection) readShards(fsys fs.FS, tool string) error {
	all, err := c.findShards(fsys, tool)
	switch {
	case err != nil:
		return err
	case len(all) == 0 && len(c.wrong) > 0:
		return errors.New(strings.Join(c.wrong, "; "))
	case len(all) == 0:
		return errors.New("there is no shard-I-of-N.jsonl, so no job kept results: read the log of the job that finds the projects, or name another folder")
	}
	slices.SortStableFunc(all, func(a, b results) int { return a.Started.Compare(b.Started) })
	newest, shards := c.newestOfMost(all)
	c.fleet.FleetRun, c.fleet.Facts = newest.FleetRun, newest.Facts
	for _, r := range all {
		if r.FleetRun != newest.FleetRun {
			c.rejectFile(r.name, fmt.Errorf("it is of another run: %s", r.difference(newest.FleetRun, r.name, newest.name)))
		}
	}
	for i := 1; i <= newest.Shards; i++ {
		switch r := shards[i]; {
		case r == nil:
			c.noteMissing("shard %d of %d is missing: run it, or copy its file into this folder", i, newest.Shards)
		case r.Error != "":
			c.rejectFile(r.name, errors.New("no project could be selected: "+r.Error))
		default:
			c.parts = append(c.parts, *r)
			for _, err := range r.wrong {
				c.rejectFile(r.name, err)
			}
		}
	}
	return nil
}

// newestOfMost returns the newest results of the run with most shards, or of the newest of such runs, and all shards of
// that run. The results are in the order in which they started.
func (c *collection) newestOfMost(all []results) (newest results, shards map[int]*results) {
	runs := map[FleetRun]map[int]*results{}
	for _, r := range all {
		if runs[r.FleetRun] == nil {
			runs[r.FleetRun] = map[int]*results{}
		}
		shards := runs[r.FleetRun]
		if other := shards[r.Shard]; other != nil {
			c.rejectFile(r.name, fmt.Errorf("shard %d is there twice, also in %s: remove one of them", r.Shard, other.name))
			continue
		}
		if shards[r.Shard] = &r; len(shards) >= len(runs[newest.FleetRun]) {
			newest = r
		}
	}
	return newest, runs[newest.FleetRun]
}

// findShards reads the files that this version of trueup made.
func (c *collection) findShards(fsys fs.FS, tool string) (all []results, err error) {
	err = fs.WalkDir(fsys, ".", func(name string, d fs.DirEntry, err error) error {
		if isShard, _ := path.Match(ShardNames, path.Base(name)); err != nil || !isShard || !d.Type().IsRegular() {
			return err
		}
		r, err := readResults(fsys, name)
		switch {
		case err != nil:
			c.rejectFile(name, err)
		case r.Tool != tool:
			c.rejectFile(name, fmt.Errorf("it was made by %.60q, and this is %q: merge results with the version that made them", r.Tool, tool))
		case r.Shard < 1 || r.Shard > r.Shards:
			c.rejectFile(name, fmt.Errorf("it is for shard %d of %d, which does not exist", r.Shard, r.Shards))
		default:
			all = append(all, r)
		}
		return nil
	})
	return all, err
}

// addFrom adds the result of a project, or notes that the last try has none.
func (c *collection) addFrom(r *results, project string) {
	doc, ok, err := r.resultOf(project)
	switch _, ended := r.tries[len(r.tries)-1][project]; {
	case err != nil:
		c.rejectFile(r.name, fmt.Errorf("the result of the project %.300s: %w", project, err))
		return
	case !ended:
		c.fleet.NotReached = append(c.fleet.NotReached, project)
		c.noteMissing("shard %d has no result of the project %.300s: its run did not end, so run the shard again", r.Shard, project)
	case doc.Project.Running:
		c.noteMissing("shard %d was killed while it applied the project %.300s: run the shard again", r.Shard, project)
	}
	if ok {
		c.AddResult(doc)
	}
}

// SizeOf returns how many bytes of a file are whole lines, if it has the results of this run, and else 0.
func SizeOf(run FleetRun, file io.Reader) (size int64) {
	text := bufio.NewReader(file)
	line, err := text.ReadBytes('\n')
	var shard ShardHead
	if err != nil || json.Unmarshal(line, &shard) != nil || shard.FleetRun != run {
		return 0
	}
	for err == nil {
		size += int64(len(line))
		line, err = text.ReadBytes('\n')
	}
	return size
}

// withEarlier returns the result of a project's last try, with all that an earlier one sent.
func withEarlier(earlier, last Document) Document {
	planned := map[kind.Key]plan.Op{}
	if earlier.Plan != nil {
		for _, item := range earlier.Plan.Items {
			planned[item.Key] = item.Op
		}
	}
	var sent, outcomes []apply.ItemOutcome
	if earlier.Apply != nil {
		sent = slices.DeleteFunc(slices.Clone(earlier.Apply.Outcomes), func(o apply.ItemOutcome) bool { return !o.Sent })
	}
	if len(sent) == 0 {
		return last
	}
	if last.Apply != nil {
		outcomes = slices.Clone(last.Apply.Outcomes)
	}
	at, shown := map[kind.Key]int{}, map[kind.Key]bool{}
	for i, o := range outcomes {
		at[o.Key] = i
	}
	for _, before := range sent {
		i, again := at[before.Key]
		if !again {
			outcomes, shown[before.Key] = append(outcomes, before), true
			continue
		}
		outcomes[i], shown[before.Key] = ofBoth(before, outcomes[i], planned[before.Key])
	}
	result := apply.NewResult(outcomes)
	last.Apply = &result
	last.Plan = withItems(last.Plan, earlier.Plan, shown)
	return last
}

// Unended returns the result that an apply in one of many projects has if its process is killed: it may have sent all of its plan.
func Unended(doc Document) Document {
	var outcomes []apply.ItemOutcome
	for _, item := range doc.Plan.Items {
		if apply.EffectOf(item.Op) != "" {
			outcomes = append(outcomes, apply.ItemOutcome{
				Key: item.Key, Status: apply.Failed, Sent: true, Verdict: apply.Partial, Message: unended, Fix: "run the shard again",
			})
		}
	}
	result := apply.NewResult(outcomes)
	doc.Apply, doc.ExitCode, doc.Result = &result, exit.Partial, exit.NameOf(exit.Partial)
	doc.Project.Result, doc.Project.ExitCode, doc.Project.Running = doc.Result, doc.ExitCode, true
	doc.Errors = append(slices.Clone(doc.Errors), "the apply of this project has not ended")
	return doc
}

// unended is the message about the requests of a run that did not end.
const unended = "a try that did not end may have sent it"

// ofBoth returns the outcome of an object in two tries. The earlier one sent something. shown reports whether the
// earlier plan shows what both did.
func ofBoth(before, last apply.ItemOutcome, op plan.Op) (both apply.ItemOutcome, shown bool) {
	switch {
	case before.Status == apply.Done && last.Status == apply.Done && (!last.Sent || before.Did == apply.Created):
		return before, true
	case before.Status == apply.Done && last.Status != apply.Done:
		last.Message = "an earlier try " + before.What() + " it; then: " + last.Message
	case last.Status != apply.Done || last.Sent:
	case before.Message == unended:
		// It differed from git before that try, and does no more.
		last.Did, last.Sent, last.Message = apply.EffectOf(op), true, "sent by a try that did not end"
		return last, true
	default:
		last.Message = "an earlier try sent a request, which failed: " + before.Message
	}
	return last, false
}

// withItems returns a plan with the items that an earlier one shows for some objects.
func withItems(last, earlier *plan.Plan, shown map[kind.Key]bool) *plan.Plan {
	if earlier == nil {
		return last
	}
	pl := *earlier
	if pl.Items, pl.Digest = nil, ""; last != nil {
		pl = *last
		pl.Items = slices.DeleteFunc(slices.Clone(last.Items), func(it plan.Item) bool { return shown[it.Key] })
	}
	for _, item := range earlier.Items {
		if shown[item.Key] {
			pl.Items = append(pl.Items, item)
		}
	}
	pl.Summary = pl.CountItems()
	return &pl
}
