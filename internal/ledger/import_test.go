package ledger

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"testing/fstest"
	"time"

	"trueup/internal/canon"
	"trueup/internal/e2e/gitremote"
	"trueup/internal/kind"
)

// lived is a ledger with some records: posted, left open, applied, and one that
// has had more steps than are kept.
func lived(t *testing.T) (Config, *Ledger) {
	t.Helper()
	cfg := made(t)
	l := open(t, cfg)
	must(t, tryClaim(t.Context(), l, purgeKey))
	must(t, l.RecordPosted(t.Context(), purgeKey, AcceptedAnswer{}))
	must(t, tryClaim(t.Context(), l, diskKey))
	must(t, l.RecordPending(t.Context(), cdnKey, someSpec, nil))
	for range maxSpecSteps {
		must(t, l.RecordApplied(t.Context(), cdnKey, AppliedSpec{Spec: someSpec, Converged: true}))
	}
	return cfg, l
}

func exported(t *testing.T, l *Ledger) Backup {
	t.Helper()
	var file bytes.Buffer
	n, err := l.Export(t.Context(), &file)
	must(t, err)
	b, err := ReadBackup(&file)
	if err != nil || len(b.Records) != n || b.Genesis == nil || !b.ExportedAt.Equal(testTime) {
		t.Fatalf("exported %d, read back %+v, %v", n, b, err)
	}
	return b
}

func listed(t *testing.T, l *Ledger) []Record {
	t.Helper()
	records, err := l.ListRecords(t.Context())
	must(t, err)
	return records
}

func lose(t *testing.T, cfg Config) {
	t.Helper()
	must(t, os.RemoveAll(filepath.Join(cfg.Dir, "ledger")))
}

func TestAnExportMakesALostLedgerAgain(t *testing.T) {
	cfg, l := lived(t)
	before, backup := listed(t, l), exported(t, l)
	lose(t, cfg)
	done, err := l.Import(t.Context(), backup)
	if err != nil || done != (ImportCounts{Restored: true, Added: 3}) {
		t.Fatalf("imported %+v, %v", done, err)
	}
	if after := listed(t, l); !reflect.DeepEqual(after, before) {
		t.Errorf("restored %+v\nwas %+v", after, before)
	}
	g, err := l.ReadUsable(t.Context())
	if err != nil || g.LedgerID != cfg.ID || g.Workspace != backup.Genesis.Workspace || !reflect.DeepEqual(g.Origins, backup.Genesis.Origins) {
		t.Errorf("genesis %+v, %v", g, err)
	}
	if v, err := l.Verify(t.Context()); err != nil || v.Records != 3 || v.Damage != nil {
		t.Errorf("verified %+v, %v", v, err)
	}
	if done, err := l.Import(t.Context(), backup); err != nil || done != (ImportCounts{Left: 3}) {
		t.Errorf("imported again %+v, %v", done, err)
	}
}

// TestAnExportMovesToAnyStore: what one store was is then in another, with all
// that runs look for in it.
func TestAnExportMovesToAnyStore(t *testing.T) {
	t.Parallel()
	cfg, l := lived(t)
	before, backup := listed(t, l), exported(t, l)
	for name, store := range map[string]RecordStore{
		"git":    openGit(t, gitremote.Clone(t, "file://"+gitremote.Bare(t)), "refs/trueup/ledger"),
		"bucket": newLogStore(newMemoryBlobs(), nil, 0),
	} {
		cfg.Backend = store
		l := open(t, cfg)
		if done, err := l.Import(t.Context(), backup); err != nil || done.Added != 3 {
			t.Fatalf("%s: %+v, %v", name, done, err)
		}
		if after := listed(t, l); !reflect.DeepEqual(after, before) {
			t.Errorf("%s: %+v\nwas %+v", name, after, before)
		}
		if v, err := l.Verify(t.Context()); err != nil || v.Records != 3 || v.Damage != nil {
			t.Errorf("%s: %+v, %v", name, v, err)
		}
	}
}

// stopping is a store that fails at, and after, its n-th write.
type stopping struct {
	RecordStore
	left atomic.Int64
}

var errStopped = errors.New("stopped")

func (s *stopping) WriteGenesis(ctx context.Context, expectSeq int, g Genesis) error {
	if s.left.Add(-1) < 0 {
		return errStopped
	}
	return s.RecordStore.WriteGenesis(ctx, expectSeq, g)
}

func (s *stopping) PutAll(ctx context.Context, changes []RecordChange) []error {
	return PutEach(ctx, s, changes, s.Put)
}

func (s *stopping) Put(ctx context.Context, expectSeq int, rec Record) error {
	if s.left.Add(-1) < 0 {
		return errStopped
	}
	return putOne(ctx, s.RecordStore, expectSeq, rec)
}

// TestARestoreThatIsCutShort: at every write. Until it has ended nobody takes
// the half of a ledger for the whole, and the same import ends it.
func TestARestoreThatIsCutShort(t *testing.T) {
	cfg, l := lived(t)
	before, backup := listed(t, l), exported(t, l)
	dir := filepath.Join(cfg.Dir, "ledger")
	for n := 0; ; n++ {
		lose(t, cfg)
		cut := cfg
		store := &stopping{RecordStore: inFolder(dir)}
		store.left.Store(int64(n))
		cut.Backend = store
		_, err := open(t, cut).Import(t.Context(), backup)
		if err == nil {
			if n < 5 {
				t.Errorf("it took %d writes", n)
			}
			break
		}
		wantErr(t, err, errStopped)
		v, err := l.ReadView(t.Context(), []kind.Key{purgeKey})
		if err != nil || v.Problem == "" || v.Fix == "" || v.Records != nil {
			t.Fatalf("after %d writes: %+v, %v", n, v, err)
		}
		if n > 0 && !strings.Contains(v.Problem, "restored") {
			t.Fatalf("after %d writes: %s", n, v.Problem)
		}
		if done, err := l.Import(t.Context(), backup); err != nil || !done.Restored {
			t.Fatalf("after %d writes: %+v, %v", n, done, err)
		}
		if after := listed(t, l); !reflect.DeepEqual(after, before) {
			t.Fatalf("after %d writes: %+v\nwas %+v", n, after, before)
		}
	}
}

// TestTheRuleOfImport: one for backups, rescue records and what was rolled back.
func TestTheRuleOfImport(t *testing.T) {
	cfg := made(t)
	l := open(t, cfg)
	must(t, tryClaim(t.Context(), l, purgeKey))
	claimed := exported(t, l)
	var posted Backup
	turnBack(t, cfg, func() {
		must(t, l.RecordPosted(t.Context(), purgeKey, AcceptedAnswer{}))
		must(t, l.RecordApplied(t.Context(), cdnKey, AppliedSpec{Spec: someSpec}))
		posted = exported(t, l)
	})
	l = open(t, cfg)
	rescue := Backup{Records: posted.Records[1:]}
	if done, err := l.Import(t.Context(), rescue); err != nil || done != (ImportCounts{Advanced: 1}) {
		t.Errorf("a later step: %+v, %v", done, err)
	}
	if rec := view(t, l, purgeKey); rec.State != Posted {
		t.Errorf("after it %+v", rec)
	}
	if done, err := l.Import(t.Context(), claimed); err != nil || done != (ImportCounts{Left: 1}) {
		t.Errorf("an earlier step: %+v, %v", done, err)
	}
	if done, err := l.Import(t.Context(), posted); err != nil || done != (ImportCounts{Added: 1, Left: 1}) {
		t.Errorf("an absent one: %+v, %v", done, err)
	}
}

func TestImportRefusesAnotherHistoryWhole(t *testing.T) {
	cfg := made(t)
	l := open(t, cfg)
	must(t, tryClaim(t.Context(), l, purgeKey))
	var posted Backup
	turnBack(t, cfg, func() {
		must(t, l.RecordPosted(t.Context(), purgeKey, AcceptedAnswer{}))
		must(t, l.RecordApplied(t.Context(), cdnKey, AppliedSpec{Spec: someSpec}))
		posted = exported(t, l)
	})
	l = open(t, cfg)
	must(t, l.Resolve(t.Context(), purgeKey, ResolveAbandon, "gone"))
	before := listed(t, l)
	_, err := l.Import(t.Context(), posted)
	var conflicts *ConflictsError
	if !errors.As(err, &conflicts) || len(conflicts.Conflicts) != 1 || err.Error() == "" {
		t.Fatalf("imported: %v", err)
	}
	message, fix := conflicts.Conflicts[0].Explain()
	if !strings.Contains(message, "step 2: Purge/rel-42 was abandoned") || !strings.Contains(message, "was accepted") || fix == "" {
		t.Errorf("%q, %q", message, fix)
	}
	if after := listed(t, l); !reflect.DeepEqual(after, before) {
		t.Errorf("written all the same: %+v", after)
	}
	// Of what settled nothing there is still a way out.
	conflicts.Conflicts[0].Stored.State = Posted
	if _, fix := conflicts.Conflicts[0].Explain(); !strings.Contains(fix, "--leave Purge/rel-42") {
		t.Errorf("fix %q", fix)
	}
}

// TestOldRecordsOfWhatConverges: their histories are short, and do not reach
// back to each other.
func TestOldRecordsOfWhatConverges(t *testing.T) {
	cfg := made(t)
	l := open(t, cfg)
	must(t, l.RecordApplied(t.Context(), cdnKey, AppliedSpec{Spec: someSpec}))
	old := exported(t, l)
	var later Backup
	turnBack(t, cfg, func() {
		for range 2 * maxSpecSteps {
			must(t, l.RecordApplied(t.Context(), cdnKey, AppliedSpec{Spec: []byte(`{}`)}))
		}
		later = exported(t, l)
		if done, err := l.Import(t.Context(), old); err != nil || done != (ImportCounts{Left: 1}) {
			t.Errorf("an old one: %+v, %v", done, err)
		}
	})
	l = open(t, cfg)
	if done, err := l.Import(t.Context(), later); err != nil || done != (ImportCounts{Advanced: 1}) {
		t.Fatalf("a much later one: %+v, %v", done, err)
	}
	if after := listed(t, l); !reflect.DeepEqual(after, later.Records) {
		t.Errorf("%+v", after)
	}
}

func TestImportRefusesWhatIsNotOurs(t *testing.T) {
	cfg, l := lived(t)
	for name, c := range map[string]struct {
		change func(*Config, *Backup)
		want   string
	}{
		"no id yet":         {func(c *Config, _ *Backup) { c.ID = "" }, "does not say which ledger"},
		"another ledger":    {func(_ *Config, b *Backup) { b.Genesis.LedgerID = "other" }, "the export is of ledger other"},
		"another platform":  {func(_ *Config, b *Backup) { b.Genesis.Origins[kind.Delivery] = "https://else.example" }, "was made for"},
		"another workspace": {func(_ *Config, b *Backup) { b.Records[1].Workspace = "other" }, "belongs to workspace other"},
		"twice":             {func(_ *Config, b *Backup) { b.Records = append(b.Records, b.Records[0]) }, "two records of"},
		"none configured":   {func(c *Config, _ *Backup) { c.Store = "" }, "no ledger is configured"},
		"no such ledger":    {func(c *Config, b *Backup) { c.Store, b.Genesis = "file:else", nil }, "file:else does not exist"},
		"contradicting":     {func(_ *Config, b *Backup) { b.Genesis, b.Records = nil, contradicting(b.Records[1]) }, "contradict each other"},
	} {
		other, b := cfg, exported(t, l)
		c.change(&other, &b)
		if _, err := open(t, other).Import(t.Context(), b); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// contradicting are two records of one name and no common history.
func contradicting(rec Record) []Record {
	other := rec.withStep(LogStep{Seq: rec.Seq + 1, Nonce: "other"})
	other.History = other.History[len(other.History)-1:]
	return []Record{rec, other}
}

func TestReadBackup(t *testing.T) {
	_, l := lived(t)
	var file bytes.Buffer
	_, err := l.Export(t.Context(), &file)
	must(t, err)
	lines := strings.SplitAfter(file.String(), "\n")
	rescue := func(rec string) string { return "12:00 " + RescuePrefix + strings.TrimSpace(rec) + "\r\n" }
	for name, c := range map[string]struct{ text, want string }{
		"whole":              {file.String() + "\n", ""},
		"rescue records":     {"noise\n" + rescue(lines[1]) + "more noise\n" + rescue(lines[2]), ""},
		"one twice":          {rescue(lines[2]) + rescue(lines[2]), ""},
		"empty":              {"\n", "it is empty"},
		"something else":     {"Purge done\n", "not an export of a ledger"},
		"cut short":          {strings.Join(lines[:3], ""), "2 of 3 records"},
		"cut in a line":      {file.String()[:file.Len()-20], "line 4"},
		"no head":            {strings.Join(lines[1:], ""), "not an export"},
		"both":               {file.String() + rescue(lines[1]), "one after the other"},
		"a damaged rescue":   {rescue(lines[1][:40]), "line 1: rescue record"},
		"a newer one":        {string(resealed(bytes.ReplaceAll(file.Bytes(), []byte(Schema), []byte("trueup.ledger/v9")))), "upgrade trueup"},
		"a head of no id":    {`{"schema":"` + Schema + `"}`, "schema"},
		"history with a gap": {rescue(string(resealed([]byte(strings.Replace(lines[2], `"seq":1`, `"seq":9`, 1))))), "history"},
		"a flipped bit":      {strings.Replace(file.String(), "hostname", "hostnamd", 1), "checksum"},
	} {
		b, err := ReadBackup(strings.NewReader(c.text))
		switch {
		case c.want == "" && (err != nil || len(b.Records) == 0):
			t.Errorf("%s: %v", name, err)
		case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
	if _, err := ReadBackup(failing{}); !errors.Is(err, errStopped) {
		t.Errorf("a file that can't be read: %v", err)
	}
}

type failing struct{}

func (failing) Read([]byte) (int, error)  { return 0, errStopped }
func (failing) Write([]byte) (int, error) { return 0, errStopped }

func TestReadBackupFolder(t *testing.T) {
	_, l := lived(t)
	text, err := encodeLine(view(t, l, purgeKey))
	must(t, err)
	b, err := ReadBackupFolder(fstest.MapFS{"a.json": {Data: text}, "a.json.part": {Data: text[:9]}})
	if err != nil || len(b.Records) != 1 || b.Genesis != nil {
		t.Errorf("%+v, %v", b, err)
	}
	for _, folder := range []fstest.MapFS{{}, {"a.json": {Data: text[:40]}}, {"a.json": {Mode: os.ModeDir}}} {
		if _, err := ReadBackupFolder(folder); err == nil {
			t.Errorf("read %v", folder)
		}
	}
}

func TestExportFails(t *testing.T) {
	cfg, l := lived(t)
	if _, err := l.Export(t.Context(), failing{}); !errors.Is(err, errStopped) {
		t.Errorf("written: %v", err)
	}
	lose(t, cfg)
	if _, err := l.Export(t.Context(), failing{}); ProblemOf(err) == nil {
		t.Errorf("without a ledger: %v", err)
	}
}

func TestLookWithoutALedger(t *testing.T) {
	cfg, l := lived(t)
	if found, err := l.ReadRecords(t.Context(), keysOf(purgeKey)); err != nil || len(found) != 1 {
		t.Errorf("%v, %v", found, err)
	}
	lose(t, cfg)
	_, err := l.ReadRecords(t.Context(), keysOf(purgeKey))
	wantErr(t, err, ErrNoGenesis)
	if _, err := open(t, Config{}).ReadRecords(t.Context(), nil); ProblemOf(err) == nil {
		t.Errorf("none configured: %v", err)
	}
}

// TestAdoptAllIsFewCommits: what was pulled from live together is recorded
// together, where every commit is a push.
func TestAdoptAllIsFewCommits(t *testing.T) {
	t.Parallel()
	const many = 40
	bare := gitremote.Bare(t)
	cfg := testConfig(gitremote.Clone(t, bare))
	cfg.Store = "git:" + testRef
	cfg = madeIn(t, cfg)
	before := gitremote.Cmd(t, bare, "rev-list", "--count", testRef)
	l := open(t, cfg)
	all := map[kind.Key]Adoption{}
	for i := range many {
		all[kind.Key{Kind: "CDN", Name: fmt.Sprint("shop-", i)}] = Adoption{Spec: someSpec, Digest: someSum, Reason: "pulled"}
	}
	must(t, l.AdoptAll(t.Context(), all))
	found, err := l.ReadRecords(t.Context(), slices.Collect(maps.Keys(all)))
	must(t, err)
	for key := range all {
		if rec := found[key]; string(rec.Applied) != string(someSpec) {
			t.Fatalf("the record of %s is %+v", key, rec)
		}
	}
	after := gitremote.Cmd(t, bare, "rev-list", "--count", testRef)
	from, _ := strconv.Atoi(before)
	to, _ := strconv.Atoi(after)
	if commits := to - from; commits < 1 || commits > 8 {
		t.Errorf("%d records are %d commits", many, commits)
	}
}

// TestImportOfFolds: what a fold left of a purge, and its earlier records, are of one history. A final outcome stays.
func TestImportOfFolds(t *testing.T) {
	w, early := &foldWorld{t: t}, testNow.Add(-time.Hour)
	step := func(seq int, e event) LogStep {
		return LogStep{Seq: seq, Nonce: fmt.Sprint("n-", seq), At: testNow, Event: string(e)}
	}
	record := func(state RequestState, first *time.Time, steps ...LogStep) Record {
		r := w.record("p")
		last := steps[len(steps)-1]
		r.State, r.FirstClaimAt, r.ClaimedAt, r.Seq, r.Nonce, r.History = state, first, first, last.Seq, last.Nonce, steps
		if r.AcceptedAt = nil; state == Posted {
			r.AcceptedAt = &testNow
		}
		return r
	}
	claimed := record(Claimed, &testNow, step(1, evClaim))
	posted := record(Posted, &testNow, step(1, evClaim), step(2, evPost))
	rejected := record(Rejected, &early, step(1, evClaim), step(2, evReject))
	later := record(Posted, &testNow, step(1, evClaim), step(2, evReject), step(3, evClaim), step(4, evPost))
	forgotten := record(Abandoned, &testNow, step(1, evClaim), step(2, evPost), step(3, evForget))
	other := record(Posted, &early, LogStep{Seq: 1, Nonce: "other", At: early, Event: string(evPost)})
	otherOpen := record(Claimed, &early, LogStep{Seq: 3, Nonce: "other", At: early, Event: string(evTakeOver)})
	adopted := record(Adopted, nil, step(1, evClaim), step(2, evRelease), step(3, evAdopt))
	otherSpec := record(Adopted, nil, LogStep{Seq: 1, Nonce: "other", At: early, Event: string(evAdopt)})
	digest := canon.Digest([]byte("other"))
	otherSpec.SpecDigest = &digest
	advanced, left := ImportCounts{Advanced: 1}, ImportCounts{Left: 1}
	for name, c := range map[string]struct {
		stored, given Record
		want          ImportCounts // empty is a conflict
	}{
		"its claim":                       {claimed, posted.folded(), advanced},
		"a rejected claim before":         {rejected, later.folded(), advanced},
		"itself":                          {posted, posted.folded(), left},
		"an outcome before it":            {posted, forgotten.folded(), advanced},
		"an open claim of another":        {otherOpen, later.folded(), advanced},
		"another history":                 {other, posted.folded(), ImportCounts{}},
		"another spec":                    {otherSpec, adopted.folded(), ImportCounts{}},
		"folded, its claim":               {posted.folded(), claimed, left},
		"folded, a rejected claim before": {later.folded(), rejected, left},
		"folded, itself":                  {posted.folded(), posted, left},
		"folded twice":                    {posted.folded(), posted.folded(), left},
		"folded, an outcome before it":    {forgotten.folded(), posted, left},
		"folded, what came then":          {posted.folded(), forgotten, advanced},
		"folded, what came then, folded":  {posted.folded(), forgotten.folded(), advanced},
		"folded, an open one of another":  {posted.folded(), otherOpen, left},
		"folded, another history":         {posted.folded(), other, ImportCounts{}},
		"folded, another spec":            {adopted.folded(), otherSpec, ImportCounts{}},
	} {
		_, s := bornLog(t)
		mustPut(t, s, 0, c.stored)
		l := &Ledger{store: s}
		var done ImportCounts
		_, err := l.compareBackup(t.Context(), Backup{Records: []Record{c.given}}, &done)
		if conflicts, ok := errors.AsType[*ConflictsError](err); done != c.want || ok != (c.want == ImportCounts{}) || !ok && err != nil {
			t.Errorf("%s: %+v, %v, want %+v", name, done, conflicts, c.want)
		}
		if _, ok := errors.AsType[*ConflictsError](err); ok != c.given.divergesFrom(c.stored) && c.given.Seq >= c.stored.Seq && c.given.Folded {
			t.Errorf("%s: another history is seen: %t", name, !ok)
		}
	}
}

// TestExportAndImportBesideFolds: exports of before and after a fold restore each other's ledger, and it verifies.
func TestExportAndImportBesideFolds(t *testing.T) {
	cfg, l := lived(t)
	must(t, l.Adopt(t.Context(), kind.Key{Kind: "Purge", Name: "adopted"}, Adoption{Spec: someSpec, Digest: canon.Digest(someSpec)}))
	posted := kind.Key{Kind: "Purge", Name: "posted-later"}
	must(t, tryClaim(t.Context(), l, posted))
	early := exported(t, l)
	must(t, l.RecordPosted(t.Context(), posted, AcceptedAnswer{HTTP: 201}))
	must(t, l.Adopt(t.Context(), kind.Key{Kind: "Purge", Name: "later"}, Adoption{Spec: someSpec, Digest: canon.Digest(someSpec)}))
	must(t, FoldNow(t.Context(), l.store, testTime.AddDate(1, 0, 0)))
	folded, want := exported(t, l), listed(t, l)
	if n := len(slices.DeleteFunc(slices.Clone(want), func(r Record) bool { return !r.Folded })); n != 4 {
		t.Fatalf("%d are folded", n)
	}
	verified := func(when string) {
		t.Helper()
		v := must1(open(t, cfg).Verify(t.Context()))(t)
		if have := listed(t, open(t, cfg)); v.Damage != nil || v.Records != len(want) || len(have) != len(want) {
			t.Errorf("%s: %+v, %d records of %d", when, v, len(have), len(want))
		}
	}
	imported := func(b Backup, want ImportCounts) {
		t.Helper()
		if done, err := open(t, cfg).Import(t.Context(), b); err != nil || done != want {
			t.Errorf("imported %+v, want %+v: %v", done, want, err)
		}
	}
	imported(early, ImportCounts{Left: 5})
	verified("an early export into a folded ledger")
	lose(t, cfg)
	imported(early, ImportCounts{Restored: true, Added: 5})
	imported(folded, ImportCounts{Added: 1, Advanced: 1, Left: 4})
	verified("a folded export into an early ledger")
	lose(t, cfg)
	imported(folded, ImportCounts{Restored: true, Added: 6})
	imported(early, ImportCounts{Left: 5})
	must(t, FoldNow(t.Context(), open(t, cfg).store, testTime.AddDate(2, 0, 0)))
	verified("a folded export alone")
}
