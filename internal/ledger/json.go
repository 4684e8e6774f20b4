package ledger

import (
	"bytes"
	"fmt"
	"sync"

	"trueup/internal/canon"
)

// JSON is canonical JSON, such as a spec. Records hold it whole, whatever its size.
type JSON []byte

// MarshalJSON rejects what UnmarshalJSON would reject.
func (j JSON) MarshalJSON() ([]byte, error) {
	if j == nil {
		return []byte("null"), nil
	}
	return canonical(j)
}

// UnmarshalJSON reads JSON in any layout.
func (j *JSON) UnmarshalJSON(b []byte) (err error) {
	if *j = nil; string(b) != "null" {
		*j, err = canonical(b)
	}
	return err
}

// scanners are reused, because each grows to the size of what it reads.
var scanners = sync.Pool{New: func() any { return new(canon.Scanner) }}

// canonical returns the canonical form of a text.
func canonical(text []byte) ([]byte, error) {
	s := scanners.Get().(*canon.Scanner)
	defer scanners.Put(s)
	if out, n, err := s.Next(text); err == nil && n == len(text) {
		return bytes.Clone(out), nil
	}
	v, err := canon.Decode(text)
	if err != nil {
		return nil, fmt.Errorf("a spec of %d bytes is not JSON that can be compared: %w", len(text), err)
	}
	return canon.Bytes(v), nil
}
