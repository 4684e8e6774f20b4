package manifest

import (
	"bytes"
	"context"
	"errors"
	"slices"

	"trueup/internal/diag"
)

// Tidied is a file as fmt writes it.
type Tidied struct {
	Text
	// To is the new content, and Objects counts its manifests.
	To      []byte
	Objects int
	// Fixed are the resolved findings. Left says why the layout stays as it is, if it does.
	Fixed diag.List
	Left  *LeftError
}

// Changes reports whether the new content differs.
func (t Tidied) Changes() bool { return !bytes.Equal(t.Data, t.To) }

// Tidy formats files with manifests; with fix, it first resolves findings whose fix is certain. It returns
// findings about files that it can't format or, with fix, all findings about the new content.
func Tidy(ctx context.Context, texts []Text, fix bool, opts Options) (list []Tidied, findings diag.List, err error) {
	for _, t := range texts {
		objects, sound := countManifests(t.Data)
		if objects > 0 || !sound || t.FS == nil {
			list = append(list, Tidied{Text: t, To: t.Data, Objects: objects})
		}
	}
	progress := opts.Progress
	opts.Progress = nil
	if fix {
		if err := fixAll(ctx, list, opts); err != nil {
			return nil, nil, err
		}
	}
	for i := range list {
		if progress != nil {
			progress(i, len(list))
		}
		findings = append(findings, list[i].format()...)
	}
	if !fix {
		return list, findings, nil
	}
	set, findings, err := Load(ctx, newContent(list), opts)
	if err != nil {
		return nil, nil, err
	}
	return list, slices.Concat(findings, Check(set, opts)), nil
}

// format formats the file, or returns why it can't be read.
func (t *Tidied) format() diag.List {
	text, err := format(t.Path, t.To)
	left, refused := errors.AsType[*LeftError](err)
	if !refused {
		t.To = text
		return nil
	}
	if len(left.Findings) == 0 {
		t.Left = left
	}
	return left.Findings
}

func newContent(list []Tidied) []Source {
	sources := make([]Source, len(list))
	for i, t := range list {
		sources[i] = Source{Data: t.To, Display: t.Path}
	}
	return sources
}

// fixAll resolves findings in the files that have some with a fix.
func fixAll(ctx context.Context, list []Tidied, opts Options) error {
	_, findings, err := Load(ctx, newContent(list), opts)
	if err != nil {
		return err
	}
	found := map[string]bool{}
	for _, f := range findings {
		found[f.Path] = found[f.Path] || f.Write != "" || f.Rule == coveredRule
	}
	for i := range list {
		if t := &list[i]; found[t.Path] {
			if t.To, t.Fixed, err = fix(ctx, t.Text, opts); err != nil {
				return err
			}
		}
	}
	return nil
}

// countManifests counts the manifests of a file, also those with a misspelt kind, and reports whether it
// could parse all of the file.
func countManifests(data []byte) (n int, sound bool) {
	f := fileOf("", data)
	for _, doc := range f.read() {
		if nearKind(peekText(peek(rootOf(doc), "kind"))) != nil {
			n++
		}
	}
	return n, !f.findings.HasErrors()
}
