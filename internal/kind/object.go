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
	// UID, ResourceVersion and CreationTimestamp are empty where the server
	// gave none.
	UID               string
	ResourceVersion   string
	CreationTimestamp string
	// Terminating says that metadata.deletionTimestamp is set.
	Terminating bool
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
