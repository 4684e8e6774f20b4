// Package blob stores blobs that never change: in a folder, below a prefix of a bucket, or on a ref of a git remote. If
// several runs create the same name, exactly one succeeds.
package blob

import (
	"context"
	"errors"
	"time"
)

// Store has blobs by name. Names are paths of letters, digits, dots and hyphens.
type Store interface {
	// Make prepares an empty store; it does not change an existing one.
	Make(ctx context.Context) error
	// Create creates a blob and returns when it is durable. It returns ErrExists if another blob has the name, and
	// ErrAbsent if somebody removed the store. After any other error the blob may exist. Callers never create the same
	// content twice. Create then tries to create the copies.
	Create(ctx context.Context, b Blob, copies ...Copy) error
	// RefusesCreation returns an error unless the store rejects a second creation of an existing blob.
	RefusesCreation(ctx context.Context, name string) error
	// Get returns the content, or ErrAbsent.
	Get(ctx context.Context, name string) ([]byte, error)
	// List returns the first most names below a folder, or all if most is 0, in byte order. An absent folder is empty.
	List(ctx context.Context, under string, most int) ([]string, error)
	// Below returns a store within this one, for a test of the store.
	Below(folder string) Store
	// Clear removes all blobs.
	Clear(ctx context.Context) error
	// Place says where a blob is, for messages.
	Place(name string) string
}

// Blob is a blob to create. A store may show Note to people.
type Blob struct {
	Name    string
	Content []byte
	Note    string
}

// Copy combines the blobs Of, which the store may remove.
type Copy struct {
	Blob
	Of []string
}

// Errors that a Store returns.
var (
	ErrExists    = errors.New("it already exists")         // another blob has the name
	ErrAbsent    = errors.New("it does not exist")         // no blob has the name
	ErrIrregular = errors.New("it is not a regular file")  // but a link, a folder, or too long
	ErrStore     = errors.New("it is refused as a ledger") // it has another use, or others can write there
)

// maxSize bounds a blob, in bytes.
const maxSize = 256 << 20

// createAll creates a blob, and then copies until one fails. Readers can do without copies.
func createAll(ctx context.Context, b Blob, copies []Copy, create func(context.Context, Blob) error) error {
	if err := create(ctx, b); err != nil {
		return err
	}
	for _, one := range copies {
		if create(ctx, one.Blob) != nil {
			break
		}
	}
	return nil
}

// Sleep waits for d, or until the context ends; then it returns the context's error.
func Sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
