package yamledit

import (
	"bytes"
	"context"
	"slices"
	"strconv"

	"go.yaml.in/yaml/v3"

	"trueup/internal/diag"
	"trueup/internal/manifest"
	"trueup/internal/rules"
	"trueup/internal/yamltext"
)

// maxRounds limits how often fix checks a file again. A corrected field can show more mistakes below it.
const maxRounds = 100

// fixFile resolves the findings of a file whose fix is certain: missing quotes, misspelt fields and values,
// and paths of a purge that another path covers. It ignores silenced findings. It returns the new text
// and the resolved findings, with their places in the old text.
func fixFile(ctx context.Context, t manifest.Text, opts manifest.Options) (text []byte, fixed diag.List, err error) {
	opts.Strict, opts.Parallelism, opts.Findings = false, 1, yamltext.MaxOfFile
	text = t.Data
	for range maxRounds {
		set, findings, err := manifest.Load(ctx, []manifest.Source{{Data: text, Display: t.Path}}, opts)
		if err != nil {
			return nil, nil, err
		}
		next, done := fixOnce(text, set, findings)
		if len(done) == 0 {
			break
		}
		text, fixed = next, append(fixed, done...)
	}
	return text, fixed, nil
}

// fixOnce makes all changes of one round or, if they don't fit together, the first that is safe alone.
func fixOnce(text []byte, set *manifest.Set, findings diag.List) ([]byte, diag.List) {
	f := newFixedFile(text, set)
	if f.file.Findings.HasErrors() {
		return nil, nil
	}
	var changes [][]edit
	var done diag.List
	used := map[[2]int]bool{}
	for _, x := range findings {
		at := [2]int{x.Line, x.Column}
		edits, how := f.resolveFinding(x, at)
		if edits == nil || used[at] {
			continue // a finding about too many findings has the place of the last one
		}
		used[at], x.Fix = true, how
		changes, done = append(changes, edits), append(done, x)
	}
	if len(done) == 0 {
		return nil, nil
	}
	if fixed, ok := f.applyEdits(slices.Concat(changes...)); ok {
		return fixed, done
	}
	for i := range changes {
		if fixed, ok := f.applyEdits(changes[i]); ok {
			return fixed, done[i : i+1]
		}
	}
	return nil, nil
}

type fixedFile struct {
	*editor
	// scalars are the scalars by place, and parents what contains each node.
	scalars map[[2]int]*yaml.Node
	parents map[*yaml.Node]*yaml.Node
	// drops are the edits that drop covered paths of purges, by the place of the first.
	drops map[[2]int][]edit
}

func newFixedFile(text []byte, set *manifest.Set) *fixedFile {
	f := &fixedFile{
		editor: newEditor("", text), scalars: map[[2]int]*yaml.Node{}, parents: map[*yaml.Node]*yaml.Node{}, drops: map[[2]int][]edit{},
	}
	for _, doc := range f.docs {
		f.noteScalars(doc)
	}
	for _, o := range set.Objects {
		f.noteCovered(o)
	}
	return f
}

// noteScalars adds the scalars below a node, except below an anchor: aliases repeat these elsewhere, where they
// may be right.
func (f *fixedFile) noteScalars(n *yaml.Node) {
	if n.Anchor != "" {
		return
	}
	if n.Kind == yaml.ScalarNode {
		f.scalars[[2]int{n.Line, n.Column}] = n
	}
	for _, below := range n.Content {
		f.parents[below] = n
		f.noteScalars(below)
	}
}

// noteCovered adds the changes that drop covered paths of a purge. If one path can't be dropped, for
// example because of a comment, all paths that the same path covers stay.
func (f *fixedFile) noteCovered(o *manifest.Object) {
	_, fields, covered := rules.CoveredPaths(o.Tree())
	places := o.Places(fields)
	gone := map[int]bool{}
	for _, i := range slices.Concat(covered...) {
		gone[i] = true
	}
	leading := 0
	for gone[leading] {
		leading++
	}
	for _, indices := range covered {
		var drop []edit
		for _, i := range indices {
			n := f.scalars[places[i]]
			if cut, ok := f.dropElement(n, i < leading); ok {
				drop = append(drop, cut)
			}
		}
		if len(drop) > 0 && len(drop) == len(indices) {
			f.drops[places[indices[0]]] = drop
		}
	}
}

// dropElement removes an element of a list. One that leads the list, before any that stays, takes the comma after
// it, so that no two edits overlap.
func (f *fixedFile) dropElement(n *yaml.Node, leads bool) (edit, bool) {
	list := f.parents[n]
	if list == nil || list.Kind != yaml.SequenceNode {
		return edit{}, false
	}
	cut, ok := f.cutElement(list, leads, n)
	hasComment := list.Style&yaml.FlowStyle == 0 && bytes.HasPrefix(bytes.TrimSpace(f.file.Lines.Bytes(n.Line-1)), []byte("#"))
	return cut, ok && !hasComment
}

// resolveFinding returns the edits that resolve a finding, and says what they do.
func (f *fixedFile) resolveFinding(x diag.Finding, at [2]int) (edits []edit, how string) {
	if x.Rule == rules.PathCovered {
		return f.drops[at], x.Fix + "; a purge that was posted must not change: undo this there"
	}
	n := f.scalars[at]
	from, to, ok := f.token(n)
	if !ok || x.Write == "" {
		return nil, ""
	}
	value, err := strconv.Unquote(x.Write)
	if err != nil {
		value = x.Write
	}
	text, old := inStyle(n, value, err == nil), f.text(from, to)
	return []edit{writeScalar(n, from, to, text, value)}, "write " + text + " instead of " + diag.Short(old)
}
