// Package blob keeps blobs that are created once and never change, in a folder of a disk, below a prefix of a
// bucket, or on a ref of a git remote. Of those that create one name at the same time, one wins.
package blob

import (
	"context"
	"errors"
	"time"
)

// Store keeps blobs by their names, which are paths of letters, digits, dots and hyphens, with slashes between.
type Store interface {
	// Make prepares an empty store; it leaves another one as it is.
	Make(ctx context.Context) error
	// Create creates a blob and returns when it is durable. It returns ErrExists if there is another one of the
	// name, and ErrAbsent if the store that Make prepared is gone; after any other error the blob may exist.
	// Callers never create the same content twice. Then it creates copies, as far as it can.
	Create(ctx context.Context, b Blob, copies ...Copy) error
	// RefusesCreation returns an error unless the store prevents a second creation of a blob that exists.
	RefusesCreation(ctx context.Context, name string) error
	// Get returns the content of a blob, or ErrAbsent.
	Get(ctx context.Context, name string) ([]byte, error)
	// List returns the names below a folder in the order of their bytes: the first ones, or all if most is 0.
	// An absent folder is empty.
	List(ctx context.Context, under string, most int) ([]string, error)
	// Below returns a store of the same kind within this one, for a proof.
	Below(folder string) Store
	// Clear removes all blobs.
	Clear(ctx context.Context) error
	// Place returns where a blob is, for messages.
	Place(name string) string
}

// Blob is a blob to create. A store may show the note to people.
type Blob struct {
	Name    string
	Content []byte
	Note    string
}

// Copy is a blob that combines others, which a store may remove.
type Copy struct {
	Blob
	Of []string
}

var (
	// ErrExists says that there is another blob of the name.
	ErrExists = errors.New("it already exists")
	// ErrAbsent says that there is no blob of the name.
	ErrAbsent = errors.New("it does not exist")
	// ErrIrregular says that something else has the name of a blob: a link, a folder, or too much.
	ErrIrregular = errors.New("it is not a regular file")
	// ErrStore says that trueup refuses a store, whatever is in it: it is for something else, or others could
	// write there.
	ErrStore = errors.New("it is refused as a ledger")
)

// maxSize bounds a blob, in bytes.
const maxSize = 256 << 20

// createAll creates a blob, and then copies until one fails: readers can do without them.
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

// pauseFor returns early when the context ends.
func pauseFor(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
