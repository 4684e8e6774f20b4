package manifest

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"io/fs"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"trueup/internal/diag"
	"trueup/internal/kind"
)

// The bounds of what is read. A purge of 20,000 real paths is 1.3 MB.
const (
	maxFile  = 16 << 20
	maxTotal = 512 << 20
)

// loader is what all workers of one Load share.
type loader struct {
	options    Options
	rules      []Rule
	validators validators
	inputs     []input
	results    []result
	next       atomic.Int64
	total      atomic.Int64
}

// result is what one file gave.
type result struct {
	objects  []*Object
	findings diag.List
	err      error
}

// Load reads every manifest of the sources, in the order of the sources and of
// the names in a folder. The list holds what the user must mend; the error
// says that something could not be read, and then there is no Set.
func Load(ctx context.Context, sources []Source, opts Options) (*Set, diag.List, error) {
	files := lister{seen: map[string]bool{}}
	for _, s := range sources {
		if err := files.add(s); err != nil {
			return nil, nil, err
		}
	}
	l := &loader{
		options: opts, rules: Rules(), validators: newValidators(),
		inputs: files.inputs, results: make([]result, len(files.inputs)),
	}
	l.readAll(ctx)
	if err := ctx.Err(); err != nil {
		return nil, nil, fmt.Errorf("read manifests: %w", err)
	}
	set, findings, err := l.gather()
	if err != nil {
		return nil, nil, err
	}
	return set, opts.judge(append(files.findings, findings...)), nil
}

// Check runs the rules that need every object of the set.
func Check(set *Set, opts Options) diag.List {
	r := &reporter{}
	rules := Rules()
	for i := range rules {
		if rule := &rules[i]; rule.set != nil {
			r.run(rule)
			rule.set(set, r)
		}
	}
	return opts.judge(r.findings)
}

// judge makes warnings errors where the options say so.
func (o Options) judge(findings diag.List) diag.List {
	if o.Strict {
		for i := range findings {
			findings[i].Severity = diag.Error
		}
	}
	return findings
}

// readAll reads the inputs with a number of workers.
func (l *loader) readAll(ctx context.Context) {
	workers := l.options.Parallelism
	if workers <= 0 {
		workers = runtime.GOMAXPROCS(0)
	}
	var group sync.WaitGroup
	for range min(workers, len(l.inputs)) {
		group.Go(func() {
			w := &worker{loader: l}
			var buffer bytes.Buffer
			for ctx.Err() == nil {
				i := int(l.next.Add(1)) - 1
				if i >= len(l.inputs) || l.total.Load() > maxTotal {
					return
				}
				l.results[i] = w.read(l.inputs[i], &buffer)
			}
		})
	}
	group.Wait()
}

// read reads one file.
func (w *worker) read(in input, buffer *bytes.Buffer) result {
	data := in.data
	if in.fsys != nil {
		var err error
		if data, err = slurp(in, buffer); err != nil {
			return result{err: fmt.Errorf("read %s: %w", in.display, err)}
		}
	}
	w.total.Add(int64(len(data)))
	w.file, w.objects = &file{path: in.display, lines: lines{data: data}}, nil
	if len(data) > maxFile {
		w.file.fail(1, 1, ruleSize, "", fmt.Sprintf("the file is larger than %d MiB", maxFile>>20), "split it into several files")
	} else {
		w.file.documents(w.document)
	}
	w.file.findings.Sort()
	return result{objects: w.objects, findings: slices.Compact(w.file.findings)}
}

// slurp reads a file into the buffer, one byte more than is allowed at most.
func slurp(in input, buffer *bytes.Buffer) ([]byte, error) {
	f, err := in.fsys.Open(in.name)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%w: not a regular file any more", fs.ErrInvalid)
	}
	buffer.Reset()
	if _, err := buffer.ReadFrom(io.LimitReader(f, maxFile+1)); err != nil {
		return nil, err
	}
	return buffer.Bytes(), nil
}

// gather puts the results together in the order of the files.
func (l *loader) gather() (*Set, diag.List, error) {
	set := &Set{byKey: map[kind.Key]*Object{}}
	var findings diag.List
	if l.total.Load() > maxTotal {
		findings = append(findings, diag.Finding{
			Path: l.inputs[0].display, Rule: ruleSize, Severity: diag.Error,
			Message: fmt.Sprintf("the manifests together are larger than %d MiB", maxTotal>>20), Fix: "name fewer files at once",
		})
		return set, findings, nil
	}
	for _, r := range l.results {
		if r.err != nil {
			return nil, nil, r.err
		}
		findings = append(findings, r.findings...)
		for _, o := range r.objects {
			if first := set.byKey[o.Key()]; first != nil {
				findings = append(findings, repeated(o, first))
				continue
			}
			set.byKey[o.Key()] = o
			set.Objects = append(set.Objects, o)
		}
	}
	return set, findings, nil
}

// repeated reports an object whose key another has.
func repeated(o, first *Object) diag.Finding {
	line, column := o.Place("metadata.name")
	return diag.Finding{
		Path: o.Path, Line: line, Column: column, Field: "metadata.name", Rule: ruleDuplicate, Severity: diag.Error,
		Message: fmt.Sprintf("%s stands at %s:%d too", o.Key(), first.Path, first.Line),
		Fix:     "remove one of the two, or give one another name",
	}
}
