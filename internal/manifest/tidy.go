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
	// Fixed has the findings that were resolved, and Left says why the layout stays as it is.
	Fixed diag.List
	Left  *LeftError
}

// Changes reports whether the new content differs.
func (t Tidied) Changes() bool { return !bytes.Equal(t.Data, t.To) }

// Tidy formats files that have manifests; with fix, it first resolves findings whose fix is certain. It
// returns the findings that stop it from formatting a file, and with fix all findings of the new
// content.
func Tidy(ctx context.Context, texts []Text, fix bool, opts Options) (list []Tidied, findings diag.List, err error) {
	for _, t := range texts {
		objects, sound := Count(t.Data)
		if objects > 0 || !sound || t.FS == nil {
			list = append(list, Tidied{Text: t, To: t.Data, Objects: objects})
		}
	}
	if fix {
		if err := fixAll(ctx, list, opts); err != nil {
			return nil, nil, err
		}
	}
	for i := range list {
		if opts.Progress != nil {
			opts.Progress(i, len(list))
		}
		unread, err := list[i].format()
		if err != nil {
			return nil, nil, err
		}
		findings = append(findings, unread...)
	}
	if !fix {
		return list, findings, nil
	}
	opts.Progress = nil
	set, findings, err := Load(ctx, newContent(list), opts)
	if err != nil {
		return nil, nil, err
	}
	return list, slices.Concat(findings, Check(set, opts)), nil
}

// format formats the file, or returns why it can't be read.
func (t *Tidied) format() (findings diag.List, err error) {
	text, err := Format(t.To)
	var left *LeftError
	switch {
	case err == nil:
		t.To = text
	case !errors.As(err, &left):
		return nil, err
	case len(left.Findings) == 0:
		t.Left = left
	default:
		for _, f := range left.Findings {
			f.Path = t.Path
			findings = append(findings, f)
		}
	}
	return findings, nil
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
	opts.Progress = nil
	_, findings, err := Load(ctx, newContent(list), opts)
	if err != nil {
		return err
	}
	fixable := map[string]bool{}
	for _, f := range findings {
		fixable[f.Path] = fixable[f.Path] || Fixable(f)
	}
	fixer := NewFixer(opts)
	for i := range list {
		if t := &list[i]; fixable[t.Path] {
			if t.To, t.Fixed, err = fixer.Fix(ctx, t.Text); err != nil {
				return err
			}
		}
	}
	return nil
}
