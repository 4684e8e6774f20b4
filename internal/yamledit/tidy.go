package yamledit

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"go.yaml.in/yaml/v4"

	"trueup/internal/diag"
	"trueup/internal/manifest"
)

// TidiedFile is a file as fmt writes it.
type TidiedFile struct {
	manifest.FileText
	// To is the new content.
	To []byte
	// Fixed are the resolved findings. Left says why the layout stays as it is, if it does.
	Fixed diag.List
	Left  *UnformattedError
	// Objects counts its manifests, also those with a misspelt kind. unread says why it can't be read, and refused why its
	// envelopes can't be changed.
	Objects         int
	unread, refused diag.List
}

// TidyOptions says what to do with files beside their layout.
type TidyOptions struct {
	Fix   bool         // resolve findings whose fix is certain
	Route *SubmitRoute // the route of the envelopes; nil leaves them
}

// Changes reports whether the new content differs.
func (t TidiedFile) Changes() bool { return !bytes.Equal(t.Data, t.To) }

// FormatFiles formats files with manifests, after it has changed their envelopes and fixed them. It returns findings
// about files that it can't format or, if it fixes, all findings about the new content.
func FormatFiles(ctx context.Context, texts []manifest.FileText, how TidyOptions, opts manifest.LoadSettings) (list []TidiedFile, findings diag.List, err error) {
	all := make([]TidiedFile, len(texts))
	manifest.EachFile(ctx, opts, len(texts), func(pool *manifest.NodePool, i int) (more bool) {
		t := &all[i]
		*t = TidiedFile{FileText: texts[i], To: texts[i].Data}
		if how.Route != nil {
			to, done, wrong := how.Route.Convert(t.FileText)
			if to != nil {
				t.To, t.Fixed = to, done
			} else if how.Route.Vendor != "" {
				t.refused = wrong
			}
		}
		t.readContent(pool, how.Fix)
		return true
	})
	if err := ctx.Err(); err != nil {
		return nil, nil, fmt.Errorf("format manifests: %w", err)
	}
	for _, t := range all {
		if findings = append(findings, t.refused...); t.Objects > 0 || t.unread != nil || t.FS == nil {
			list = append(list, t)
		}
		if !how.Fix {
			findings = append(findings, t.unread...)
		}
	}
	if how.Fix {
		found, err := fixAll(ctx, list, opts)
		return list, append(findings, found...), err
	}
	return list, findings, nil
}

// readContent reads the new content of a file and, unless it is to be repaired first, formats it.
func (t *TidiedFile) readContent(pool *manifest.NodePool, fix bool) {
	f := manifest.NewFileState(t.Path, t.To)
	f.Pool = pool
	count := func(doc *yaml.Node) {
		if manifest.NearestKind(manifest.ScalarText(manifest.MemberValue(manifest.RootNode(doc), "kind"))) != nil {
			t.Objects++
		}
	}
	if fix {
		f.EachDocument(count)
	} else if laid := newFormatting(f, count); !f.Findings.HasErrors() {
		t.setLayout(laid.format())
	}
	if f.Findings.HasErrors() {
		t.unread, t.refused = f.Findings, nil // which say the same
	}
}

// setLayout sets the new content, or why the layout stays.
func (t *TidiedFile) setLayout(text []byte, err error) {
	if left, refused := errors.AsType[*UnformattedError](err); !refused && !bytes.Equal(text, t.Data) {
		t.To = text
	} else if !refused {
		t.To = t.Data // and not twice
	} else if len(left.Findings) == 0 {
		t.Left = left
	}
}

func newContent(list []TidiedFile) []manifest.PathSource {
	return diag.MapList(list, func(t TidiedFile) manifest.PathSource { return manifest.PathSource{Data: t.To, Display: t.Path} })
}

// fixAll resolves findings in the files that have some with a fix, and formats all. It returns all findings about the new
// content.
func fixAll(ctx context.Context, list []TidiedFile, opts manifest.LoadSettings) (diag.List, error) {
	opts.Progress = nil
	_, findings, err := manifest.Load(ctx, newContent(list), opts)
	if err != nil {
		return nil, err
	}
	found := map[string]bool{}
	for _, f := range findings {
		found[f.Path] = found[f.Path] || f.Write != ""
	}
	for i := range list {
		if t := &list[i]; found[t.Path] {
			text, fixed, err := fixFile(ctx, t.Path, t.To, opts)
			if err != nil {
				return nil, err
			}
			t.To, t.Fixed = text, append(t.Fixed, fixed...)
		}
	}
	manifest.EachFile(ctx, opts, len(list), func(_ *struct{}, i int) (more bool) {
		list[i].setLayout(Format(list[i].To))
		return true
	})
	set, findings, err := manifest.Load(ctx, newContent(list), opts)
	if err != nil {
		return nil, err
	}
	return slices.Concat(findings, manifest.CheckSet(set, opts)), nil
}

// maxRounds limits how often fix checks a file again. A corrected field can show more mistakes below it.
const maxRounds = 100

// fixFile resolves the findings of a file whose fix is certain: missing quotes, and misspelt fields and
// values. It ignores silenced findings. It returns the new text and the resolved findings, with their places in the old text.
func fixFile(ctx context.Context, path string, text []byte, opts manifest.LoadSettings) (_ []byte, fixed diag.List, err error) {
	opts.Strict, opts.Parallelism, opts.Findings = false, 1, manifest.MaxOfFile
	for range maxRounds {
		_, findings, err := manifest.Load(ctx, []manifest.PathSource{{Data: text, Display: path}}, opts)
		if err != nil {
			return nil, nil, err
		}
		next, done := fixOnce(text, findings)
		if len(done) == 0 {
			break
		}
		text, fixed = next, append(fixed, done...)
	}
	return text, fixed, nil
}

// fixOnce makes all changes of one round or, if they don't fit together, the first that is safe alone.
func fixOnce(text []byte, findings diag.List) ([]byte, diag.List) {
	e, scalars := newEditor("", text), map[[2]int]*yaml.Node{}
	for _, doc := range e.docs {
		addScalars(scalars, doc)
	}
	if e.file.Findings.HasErrors() {
		return nil, nil
	}
	var changes []textEdit
	var done diag.List
	used := map[[2]int]bool{}
	for _, x := range findings {
		at := [2]int{x.Line, x.Column}
		edit, how := e.resolveFinding(x, scalars[at])
		if how == "" || used[at] {
			continue // a finding about too many findings has the place of the last one
		}
		used[at], x.Fix = true, how
		changes, done = append(changes, edit), append(done, x)
	}
	if len(done) == 0 {
		return nil, nil
	}
	if fixed, ok := e.applyEdits(slices.Clone(changes)); ok {
		return fixed, done
	}
	for i := range changes {
		if fixed, ok := e.applyEdits(changes[i : i+1]); ok {
			return fixed, done[i : i+1]
		}
	}
	return nil, nil
}

// addScalars adds the scalars below a node by their places, except below an anchor: aliases repeat these elsewhere, where
// they may be right.
func addScalars(scalars map[[2]int]*yaml.Node, n *yaml.Node) {
	if n.Anchor != "" {
		return
	}
	if n.Kind == yaml.ScalarNode {
		scalars[[2]int{n.Line, n.Column}] = n
	}
	for _, below := range n.Content {
		addScalars(scalars, below)
	}
}

// resolveFinding returns the edit that resolves a finding about a scalar, and says what it does; "" if the fix is not certain.
func (e *editor) resolveFinding(x diag.Finding, n *yaml.Node) (edit textEdit, how string) {
	from, to, ok := e.scalarRange(n)
	if !ok || x.Write == "" {
		return edit, ""
	}
	value, err := strconv.Unquote(x.Write)
	if err != nil {
		value = x.Write
	}
	text, old := formatInStyle(n, value, err == nil), e.text(from, to)
	return scalarEdit(n, from, to, text, value), "write " + text + " instead of " + diag.Shorten(old)
}
