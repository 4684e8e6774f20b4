package ledger

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"strings"
	"sync"
	"unicode/utf8"

	"trueup/internal/canon"
	"trueup/internal/diag"
)

// Schema is the version of the log, the genesis and the records. trueup rejects other versions.
const Schema = "trueup.ledger/v3"

// maxFile bounds a file, in bytes.
const maxFile = 256 << 20

// Errors that say what is wrong with a file of the ledger.
var (
	ErrNewer   = errors.New("written by a newer version of trueup: upgrade trueup")
	errOlder   = errors.New("written by an earlier version of trueup: make a new ledger with trueup ledger init")
	ErrDamaged = errors.New("damaged ledger") // something else changed, moved or removed it
	errTooLong = fmt.Errorf("longer than %d bytes", maxFile)
)

// asDamaged adds ErrDamaged to an error, unless the file is only newer.
func asDamaged(err error) error {
	if err == nil || errors.Is(err, ErrNewer) || errors.Is(err, errOlder) || errors.Is(err, ErrDamaged) {
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

// sealMark begins the checksum, as the last member of a JSON object.
const sealMark = `,"sum":"`

// updateChecksum adds text to a CRC-32C, which finds what a disk or a network changed, and costs little time for a large ledger.
func updateChecksum(sum uint32, text []byte) uint32 {
	return crc32.Update(sum, crc32.MakeTable(crc32.Castagnoli), text)
}

// writeSealed writes a JSON object and its checksum. It gets the object in parts, and leaves errors to the writer.
func writeSealed(w io.Writer, parts ...[]byte) {
	var sum uint32
	for i, part := range parts {
		if i == len(parts)-1 {
			part = part[:len(part)-1] // the brace
		}
		sum = updateChecksum(sum, part)
		_, _ = w.Write(part)
	}
	_, _ = fmt.Fprintf(w, sealMark+`%08x"}`, sum)
}

// writeLine writes the JSON of an object with a checksum as a line.
func writeLine(w io.Writer, v any) error {
	text, err := marshalPlain(v)
	if err == nil {
		writeSealed(w, text)
		_, _ = io.WriteString(w, "\n")
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
	if string(text[end:]) != fmt.Sprintf(sealMark+`%08x"}`, updateChecksum(0, text[:end])) {
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

// decodeSealed parses one JSON value, and changes b as checkChecksum does. It rejects unknown fields, which a rewrite would lose. The
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
	case schema == Schema:
		return nil
	case schema == "trueup.ledger/v1", schema == "trueup.ledger/v2":
		return fmt.Errorf("schema %q: %w", schema, errOlder)
	case strings.HasPrefix(schema, "trueup.ledger/"):
		return fmt.Errorf("schema %q: %w", schema, ErrNewer)
	default:
		return fmt.Errorf("schema %q is not %s", schema, Schema)
	}
}

// part matches what trueup uses in paths: workspaces, kinds and ids.
var part = diag.Pattern(`^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$`)

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
