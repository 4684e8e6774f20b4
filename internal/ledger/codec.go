package ledger

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"regexp"
	"strings"
	"sync"
	"unicode/utf8"

	"trueup/internal/canon"
)

// Schema is the version of genesis and records. trueup also reads schemaWithoutLive, which lacks holds and what live had
// before writes. It rejects other versions and never rewrites them.
const (
	Schema            = "trueup.ledger/v2"
	schemaWithoutLive = "trueup.ledger/v1"
)

// maxFile bounds a file, in bytes.
const maxFile = 256 << 20

// Errors that say what is wrong with a file of the ledger.
var (
	ErrNewer   = errors.New("written by a newer version of trueup: upgrade trueup")
	ErrDamaged = errors.New("damaged ledger") // something else changed, moved or removed it
	errTooLong = fmt.Errorf("longer than %d bytes", maxFile)
)

// asDamaged adds ErrDamaged to an error, unless the file is only newer.
func asDamaged(err error) error {
	if err == nil || errors.Is(err, ErrNewer) || errors.Is(err, ErrDamaged) {
		return err
	}
	return fmt.Errorf("%w: %w", ErrDamaged, err)
}

// encodeLine returns one line of JSON without the line break. It rejects what decode would reject.
func encodeLine(v interface{ validate() error }) ([]byte, error) {
	if err := v.validate(); err != nil {
		return nil, err
	}
	return marshalPlain(v)
}

func marshalPlain(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	if b.Len() > maxFile {
		return nil, errTooLong
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// sealMark begins the checksum that seal adds, as the last member of a JSON object.
const sealMark = `,"sum":"`

// checksumOf is CRC-32C, which finds what a disk or a network changed, and costs little time for a large ledger.
func checksumOf(text []byte) uint32 { return crc32.Checksum(text, crc32.MakeTable(crc32.Castagnoli)) }

// addChecksum adds a checksum to a JSON object.
func addChecksum(text []byte) []byte {
	end := len(text) - 1
	return fmt.Appendf(text[:end:end], sealMark+`%08x"}`, checksumOf(text[:end]))
}

// writeLine writes the JSON of an object and its checksum as a line. Its writer keeps its own errors.
func writeLine(w io.Writer, v any) error {
	text, err := marshalPlain(v)
	if err == nil {
		_, _ = fmt.Fprintf(w, "%s\n", addChecksum(text))
	}
	return err
}

// checkChecksum checks and removes the checksum. It changes text in place. It accepts an object without one, such as a line of
// an older ledger.
func checkChecksum(text []byte) ([]byte, error) {
	end := len(text) - len(sealMark+`00000000"}`)
	if end < 1 || string(text[end:end+len(sealMark)]) != sealMark {
		return text, nil
	}
	if string(text[end:]) != fmt.Sprintf(sealMark+`%08x"}`, checksumOf(text[:end])) {
		return nil, errors.New("its checksum is wrong: something changed it after trueup wrote it")
	}
	text[end] = '}'
	return text[:end+1], nil
}

func decodeRecord(b []byte) (Record, error) {
	var rec Record
	err := decodeSealed(b, &rec)
	if err == nil {
		err = rec.validate()
	}
	return rec, asDamaged(err)
}

// decodeSealed parses one JSON value, and changes b as unseal does. It rejects unknown fields, which a rewrite would lose. The
// caller validates.
func decodeSealed(b []byte, into any) error {
	b, err := checkChecksum(b)
	if err != nil {
		return err
	}
	if !utf8.Valid(b) {
		return errors.New("not UTF-8")
	}
	dec := json.NewDecoder(bytes.NewReader(b))
	dec.DisallowUnknownFields()
	err = dec.Decode(into)
	if _, end := dec.Token(); err == nil && errors.Is(end, io.EOF) {
		return nil
	}
	err = cmp.Or(err, errors.New("content after the JSON value"))
	// Another schema explains the error.
	var head struct {
		Schema string `json:"schema"`
	}
	if json.Unmarshal(b, &head) == nil && checkSchema(head.Schema) != nil {
		return checkSchema(head.Schema)
	}
	return fmt.Errorf("truncated or damaged: %w", err)
}

func checkSchema(schema string) error {
	switch {
	case schema == Schema, schema == schemaWithoutLive:
		return nil
	case strings.HasPrefix(schema, "trueup.ledger/"):
		return fmt.Errorf("schema %q: %w", schema, ErrNewer)
	default:
		return fmt.Errorf("schema %q is not %s", schema, Schema)
	}
}

// part matches what trueup uses in paths: workspaces, kinds and ids.
var part = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$`) })

// CanonicalJSON is canonical JSON, such as a spec.
type CanonicalJSON []byte

// MarshalJSON rejects what UnmarshalJSON would reject.
func (j CanonicalJSON) MarshalJSON() ([]byte, error) {
	if j == nil {
		return []byte("null"), nil
	}
	return canonicalLine(j)
}

// UnmarshalJSON reads JSON in any layout.
func (j *CanonicalJSON) UnmarshalJSON(b []byte) (err error) {
	if *j = nil; string(b) != "null" {
		*j, err = canonicalLine(b)
	}
	return err
}

// scanners are reused, because each grows to the size of its input.
var scanners = sync.Pool{New: func() any { return new(canon.Converter) }}

func canonicalLine(text []byte) ([]byte, error) {
	s := scanners.Get().(*canon.Converter)
	defer scanners.Put(s)
	out, err := s.Canonicalize(text)
	if err != nil {
		return nil, fmt.Errorf("a spec of %d bytes is not JSON that can be compared: %w", len(text), err)
	}
	return bytes.Clone(out), nil
}
