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
	if fixed, ok := f.apply(all); ok {
		var done diag.List
		for _, c := range all {
			done = append(done, c.finding)
		}
		return fixed, done
	}
	for _, c := range all {
		if fixed, ok := f.apply([]change{c}); ok {
			return fixed, diag.List{c.finding}
		}
	}
	return nil, nil
}

// change resolves a finding: it replaces a scalar by value, or drops elements of a list.
type change struct {
	finding diag.Finding
	nodes   []*yaml.Node
	drop    bool
	value   string
	edits   []edit
}

type fixedFile struct {
	*editor
	json bool
	// scalars are the scalars by place, and elements the positions of nodes in lists.
	scalars  map[place]*yaml.Node
	elements map[*yaml.Node]listed
	// drops are the changes that drop covered paths of purges, by the place of the first.
	drops map[place]change
}

// listed is an element's list, and its index there.
type listed struct {
	list  *yaml.Node
	index int
}

func newFixedFile(text []byte, set *Set) *fixedFile {
	f := &fixedFile{
		editor: newEditor("", text), json: isJSON(newSource(text).body),
		scalars: map[place]*yaml.Node{}, elements: map[*yaml.Node]listed{}, drops: map[place]change{},
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
	for i, below := range n.Content {
		if n.Kind == yaml.SequenceNode {
			f.elements[below] = listed{n, i}
		}
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
		drop := change{drop: true}
		for _, i := range c.covered {
			n := f.scalars[newPlace(places[i][0], places[i][1])]
			if cut, ok := f.cut(n, i < leading); ok {
				drop.nodes, drop.edits = append(drop.nodes, n), append(drop.edits, cut)
			}
		}
		if first := places[c.covered[0]]; len(drop.nodes) == len(c.covered) {
			f.drops[newPlace(first[0], first[1])] = drop
		}
	}
}

// cut drops an element of a list. In brackets, it also drops the comma after elements that lead the
// list, and the comma before others, so that no two edits overlap.
func (f *fixedFile) cut(n *yaml.Node, leads bool) (edit, bool) {
	at := f.elements[n]
	from, to, ok := f.token(n)
	switch {
	case !ok || at.list == nil:
		return edit{}, false
	case at.list.Style&yaml.FlowStyle == 0:
		cut, alone := f.cutLines(from, to, "-")
		return cut, alone && !bytes.HasPrefix(bytes.TrimSpace(f.file.lines.bytes(n.Line-1)), []byte("#"))
	case leads && at.index+1 < len(at.list.Content):
		cut, ok := f.cutItem(from, to, true)
		return cut, ok && f.file.lines.data[cut.to] != '#'
	}
	cut, ok := f.cutItem(from, to, false)
	return cut, ok && at.index > 0
}

// changes returns the changes that resolve findings, at most one for each scalar.
func (f *fixedFile) changes(findings diag.List) []change {
	var all []change
	used := map[*yaml.Node]bool{}
	for _, x := range findings {
		c, ok := f.change(x)
		if !ok || used[c.nodes[0]] {
			continue // a finding about too many findings has the place of the last one
		}
		used[c.nodes[0]] = true
		all = append(all, c)
	}
	return all
}

func (f *fixedFile) change(x diag.Finding) (change, bool) {
	at := newPlace(x.Line, x.Column)
	if x.Rule == coveredRule {
		c, ok := f.drops[at]
		c.finding = x
		c.finding.Fix += "; a purge that was posted must not change: undo this there"
		return c, ok
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
	case !f.json && n.Style == 0 && needsNoQuotes().MatchString(value) && resolve(value) == plainText:
		text = value
	case old[0] == '\'':
		text = "'" + value + "'"
	}
	x.Fix = "write " + text + " instead of " + short(old)
	return change{finding: x, nodes: []*yaml.Node{n}, value: value, edits: []edit{{from, to, text}}}, true
}

// needsNoQuotes matches texts that need no quotes anywhere.
var needsNoQuotes = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_./-]*$`) })

// apply makes changes, and reports whether they change nothing else.
func (f *fixedFile) apply(changes []change) ([]byte, bool) {
	if len(changes) == 0 {
		return nil, false
	}
	f.edits = nil
	expected := newDifference()
	for _, c := range changes {
		f.edits = append(f.edits, c.edits...)
		for _, n := range c.nodes {
			if c.drop {
				expected.dropped[n] = true
			} else {
				expected.values[n] = c.value
			}
		}
	}
	return f.edited(expected)
}
