package ledger

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"trueup/internal/canon"
	"trueup/internal/kind"
)

// TestSound: a record that is as some run wrote it is sound; one that no
// transition leads to is not.
func TestSound(t *testing.T) {
	_, l := lived(t)
	late := testTime.Add(2 * maxClockError)
	for name, c := range map[string]struct {
		key    kind.Key
		change func(*Record)
	}{
		"no history":              {purgeKey, func(r *Record) { r.History = nil }},
		"a gap":                   {purgeKey, func(r *Record) { r.Seq = 5 }},
		"another nonce":           {purgeKey, func(r *Record) { r.Nonce = "other" }},
		"a step without a nonce":  {purgeKey, func(r *Record) { r.History = []Step{{Seq: r.Seq}}; r.Nonce = "" }},
		"an unknown kind":         {purgeKey, func(r *Record) { r.Kind = "Pod" }},
		"applied and sent once":   {purgeKey, func(r *Record) { r.Applied = someSpec }},
		"claimed and converging":  {cdnKey, func(r *Record) { r.State = Claimed; r.SpecDigest = new(canon.Sum) }},
		"no spec":                 {purgeKey, func(r *Record) { r.Spec = nil }},
		"open, and nobody's":      {diskKey, func(r *Record) { r.Claim = nil }},
		"posted at no time":       {purgeKey, func(r *Record) { r.AcceptedAt = nil }},
		"claimed before it was":   {diskKey, func(r *Record) { r.FirstClaimAt = &late }},
		"accepted before a claim": {purgeKey, func(r *Record) { r.FirstClaimAt, r.ClaimedAt = &late, &late }},
	} {
		rec := view(t, l, c.key)
		if err := rec.sound(); err != nil {
			t.Errorf("as it was written: %v", err)
		}
		c.change(&rec)
		if rec.sound() == nil {
			t.Errorf("%s is sound", name)
		}
	}
}

// bare is a store of the contract and nothing else.
type bare struct{ Store }

// forgetful is a store whose index names nothing.
type forgetful struct{ fileStore }

func (forgetful) Recent(context.Context, string, time.Time) ([]Key, error) { return nil, nil }

// blind is a store whose index is damaged.
type blind struct{ fileStore }

func (blind) Recent(context.Context, string, time.Time) ([]Key, error) { return nil, ErrDamaged }

func TestVerifyNamesAllDamage(t *testing.T) {
	cfg, l := lived(t)
	dir := filepath.Join(cfg.Dir, "ledger")
	other := testRecord("other", 1)
	other.Workspace = "other"
	must(t, fileStore{dir: dir}.Put(t.Context(), 0, other))
	for _, key := range []kind.Key{purgeKey, cdnKey} {
		file := filepath.Join(dir, filepath.FromSlash(recordPath(l.at(key))))
		must(t, os.WriteFile(file, []byte("{"), 0o600))
	}
	v, err := l.Verify(t.Context())
	text := strings.Join(v.Damage, "\n")
	// The record of another workspace has no history either.
	if err != nil || v.Records != 2 || len(v.Damage) != 4 || strings.Count(text, "damaged ledger") != 2 || !strings.Contains(text, "workspace other") {
		t.Errorf("%+v, %v", v, err)
	}
	// What is open must be seen by runs that do not know its name.
	cfg.Backend = forgetful{fileStore{dir: dir}}
	v, err = open(t, cfg).Verify(t.Context())
	if text := strings.Join(v.Damage, "\n"); err != nil || len(v.Damage) != 5 || !strings.Contains(text, "VolumeSnapshot/db-1: it is claimed") {
		t.Errorf("%+v, %v", v, err)
	}
	cfg.Backend = blind{fileStore{dir: dir}}
	v, err = open(t, cfg).Verify(t.Context())
	if text := strings.Join(v.Damage, "\n"); err != nil || len(v.Damage) != 5 || !strings.Contains(text, "the index of what is recent or open: damaged") {
		t.Errorf("%+v, %v", v, err)
	}
	// A store that can't go on after the first says so.
	cfg.Backend = bare{fileStore{dir: dir}}
	if v, err = open(t, cfg).Verify(t.Context()); !errors.Is(err, ErrDamaged) {
		t.Errorf("%+v, %v", v, err)
	}
	lose(t, cfg)
	if _, err = l.Verify(t.Context()); Problem(err) == nil {
		t.Errorf("without a ledger: %v", err)
	}
}

func TestVerifyKnowsWhatThisMachineHasSeen(t *testing.T) {
	cfg := made(t)
	cfg.Witness = t.TempDir()
	l := open(t, cfg)
	turnBack(t, cfg, func() {
		must(t, tryClaim(t.Context(), l, purgeKey))
		must(t, l.Posted(t.Context(), purgeKey, Made{}))
	})
	v, err := open(t, cfg).Verify(t.Context())
	if err != nil || len(v.Damage) != 1 || !strings.Contains(v.Damage[0], "turned back") {
		t.Fatalf("%+v, %v", v, err)
	}
	b, err := ReadBackupFolder(os.DirFS(filepath.Join(cfg.Witness, cfg.ID)))
	must(t, err)
	if done, err := open(t, cfg).Import(t.Context(), b); err != nil || done != (Imported{Added: 1}) {
		t.Errorf("%+v, %v", done, err)
	}
	if v, err := open(t, cfg).Verify(t.Context()); err != nil || v.Damage != nil {
		t.Errorf("%+v, %v", v, err)
	}
}
