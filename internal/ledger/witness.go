package ledger

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"trueup/internal/kind"
)

// witness is a folder of this machine, outside the store, with the newest record
// that it saw of each request that is sent once. A store that was turned back,
// from a copy or by force, can't know what it lacks; who saw it can. An empty
// witness has seen nothing.
type witness string

// of is the witness of one ledger.
func (w witness) of(ledgerID string) witness {
	if w == "" || !part().MatchString(ledgerID) {
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

// Remembers reports whether this machine has seen requests of the ledger before, so that
// it notices one that was turned back.
func (l *Ledger) Remembers() bool {
	folder := l.witness()
	if folder == "" {
		return false
	}
	seen, err := os.ReadDir(string(folder))
	return err == nil && len(seen) > 0
}

// singular tells whether requests of the key are sent once.
func singular(key kind.Key) bool {
	k, ok := kind.Named(key.Kind)
	return ok && k.Policy != kind.Converge
}

// recall returns what was seen of the keys.
func (w witness) recall(keys []Key) map[Key]Record {
	seen := map[Key]Record{}
	for _, key := range keys {
		if !singular(key.Key) {
			continue
		}
		if rec, ok := w.saw(key); ok {
			seen[key] = rec
		}
	}
	return seen
}

// readWitnessed reads records and holds them against what this machine has seen:
// a *ProblemError says that the ledger was turned back.
func (l *Ledger) readWitnessed(ctx context.Context, keys []Key) (map[Key]Record, error) {
	found, err := l.store.Read(ctx, keys)
	if err != nil {
		return nil, err
	}
	w := l.witness()
	seen := w.recall(keys)
	if _, back := turnedBack(seen, found); back {
		// Another run of this machine may have written meanwhile. What it has seen
		// was durable before that, so that a new look shows it.
		l.refresh()
		if found, err = l.store.Read(ctx, keys); err != nil {
			return nil, err
		}
	}
	if key, back := turnedBack(seen, found); back {
		return nil, &ProblemError{
			Problem: fmt.Sprintf("the ledger at %s was turned back: of %s it has %s, and this machine has seen step %d, %s",
				l.cfg.Store, key.Key, stepWord(found[key]), seen[key].Seq, seen[key].standingWord()),
			Fix: fmt.Sprintf("restore the ledger, or let it learn what this machine has seen: trueup ledger import %s", ShellWord(string(w))),
		}
	}
	for key, rec := range found {
		if rec.Seq > seen[key].Seq {
			w.note(rec)
		}
	}
	return found, nil
}

// turnedBack finds a record that lacks what was seen of it, the first by name.
func turnedBack(seen, found map[Key]Record) (Key, bool) {
	var lacking []Key
	for key, was := range seen {
		if rec := found[key]; rec.Nonce != was.Nonce && !rec.follows(was) && !rec.forgot(was) {
			lacking = append(lacking, key)
		}
	}
	if lacking == nil {
		return Key{}, false
	}
	return slices.MinFunc(lacking, func(a, b Key) int { return strings.Compare(a.String(), b.String()) }), true
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

func stepWord(r Record) string {
	if r.Seq == 0 {
		return "no record"
	}
	return fmt.Sprintf("step %d", r.Seq)
}
