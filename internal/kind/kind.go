// Package kind describes the platform's kinds as data: envelopes, paths, documented verbs, policy, and
// what the schema says of each field. It fetches and changes nothing.
package kind

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"

	"trueup/internal/canon"
)

// Policy is how an object of a kind comes to match its manifest.
type Policy uint8

const (
	// Converge objects are created and patched until live equals git.
	Converge Policy = iota
	// CreateOnly objects are created once and never changed.
	CreateOnly
	// RequestOnly objects are requests that are sent once and leave no object behind.
	RequestOnly
)

// Area is a part of the platform with its own base address and token (docs/platform.md 1).
type Area string

// The areas.
const (
	Compute  Area = "compute"
	Delivery Area = "delivery"
)

// Areas returns both areas in the order to show them.
func Areas() []Area { return []Area{Compute, Delivery} }

// Verb is an operation of the API.
type Verb uint8

// The documented operations (docs/platform.md 4).
const (
	List Verb = iota
	Get
	Create
	Patch
	Delete
)

// Kind is one kind of object; see table.
type Kind struct {
	Name       string // the value of "kind" in the envelope
	Short      string // the name that users type
	APIVersion string // the one that requests send
	// Alias matches other apiVersions of the kind, and AliasForm is their form with {vendor} in it: the
	// envelope of the command-line route (docs/platform.md 2.3). Most kinds have neither.
	Alias     *regexp.Regexp
	AliasForm string
	Area      Area
	// Collection is the path of the list from the area's base address, with {namespace} or {workspace_uuid} in it.
	Collection string
	Verbs      []Verb
	Policy     Policy
	// HostField is the field of spec that has a hostname, or "". IsRequestOnly objects wait for the
	// Converge object of the same hostname.
	HostField string
	// DiskField is the path in spec of the disk that an object is made from, or empty.
	DiskField []string
	// NamespaceOnWire reports whether requests have metadata.namespace (docs/platform.md 2.3).
	NamespaceOnWire bool
	ReadyField      string // the field of status that is true once the object is ready, or ""
	// Role is the role that may create an object, or "" if none is documented (docs/platform.md 5).
	Role string

	once sync.Once
	root *Field
}

// AliasVersion returns the alias with this vendor's name, and reports whether the kind has one.
func (k *Kind) AliasVersion(vendor string) (string, bool) {
	version := strings.ReplaceAll(k.AliasForm, "{vendor}", vendor)
	return version, k.Alias != nil && k.Alias.MatchString(version)
}

// CanPatch reports whether objects of the kind are patched until live equals git.
func (k *Kind) CanPatch() bool { return k.Policy == Converge }

// IsCreateOnly reports whether objects of the kind are created and never changed.
func (k *Kind) IsCreateOnly() bool { return k.Policy == CreateOnly }

// IsRequestOnly reports whether an object of the kind is a request that leaves no object behind.
func (k *Kind) IsRequestOnly() bool { return k.Policy == RequestOnly }

// IsSendOnce reports whether the creation of an object must be sent at most once.
func (k *Kind) IsSendOnce() bool { return !k.CanPatch() }

// Plural returns the plural of the short name: cdns, snapshots.
func (k *Kind) Plural() string { return k.Short + "s" }

// Workspace is the place of all objects of a project.
type Workspace struct {
	Name string `json:"name"` // Name is {namespace}, UUID is {workspace_uuid} (docs/platform.md 1)
	UUID string `json:"uuid"`
}

// EmptyListQuestion returns a question to the user if the list of the kind is empty, and how to answer it: a platform may
// return an empty list if the workspace does not exist. It returns "" for kinds that many workspaces have no objects of.
func (w Workspace) EmptyListQuestion(k *Kind) (question, fix string) {
	if !k.CanPatch() {
		return "", ""
	}
	return fmt.Sprintf("0 %ss found in workspace %s (%s): is the UUID right?", k.Name, w.Name, w.UUID),
		"compare workspace: in trueup.yaml with your profile in the web console"
}

// Documents reports whether the platform documents the operation for the kind.
func (k *Kind) Documents(v Verb) bool { return slices.Contains(k.Verbs, v) }

// CollectionPath returns the escaped path of the list, from the base address, with a slash at its start.
func (k *Kind) CollectionPath(ws Workspace) string {
	return strings.NewReplacer(
		"{namespace}", url.PathEscape(ws.Name),
		"{workspace_uuid}", url.PathEscape(ws.UUID),
	).Replace(k.Collection)
}

// ObjectPath returns the escaped path of one object, like CollectionPath.
func (k *Kind) ObjectPath(ws Workspace, name string) string {
	return k.CollectionPath(ws) + "/" + url.PathEscape(name)
}

// ShortObjectPath returns the object's path below the workspace: /cdns/shop.
func (k *Kind) ShortObjectPath(name string) string {
	return k.ShortCollectionPath() + "/" + url.PathEscape(name)
}

// ShortCollectionPath returns the collection's path below the workspace: /cdns.
func (k *Kind) ShortCollectionPath() string {
	return k.Collection[strings.LastIndexByte(k.Collection, '/'):]
}

// Key identifies an object of a workspace.
type Key struct {
	Kind string `json:"kind"`
	Name string `json:"name"`
	// Project is the folder of the object's project in a merged result of many; else it is empty.
	Project string `json:"project,omitempty"`
}

// String returns KIND/NAME, as flags and messages have it.
func (k Key) String() string { return k.Kind + "/" + k.Name }

// CompareKeys orders keys by kind and name.
func CompareKeys(a, b Key) int {
	return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Name, b.Name))
}

// KeysOf returns the keys of objects.
func KeysOf[O interface{ Key() Key }](objects []O) []Key {
	keys := make([]Key, len(objects))
	for i, o := range objects {
		keys[i] = o.Key()
	}
	return keys
}

// ParseKey reads KIND/NAME; the kind may be written in any case.
func ParseKey(s string) (Key, error) {
	kindName, name, _ := strings.Cut(s, "/")
	k, ok := FindKind(kindName)
	if !ok || name == "" {
		return Key{}, fmt.Errorf("%q: write KIND/NAME, such as cdn/shop", s)
	}
	return Key{Kind: k.Name, Name: name}, nil
}

// ParseFilter returns a function that reports whether a key matches a pattern KIND/NAME, with the wildcards of path.Match
// in both parts. Without patterns it returns nil.
func ParseFilter(patterns ...string) (func(Key) bool, error) {
	if len(patterns) == 0 {
		return nil, nil
	}
	for _, p := range patterns {
		if _, err := path.Match(p, ""); err != nil || strings.Count(p, "/") != 1 {
			return nil, fmt.Errorf("%q: write KIND/NAME, such as cdn/shop or */web-*", p)
		}
	}
	return func(k Key) bool {
		return slices.ContainsFunc(patterns, func(p string) bool {
			kindPart, namePart, _ := strings.Cut(p, "/")
			byKind, _ := path.Match(strings.ToLower(kindPart), strings.ToLower(k.Kind))
			byName, _ := path.Match(namePart, k.Name)
			return byKind && byName
		})
	}, nil
}

// LiveObject is a live object, reduced to what trueup compares and shows: canonical bytes and a digest.
type LiveObject struct {
	Kind      *Kind
	Name      string
	Namespace string
	// UID, ResourceVersion and CreationTimestamp may be empty.
	UID               string
	ResourceVersion   string
	CreationTimestamp string
	Terminating       bool // true if metadata.deletionTimestamp is set
	Keep              bool // true if the object has the KeepAnnotation
	// Spec and Status are canonical JSON, or nil; Digest is that of Spec.
	Spec   []byte
	Digest canon.Sum
	Status []byte
	Host   string // the value of the kind's HostField, or empty
}

// Key returns the identity of the object.
func (o LiveObject) Key() Key { return Key{Kind: o.Kind.Name, Name: o.Name} }

// KeepAnnotation protects an object from being deleted (docs/design.md C6), in a manifest and on a live object.
const KeepAnnotation = "trueup.dev/keep"

// HasKeepAnnotation reports whether metadata has the KeepAnnotation with any value except false.
func HasKeepAnnotation(metadata map[string]any) bool {
	value := canon.At(metadata, "annotations", KeepAnnotation)
	return value != nil && value != "false" && value != false
}

// HostKey returns a hostname as a map key: in lower case and without a final dot (RFC 4343).
// trueup never shows or sends it.
func HostKey(hostname string) string {
	return strings.ToLower(strings.TrimSuffix(hostname, "."))
}

// ListInfo is what is known of the answer to a list.
type ListInfo struct {
	Complete bool // false if the server said that items are missing
	Items    int
	Requests int
}

// ReadObject reduces an envelope in canonical JSON to an Object, which keeps nothing of it. It accepts
// what the platform's document does not show: items without kind, null for an absent field, workspace
// for namespace. It returns an error only for another kind, a missing name, or a spec that is no object.
func (k *Kind) ReadObject(doc []byte) (LiveObject, error) {
	o := LiveObject{Kind: k}
	var spec []byte
	var meta map[string]any
	for key, value := range canon.Members(doc) {
		if string(value) == "null" {
			continue
		}
		switch string(key) {
		case "kind":
			if string(value) != `"`+k.Name+`"` {
				return LiveObject{}, fmt.Errorf("kind is %.40s, not %q", value, k.Name)
			}
		case "metadata":
			meta = canon.Object(canon.MustDecode(value))
		case "spec":
			spec = value
		case "status":
			o.Status = bytes.Clone(value)
		}
	}
	o.Name, o.Namespace, o.UID = textOrNumber(meta["name"]), cmp.Or(textOrNumber(meta["namespace"]), textOrNumber(meta["workspace"])), textOrNumber(meta["uid"])
	o.ResourceVersion, o.CreationTimestamp = textOrNumber(meta["resourceVersion"]), textOrNumber(meta["creationTimestamp"])
	o.Terminating, o.Keep = textOrNumber(meta["deletionTimestamp"]) != "", HasKeepAnnotation(meta)
	if name, _ := meta["name"].(string); name == "" {
		return LiveObject{}, errors.New("metadata.name is missing")
	}
	if spec == nil {
		return o, nil
	}
	if spec[0] != '{' {
		return o, fmt.Errorf("spec of %s is not an object", o.Key())
	}
	o.Spec, o.Digest = bytes.Clone(spec), canon.Digest(spec)
	for key, value := range canon.Members(spec) {
		if k.HostField != "" && string(key) == k.HostField {
			o.Host = textOrNumber(canon.MustDecode(value))
		}
	}
	return o, nil
}

// textOrNumber returns a text or the digits of a number, else "".
func textOrNumber(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case json.Number:
		return v.String()
	}
	return ""
}

// IsReady reports whether an object with this status, canonical JSON or nil, is ready, or returns the
// server's error message. Objects of a kind without ReadyField are ready at once.
func (k *Kind) IsReady(status []byte) (ready bool, failure string) {
	if k.ReadyField == "" {
		return true, ""
	}
	v, _ := canon.Decode(status) // without a status, it is not ready
	tree := canon.Object(v)
	switch reason := tree["error"].(type) {
	case string:
		return false, reason
	case map[string]any:
		return false, cmp.Or(textOrNumber(reason["message"]), string(canon.Encode(reason)))
	}
	return tree[k.ReadyField] == true || tree[k.ReadyField] == "true", ""
}

// MakeEnvelope returns the canonical JSON that creates an object: the envelope of the API, and metadata with
// the name and, if the kind has one, the namespace (docs/platform.md 2). spec must be canonical JSON.
func (k *Kind) MakeEnvelope(ws Workspace, name string, spec []byte) []byte {
	meta := map[string]any{"name": name}
	if k.NamespaceOnWire && ws.Name != "" {
		meta["namespace"] = ws.Name
	}
	head := canon.Encode(map[string]any{"apiVersion": k.APIVersion, "kind": k.Name, "metadata": meta})
	b := append(head[:len(head)-1], `,"spec":`...)
	return append(append(b, spec...), '}')
}

// LiveState is what was live when it was read. Do not change it.
type LiveState struct {
	Objects map[Key]LiveObject // the live objects of manifests, by the manifest's key
	Absent  map[Key]bool       // the keys for which a GET returned 404
	// Unmanaged are listed objects that no manifest names, without status. Unless the whole was asked for, only
	// those have a spec that answer requests, or are of create-only kinds: an unknown request may have created one of them.
	Unmanaged []LiveObject
	// Hosts maps the HostKey of each hostname to the key of the object that serves it.
	Hosts map[string]Key
	Lists map[string]ListInfo // the result of each list, by kind name
}

// Unread has why areas could not be read.
type Unread map[Area]error

// Err returns all of it as one error.
func (u Unread) Err() error { return errors.Join(u[Compute], u[Delivery]) }
