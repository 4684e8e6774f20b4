package kind

import "errors"

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
