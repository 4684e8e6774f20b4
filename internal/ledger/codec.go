package ledger

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"
)

// Schema is the version of genesis and records. A file of another version is
// refused and never rewritten.
const Schema = "trueup.ledger/v1"

const schemaFamily = "trueup.ledger/"

// maxFile bounds the file of a record or genesis, in bytes.
const maxFile = 256 << 20

var (
	// ErrNewer says that a file was written by a later version of the program.
	ErrNewer = errors.New("written by a newer version of trueup: upgrade trueup")
	// ErrDamaged says that a file of the ledger was changed, moved or removed.
	ErrDamaged = errors.New("damaged ledger")

	errTooLong = fmt.Errorf("longer than %d bytes", maxFile)
)

// damage marks an error about a file as ErrDamaged, unless the file is only newer.
func damage(err error) error {
	if err == nil || errors.Is(err, ErrNewer) || errors.Is(err, ErrDamaged) {
		return err
	}
	return fmt.Errorf("%w: %w", ErrDamaged, err)
}

// encode returns one line of JSON, without its end. It rejects what decode would reject.
func encode(v interface{ validate() error }) ([]byte, error) {
	if err := v.validate(); err != nil {
		return nil, err
	}
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

func decodeRecord(b []byte) (Record, error) {
	var rec Record
	if err := decode(b, &rec); err != nil {
		return Record{}, damage(err)
	}
	return rec, damage(rec.validate())
}

func decodeGenesis(b []byte) (Genesis, error) {
	var g Genesis
	if err := decode(b, &g); err != nil {
		return Genesis{}, damage(err)
	}
	return g, damage(g.validate())
}

// decode reads one JSON value of our schema. A field that it doesn't know is an
// error, because a rewrite would lose it. The caller validates.
func decode(b []byte, into any) error {
	if !utf8.Valid(b) {
		return errors.New("not UTF-8")
	}
	dec := json.NewDecoder(bytes.NewReader(b))
	dec.DisallowUnknownFields()
	err := dec.Decode(into)
	if err == nil {
		if _, end := dec.Token(); !errors.Is(end, io.EOF) {
			err = errors.New("content after the JSON value")
		}
	}
	if err == nil {
		return nil
	}
	// Another schema explains why it can't be read.
	var head struct {
		Schema string `json:"schema"`
	}
	if json.Unmarshal(b, &head) == nil {
		if serr := checkSchema(head.Schema); serr != nil {
			return serr
		}
	}
	return fmt.Errorf("truncated or damaged: %w", err)
}

func checkSchema(schema string) error {
	switch {
	case schema == Schema:
		return nil
	case strings.HasPrefix(schema, schemaFamily):
		return fmt.Errorf("schema %q: %w", schema, ErrNewer)
	default:
		return fmt.Errorf("schema %q is not %s", schema, Schema)
	}
}

// part is what a workspace or a kind may look like, because stores use them in
// paths.
var part = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$`) })

// validate holds what every reader of a record relies on.
func (r Record) validate() error {
	if err := checkSchema(r.Schema); err != nil {
		return err
	}
	switch {
	case !part().MatchString(r.Workspace):
		return fmt.Errorf("workspace %q can't be part of a path", r.Workspace)
	case !part().MatchString(r.Kind):
		return fmt.Errorf("kind %q can't be part of a path", r.Kind)
	case r.Name == "" || !utf8.ValidString(r.Name):
		return fmt.Errorf("name %q is not text", r.Name)
	case r.Seq < 1:
		return fmt.Errorf("seq %d is less than 1", r.Seq)
	case r.Nonce == "":
		return errors.New("no nonce")
	}
	return r.validateState()
}

func (r Record) validateState() error {
	known := []State{"", Claimed, Posted, Rejected, Unknown, Adopted, Abandoned}
	switch {
	case !slices.Contains(known, r.State):
		return fmt.Errorf("state %q is not known", r.State)
	case r.State != "" && r.SpecDigest == nil:
		return fmt.Errorf("state %s without a specDigest", r.State)
	case (r.State == Claimed || r.State == Unknown) && (r.FirstClaimAt == nil || r.ClaimedAt == nil):
		return fmt.Errorf("state %s without the time of its claim", r.State)
	}
	return nil
}

func (g Genesis) validate() error {
	if err := checkSchema(g.Schema); err != nil {
		return err
	}
	switch {
	case g.LedgerID == "":
		return errors.New("no ledgerId")
	case !part().MatchString(g.Workspace):
		return fmt.Errorf("workspace %q can't be part of a path", g.Workspace)
	case g.Seq < 1:
		return fmt.Errorf("seq %d is less than 1", g.Seq)
	}
	return nil
}
