package ledger

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"trueup/internal/blob"
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
		"a step without a nonce":  {purgeKey, func(r *Record) { r.History = []LogStep{{Seq: r.Seq}}; r.Nonce = "" }},
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
		if err := rec.checkTransitions(); err != nil {
			t.Errorf("as it was written: %v", err)
		}
		c.change(&rec)
		if rec.checkTransitions() == nil {
			t.Errorf("%s is sound", name)
		}
	}
}

func TestVerifyNamesAllDamage(t *testing.T) {
	cfg, l := lived(t)
	dir := filepath.Join(cfg.Dir, "ledger")
	other := testRecord("other", 1)
	other.Workspace = "other"
	must(t, inFolder(dir).Put(t.Context(), 0, other))
	v, err := l.Verify(t.Context())
	// The record of another workspace has no history either.
	if err != nil || v.Records != 4 || len(v.Damage) != 2 || !strings.Contains(v.Damage[1], "workspace other") {
		t.Errorf("%+v, %v", v, err)
	}
	// What is open must be seen by runs that do not know its name.
	file := blob.FolderStore(dir).Location(entryFile(4))
	packed, err := os.ReadFile(file)
	must(t, err)
	whole := unpacked(t, packed)
	write(t, file, string(resealed(bytes.Replace(whole, []byte(`"open":true,`), nil, 1))))
	v, err = open(t, cfg).Verify(t.Context())
	if text := strings.Join(v.Damage, "\n"); err != nil || len(v.Damage) != 3 || !strings.Contains(text, "does not agree with the record of VolumeSnapshot/db-1") {
		t.Errorf("%+v, %v", v, err)
	}
	write(t, file, string(whole))
	must(t, os.WriteFile(blob.FolderStore(dir).Location(entryFile(2)), []byte("{"), 0o600))
	v, err = open(t, cfg).Verify(t.Context())
	if text := filepath.ToSlash(strings.Join(v.Damage, "\n")); err != nil || len(v.Damage) != 3 || !strings.Contains(text, entryFile(2)) {
		t.Errorf("a damaged file: %+v, %v", v, err)
	}
	lose(t, cfg)
	if _, err = l.Verify(t.Context()); ProblemOf(err) == nil {
		t.Errorf("without a ledger: %v", err)
	}
}

func TestVerifyKnowsWhatThisMachineHasSeen(t *testing.T) {
	cfg := made(t)
	cfg.SeenCache = t.TempDir()
	l := open(t, cfg)
	turnBack(t, cfg, func() {
		must(t, tryClaim(t.Context(), l, purgeKey))
		must(t, l.RecordPosted(t.Context(), purgeKey, AcceptedAnswer{}))
	})
	v, err := open(t, cfg).Verify(t.Context())
	if err != nil || len(v.Damage) != 1 || !strings.Contains(v.Damage[0], "rolled back") {
		t.Fatalf("%+v, %v", v, err)
	}
	b, err := ReadBackupFolder(os.DirFS(filepath.Join(cfg.SeenCache, cfg.ID)))
	must(t, err)
	if done, err := open(t, cfg).Import(t.Context(), b); err != nil || done != (ImportCounts{Added: 1}) {
		t.Errorf("%+v, %v", done, err)
	}
	if v, err := open(t, cfg).Verify(t.Context()); err != nil || v.Damage != nil {
		t.Errorf("%+v, %v", v, err)
	}
}
