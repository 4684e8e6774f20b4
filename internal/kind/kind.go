// Package kind holds the platform's kinds as data: envelopes, paths, documented verbs, policy, and
// per field what the schema says; it fetches and changes nothing.
package kind

import (
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// Policy is how an object of a kind comes to match its manifest.
type Policy uint8

const (
	// Converge objects are created and patched until live equals git.
	Converge Policy = iota
	// CreateOnly objects are made once and never changed: they are moments.
	CreateOnly
	// RequestOnly objects are requests that are sent once and leave no object behind.
	RequestOnly
)

// Area is the part of the platform that serves a kind; each has its own base
// address and token (docs/platform.md 1).
type Area string

// The two areas of the platform.
const (
	Compute  Area = "compute"
	Delivery Area = "delivery"
)

// Areas returns both areas, in the order in which they are shown.
func Areas() []Area { return []Area{Compute, Delivery} }

// Verb is an operation that the platform's document names.
type Verb uint8

// The documented operations (docs/platform.md 4).
const (
	List Verb = iota
	Get
	Create
	Patch
	Delete
)

// Kind is one kind of object. The table of all is in table.go.
type Kind struct {
	// Name is the value of "kind" in the envelope.
	Name string
	// Short is the name that people type.
	Short string
	// APIVersion is the value that is sent on the wire.
	APIVersion string
	// Alias matches other values of apiVersion that mean the same kind, and
	// AliasForm is their form with {vendor} in it: the envelope of the
	// command-line route (docs/platform.md 2.3). Both are empty for most kinds.
	Alias     *regexp.Regexp
	AliasForm string
	Area      Area
	// Collection is the path of the list below the area's base address, with
	// {namespace} or {workspace_uuid} in it.
	Collection string
	Verbs      []Verb
	Policy     Policy
	// SchemaFile is the name of the JSON Schema in the folder schemas.
	SchemaFile string
	// HostField is the field of spec that holds a hostname, or "". Objects
	// with Policy RequestOnly wait for the Converge object of the same hostname.
	HostField string
	// DiskField is the path below spec of the disk that an object is made from, or empty.
	DiskField []string
	// NamespaceOnWire says whether metadata.namespace is sent: the Purge
	// envelope of the API has none (docs/platform.md 2.3).
	NamespaceOnWire bool
	// ReadyField is the field of status that is true once the object has
	// become what it is for, or "" where there is nothing to wait for.
	ReadyField string
	// Role is what a caller must hold to create an object, or "" where the
	// document names none (docs/platform.md 5).
	Role string

	once sync.Once
	root *Field
}

// AliasVersion returns the apiVersion of the command-line route of a vendor, and
// whether the kind has one by that name.
func (k *Kind) AliasVersion(vendor string) (string, bool) {
	version := strings.ReplaceAll(k.AliasForm, "{vendor}", vendor)
	return version, k.Alias != nil && k.Alias.MatchString(version)
}

// CanPatch reports whether objects of the kind are patched until live equals git.
func (k *Kind) CanPatch() bool { return k.Policy == Converge }

// CreateOnly reports whether objects of the kind are created and never changed.
func (k *Kind) CreateOnly() bool { return k.Policy == CreateOnly }

// RequestOnly reports whether an object of the kind is a request that leaves no object behind.
func (k *Kind) RequestOnly() bool { return k.Policy == RequestOnly }

// SentOnce reports whether the creation of an object must be sent at most once.
func (k *Kind) SentOnce() bool { return !k.CanPatch() }

// Plural is the short name of several: cdns, snapshots.
func (k *Kind) Plural() string { return k.Short + "s" }

// Workspace names the place that all objects of a project live in.
type Workspace struct {
	// Name is {namespace}, UUID is {workspace_uuid} of docs/platform.md 1.
	Name string `json:"name"`
	UUID string `json:"uuid"`
}

// Can reports whether the platform documents the operation for the kind.
func (k *Kind) Can(v Verb) bool { return slices.Contains(k.Verbs, v) }

// CollectionPath returns the escaped path of the kind's list, relative to the
// base address and starting with a slash.
func (k *Kind) CollectionPath(ws Workspace) string {
	return strings.NewReplacer(
		"{namespace}", url.PathEscape(ws.Name),
		"{workspace_uuid}", url.PathEscape(ws.UUID),
	).Replace(k.Collection)
}

// ObjectPath returns the escaped path of one object, relative to the base
// address and starting with a slash.
func (k *Kind) ObjectPath(ws Workspace, name string) string {
	return k.CollectionPath(ws) + "/" + url.PathEscape(name)
}

// ShortObjectPath returns the object's path without the workspace, as plans show it: /cdns/shop.
func (k *Kind) ShortObjectPath(name string) string {
	return k.ShortCollectionPath() + "/" + url.PathEscape(name)
}

// ShortCollectionPath returns the collection without the workspace: /cdns.
func (k *Kind) ShortCollectionPath() string {
	return k.Collection[strings.LastIndexByte(k.Collection, '/'):]
}

// Key identifies an object of a workspace whatever its envelope.
type Key struct {
	Kind string `json:"kind"`
	Name string `json:"name"`
}

// String returns KIND/NAME, the form that flags and messages use.
func (k Key) String() string { return k.Kind + "/" + k.Name }

// KeysOf returns the keys of objects.
func KeysOf[O interface{ Key() Key }](objects []O) []Key {
	keys := make([]Key, len(objects))
	for i, o := range objects {
		keys[i] = o.Key()
	}
	return keys
}

// ParseKey reads KIND/NAME; the kind may be written in any case.
func ParseKey(s string) (Key, bool) {
	kindName, name, ok := strings.Cut(s, "/")
	if !ok || name == "" {
		return Key{}, false
	}
	k, ok := Named(kindName)
	if !ok {
		return Key{}, false
	}
	return Key{Kind: k.Name, Name: name}, true
}
