package ledger

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"

	"trueup/internal/kind"
)

// witness is a folder of this machine, outside the store, with the newest record
// that it saw of each request that is sent once. A store that was turned back,
// from a copy or by force, can't know what it lacks; who saw it can. An empty
// witness has seen nothing.
type witness string

// of is the witness of one ledger.
func (w witness) of(ledgerID string) witness {
	if w == "" || !part.MatchString(ledgerID) {
		return ""
	}
	return witness(filepath.Join(string(w), ledgerID))
}

func (w witness) file(key Key) string {
	sum := sha256.Sum256([]byte(key.Workspace + "/" + key.String()))
	return filepath.Join(string(w), hex.EncodeToString(sum[:])+".json")
}

// saw returns the record that was seen last.
func (w witness) saw(key Key) (Record, bool) {
	if w == "" {
		return Record{}, false
	}
	b, err := os.ReadFile(w.file(key))
	if err != nil {
		return Record{}, false
	}
	rec, err := decodeRecord(b)
	return rec, err == nil && rec.key() == key
}

// note remembers a record. It is a second line only, so that what keeps it from
// being written is no error.
func (w witness) note(rec Record) {
	if w == "" || !singular(rec.Key) {
		return
	}
	b, err := encode(rec)
	if err != nil || os.MkdirAll(string(w), 0o700) != nil {
		return
	}
	name := w.file(rec.key())
	temp := name + "." + filepath.Base(rec.Nonce)
	if os.WriteFile(temp, b, 0o600) != nil || os.Rename(temp, name) != nil {
		_ = os.Remove(temp)
	}
}

// singular tells whether requests of the key are sent once.
func singular(key kind.Key) bool {
	k, ok := kind.Named(key.Kind)
	return ok && k.Policy != kind.Converge
}

// check holds what was found for the keys against what was seen, and remembers
// what is new. A *ProblemError says that the ledger was turned back.
func (w witness) check(store string, keys []Key, found map[Key]Record) error {
	for _, key := range keys {
		if w == "" || !singular(key.Key) {
			continue
		}
		rec := found[key]
		seen, ok := w.saw(key)
		switch {
		case !ok && rec.Seq > 0, ok && rec.Seq > seen.Seq && rec.follows(seen):
			w.note(rec)
		case ok && rec.Nonce != seen.Nonce && !rec.forgot(seen):
			return &ProblemError{
				Problem: fmt.Sprintf("the ledger at %s was turned back: of %s it has step %d, and this machine has seen step %d, %s",
					store, key.Key, rec.Seq, seen.Seq, seen.standingWord()),
				Fix: fmt.Sprintf("restore the ledger, or let it learn what this machine has seen: trueup ledger import %s", shellWord(string(w))),
			}
		}
	}
	return nil
}

// forgot tells whether the record is so much later than another one that its
// history does not reach back to that.
func (r Record) forgot(earlier Record) bool {
	return len(r.History) > 0 && r.History[0].Seq > earlier.Seq
}

func (r Record) standingWord() string {
	if r.State == "" {
		return "released"
	}
	return string(r.State)
}
