package kind

import (
	"strings"

	"trueup/internal/canon"
)

// Object is a live object, reduced to what trueup compares and shows: canonical bytes and a digest.
type Object struct {
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
func (o Object) Key() Key { return Key{Kind: o.Kind.Name, Name: o.Name} }

// KeepAnnotation protects an object from being deleted (docs/design.md C6), in a manifest and on a live object.
const KeepAnnotation = "trueup.dev/keep"

// Kept reports whether metadata has the KeepAnnotation with any value except false.
func Kept(metadata map[string]any) bool {
	annotations, _ := metadata["annotations"].(map[string]any)
	value, marked := annotations[KeepAnnotation]
	return marked && value != nil && value != "false" && value != false
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
