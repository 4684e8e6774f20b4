package blob

import (
	"context"

	"trueup/internal/diag"
)

// ReadOnly is a store that refuses every change with diag.ErrReadOnly.
type ReadOnly struct{ Store }

// Prepare refuses.
func (ReadOnly) Prepare(context.Context) error { return diag.ErrReadOnly }

// Create refuses.
func (ReadOnly) Create(context.Context, ...Blob) error { return diag.ErrReadOnly }

// Remove refuses.
func (ReadOnly) Remove(context.Context, ...string) error { return diag.ErrReadOnly }

// CheckRefusesCreation refuses, because it tries to create a blob.
func (ReadOnly) CheckRefusesCreation(context.Context, string) error { return diag.ErrReadOnly }

// Clear refuses.
func (ReadOnly) Clear(context.Context) error { return diag.ErrReadOnly }

// SubStore returns a store within this one, which refuses too.
func (s ReadOnly) SubStore(folder string) Store { return ReadOnly{s.Store.SubStore(folder)} }
