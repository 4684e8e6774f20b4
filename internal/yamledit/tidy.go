package yamledit

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"

	"go.yaml.in/yaml/v3"

	"trueup/internal/diag"
	"trueup/internal/manifest"
	"trueup/internal/rules"
	"trueup/internal/yamltext"
)

// Tidied is a file as fmt writes it.
type Tidied struct {
	manifest.Text
	// To is the new content.
	To []byte
	// Fixed are the resolved findings. Left says why the layout stays as it is, if it does.
	Fixed diag.List
	Left  *LeftError
	// Objects counts its manifests, also those with a misspelt kind. unread says why it can't be read.
	Objects int
	unread  diag.List
	// was is the content before its envelopes were changed, as rerouted says.
	was      []byte
	rerouted diag.List
}

// Tidying says what to do with files beside their layout.
type Tidying struct {
	Fix   bool   // resolve findings whose fix is certain
	Route *Route // the route of the envelopes; nil leaves them
}

// Changes reports whether the new content differs.
func (t Tidied) Changes() bool { return !bytes.Equal(t.Data, t.To) }

// Tidy formats files with manifests, after it has changed their envelopes and fixed them. It returns findings
// about files that it can't format or, if it fixes, all findings about the new content.
func Tidy(ctx context.Context, texts []manifest.Text, how Tidying, opts manifest.Options) (list []Tidied, findings diag.List, err error) {
	all, refused := make([]Tidied, len(texts)), make([]diag.List, len(texts))
	manifest.EachFile(ctx, opts, len(texts), func(pool *yamltext.Pool, i int) (more bool) {
		text := texts[i]
		var rerouted diag.List
		text.Data, rerouted, refused[i] = how.reroute(text)
		f := yamltext.NewFile(text.Path, text.Data)
		f.Pool = pool
		all[i] = tidyFile(text, f, how.Fix)
		if all[i].unread != nil { // and says the same
			refused[i] = nil
		}
		all[i].was, all[i].rerouted = texts[i].Data, rerouted
		return true
	})
	list, findings, err = tidyAll(ctx, all, how.Fix, opts)
	for i := range list {
		t := &list[i]
		t.Data, t.Fixed = t.was, slices.Concat(t.rerouted, t.Fixed)
	}
	return list, slices.Concat(slices.Concat(refused...), findings), err
}

// reroute changes the envelopes of a file. It refuses those that it can't change if a vendor's were asked for;
// other findings say what is wrong with the rest.
func (how Tidying) reroute(t manifest.Text) (data []byte, done, refused diag.List) {
	if how.Route == nil {
		return t.Data, nil, nil
	}
	to, changed, wrong := how.Route.Convert(t)
	if wrong.HasErrors() && how.Route.Vendor != "" {
		return t.Data, nil, wrong
	}
	if to == nil {
		return t.Data, nil, nil
	}
	for _, d := range changed {
		done = append(done, diag.Finding{Rule: "fmt/envelope", Path: t.Path, Line: d.Line, Column: 1, Message: "the envelope is of the other route", Fix: d.String()})
	}
	return to, done, nil
}

func tidyAll(ctx context.Context, all []Tidied, fix bool, opts manifest.Options) (list []Tidied, findings diag.List, err error) {
	for _, t := range all {
		if t.Objects > 0 || t.unread != nil || t.FS == nil {
			list = append(list, t)
		}
	}
	opts.Progress = nil
	if fix {
		if err := fixAll(ctx, list, opts); err != nil {
			return nil, nil, err
		}
		manifest.EachFile(ctx, opts, len(list), func(_ *struct{}, i int) (more bool) {
			list[i].format(newFormatting(yamltext.NewFile(list[i].Path, list[i].To), true, func(*yaml.Node) {}))
			return true
		})
	}
	if err := ctx.Err(); err != nil {
		return nil, nil, fmt.Errorf("format manifests: %w", err)
	}
	if !fix {
		for _, t := range list {
			findings = append(findings, t.unread...)
		}
		return list, findings, nil
	}
	set, findings, err := manifest.Load(ctx, newContent(list), opts)
	if err != nil {
		return nil, nil, err
	}
	return list, slices.Concat(findings, manifest.Check(set, opts)), nil
}

// tidyFile reads a file and, unless it is to be repaired first, formats it.
func tidyFile(text manifest.Text, f *yamltext.File, fix bool) Tidied {
	t := Tidied{Text: text, To: text.Data}
	count := func(doc *yaml.Node) {
		if manifest.NearKind(yamltext.Text(yamltext.Member(yamltext.Root(doc), "kind"))) != nil {
			t.Objects++
		}
	}
	if fix {
		f.Documents(count)
	} else if laid := newFormatting(f, true, count); !f.Findings.HasErrors() {
		t.format(laid)
	}
	if f.Findings.HasErrors() {
		t.unread = f.Findings
	}
	return t
}

// format sets the new content, or why the layout stays.
func (t *Tidied) format(f *formatting) {
	text, err := f.format()
	if left, refused := errors.AsType[*LeftError](err); !refused && !bytes.Equal(text, t.Data) {
		t.To = text
	} else if !refused {
		t.To = t.Data // and not twice
	} else if len(left.Findings) == 0 {
		t.Left = left
	}
}

func newContent(list []Tidied) []manifest.Source {
	sources := make([]manifest.Source, len(list))
	for i, t := range list {
		sources[i] = manifest.Source{Data: t.To, Display: t.Path}
	}
	return sources
}

// fixAll resolves findings in the files that have some with a fix.
func fixAll(ctx context.Context, list []Tidied, opts manifest.Options) error {
	_, findings, err := manifest.Load(ctx, newContent(list), opts)
	if err != nil {
		return err
	}
	found := map[string]bool{}
	for _, f := range findings {
		found[f.Path] = found[f.Path] || f.Write != "" || f.Rule == rules.PathCovered
	}
	for i := range list {
		if t := &list[i]; found[t.Path] {
			if t.To, t.Fixed, err = fixFile(ctx, t.Text, opts); err != nil {
				return err
			}
		}
	}
	return nil
}
