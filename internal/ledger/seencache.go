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

// seenCache is a directory of this machine, outside the store, with the newest record of
// each send-once request that the machine has read or written. It detects a ledger that
// was restored from a backup or force-pushed: such a ledger does not know what it lacks.
// An empty seenCache caches nothing.
type seenCache string

// ofLedger returns the cache of one ledger.
func (w seenCache) ofLedger(ledgerID string) seenCache {
	if w == "" || !part().MatchString(ledgerID) {
		return ""
	}
	return seenCache(filepath.Join(string(w), ledgerID))
}

func (w seenCache) file(key Key) string {
	sum := sha256.Sum256([]byte(key.Workspace + "/" + key.String()))
	return filepath.Join(string(w), hex.EncodeToString(sum[:])+".json")
}

// get returns the record that the machine saw last.
func (w seenCache) get(key Key) (Record, bool) {
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

// put stores a record. The cache is a second line of defence, so a failed write is no
// error.
func (w seenCache) put(rec Record) {
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
// it notices one that was rolled back.
func (l *Ledger) Remembers() bool {
	folder := l.seenRecords()
	if folder == "" {
		return false
	}
	seen, err := os.ReadDir(string(folder))
	return err == nil && len(seen) > 0
}

// singular reports whether requests of the key are sent once.
func singular(key kind.Key) bool {
	k, ok := kind.Named(key.Kind)
	return ok && k.SentOnce()
}

// all returns what was seen of the keys.
func (w seenCache) all(keys []Key) map[Key]Record {
	seen := map[Key]Record{}
	for _, key := range keys {
		if !singular(key.Key) {
			continue
		}
		if rec, ok := w.get(key); ok {
			seen[key] = rec
		}
	}
	return seen
}

// readChecked reads records and compares them with what this machine has seen. It
// returns a *ProblemError if the ledger was rolled back.
func (l *Ledger) readChecked(ctx context.Context, keys []Key) (map[Key]Record, error) {
	found, err := l.store.Read(ctx, keys)
	if err != nil {
		return nil, err
	}
	w := l.seenRecords()
	seen := w.all(keys)
	if _, back := rolledBack(seen, found); back {
		// Another run of this machine may have written meanwhile. What it has seen
		// was durable before that, so that a new look shows it.
		l.refresh()
		if found, err = l.store.Read(ctx, keys); err != nil {
			return nil, err
		}
	}
	if key, back := rolledBack(seen, found); back {
		return nil, &ProblemError{
			Problem: fmt.Sprintf("the ledger at %s was rolled back: for %s it has %s, but this machine has seen step %d, %s",
				l.cfg.Store, key.Key, stepWord(found[key]), seen[key].Seq, seen[key].standingWord()),
			Fix: fmt.Sprintf("restore the ledger, or import what this machine has seen: trueup ledger import %s", ShellWord(string(w))),
		}
	}
	for key, rec := range found {
		if rec.Seq > seen[key].Seq {
			w.put(rec)
		}
	}
	return found, nil
}

// rolledBack returns the first record, by name, that lacks what this machine saw of it.
func rolledBack(seen, found map[Key]Record) (Key, bool) {
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

// forgot reports whether the record is so much later than another one that its
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
