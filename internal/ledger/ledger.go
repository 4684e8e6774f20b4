// Package ledger records what trueup sends to the platform: the claim and outcome of each request that must be sent at
// most once, and the last-applied spec of all other objects. It rejects a ledger of another project, and never guesses
// how a request ended.
package ledger

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"

	"trueup/internal/blob"
	"trueup/internal/diag"
	"trueup/internal/kind"
)

// Config says which ledger to use, and who uses it.
type Config struct {
	// Store is file:PATH, git:REF, git:REF@REMOTE, postgres:NAME, gs://BUCKET/PREFIX, azblob://CONTAINER/PREFIX, or s3://BUCKET/PREFIX with the parameters region, path-style and
	// endpoint. A REF is on a remote, by default origin, of the repository that has Dir. Empty means none.
	Store string
	// StoreFromEnv means that the user named the store, not the repository. Only then may it be a folder outside Dir.
	StoreFromEnv bool
	// Allowed are the stores of the user that the repository's must be, or be below; none means that any will do. Only
	// an allowed one and one of StoreFromEnv may have an endpoint, and sign with the role of the machine.
	Allowed          []string
	ID               string // the one that trueup.yaml expects
	Workspace        kind.Workspace
	WorkspaceFromEnv bool                 // the user named the workspace too
	Origins          map[kind.Area]string // the configured base addresses, by area
	// Held returns an object's spec if the caller has it in memory, or nil; records share it. It must be safe for
	// concurrent use.
	Held    func(kind.Key) []byte
	Backend RecordStore   // replaces Store
	Window  time.Duration // how long after its first claim a request may be sent again; zero means DefaultWindow
	Dir     string        // the base of a relative PATH
	// SeenCache is a local directory for what this machine saw of ledgers, to detect a rollback; empty means none.
	SeenCache string
	LosesDisk bool // rejects a local store, because the runner's disk is lost after the run
	ReadOnly  bool // refuses every write, with diag.ErrReadOnly
	Now       func() time.Time
	Getenv    func(string) string // names the account of a store in azblob://, and its credentials
	NewID     func() string       // makes ids and nonces; nil means random UUIDs
	// Sleep waits before a retry, or returns the context's error; nil means a timer. Delayed, if set, is called before
	// each retry of an outcome's write. Both must be safe for concurrent use.
	Sleep   func(ctx context.Context, d time.Duration) error
	Delayed func(key kind.Key, err error)
	Claim   Claim // identifies this run in records; it must not contain secrets
	// Rebind is called before CreateLedger changes an address, or the workspace's name; from may be empty. An error keeps the
	// old one. If Rebind is nil, CreateLedger adds what is missing and replaces nothing.
	Rebind func(what, from, to string) error
}

// Ledger is one run's access to a ledger. It is safe for concurrent use.
type Ledger struct {
	cfg   Config
	store RecordStore
	local bool

	mu sync.Mutex
	// own has the records that this run wrote last, seen the seqs that ReadView returned, 0 for no record.
	own  map[kind.Key]writtenRecord
	seen map[kind.Key]int
	// order is nil unless the run is an apply.
	order *applyOrder
}

// writtenRecord is a record as this run wrote it, and the pending specs that it had before. It has only the seq if no later
// step needs the rest.
type writtenRecord struct {
	seq     int
	rec     *Record
	pending []CanonicalJSON
}

// Open returns the ledger that cfg names. It reads nothing: every call checks whether it is the right ledger.
func Open(ctx context.Context, cfg Config) (*Ledger, error) {
	origins, err := normalizeOrigins(cfg.Origins)
	if err != nil {
		return nil, fmt.Errorf("open ledger: %w", err)
	}
	cfg.Origins = origins
	if cfg.NewID == nil {
		cfg.NewID = uuid.NewString
	}
	if cfg.Sleep == nil {
		cfg.Sleep = blob.Sleep
	}
	if cfg.Window == 0 {
		cfg.Window = DefaultWindow
	}
	l := &Ledger{cfg: cfg, own: map[kind.Key]writtenRecord{}, seen: map[kind.Key]int{}}
	if l.store = cfg.Backend; l.store != nil || cfg.Store == "" && len(cfg.Allowed) == 0 {
		return l, nil
	}
	if l.store, err = OpenStore(ctx, cfg); err != nil {
		return nil, fmt.Errorf("open ledger: %w", err)
	}
	l.local = strings.HasPrefix(cfg.Store, "file:")
	return l, nil
}

// In a remote store (docs/design.md A7):
const (
	remoteBatch = 20                    // how many requests a run claims together
	gitBatch    = 200                   // the same in git, where a push takes the time of many
	remoteDelay = 10 * time.Millisecond // how long a first write waits for others
)

// OpenStore opens the store that cfg names, as Open does.
func OpenStore(ctx context.Context, cfg Config) (RecordStore, error) {
	var blobs blob.Store
	trusted, err := cfg.isTrusted()
	if err != nil {
		return nil, err
	}
	batchDelay := remoteDelay
	switch scheme, where, _ := strings.Cut(cfg.Store, ":"); {
	case path.Base(path.Clean(strings.Split(where, "?")[0])) == foldedDir:
		err = errors.New("its path may not end in folded: a ledger above it keeps its old purges there, and would remove what this one has")
	case scheme == "s3":
		blobs, err = blob.OpenS3(ctx, cfg.Store, trusted, cfg.Now)
	case scheme == "gs":
		blobs, err = blob.OpenGCS(cfg.Store, trusted)
	case scheme == "azblob":
		blobs, err = blob.OpenAzure(cfg.Store, trusted, cfg.Getenv, cfg.Now)
	case scheme == "postgres":
		blobs, err = blob.OpenPostgres(where)
	case scheme == "git":
		blobs, err = blob.OpenRef(where, cfg.Dir, cfg.StoreFromEnv)
	case scheme == "file" && where != "":
		batchDelay = 0
		blobs, err = openFolder(cfg, filepath.FromSlash(where))
	default:
		err = errors.New("it is not of the form file:PATH, git:REF, s3://BUCKET/PREFIX, gs://BUCKET/PREFIX, azblob://CONTAINER/PREFIX or postgres:NAME")
	}
	if err != nil {
		return nil, fmt.Errorf("store %.200q: %w", redactStore(cfg.Store), err)
	}
	store := newLogStore(blobs, cfg.Held, batchDelay)
	if cfg.ReadOnly {
		store.blobs, store.folded = blob.ReadOnly{Store: blobs}, blob.ReadOnly{Store: store.folded}
	}
	return store, nil
}

// isTrusted reports whether the user named the store, or what it is below. It returns an error for one that the user does
// not allow.
func (cfg Config) isTrusted() (bool, error) {
	if cfg.StoreFromEnv || len(cfg.Allowed) == 0 {
		return cfg.StoreFromEnv, nil
	}
	for _, name := range cfg.Allowed {
		switch within, err := blob.IsStoreWithin(cfg.Store, name); {
		case err != nil:
			return false, fmt.Errorf("TRUEUP_PROJECTS has %.200q: %w", redactStore(name), err)
		case within:
			return true, nil
		}
	}
	return false, fmt.Errorf("trueup.yaml names %.200s, and TRUEUP_PROJECTS allows only stores below %s, with the same parameters. Nothing was read or sent: correct ledger.store or the variable",
		cmp.Or(redactStore(cfg.Store), "no ledger"), redactStore(strings.Join(cfg.Allowed, " or ")))
}

// openFolder opens a folder. If the repository names it, neither its path nor a link may lead outside Dir.
func openFolder(cfg Config, path string) (blob.FolderStore, error) {
	const fix = "name a folder beside trueup.yaml or below, or set TRUEUP_LEDGER to another"
	if !cfg.StoreFromEnv {
		if !filepath.IsLocal(path) {
			return "", errors.New("it is outside the folder of trueup.yaml: " + fix)
		}
		root, err := os.OpenRoot(cfg.Dir)
		if err != nil {
			return "", err
		}
		defer func() { _ = root.Close() }()
		if _, err := root.Stat(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return "", fmt.Errorf("%w: %s", err, fix)
		}
	}
	if !filepath.IsAbs(path) {
		path = filepath.Join(cfg.Dir, path)
	}
	return blob.FolderStore(path), nil
}

// GitRemote returns the git remote that a store is on, or "".
func GitRemote(store string) string {
	where, isGit := strings.CutPrefix(store, "git:")
	if !isGit {
		return ""
	}
	_, remote := blob.SplitRemoteRef(where)
	return remote
}

// login matches the user and the password of a store, and the values of its parameters.
var login = diag.Pattern(`(//)\S*(@)|(:)[^\s/]*(@)|((?i:[?&](?:sig|[a-z_-]*(?:token|key|secret|password))=))[^&\s]+`)

// redactStore removes what may be a user, a password or a signature.
func redactStore(store string) string { return login().ReplaceAllString(store, "$1$3$5***$2$4") }

// Close releases what the store keeps on this machine.
func (l *Ledger) Close() error {
	if c, ok := l.store.(io.Closer); ok {
		return c.Close()
	}
	return nil
}

// BatchSize returns how many requests to claim together. A local store is fast: one at a time, so that a run that dies
// leaves at most one question.
func (l *Ledger) BatchSize() int {
	if l.local {
		return 1
	}
	if GitRemote(l.cfg.Store) != "" {
		return gitBatch
	}
	return remoteBatch
}

func (l *Ledger) forgetState() {
	if l.store != nil {
		l.store.Invalidate()
	}
}

// recentAge is how long after its claim a request matters to all runs: it counts against limits for 25 hours
// (docs/design.md A6), and clocks differ.
const recentAge = 27 * time.Hour

// ReadView reads the records of the keys, of recent claims and of open requests. If the ledger is missing, damaged, or
// belongs to another project or platform, it returns a view with a Problem and the holds of the workspace; if it can't be
// read, an error.
func (l *Ledger) ReadView(ctx context.Context, keys []kind.Key) (View, error) {
	view, err := l.readView(ctx, keys)
	if p := ProblemOf(err); p != nil {
		return View{Problem: p.Problem, Fix: p.Fix, Elsewhere: p.Elsewhere, Holds: l.holdsOfWorkspace(ctx)}, nil
	}
	return view, err
}

// holdsOfWorkspace returns the holds of a ledger that may be unusable: a change of trueup.yaml ends none.
func (l *Ledger) holdsOfWorkspace(ctx context.Context) []Hold {
	if l.store == nil {
		return nil
	}
	g, err := l.store.ReadGenesis(ctx)
	if err != nil || g.Workspace != l.cfg.Workspace.UUID {
		return nil
	}
	return g.Holds
}

func (l *Ledger) readView(ctx context.Context, keys []kind.Key) (view View, err error) {
	l.forgetState()
	g, err := l.readUsable(ctx, keys...)
	if err != nil {
		return view, err
	}
	recent, err := l.store.RecentKeys(ctx, l.cfg.Now().Add(-recentAge))
	if err != nil {
		return view, err
	}
	keys = slices.Concat(keys, recent)
	slices.SortFunc(keys, kind.CompareKeys)
	view = View{
		ID: l.cfg.ID, Records: map[kind.Key]Record{}, Terms: map[kind.Area]ResendTerms{}, Finished: g.Finished, Head: g.Head, Holds: g.Holds,
		Unseen:  g.Finished != nil && len(g.Finished.Requests) > 0 && !l.HasMemory(),
		NotKept: l.seenCache().checkWritable(),
	}
	for _, area := range kind.Areas() {
		view.Terms[area] = l.termsOf(g, area)
	}
	return view, l.AddToView(ctx, &view, slices.Compact(keys))
}

// ReadQuestions returns a view, and from it the open requests that match a pattern, or all without patterns, sorted. It also
// returns each record that a pattern names exactly: if that is not open, ExplainRecord says why.
func (l *Ledger) ReadQuestions(ctx context.Context, patterns []string) (view View, list []Record, err error) {
	if view, err = l.readView(ctx, nil); err != nil {
		return view, nil, err
	}
	open := maps.Clone(view.Records)
	maps.DeleteFunc(open, func(_ kind.Key, rec Record) bool { return !rec.IsOpen() })
	var keys []kind.Key
	if len(patterns) == 0 {
		keys = slices.Collect(maps.Keys(open))
	}
	for _, pattern := range patterns {
		if key, err := kind.ParseKey(pattern); err == nil && !strings.ContainsAny(pattern, "*?[") {
			keys = append(keys, key)
			continue
		}
		like, err := kind.ParseFilter(pattern)
		if err != nil {
			return view, nil, err
		}
		had := len(keys)
		for key := range open {
			if like(key) {
				keys = append(keys, key)
			}
		}
		if len(keys) == had {
			return view, nil, fmt.Errorf("%q matches no request without an outcome: trueup ledger ls --open lists them", pattern)
		}
	}
	slices.SortFunc(keys, kind.CompareKeys)
	err = l.AddToView(ctx, &view, keys)
	for _, key := range slices.Compact(keys) {
		rec := view.Records[key]
		rec.Key = key
		list = append(list, rec)
	}
	return view, list, err
}

// AddToView adds the records of more keys to a view.
func (l *Ledger) AddToView(ctx context.Context, v *View, keys []kind.Key) error {
	found, err := l.readUnlessRolledBack(ctx, keys)
	if err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, key := range keys {
		rec, ok := found[key]
		l.seen[key] = rec.Seq
		if ok {
			v.Records[key] = rec
		}
	}
	return nil
}

// ReadRecords reads records as they are now. Unlike those of a View, they don't restrict later writes.
func (l *Ledger) ReadRecords(ctx context.Context, keys []kind.Key) (map[kind.Key]Record, error) {
	if p := l.refusedProblem(); p != nil {
		return nil, p
	}
	l.forgetState()
	return l.store.Read(ctx, keys)
}

func (l *Ledger) termsOf(g Genesis, area kind.Area) ResendTerms {
	_, proven := g.Proofs[area]
	return ResendTerms{Window: l.cfg.Window, Proven: proven}
}

// RecordProof records how the platform rejected a duplicate name. From then on, trueup retries requests without an outcome
// within their window (docs/design.md 0.7). An empty proof ends that, because the platform accepted a duplicate.
func (l *Ledger) RecordProof(ctx context.Context, area kind.Area, p DuplicateProof) error {
	err := l.rewriteGenesis(ctx, func(g *Genesis) error {
		proofs := map[kind.Area]DuplicateProof{}
		maps.Copy(proofs, g.Proofs)
		proofs[area], g.Proofs = p, proofs
		maps.DeleteFunc(proofs, func(_ kind.Area, p DuplicateProof) bool { return p.At.IsZero() })
		return nil
	})
	if err != nil {
		return fmt.Errorf("record a proof: %w", err)
	}
	return nil
}

func (l *Ledger) rewriteGenesis(ctx context.Context, to func(*Genesis) error) error {
	for try := 1; ; try++ {
		l.forgetState()
		g, err := l.readUsable(ctx)
		if err != nil {
			return err
		}
		if err := to(&g); err != nil {
			return err
		}
		g.Seq, g.Schema = g.Seq+1, Schema
		err = l.store.WriteGenesis(ctx, g.Seq-1, g)
		if !errors.Is(err, ErrConflict) || try == writeTries {
			return err
		}
	}
}

// ListRecords returns all records, sorted by kind and name.
func (l *Ledger) ListRecords(ctx context.Context) ([]Record, error) {
	l.forgetState()
	if _, err := l.readUsable(ctx); err != nil {
		return nil, err
	}
	var records []Record
	err := l.store.EachRecord(ctx, func(rec Record, err error) error {
		records = append(records, rec)
		return err
	})
	slices.SortFunc(records, func(a, b Record) int {
		return strings.Compare(a.Workspace+"/"+a.String(), b.Workspace+"/"+b.String())
	})
	return records, err
}

// readUsable is ReadUsable for the areas of the keys.
func (l *Ledger) readUsable(ctx context.Context, keys ...kind.Key) (Genesis, error) {
	areas := map[kind.Area]bool{}
	for _, key := range keys {
		k, err := kindOf(key)
		if err != nil {
			return Genesis{}, err
		}
		areas[k.Area] = true
	}
	return l.ReadUsable(ctx, slices.Sorted(maps.Keys(areas))...)
}
