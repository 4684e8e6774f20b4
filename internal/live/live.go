// Package live fetches what the manifests name into an immutable State; it
// declares the Reader that it needs and can change nothing.
package live

import (
	"context"

	"trueup/internal/kind"
)

// Reader reads objects of the platform.
type Reader interface {
	// List calls each for every item of the kind's collection, as it is decoded.
	List(ctx context.Context, k *kind.Kind, each func(kind.Object) error) (kind.ListInfo, error)
	// Get returns one object; an error with NotFound() true is the only proof that there is none.
	Get(ctx context.Context, k *kind.Kind, name string) (kind.Object, error)
}

// State is what was live when it was fetched.
type State struct {
	// Objects are the objects that a manifest names, found, by git's key.
	Objects map[kind.Key]kind.Object
	// Absent are those that a GET answered with a 404.
	Absent map[kind.Key]bool
	// Unmanaged are listed objects that no manifest names, without their status,
	// and, unless Options.Whole, without their spec but for those that are made
	// once: one of them may be what a request without an answer made.
	Unmanaged []kind.Object
	// Hosts maps the kind.HostKey of each hostname that an object serves to the key of that object.
	Hosts map[string]kind.Key
	// Lists says, by kind name, how complete the list was.
	Lists map[string]kind.ListInfo
}
