// Package live reads the objects that manifests name. It can change nothing.
package live

import (
	"context"

	"trueup/internal/kind"
)

// Reader reads objects of the platform.
type Reader interface {
	// List calls each for every item of the kind's list, as it decodes it.
	List(ctx context.Context, k *kind.Kind, each func(kind.Object) error) (kind.ListInfo, error)
	// Get returns one object. Only an error with NotFound() true proves that there is none.
	Get(ctx context.Context, k *kind.Kind, name string) (kind.Object, error)
}

// State is what was live when Fetch read it. Do not change it.
type State struct {
	// Objects are the live objects of manifests, by the manifest's key.
	Objects map[kind.Key]kind.Object
	// Absent are the keys for which a GET returned 404.
	Absent map[kind.Key]bool
	// Unmanaged are listed objects that no manifest names, without status. Unless Options.Whole, only
	// those of create-only kinds have a spec: an unknown request may have created one of them.
	Unmanaged []kind.Object
	// Hosts maps the kind.HostKey of each hostname to the key of the object that serves it.
	Hosts map[string]kind.Key
	// Lists has the result of each list, by kind name.
	Lists map[string]kind.ListInfo
}
