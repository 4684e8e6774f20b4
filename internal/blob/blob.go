// Package blob stores blobs that never change: in a folder, below a prefix of a bucket, or on a ref of a git remote. If
// several runs create the same name, exactly one succeeds.
package blob

import (
	"context"
	"errors"
	"io/fs"
	"net/url"
	"strings"
	"time"
)

// Store has blobs by name. Names are paths of letters, digits, dots and hyphens.
type Store interface {
	// Prepare prepares an empty store; it does not change an existing one.
	Prepare(ctx context.Context) error
	// Create creates blobs, one after the other, and returns when they are durable. It returns ErrExists if another blob
	// has the name, and ErrAbsent if somebody removed the store. After any other error the blob may exist. Callers never
	// create the same content twice.
	Create(ctx context.Context, blobs ...Blob) error
	// Remove removes the blobs that exist.
	Remove(ctx context.Context, names ...string) error
	// CheckRefusesCreation returns an error unless the store rejects a second creation of an existing blob.
	CheckRefusesCreation(ctx context.Context, name string) error
	// Get returns the content, or ErrAbsent.
	Get(ctx context.Context, name string) ([]byte, error)
	// GetOld is Get for a blob that later ones replaced; behind is how many were created after it.
	GetOld(ctx context.Context, name string, behind int) ([]byte, error)
	// List returns the first most names below a folder, or all if most is 0, in byte order. An absent folder is empty.
	List(ctx context.Context, under string, most int) ([]string, error)
	// SubStore returns a store within this one.
	SubStore(folder string) Store
	// Clear removes all blobs.
	Clear(ctx context.Context) error
	// Location says where a blob is, for messages.
	Location(name string) string
	// Close releases what the store keeps on this machine.
	Close() error
}

// Blob is a blob to create. A store may show Note to people.
type Blob struct {
	Name    string
	Content []byte
	Note    string
	// Replaces are blobs whose content this one has too. A store that keeps its history removes them from its newest
	// state. If Whole is set, nothing older is needed, and it may end its history there.
	Replaces []string
	Whole    bool
}

// Errors that a Store returns.
var (
	ErrExists    = errors.New("it already exists")         // another blob has the name
	ErrAbsent    = errors.New("it does not exist")         // no blob has the name
	ErrIrregular = errors.New("it is not a regular file")  // but a link, a folder, or too long
	ErrStore     = errors.New("it is refused as a ledger") // it has another use, or others can write there
)

// ignoreAbsent returns nil for ErrAbsent.
func ignoreAbsent(err error) error {
	if errors.Is(err, ErrAbsent) {
		return nil
	}
	return err
}

// maxSize bounds a blob, in bytes.
const maxSize = 256 << 20

// Sleep waits for d, or until the context ends; then it returns the context's error.
func Sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// storeAddress is the name of a store, in parts. where is the bucket, or the git remote.
type storeAddress struct {
	scheme, where, path string
	query               url.Values
}

// IsStoreWithin reports whether a store is the one that a name means, or below it by whole segments of its path. Server and
// parameters must be the same. An error means that name is of no store.
func IsStoreWithin(store, name string) (bool, error) {
	above, err := parseRoot(name)
	if err != nil {
		return false, err
	}
	above.path = strings.TrimSuffix(above.path, "/")
	at, err := parseRoot(store)
	if err != nil || at.path != "" && !fs.ValidPath(at.path) {
		return false, nil
	}
	return at.scheme == above.scheme && at.where == above.where && at.query.Encode() == above.query.Encode() &&
		(above.path == "" || at.path == above.path || strings.HasPrefix(at.path, above.path+"/")), nil
}

func parseRoot(store string) (r storeAddress, err error) {
	scheme, rest, _ := strings.Cut(store, ":")
	r = storeAddress{scheme: scheme, path: rest}
	switch scheme {
	case "s3", "gs", "azblob":
		if r.where, r.path, r.query, err = splitStoreURL(store, scheme+"://BUCKET/"); err == nil && r.where == "" {
			err = errors.New("it names no bucket")
		}
	case "git":
		r.path, r.where = SplitRemoteRef(rest)
	case "file", "postgres":
	default:
		err = errors.New("it does not begin as a store, such as s3://BUCKET/ or postgres:NAME/")
	}
	return r, err
}
