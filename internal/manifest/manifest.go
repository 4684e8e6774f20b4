// Package manifest turns YAML and JSON into a Set of checked objects with positions; it is the only
// package that knows YAML, and it never looks at what is live.
package manifest

import (
	"io/fs"

	"trueup/internal/canon"
	"trueup/internal/diag"
	"trueup/internal/kind"
)

// Object is one manifest, reduced to canonical bytes; a tree exists only while it is checked or
// compared.
type Object struct {
	Kind *kind.Kind
	Name string
	// Namespace is metadata.namespace, or the project's where the manifest has none.
	Namespace string
	// APIVersion is what the manifest says, perhaps an alias of the kind's.
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
	Keep bool
	// positions is a compact index of places.
	positions positions
	silences  []Silence
}

// Key returns the identity of the object.
func (o *Object) Key() kind.Key { return kind.Key{Kind: o.Kind.Name, Name: o.Name} }

// Tree returns the spec as a tree, or nil if it is not a mapping.
func (o *Object) Tree() map[string]any {
	if len(o.Spec) == 0 {
		return nil
	}
	tree, _ := canon.MustDecode(o.Spec).(map[string]any)
	return tree
}

// Set is every object of a tree, in the order of their files.
type Set struct {
	Objects []*Object
	// Silenced are the warnings that comments keep from being shown.
	Silenced diag.List
	byKey    map[kind.Key]*Object
}

// Find returns the object with the key, or nil.
func (s *Set) Find(k kind.Key) *Object { return s.byKey[k] }

// Spec returns the spec of the object with the key, or nil.
func (s *Set) Spec(k kind.Key) []byte {
	if o := s.Find(k); o != nil {
		return o.Spec
	}
	return nil
}

// Source is one PATH of the command line.
type Source struct {
	// FS is rooted at the folder that holds the source.
	FS fs.FS
	// Path is what to read inside FS: a file, or a folder to walk.
	Path string
	// Display is put before names inside FS to show them as the user would write them.
	Display string
	// Data is the content of standard input; FS is then nil.
	Data []byte
}

// Options are the settings of a project for its manifests.
type Options struct {
	// Workspace is the name that metadata.namespace must have; empty where there is no project.
	Workspace string
	// DeprecatedPurgeURL is the address of the older purge service, or empty. A manifest that has it
	// gets a warning.
	DeprecatedPurgeURL string
	// Undocumented are fields and values that the platform has and does not document: by kind, and by
	// the path of their parent without indices, such as CDN and spec.upstreams. They are not misspelt.
	Undocumented map[string]map[string][]string
	// Strict makes warnings errors.
	Strict bool
	// Parallelism bounds how many files are read at once; 0 is one a core.
	Parallelism int
	// Limits limit what is read; the zero value means the defaults.
	Limits Limits
	// Progress, if set, is called after every file, from several goroutines.
	Progress func(done, of int)
	// findings is how many a document may have, if more than usual.
	findings int
}
