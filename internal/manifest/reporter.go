package manifest

import (
	"math"
	"strconv"
	"strings"

	"trueup/internal/diag"
)

// reporter collects the findings of the running rule.
type reporter struct {
	rule     *Rule
	file     *file
	silenced diag.List
}

// report adds a finding of the running rule at a field such as spec.locations[2].cache.edgeTTL (see
// child and element). file.place adds the lines of all findings at once, because finding one reads the
// whole object.
func (s *subject) report(field, message, fix string) {
	s.file.add(0, 0, s.rule.Name, s.rule.Severity, field, message, fix)
}

// full does what file.full does, for a rule whose message is expensive to compose.
func (r *reporter) full() bool { return r.file.full(r.rule.Severity) }

// reportOn adds a finding of a rule for sets at a field of an object.
func (r *reporter) reportOn(o *Object, field, message, fix string) {
	x := r.file.add(0, 0, r.rule.Name, r.rule.Severity, field, message, fix)
	x.Path = o.Path
	x.Line, x.Column = o.Place(field)
	shown, silenced := o.Sift(diag.List{*x})
	r.file.findings = append(r.file.findings[:len(r.file.findings)-1], shown...)
	r.silenced = append(r.silenced, silenced...)
}

// place sets the line and column of the findings of the current document that have none.
func (f *file) place(o *Object) {
	own := f.findings[f.from:]
	var fields []string
	for _, x := range own {
		if x.Line == 0 {
			fields = append(fields, x.Field)
		}
	}
	if fields == nil {
		return
	}
	places := o.Places(fields)
	for i := range own {
		if x := &own[i]; x.Line == 0 {
			x.Line, x.Column = places[0][0], places[0][1]
			x.Source = f.lines.text(x.Line)
			places = places[1:]
		}
	}
}

// child returns the path of a field of a mapping. It quotes an ambiguous name: metadata.labels["a.b"].
func child(path, name string) string {
	if name == "" || strings.ContainsAny(name, ".[]\"\\ ") {
		return path + "[" + strconv.Quote(name) + "]"
	}
	if path == "" {
		return name
	}
	return path + "." + name
}

// element returns the path of the i-th element of a list, from 0.
func element(path string, i int) string { return path + "[" + strconv.Itoa(i) + "]" }

// Check runs the rules that need every object of the set. It adds what comments silence to the set.
func Check(set *Set, opts Options) diag.List {
	r := &reporter{file: &file{maxFindings: math.MaxInt}}
	for i := range Rules() {
		if r.rule = &Rules()[i]; r.rule.set != nil {
			r.rule.set(set, r)
		}
	}
	set.Silenced = append(set.Silenced, r.silenced...)
	return opts.judge(r.file.findings)
}

// Advise returns the advice that needs only the manifest, separated by whether a comment silences it.
// Advice never stops a run.
func Advise(o *Object) (advice, silenced diag.List) {
	f := &file{path: o.Path}
	s := &subject{Object: o, Tree: o.Tree(), reporter: &reporter{file: f}}
	for i := range Rules() {
		if rule := &Rules()[i]; rule.Severity == diag.Advice {
			f.start() // each rule has room of its own
			s.run(rule)
		}
	}
	f.from = 0
	f.place(o)
	return o.Sift(f.findings)
}

func (s *subject) run(rule *Rule) {
	if s.rule = rule; rule.object != nil {
		rule.object(s)
	}
}
