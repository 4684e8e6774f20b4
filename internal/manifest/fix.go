package manifest

import (
	"bytes"
	"context"
	"regexp"
	"strings"
	"sync"

	"go.yaml.in/yaml/v3"

	"trueup/internal/diag"
)

// maxRounds limits how often fix checks a file again. A corrected field can show more mistakes below it.
const maxRounds = 100

// fix resolves the findings of a file whose fix is certain: missing quotes, misspelt fields and values,
// and paths of a purge that another path covers. It ignores silenced findings. It returns the new text
// and the resolved findings, with their places in the old text.
func fix(ctx context.Context, t Text, opts Options) (text []byte, fixed diag.List, err error) {
	opts.Strict, opts.Parallelism, opts.findings = false, 1, maxOfFile
	text = t.Data
	for range maxRounds {
		set, findings, err := Load(ctx, []Source{{Data: text, Display: t.Path}}, opts)
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
func fixOnce(text []byte, set *Set, findings diag.List) ([]byte, diag.List) {
	f := newFixedFile(text, set)
	if f.file.findings.HasErrors() {
		return nil, nil
	}
	all := f.changes(findings)
	var edits []edit
	var done diag.List
	for _, c := range all {
		edits, done = append(edits, c.edits...), append(done, c.finding)
	}
	if fixed, ok := f.apply(edits); ok {
		return fixed, done
	}
	for _, c := range all {
		if fixed, ok := f.apply(c.edits); ok {
			return fixed, diag.List{c.finding}
		}
	}
	return nil, nil
}

// change resolves a finding by edits.
type change struct {
	finding diag.Finding
	edits   []edit
}

type fixedFile struct {
	*editor
	// scalars are the scalars by place, and parents what contains each node.
	scalars map[place]*yaml.Node
	parents map[*yaml.Node]*yaml.Node
	// drops are the edits that drop covered paths of purges, by the place of the first.
	drops map[place][]edit
}

func newFixedFile(text []byte, set *Set) *fixedFile {
	f := &fixedFile{
		editor: newEditor("", text), scalars: map[place]*yaml.Node{}, parents: map[*yaml.Node]*yaml.Node{}, drops: map[place][]edit{},
	}
	for _, doc := range f.docs {
		f.note(doc)
	}
	for _, o := range set.Objects {
		if o.Kind.Name == purging {
			f.noteCovered(o)
		}
	}
	return f
}

// note adds the scalars below a node, except below an anchor: aliases repeat these elsewhere, where they
// may be right.
func (f *fixedFile) note(n *yaml.Node) {
	if n.Anchor != "" {
		return
	}
	if n.Kind == yaml.ScalarNode {
		f.scalars[newPlace(n.Line, n.Column)] = n
	}
	for _, below := range n.Content {
		f.parents[below] = n
		f.note(below)
	}
}

// noteCovered adds the changes that drop covered paths of a purge. If one path can't be dropped, for
// example because of a comment, all paths that the same path covers stay.
func (f *fixedFile) noteCovered(o *Object) {
	_, fields, all := coveredPaths(o.Tree())
	places := o.Places(fields)
	gone := map[int]bool{}
	for _, c := range all {
		for _, i := range c.covered {
			gone[i] = true
		}
	}
	leading := 0
	for gone[leading] {
		leading++
	}
	for _, c := range all {
		var drop []edit
		for _, i := range c.covered {
			n := f.scalars[newPlace(places[i][0], places[i][1])]
			if cut, ok := f.cut(n, i < leading); ok {
				drop = append(drop, cut)
			}
		}
		if first := places[c.covered[0]]; len(drop) == len(c.covered) {
			f.drops[newPlace(first[0], first[1])] = drop
		}
	}
}

// cut drops an element of a list. In brackets, it also drops the comma after elements that lead the
// list, and the comma before others, so that no two edits overlap.
func (f *fixedFile) cut(n *yaml.Node, leads bool) (edit, bool) {
	list := f.parents[n]
	from, to, ok := f.token(n)
	switch {
	case !ok || list == nil || list.Kind != yaml.SequenceNode:
		return edit{}, false
	case list.Style&yaml.FlowStyle != 0:
		return f.cutItem(from, to, leads, n)
	}
	cut, alone := f.cutLines(from, to, "-", n)
	return cut, alone && !bytes.HasPrefix(bytes.TrimSpace(f.file.lines.bytes(n.Line-1)), []byte("#"))
}

// changes returns the changes that resolve findings, at most one for each scalar.
func (f *fixedFile) changes(findings diag.List) []change {
	var all []change
	used := map[*yaml.Node]bool{}
	for _, x := range findings {
		c, ok := f.change(x)
		if !ok || used[c.edits[0].was[0]] {
			continue // a finding about too many findings has the place of the last one
		}
		used[c.edits[0].was[0]] = true
		all = append(all, c)
	}
	return all
}

func (f *fixedFile) change(x diag.Finding) (change, bool) {
	at := newPlace(x.Line, x.Column)
	if x.Rule == coveredRule {
		x.Fix += "; a purge that was posted must not change: undo this there"
		return change{x, f.drops[at]}, f.drops[at] != nil
	}
	n := f.scalars[at]
	from, to, ok := f.token(n)
	if !ok || x.Write == "" {
		return change{}, false
	}
	text, old := x.Write, f.text(from, to)
	value := strings.Trim(text, `"`)
	switch {
	case text == value:
	case n.Style == 0 && needsNoQuotes().MatchString(value) && resolve(value) == plainText:
		text = value
	case old[0] == '\'':
		text = "'" + value + "'"
	}
	x.Fix = "write " + text + " instead of " + short(old)
	return change{x, []edit{write(n, from, to, text, value)}}, true
}

// needsNoQuotes matches texts that need no quotes anywhere.
var needsNoQuotes = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_./-]*$`) })
