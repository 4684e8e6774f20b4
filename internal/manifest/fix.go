package manifest

import (
	"bytes"
	"context"
	"regexp"
	"sort"
	"strings"
	"sync"

	"go.yaml.in/yaml/v3"

	"trueup/internal/diag"
)

// maxRounds limits how often a fixed file is checked again: a field that is spelled
// right shows what is wrong below it, and a file has at most maxOfFile findings.
const maxRounds = 100

// Fixer fixes files, one after the other.
type Fixer struct{ options Options }

// NewFixer returns a Fixer that reads manifests as the options say.
func NewFixer(opts Options) *Fixer {
	opts.Strict, opts.Parallelism, opts.findings = false, 1, maxOfFile
	return &Fixer{opts}
}

// Fixable reports whether Fix may resolve a finding.
func Fixable(x diag.Finding) bool { return x.Write != "" || x.Rule == coveredRule }

// Fix resolves the findings of a file whose fix is certain: quotes of texts, the
// documented spelling of fields and values, and paths of a purge that another path
// covers. It returns the text and the findings that it resolved, with their places
// in the text before. Findings that a comment silences stay. Fix reads the result
// again, and keeps only changes that change nothing else.
func (m *Fixer) Fix(ctx context.Context, t Text) (text []byte, fixed diag.List, err error) {
	text = t.Data
	for range maxRounds {
		set, findings, err := Load(ctx, []Source{{Data: text, Display: t.Path}}, m.options)
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

// fixOnce makes all changes of one round. If they can't be made together, it makes
// the first that can be made alone.
func fixOnce(text []byte, set *Set, findings diag.List) ([]byte, diag.List) {
	f := newFixedFile(text)
	if f.file.findings.HasErrors() {
		return nil, nil
	}
	all := f.changes(set, findings)
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

// change resolves a finding: it writes another value for a scalar, or drops
// elements of a list.
type change struct {
	finding diag.Finding
	nodes   []*yaml.Node
	drop    bool
	value   string
	edits   []edit
}

// fixedFile is a file while it is fixed.
type fixedFile struct {
	*editor
	json bool
	// scalars are the scalars by their place.
	scalars map[place]*yaml.Node
	// list and index are the list of an element and its index there.
	list  map[*yaml.Node]*yaml.Node
	index map[*yaml.Node]int
	// covered are the covered paths of a purge, by the place of the first that the
	// same path covers; gone are all of them.
	covered map[*Object]map[place][]*yaml.Node
	gone    map[*yaml.Node]bool
	// leading counts the elements at the start of a list that are gone.
	leading map[*yaml.Node]int
}

func newFixedFile(text []byte) *fixedFile {
	f := &fixedFile{
		editor: newEditor("", text), json: isJSON(newSource(text).body),
		scalars: map[place]*yaml.Node{}, list: map[*yaml.Node]*yaml.Node{}, index: map[*yaml.Node]int{},
		covered: map[*Object]map[place][]*yaml.Node{}, gone: map[*yaml.Node]bool{}, leading: map[*yaml.Node]int{},
	}
	for _, doc := range f.docs {
		f.note(doc)
	}
	return f
}

// note notes the scalars below a node, but not below an anchor: aliases repeat
// those at other places, where they may be right.
func (f *fixedFile) note(n *yaml.Node) {
	if n.Anchor != "" {
		return
	}
	if n.Kind == yaml.ScalarNode {
		f.scalars[newPlace(n.Line, n.Column)] = n
	}
	for i, below := range n.Content {
		if n.Kind == yaml.SequenceNode {
			f.list[below], f.index[below] = n, i
		}
		f.note(below)
	}
}

// changes are those that resolve findings for certain, one for each scalar.
func (f *fixedFile) changes(set *Set, findings diag.List) []change {
	var all []change
	used := map[*yaml.Node]bool{}
	for _, x := range findings {
		c, ok := f.change(set, x)
		if !ok || used[c.nodes[0]] {
			continue // the note that there are more findings has the place of the last
		}
		used[c.nodes[0]] = true
		all = append(all, c)
	}
	return all
}

func (f *fixedFile) change(set *Set, x diag.Finding) (change, bool) {
	if x.Rule == coveredRule {
		return f.dropCovered(set, x)
	}
	n := f.scalars[newPlace(x.Line, x.Column)]
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

// dropCovered drops the paths of a purge that another path covers, if no comment
// belongs to one of them.
func (f *fixedFile) dropCovered(set *Set, x diag.Finding) (change, bool) {
	c := change{finding: x, drop: true}
	after := sort.Search(len(set.Objects), func(i int) bool { return set.Objects[i].Line > x.Line })
	if after == 0 {
		return c, false
	}
	for _, n := range f.coveredBy(set.Objects[after-1])[newPlace(x.Line, x.Column)] {
		cut, ok := f.cut(n)
		if !ok {
			return c, false
		}
		c.nodes, c.edits = append(c.nodes, n), append(c.edits, cut)
	}
	c.finding.Fix += "; a purge that was posted must not change: undo this there"
	return c, len(c.nodes) > 0
}

// coveredBy returns the covered paths of a purge, by the place of the first that
// the same path covers.
func (f *fixedFile) coveredBy(o *Object) map[place][]*yaml.Node {
	if found, ok := f.covered[o]; ok {
		return found
	}
	_, places, all := coveredPaths(o.Tree())
	at := o.Places(places)
	found := map[place][]*yaml.Node{}
	for _, c := range all {
		first := at[c.covered[0]]
		for _, i := range c.covered {
			n := f.scalars[newPlace(at[i][0], at[i][1])]
			found[newPlace(first[0], first[1])] = append(found[newPlace(first[0], first[1])], n)
			f.gone[n] = true
		}
	}
	f.covered[o] = found
	return found
}

// cut drops an element of a list.
func (f *fixedFile) cut(n *yaml.Node) (edit, bool) {
	list := f.list[n]
	from, to, ok := f.token(n)
	if !ok || list == nil {
		return edit{}, false
	}
	if list.Style&yaml.FlowStyle == 0 {
		cut, alone := f.cutLines(from, to, "-")
		return cut, alone && !bytes.HasPrefix(bytes.TrimSpace(f.file.lines.bytes(n.Line-1)), []byte("#"))
	}
	// Elements at the start of the list go with the comma after them, the others with
	// the one before them: so no two edits overlap.
	i := f.index[n]
	if f.leads(list) <= i || i+1 == len(list.Content) {
		cut, ok := f.cutItem(from, to, false)
		return cut, ok && i > 0
	}
	cut, ok := f.cutItem(from, to, true)
	return cut, ok && f.file.lines.data[cut.to] != '#'
}

// leads counts the elements at the start of a list that are gone, once all of those
// are known.
func (f *fixedFile) leads(list *yaml.Node) int {
	n, counted := f.leading[list]
	if !counted {
		for n < len(list.Content) && f.gone[list.Content[n]] {
			n++
		}
		f.leading[list] = n
	}
	return n
}

// apply makes changes, and reports whether they changed what they should and no
// more.
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
