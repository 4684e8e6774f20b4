// Package blob keeps blobs that are made once and never change, in a folder of a disk
// below a prefix of a bucket, or on a ref of a git remote: whoever makes one first wins, whatever others do at
// the same time.
package blob

import (
	"context"
	"errors"
	"time"
)

// Store keeps blobs by their names, which are paths of letters, digits, dots and
// hyphens, with slashes between.
type Store interface {
	// Make makes room for the first blob; where there is some already it stays.
	Make(ctx context.Context) error
	// Create makes a blob where there is none of that name, and returns once it is
	// durable; ErrExists if there is another one, ErrAbsent if what Make made is gone.
	// After any other error it may or may not have been made. No two calls give the same content. Copies are made after it;
	// whether they are made is not said.
	Create(ctx context.Context, b Blob, copies ...Copy) error
	// RefusesCreation shows that the store keeps the blob of a name, which is there, from
	// being made again: else it is not safe.
	RefusesCreation(ctx context.Context, name string) error
	// Get reads a blob whole; ErrAbsent if there is none of that name.
	Get(ctx context.Context, name string) ([]byte, error)
	// List returns the names below a folder in the order of their bytes: the first of
	// them, or all where most is 0. Nothing is there below a folder that is absent.
	List(ctx context.Context, under string, most int) ([]string, error)
	// Below is a store of the same make within this one, for a proof.
	Below(folder string) Store
	// Clear removes all blobs.
	Clear(ctx context.Context) error
	// Place says where a blob is, for messages.
	Place(name string) string
}

// Blob is one that is to be made. Note says to a person what it is, where the store has
// room for that.
type Blob struct {
	Name    string
	Content []byte
	Note    string
}

// Copy is a blob that has what others have, by their names: these may be removed.
type Copy struct {
	Blob
	Of []string
}

var (
	// ErrExists says that there is another blob of the name.
	ErrExists = errors.New("it already exists")
	// ErrAbsent says that there is no blob of the name.
	ErrAbsent = errors.New("it does not exist")
	// ErrIrregular says that what is there is no blob: a link, a folder, or too long.
	ErrIrregular = errors.New("it is not a regular file")
)

// pauseFor waits, unless it is interrupted.
func pauseFor(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// maxSize bounds a blob, in bytes.
const maxSize = 256 << 20
