package manifest

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"runtime"
	"slices"
	"sync/atomic"

	"trueup/internal/diag"
	"trueup/internal/kind"
)

// loader is the state that all workers of one Load share.
type loader struct {
	options LoadSettings
	texts   []FileText
	results []loadResult // of the texts
	// total counts the bytes read, count the objects, and reported the findings.
	total, count, reported atomic.Int64
}

type loadResult struct {
	objects, tests     []*Object
	findings, silenced diag.List
	err                error
}

// worker reads files one after the other, and reuses its buffers.
type worker struct {
	*loader
	loadResult // of the current file
	file       *FileState
	convert    converter
	pool       NodePool
	buffer     bytes.Buffer
}

// Load reads every manifest of the sources, in the order of the sources and of the names in a directory.
// It returns mistakes in manifests as findings, and an error if it could not read something.
func Load(ctx context.Context, sources []PathSource, opts LoadSettings) (*Set, diag.List, error) {
	opts.Limits = opts.Limits.orDefault()
	files, err := listSources(sources, opts.Limits)
	if err != nil {
		return nil, nil, err
	}
	l := &loader{options: opts, texts: files.texts, results: make([]loadResult, len(files.texts))}
	l.readAll(ctx)
	if err := ctx.Err(); err != nil {
		return nil, nil, fmt.Errorf("read manifests: %w", err)
	}
	set, findings, err := l.joinResults()
	if err != nil {
		return nil, nil, err
	}
	return set, opts.ApplyStrict(append(files.findings, findings...)), nil
}

// HasUnread reports whether the findings say that Load skipped a possible manifest, so that an object that
// is not in the set may still be in git.
func HasUnread(findings diag.List) bool {
	return slices.ContainsFunc(findings, func(f diag.Finding) bool { return f.Rule == ruleNotRegular })
}

// ApplyStrict raises all findings to errors in strict mode.
func (o LoadSettings) ApplyStrict(findings diag.List) diag.List {
	if o.Strict {
		for i := range findings {
			findings[i].Severity = diag.Error
		}
	}
	return findings
}

func (l *loader) readAll(ctx context.Context) {
	EachFile(ctx, l.options, len(l.texts), func(w *worker, i int) (more bool) {
		if l.exceededLimit() != "" {
			return false
		}
		w.loader = l
		w.readFile(l.texts[i])
		l.results[i] = w.loadResult
		return true
	})
}

// EachFile calls do for 0 to n-1, until one returns false or ctx ends, in as many goroutines as the options
// say, each with a W of its own. A panic is passed on to the caller.
func EachFile[W any](ctx context.Context, o LoadSettings, n int, do func(w *W, i int) (more bool)) {
	var done atomic.Int64
	diag.InParallelWith(cmp.Or(max(o.Parallelism, 0), runtime.GOMAXPROCS(0)), n, func(w *W, i int) (more bool) {
		if ctx.Err() != nil || !do(w, i) {
			return false
		}
		if reached := done.Add(1); o.Progress != nil {
			o.Progress(int(reached), n)
		}
		return true
	})
}

// readFile sets the result of one file. A panic becomes its error.
func (w *worker) readFile(t FileText) {
	defer func() {
		if value := recover(); value != nil {
			w.loadResult = loadResult{err: fmt.Errorf("read %s: internal error: %.300v; this is a bug", t.Path, value)}
		}
	}()
	limits := w.options.Limits
	data, err := t.readText(limits.File, &w.buffer)
	w.loadResult, w.convert.expanded = loadResult{err: err}, 0
	if err != nil {
		return
	}
	w.total.Add(int64(len(data)))
	f := NewFileState(t.Path, data)
	f.MaxFindings, f.MaxValues, f.Pool = w.options.Findings, limits.Values, &w.pool
	w.file = f
	if int64(len(data)) > limits.File {
		f.AddError(1, 1, RuleSize, "", "the file is larger than "+bytesOf(limits.File), "split it into several files")
	} else {
		f.EachDocument(w.convertDocument)
	}
	f.Finish()
	w.count.Add(int64(len(w.objects)))
	w.reported.Add(int64(len(f.Findings)))
	w.findings, w.silenced = f.Findings, f.silenced
}

// joinResults joins the results in the order of the files.
func (l *loader) joinResults() (*Set, diag.List, error) {
	set := &Set{byKey: map[kind.Key]*Object{}}
	var findings diag.List
	if message := l.exceededLimit(); message != "" {
		return set, diag.List{{Path: l.texts[0].Path, Rule: RuleSize, Severity: diag.Error, Message: message, Fix: "name fewer files at once"}}, nil
	}
	for _, r := range l.results {
		if r.err != nil {
			return nil, nil, r.err
		}
		findings = append(findings, r.findings...)
		set.Silenced = append(set.Silenced, r.silenced...)
		set.Tests = append(set.Tests, r.tests...)
		for _, o := range r.objects {
			if first := set.byKey[o.Key()]; first != nil {
				line, column := o.Position("metadata.name")
				findings = append(findings, diag.Finding{
					Path: o.Path, Line: line, Column: column, Field: "metadata.name", Rule: ruleDuplicate, Severity: diag.Error,
					Message: fmt.Sprintf("%s is also at %s:%d", o.Key(), first.Path, first.Line),
					Fix:     "remove one of them, or rename one",
				})
				continue
			}
			set.byKey[o.Key()] = o
			set.Objects = append(set.Objects, o)
		}
	}
	return set, findings, nil
}

// MaxFile is the default limit of one file, in bytes.
const MaxFile = 16 << 20

// Limits protect the memory and time of a run from hostile files. Zero fields mean the defaults, which
// are far above real repositories: a purge of 20,000 real paths is 1.3 MB and has 40,000 values.
type Limits struct {
	// File and Total are bytes of one file and of all files.
	File, Total int64
	// Values counts the keys and values of a document.
	Files, Objects, Values int
}

func (l Limits) orDefault() Limits {
	return Limits{
		File:    cmp.Or(l.File, MaxFile),
		Total:   cmp.Or(l.Total, 512<<20),
		Files:   cmp.Or(l.Files, 200_000),
		Objects: cmp.Or(l.Objects, 200_000),
		Values:  cmp.Or(l.Values, maxValues),
	}
}

// bytesOf writes a size for a message.
func bytesOf(n int64) string {
	if n >= 1<<20 {
		return fmt.Sprintf("%d MiB", n>>20)
	}
	return fmt.Sprintf("%d bytes", n)
}

// exceededLimit returns a message about the limit that is exceeded so far, or "".
func (l *loader) exceededLimit() string {
	limits := l.options.Limits
	switch {
	case l.total.Load() > limits.Total:
		return "the manifests are larger in total than " + bytesOf(limits.Total)
	case l.reported.Load() > maxOfAll:
		return fmt.Sprintf("there are more than %d findings in the manifests", maxOfAll)
	case l.count.Load() > int64(limits.Objects):
		return fmt.Sprintf("the manifests have more than %d objects in total", limits.Objects)
	}
	return ""
}
