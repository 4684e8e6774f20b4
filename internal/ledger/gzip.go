package ledger

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"sync"

	"trueup/internal/canon"
)

// maxSpec bounds a spec after decompression, so that a crafted record can't
// fill the memory.
const maxSpec = 64 << 20

// GzipJSON is canonical JSON that is kept gzipped in a record, whole whatever
// its size (design 0.11). In a record's file it is base64 of gzip.
type GzipJSON []byte

// MarshalJSON writes base64 of gzip; the same content gives the same bytes. It
// refuses whatever UnmarshalJSON would refuse.
func (g GzipJSON) MarshalJSON() ([]byte, error) {
	if g == nil {
		return []byte("null"), nil
	}
	if err := checkSpec(g, maxSpec); err != nil {
		return nil, err
	}
	var packed bytes.Buffer
	w := writers.Get().(*gzip.Writer)
	defer writers.Put(w)
	w.Reset(&packed)
	if _, err := w.Write(g); err != nil {
		return nil, fmt.Errorf("gzip a spec: %w", err)
	}
	if err := w.Close(); err != nil {
		return nil, fmt.Errorf("gzip a spec: %w", err)
	}
	return json.Marshal(packed.Bytes())
}

// writers are used again, because each new one takes 800 kB.
var writers = sync.Pool{New: func() any { return gzip.NewWriter(nil) }}

// UnmarshalJSON reads what MarshalJSON writes.
func (g *GzipJSON) UnmarshalJSON(b []byte) error {
	var packed []byte
	if err := json.Unmarshal(b, &packed); err != nil {
		return fmt.Errorf("read a spec: %w", err)
	}
	if packed == nil {
		*g = nil
		return nil
	}
	spec, err := unpack(packed, maxSpec)
	if err != nil {
		return fmt.Errorf("read a spec: %w", err)
	}
	*g = spec
	return nil
}

// unpacker is what unpacking a spec takes.
type unpacker struct {
	packed bytes.Reader
	gzip   gzip.Reader
	spec   bytes.Buffer
	scan   canon.Scanner
}

// unpackers are used again, because each new one takes 45 kB.
var unpackers = sync.Pool{New: func() any { return new(unpacker) }}

func unpack(packed []byte, most int) ([]byte, error) {
	u := unpackers.Get().(*unpacker)
	defer unpackers.Put(u)
	u.packed.Reset(packed)
	if err := u.gzip.Reset(&u.packed); err != nil {
		return nil, err
	}
	u.spec.Reset()
	// One byte more than allowed tells a full spec from one that is too long.
	if _, err := u.spec.ReadFrom(io.LimitReader(&u.gzip, int64(most)+1)); err != nil {
		return nil, err
	}
	spec := bytes.Clone(u.spec.Bytes())
	return spec, u.check(spec, most)
}

func checkSpec(spec []byte, most int) error {
	u := unpackers.Get().(*unpacker)
	defer unpackers.Put(u)
	return u.check(spec, most)
}

// check refuses what could not be compared.
func (u *unpacker) check(spec []byte, most int) error {
	if len(spec) > most {
		return fmt.Errorf("a spec is longer than %d bytes", most)
	}
	if _, n, err := u.scan.Next(spec); err == nil && n == len(spec) {
		return nil
	}
	if _, err := canon.Decode(spec); err != nil {
		return fmt.Errorf("a spec of %d bytes is not JSON that can be compared: %w", len(spec), err)
	}
	return nil
}
