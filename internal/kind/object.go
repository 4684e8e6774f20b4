package kind

import (
	"strings"

	"trueup/internal/canon"
)

// Object is an object as the platform answered it, reduced to what is compared
// and shown: canonical bytes and a digest, never a tree.
type Object struct {
	Kind      *Kind
	Name      string
	Namespace string
	// UID, ResourceVersion and CreationTimestamp are empty where the server gave none.
	UID               string
	ResourceVersion   string
	CreationTimestamp string
	// Terminating says that metadata.deletionTimestamp is set.
	Terminating bool
	// Keep says that the object is marked by KeepAnnotation.
	Keep bool
	// Spec is canonical JSON, nil where the answer had no spec.
	Spec   []byte
	Digest canon.Sum
	// Status is canonical JSON, nil where the answer had none.
	Status []byte
	// Host is the value of the kind's HostField, if it has one.
	Host string
}

// Key returns the identity of the object.
func (o Object) Key() Key { return Key{Kind: o.Kind.Name, Name: o.Name} }

// KeepAnnotation is the annotation that keeps an object from being deleted
// (docs/design.md C6). It counts in a manifest and on a live object alike.
const KeepAnnotation = "trueup.dev/keep"

// Kept reports whether metadata marks its object as one to keep: any value of the
// annotation does, but for false.
func Kept(metadata map[string]any) bool {
	annotations, _ := metadata["annotations"].(map[string]any)
	value, marked := annotations[KeepAnnotation]
	return marked && value != nil && value != "false" && value != false
}

// HostKey returns the form in which hostnames are looked up: case and a final
// dot mean nothing (RFC 4343). It is never shown and never sent.
func HostKey(hostname string) string {
	return strings.ToLower(strings.TrimSuffix(hostname, "."))
}

// ListInfo says how far the answer to a list can be trusted.
type ListInfo struct {
	// Complete is false where the server said that items are missing.
	Complete bool
	Items    int
	Requests int
}
