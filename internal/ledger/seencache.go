package ledger

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"trueup/internal/kind"
)

// seenCache is a local directory with the newest record of each send-once request that this machine read or wrote. It
// detects a ledger that was restored from a backup or force-pushed. If it is "", nothing is cached.
type seenCache string

func (l *Ledger) seenCache() seenCache {
	if l.cfg.SeenCache == "" || !part().MatchString(l.cfg.ID) {
		return ""
	}
	return seenCache(filepath.Join(l.cfg.SeenCache, l.cfg.ID))
}

func (c seenCache) filePath(workspace string, key kind.Key) string {
	sum := sha256.Sum256([]byte(workspace + "/" + key.String()))
	return filepath.Join(string(c), hex.EncodeToString(sum[:])+".json")
}

func (c seenCache) getRecord(workspace string, key kind.Key) (rec Record, ok bool) {
	if c == "" || !isSendOnce(key) {
		return rec, false
	}
	b, err := os.ReadFile(c.filePath(workspace, key))
	if err == nil {
		rec, err = decodeRecord(b)
	}
	return rec, err == nil && rec.Key == key
}

// putRecord stores a record. It ignores errors, because the cache is only a second line of defence; View.NotKept has them.
func (c seenCache) putRecord(rec Record) {
	if c == "" || !isSendOnce(rec.Key) {
		return
	}
	text, err := encodeLine(rec)
	if err != nil || os.MkdirAll(string(c), 0o700) != nil {
		return
	}
	name := c.filePath(rec.Workspace, rec.Key)
	temp := name + "." + filepath.Base(rec.Nonce)
	var b bytes.Buffer
	writeSealed(&b, text)
	if os.WriteFile(temp, b.Bytes(), 0o600) != nil || os.Rename(temp, name) != nil {
		_ = os.Remove(temp)
	}
}

// checkWritable returns why putRecord can store nothing, or nil.
func (c seenCache) checkWritable() error {
	if c == "" {
		return nil
	}
	if err := os.MkdirAll(string(c), 0o700); err != nil {
		return err
	}
	f, err := os.CreateTemp(string(c), "try-")
	if err != nil {
		return err
	}
	return errors.Join(f.Close(), os.Remove(f.Name()))
}

// HasMemory reports whether this machine has seen requests of the ledger, so that it can detect a rollback.
func (l *Ledger) HasMemory() bool {
	seen, err := os.ReadDir(string(l.seenCache()))
	return err == nil && len(seen) > 0
}

func isSendOnce(key kind.Key) bool {
	k, ok := kind.FindKind(key.Kind)
	return ok && k.IsSendOnce()
}

// readUnlessRolledBack reads records, and returns a *ProblemError if the ledger was rolled back.
func (l *Ledger) readUnlessRolledBack(ctx context.Context, keys []kind.Key) (map[kind.Key]Record, error) {
	cache := l.seenCache()
	found, err := l.store.Read(ctx, keys)
	if err != nil {
		return nil, err
	}
	missed := map[kind.Key]Record{}
	for _, key := range keys {
		rec := found[key]
		was, seen := cache.getRecord(l.cfg.Workspace.UUID, key)
		switch {
		case seen && rec.divergesFrom(was):
			missed[key] = was
		case rec.Seq > was.Seq:
			cache.putRecord(rec)
		}
	}
	if len(missed) == 0 {
		return found, nil
	}
	// Another run of this machine may have written meanwhile. It writes the ledger before the cache, so a second
	// read shows all that was missed.
	l.forgetState()
	if found, err = l.store.Read(ctx, keys); err != nil {
		return nil, err
	}
	for _, key := range keys {
		if was, ok := missed[key]; ok && found[key].divergesFrom(was) {
			return found, l.rollbackError(found[key], was)
		}
	}
	return found, nil
}

// divergesFrom reports whether the record is neither the other one nor a later version of it.
func (r Record) divergesFrom(seen Record) bool {
	return r.Nonce != seen.Nonce && !r.isLaterThan(seen) && !r.lacksSteps(seen)
}

func (l *Ledger) rollbackError(rec, was Record) error {
	has := "no record"
	if rec.Seq > 0 {
		has = fmt.Sprintf("step %d", rec.Seq)
	}
	return newProblem("restore the ledger, or import what this machine has seen: trueup ledger import "+ShellQuote(string(l.seenCache())),
		"the ledger at %s was rolled back: for %s it has %s, but this machine has seen step %d, %s",
		l.cfg.Store, was.Key, has, was.Seq, cmp.Or(was.State, "released"))
}
