// Package manifest reads YAML and JSON into a Set of checked objects with positions, and reports what YAML parsers
// disagree about. It never looks at live objects.
package manifest

import (
	"fmt"
	"io/fs"
	"slices"
	"sync"

	"trueup/internal/canon"
	"trueup/internal/diag"
	"trueup/internal/kind"
	"trueup/internal/routing"
	"trueup/internal/rules"
)

// Object is one manifest. To save memory, it keeps its spec as canonical bytes and not as a tree.
type Object struct {
	Kind *kind.Kind
	Name string
	// Namespace is metadata.namespace, or the project's where the manifest has none.
	Namespace string
	// APIVersion is that of the manifest, which may be an alias of the kind's.
	APIVersion string
	// Path is the file as the user named it; Line and Column are where the object starts, from 1.
	Path   string
	Line   int
	Column int
	// Spec is canonical JSON.
	Spec   []byte
	Digest canon.Sum
	// Host is the value of the kind's HostField, if it has one.
	Host string
	// Keep is whether the manifest has kind.KeepAnnotation.
	Keep      bool
	positions jsonWithPlaces
	// Silences are its comments that silence rules.
	Silences []CommentMark
}

// Key returns the kind and name of the object.
func (o *Object) Key() kind.Key { return kind.Key{Kind: o.Kind.Name, Name: o.Name} }

// Tree returns the spec as a tree, or nil if it is not a mapping.
func (o *Object) Tree() map[string]any {
	if len(o.Spec) == 0 {
		return nil
	}
	return canon.Object(canon.MustDecode(o.Spec))
}

// CDN returns what answers requests by the manifest alone, or nil if the kind serves no hostname.
func (o *Object) CDN() *routing.CDN {
	if o.Kind.IsSendOnce() || o.Host == "" {
		return nil
	}
	c := routing.NewCDN(o.Key(), o.Spec)
	c.Path, c.Line = o.Path, o.Line
	c.Lines = sync.OnceValue(func() []int { return o.findLines(c.Config().Locations, routing.ReadConfigJSON(o.Spec).Locations) })
	return c
}

// findLines returns the line in the manifest of each location of a CDN. The CDN may have others than are written: such a
// location has the line of the list.
func (o *Object) findLines(locations, written []routing.Location) []int {
	fields := []string{"spec.locations"}
	for i := range written {
		fields = append(fields, fmt.Sprintf("spec.locations[%d]", i))
	}
	places := o.Positions(fields)
	lines := make([]int, len(locations))
	for i, l := range locations {
		same := func(w routing.Location) bool { return w.Path == l.Path && w.Host == l.Host }
		at := i
		if at >= len(written) || !same(written[at]) {
			at = slices.IndexFunc(written, same)
		}
		lines[i] = places[at+1][0]
	}
	return lines
}

// Set is every object of a tree, in the order of their files.
type Set struct {
	Objects []*Object
	// Tests are documents of kind.RequestTest, which have no name.
	Tests []*Object
	// Silenced are the warnings that comments silence.
	Silenced diag.List
	byKey    map[kind.Key]*Object
}

// Find returns the object with the key, or nil.
func (s *Set) Find(k kind.Key) *Object { return s.byKey[k] }

// WithoutFiles returns the set without what some files have.
func (s *Set) WithoutFiles(files []string) *Set {
	isIn := func(o *Object) bool { return slices.Contains(files, o.Path) }
	rest := &Set{
		Objects: slices.DeleteFunc(slices.Clone(s.Objects), isIn), Tests: slices.DeleteFunc(slices.Clone(s.Tests), isIn),
		Silenced: s.Silenced, byKey: map[kind.Key]*Object{},
	}
	for _, o := range rest.Objects {
		rest.byKey[o.Key()] = o
	}
	return rest
}

// Areas returns the areas that have manifests.
func (s *Set) Areas() []kind.Area {
	return slices.DeleteFunc(kind.Areas(), func(area kind.Area) bool {
		return !slices.ContainsFunc(s.Objects, func(o *Object) bool { return o.Kind.Area == area })
	})
}

// HasOnlyRequests reports whether all objects are requests that are sent once, such as a purge from a pipe.
func (s *Set) HasOnlyRequests() bool {
	return len(s.Objects) > 0 && !slices.ContainsFunc(s.Objects, func(o *Object) bool { return !o.Kind.IsRequestOnly() })
}

// Spec returns the spec of the object with the key, or nil.
func (s *Set) Spec(k kind.Key) []byte {
	if o := s.Find(k); o != nil {
		return o.Spec
	}
	return nil
}

// PathSource is one PATH of the command line.
type PathSource struct {
	// FS is the folder of the source, or nil for standard input.
	FS fs.FS
	// Path is the file or folder in FS to read.
	Path string
	// Display is the prefix that makes a name in FS the one that the user knows.
	Display string
	// Data is the content of standard input.
	Data []byte
}

// LoadSettings are the settings of a project for its manifests.
type LoadSettings struct {
	// Workspace is the name that metadata.namespace must have, or empty without a project.
	Workspace string
	// Precedence is platform.precedence of the project, or empty.
	Precedence string
	// Undocumented are fields and values that the platform has and does not document: by kind, and by
	// the path of their parent without indices, such as CDN and spec.upstreams. They are not misspelt.
	Undocumented map[string]map[string][]string
	// Own are rules of the users.
	Own []rules.OwnRule
	// Strict makes warnings errors.
	Strict bool
	// Parallelism limits how many files are read at once; 0 means one for each core.
	Parallelism int
	Limits      Limits
	// Progress, if set, is called after every file, from several goroutines.
	Progress func(done, of int)
	// Findings raises the limit of findings of a document.
	Findings int
}

// newRuleSubject returns the object for rules that report to a file.
func (o *Object) newRuleSubject(doc, tree map[string]any, opts LoadSettings, f *FileState) *rules.RuleSubject {
	return &rules.RuleSubject{
		Kind: o.Kind, Name: o.Name, Host: o.Host, Doc: doc, Tree: tree, JSON: o.positions.json,
		Options: rules.RuleSettings{Workspace: opts.Workspace, Precedence: opts.Precedence},
		Report:  func(x diag.Finding) { f.AddFinding(0, 0, x.Rule, x.Severity, x.Field, x.Message, x.Fix) },
		Full:    f.Full,
		Line: func(field string) int {
			line, _ := o.Position(field)
			return line
		},
	}
}

// Hostname returns the hostname that the object is about, or "".
func (o *Object) Hostname() string { return o.Host }

// LocationHosts returns the hosts of locations, and perhaps others.
func (o *Object) LocationHosts() []string { return routing.AppendHosts(nil, o.Spec) }

// At returns where a field is, as FILE:LINE.
func (o *Object) At(field string) string {
	line, _ := o.Position(field)
	return fmt.Sprintf("%s:%d", o.Path, line)
}

// CheckSet runs the rules that need every object of the set. It adds what comments silence to the set.
func CheckSet(set *Set, opts LoadSettings) (findings diag.List) {
	all := diag.MapList(set.Objects, func(o *Object) rules.CheckedObject { return o })
	rules.CheckSet(all, func(of rules.CheckedObject, x diag.Finding) {
		o := of.(*Object)
		x.Line, x.Column = o.Position(x.Field)
		x.Path, x.Field, x.Message, x.Fix = o.Path, clip(x.Field), clip(x.Message), clip(x.Fix)
		shown, silenced := o.SplitSilenced(diag.List{x})
		findings, set.Silenced = append(findings, shown...), append(set.Silenced, silenced...)
	})
	return opts.ApplyStrict(findings)
}

// Advise returns the advice that needs only the manifest, whose spec is the tree, separated by whether a comment silences it.
// Advice never stops a run.
func Advise(o *Object, tree map[string]any, opts LoadSettings) (advice, silenced diag.List) {
	f := NewFileState(o.Path, nil)
	f.object = o
	s := o.newRuleSubject(nil, tree, opts, f)
	s.Begin = func() { f.removeSilenced(); f.StartDocument() } // each rule has room of its own
	s.Run(true)
	f.removeSilenced()
	return f.Findings, f.silenced
}
