package manifest

import (
	"bytes"
	"context"
	"regexp"
	"slices"
	"sort"
	"strings"
	"sync"

	"go.yaml.in/yaml/v3"

	"trueup/internal/diag"
	"trueup/internal/purge"
)

// maxRounds bounds how often a repaired file is looked at again: a field that is
// spelled right shows what is wrong below it, and of one file no more than
// maxOfFile findings are said at once.
const maxRounds = 100

// Mender repairs files, one after the other.
type Mender struct {
	validators validators
	options    Options
}

// NewMender returns one that reads manifests as the options say.
func NewMender(opts Options) *Mender {
	opts.Strict, opts.Parallelism, opts.room = false, 1, maxOfFile
	return &Mender{newValidators(), opts}
}

// Fix repairs in the source text what findings are sure of: quotes of texts, the
// documented spelling of fields and values, and paths of a purge that another
// purges too. It returns the text, which is the same where nothing was repaired,
// and the findings that were, at their places in the text of their round; what
// comments silence is left. Nothing but these values, keys and elements is
// another after it: that is compared, and a repair for which it does not hold is
// not made.
func (m *Mender) Fix(ctx context.Context, t Text) (text []byte, repaired diag.List, err error) {
	text = t.Data
	for range maxRounds {
		set, findings, err := m.validators.load(ctx, []Source{{Data: text, Display: t.Path}}, m.options)
		if err != nil {
			return nil, nil, err
		}
		fixed, done := fixOnce(text, set, findings)
		if len(done) == 0 {
			break
		}
		text, repaired = fixed, append(repaired, done...)
	}
	return text, repaired, nil
}

// fixOnce makes the repairs of one round: all together, or else one, so that one
// that can't be made does not keep others from being made.
func fixOnce(text []byte, set *Set, findings diag.List) ([]byte, diag.List) {
	f := newFixer(text)
	if f == nil {
		return nil, nil
	}
	all := f.repairs(set, findings)
	if fixed, ok := f.make(all); ok {
		return fixed, mended(all)
	}
	for _, r := range all {
		if fixed, ok := f.make([]repair{r}); ok {
			return fixed, diag.List{r.finding}
		}
	}
	return nil, nil
}

// repair is what a finding asks for: another text for a scalar, or elements less
// in a list.
type repair struct {
	finding diag.Finding
	node    *yaml.Node
	value   string
	drop    []*yaml.Node
	edits   []edit
}

// changed is the scalar that a repair changes, or the first that it drops.
func (r repair) changed() *yaml.Node {
	if r.node != nil {
		return r.node
	}
	return r.drop[0]
}

func mended(repairs []repair) diag.List {
	var all diag.List
	for _, r := range repairs {
		all = append(all, r.finding)
	}
	return all
}

// fixer is a file while it is repaired. Its nodes are known by their places.
type fixer struct {
	editor
	text []byte
	docs []*yaml.Node
	at   map[place]*yaml.Node
	// list and index are the list of an element and its place there.
	list  map[*yaml.Node]*yaml.Node
	index map[*yaml.Node]int
	json  bool
	// covered are the paths of purges that were looked at, and gone all of them.
	covered map[*Object]map[place][]*yaml.Node
	gone    map[*yaml.Node]bool
	// leading is how many elements at the start of a list go.
	leading map[*yaml.Node]int
}

// newFixer reads a file; nil for one that can't be read.
func newFixer(text []byte) *fixer {
	f := &fixer{
		text: text, at: map[place]*yaml.Node{}, list: map[*yaml.Node]*yaml.Node{}, index: map[*yaml.Node]int{},
		covered: map[*Object]map[place][]*yaml.Node{}, gone: map[*yaml.Node]bool{}, leading: map[*yaml.Node]int{},
		json: isJSON(newSource(text).body),
	}
	f.file = fileOf("", text)
	f.docs = f.file.read()
	if f.file.findings.HasErrors() {
		return nil
	}
	for _, doc := range f.docs {
		f.note(doc)
	}
	return f
}

// note notes the scalars below a node. What has an anchor is left out: it stands
// in other places too, in which it may be right.
func (f *fixer) note(n *yaml.Node) {
	if n.Anchor != "" {
		return
	}
	if n.Kind == yaml.ScalarNode {
		f.at[place{uint32(n.Line), uint32(n.Column)}] = n
	}
	for i, below := range n.Content {
		if n.Kind == yaml.SequenceNode {
			f.list[below], f.index[below] = n, i
		}
		f.note(below)
	}
}

func (f *fixer) find(line, column int) *yaml.Node {
	return f.at[place{uint32(line), uint32(column)}]
}

// repairs are those that findings are sure of.
func (f *fixer) repairs(set *Set, findings diag.List) []repair {
	var all []repair
	used := map[*yaml.Node]bool{}
	for _, x := range findings {
		r, ok := f.repair(set, x)
		if !ok || used[r.changed()] {
			continue // that there are more is said at the place of the last
		}
		used[r.changed()] = true
		all = append(all, r)
	}
	return all
}

func (f *fixer) repair(set *Set, x diag.Finding) (repair, bool) {
	if x.Rule == coveredRule {
		return f.dropCovered(set, x)
	}
	n := f.find(x.Line, x.Column)
	if x.Write == "" || n == nil {
		return repair{}, false
	}
	from, to, ok := f.token(n)
	if !ok {
		return repair{}, false
	}
	text := x.Write
	old := f.file.lines.data[from:to]
	if value := strings.Trim(text, `"`); text != value && !f.json && n.Style == 0 && word().MatchString(value) && resolve(value) == plainText {
		text = value
	}
	if strings.HasPrefix(text, `"`) && old[0] == '\'' {
		text = "'" + strings.Trim(text, `"`) + "'"
	}
	x.Fix = "write " + text + " instead of " + short(string(old))
	return repair{
		finding: x, node: n, value: strings.Trim(x.Write, `"`),
		edits: []edit{{from: from, to: to, text: text, cuts: -1}},
	}, true
}

// word is a text that needs no quotes in any place.
var word = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_./-]*$`) })

// dropCovered takes out of a list of paths those that another purges too, where
// no comment goes with one of them.
func (f *fixer) dropCovered(set *Set, x diag.Finding) (repair, bool) {
	r := repair{finding: x}
	after := sort.Search(len(set.Objects), func(i int) bool { return set.Objects[i].Line > x.Line })
	if after == 0 {
		return r, false
	}
	for _, n := range f.needless(set.Objects[after-1])[place{uint32(x.Line), uint32(x.Column)}] {
		cut, ok := f.cut(n)
		if !ok {
			return r, false
		}
		r.drop, r.edits = append(r.drop, n), append(r.edits, cut)
	}
	r.finding.Fix += "; a purge that was posted must not change: undo this there"
	return r, len(r.drop) > 0
}

// needless are the paths of a purge that others purge too, by the place of the
// first that the same one does.
func (f *fixer) needless(o *Object) map[place][]*yaml.Node {
	if found, ok := f.covered[o]; ok {
		return found
	}
	spec := o.Tree()
	var paths, places []string
	for at, path := range texts(spec, "spec", "paths") {
		paths, places = append(paths, path), append(places, at)
	}
	at := o.Places(places)
	first, found := map[int]place{}, map[place][]*yaml.Node{}
	for _, r := range purge.FindRedundant(paths) {
		n := f.find(at[r.Index][0], at[r.Index][1])
		if _, ok := first[r.By]; !ok {
			first[r.By] = place{uint32(at[r.Index][0]), uint32(at[r.Index][1])}
		}
		found[first[r.By]] = append(found[first[r.By]], n)
		f.gone[n] = true
	}
	f.covered[o] = found
	return found
}

// cut takes an element out of its list: its line, or what stands between it and
// its neighbour in brackets.
func (f *fixer) cut(n *yaml.Node) (edit, bool) {
	list := f.list[n]
	if n == nil || list == nil {
		return edit{}, false
	}
	from, to, ok := f.token(n)
	if !ok {
		return edit{}, false
	}
	data, i := f.file.lines.data, f.index[n]
	if list.Style&yaml.FlowStyle == 0 {
		l := &f.file.lines
		e := edit{from: l.offset(n.Line), to: l.offset(n.Line + 1), cuts: -1}
		alone := string(bytes.TrimSpace(data[e.from:from])) == "-" && len(bytes.TrimSpace(data[to:e.to])) == 0
		return e, alone && !bytes.HasPrefix(bytes.TrimSpace(l.bytes(n.Line-1)), []byte("#"))
	}
	// Of those at the start of the list each goes with the comma behind it, of the
	// others with the one before: so no two cuts overlap.
	if i < f.leads(list) && i+1 < len(list.Content) {
		next := f.offset(list.Content[i+1])
		return edit{from: from, to: next, cuts: -1}, onlySeparates(data[to:next])
	}
	_, before, ok := f.token(list.Content[max(0, i-1)])
	return edit{from: before, to: to, cuts: -1}, ok && i > 0 && onlySeparates(data[before:from])
}

// leads counts the needless elements at the start of a list, once all that are
// needless are known.
func (f *fixer) leads(list *yaml.Node) int {
	n, counted := f.leading[list]
	if !counted {
		for n < len(list.Content) && f.gone[list.Content[n]] {
			n++
		}
		f.leading[list] = n
	}
	return n
}

// onlySeparates reports whether there is nothing between two elements but what
// parts them.
func onlySeparates(text []byte) bool {
	return len(bytes.Trim(text, " \t\r\n")) == 1 && bytes.IndexByte(text, ',') >= 0
}

// make makes the repairs, and tells whether they did what they should and no
// more.
func (f *fixer) make(repairs []repair) ([]byte, bool) {
	if len(repairs) == 0 {
		return nil, false
	}
	f.edits = nil
	change := change{value: map[*yaml.Node]string{}, drop: map[*yaml.Node]bool{}}
	for _, r := range repairs {
		f.edits = append(f.edits, r.edits...)
		if r.node != nil {
			change.value[r.node] = r.value
		}
		for _, n := range r.drop {
			change.drop[n] = true
		}
	}
	out := f.apply()
	after := fileOf("", out)
	docs := after.read()
	if after.findings.HasErrors() || len(docs) != len(f.docs) {
		return nil, false
	}
	for i, doc := range docs {
		if !change.made(f.docs[i], doc) {
			return nil, false
		}
	}
	return append(bytes.Clone(f.text[:len(f.text)-len(f.file.lines.data)]), out...), true
}

// change is what is to be another after the repairs.
type change struct {
	value map[*yaml.Node]string
	drop  map[*yaml.Node]bool
}

// made reports whether a node became another just as it should.
func (c change) made(was, is *yaml.Node) bool {
	if want, ok := c.value[was]; ok {
		return is.Kind == yaml.ScalarNode && is.Value == want && is.Anchor == was.Anchor
	}
	content := slices.DeleteFunc(slices.Clone(was.Content), func(e *yaml.Node) bool { return c.drop[e] })
	if !alike(was, is) || len(content) != len(is.Content) {
		return false
	}
	for i, below := range content {
		if !c.made(below, is.Content[i]) {
			return false
		}
	}
	return true
}

// Fixable reports whether Fix may repair what a finding says.
func Fixable(x diag.Finding) bool { return x.Write != "" || x.Rule == coveredRule }
