// Package ledger keeps what has been done to the platform: the intent and the
// outcome of requests that are sent once, and the last-applied spec of objects
// that converge; it refuses to work without its own genesis, to forget, and to
// guess what became of a request.
package ledger

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"

	"trueup/internal/blob"
	"trueup/internal/kind"
)

// Config says which ledger is meant and who uses it.
type Config struct {
	// Store is where it is: file:PATH, or git:REF, a ref on remote origin of the
	// repository that Dir is in, or git:REF@REMOTE, or s3://BUCKET/PREFIX with
	// the parameters region, path-style and endpoint. Empty means that none is
	// configured.
	Store string
	// StoreFromEnv says that the user named the store, and not
	// the repository: only then may it hold the endpoint of a bucket, sign with
	// the role of the machine, or be a folder outside Dir.
	StoreFromEnv bool
	// ID is the id that trueup.yaml expects.
	ID        string
	Workspace kind.Workspace
	// WorkspaceFromEnv says that the user named the workspace too.
	WorkspaceFromEnv bool
	// Origins are the base addresses in use, by area; those not configured are
	// left out and not compared.
	Origins map[kind.Area]string
	// Held gives the spec that the caller holds anyway for an object, or nil: a
	// record of the same spec shares its bytes. It is called from several
	// goroutines.
	Held func(kind.Key) []byte
	// Backend is used in place of the store that Store names.
	Backend Store
	// Window is how long after its first intent a request may be sent again;
	// zero means DefaultWindow.
	Window time.Duration
	// Dir is what a relative PATH starts from.
	Dir string
	// SeenCache is a folder of this machine in which it keeps what it has seen of
	// ledgers, so that it notices one that was rolled back; empty means none.
	SeenCache string
	// InCI refuses stores that don't outlive a runner, unless EphemeralOK.
	InCI        bool
	EphemeralOK bool
	// Now is the clock. NewID makes ids and nonces; nil means random UUIDs.
	Now   func() time.Time
	NewID func() string
	// Sleep waits between two tries of a write, or returns the context's error; nil
	// means by the clock. Delayed, where it is set, is told of each try of an outcome
	// that failed and is made again; calls come from several goroutines.
	Sleep   func(ctx context.Context, d time.Duration) error
	Delayed func(key kind.Key, err error)
	// Claim names this run in the records of what it sends. It must hold no
	// secret.
	Claim Claim
	// Rebind is asked by Init before it changes what a ledger that exists is bound to:
	// the address of an area, or the name of the workspace; from is empty where it had
	// none. Its error keeps the ledger as it is. Without it Init adds and replaces
	// nothing.
	Rebind func(what, from, to string) error
}

// Ledger is one run's access to a ledger. It may be used by several goroutines.
type Ledger struct {
	cfg   Config
	store Store
	// local says that the store is a disk of this machine.
	local bool

	mu sync.Mutex
	// own are the records that this run wrote last, seen the seqs of those that
	// it looked at, 0 where there was none.
	own  map[kind.Key]mark
	seen map[kind.Key]int
	// known is the genesis that was read last, or nil.
	known *Genesis
}

// mark is how this run left a record.
type mark struct {
	rec Record
	// pending are the pending specs that the record had before.
	pending []JSON
}

// Open returns the ledger that cfg names. It creates nothing and reads nothing:
// whether the ledger is there and ours is checked by every call.
func Open(ctx context.Context, cfg Config) (*Ledger, error) {
	origins, err := normalOrigins(cfg.Origins)
	if err != nil {
		return nil, fmt.Errorf("open ledger: %w", err)
	}
	cfg.Origins = origins
	if cfg.NewID == nil {
		cfg.NewID = uuid.NewString
	}
	if cfg.Sleep == nil {
		cfg.Sleep = sleep
	}
	if cfg.Window == 0 {
		cfg.Window = DefaultWindow
	}
	l := &Ledger{cfg: cfg, own: map[kind.Key]mark{}, seen: map[kind.Key]int{}}
	if l.store = cfg.Backend; l.store != nil || cfg.Store == "" {
		return l, nil
	}
	if l.store, err = OpenStore(ctx, cfg); err != nil {
		return nil, fmt.Errorf("open ledger: %w", err)
	}
	l.local = strings.HasPrefix(cfg.Store, "file:")
	return l, nil
}

// OpenStore opens the store that cfg names, as Open does. Whoever puts something
// before it hands that over as Config.Backend.
func OpenStore(ctx context.Context, cfg Config) (Store, error) {
	if strings.HasPrefix(cfg.Store, "s3://") {
		bucket, err := blob.OpenBucket(ctx, cfg.Store, cfg.StoreFromEnv, cfg.Now)
		if err != nil {
			return nil, err
		}
		return newLogStore(bucket, cfg.Held, farMoment), nil
	}
	if where, ok := strings.CutPrefix(cfg.Store, "git:"); ok {
		ref, err := blob.OpenRef(where, cfg.Dir, cfg.StoreFromEnv)
		if err != nil {
			return nil, fmt.Errorf("store %.200q: %w", shownStore(cfg.Store), err)
		}
		return newLogStore(ref, cfg.Held, farMoment), nil
	}
	path, ok := strings.CutPrefix(cfg.Store, "file:")
	if !ok || path == "" {
		return nil, fmt.Errorf("store %q is not of the form file:PATH, git:REF or s3://BUCKET/PREFIX", shownStore(cfg.Store))
	}
	path = filepath.FromSlash(path)
	if !cfg.StoreFromEnv {
		if err := staysInside(cfg.Dir, path); err != nil {
			return nil, fmt.Errorf("store %.200q: %w", cfg.Store, err)
		}
	}
	if !filepath.IsAbs(path) {
		path = filepath.Join(cfg.Dir, path)
	}
	return newLogStore(blob.Folder(path), cfg.Held, 0), nil
}

// staysInside holds that a folder which a repository names is one of its own:
// neither its name nor a link leads elsewhere, where it could read, and show,
// what somebody else has, or write.
func staysInside(dir, path string) error {
	const fix = "name a folder beside trueup.yaml or below, or set TRUEUP_LEDGER to another"
	if !filepath.IsLocal(path) {
		return fmt.Errorf("it is outside the folder of trueup.yaml: %s", fix)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }()
	if _, err := root.Stat(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%w: %s", err, fix)
	}
	return nil
}

// login is what an address has before its host.
var login = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`//\S*@`) })

// shownStore is a store's name without a password.
func shownStore(store string) string { return login().ReplaceAllString(store, "//***@") }

// Close lets go of what the store keeps on this machine while it is used.
func (l *Ledger) Close() error {
	if c, ok := l.store.(io.Closer); ok {
		return c.Close()
	}
	return nil
}

// farBatch is how many requests are claimed together where the store is far
// away (docs/design.md A7), farMoment how long a first write there waits for others.
const (
	farBatch  = 20
	farMoment = 10 * time.Millisecond
)

// Batch is how many requests are best claimed together: where a claim costs next
// to nothing one, so that a run that dies leaves no more than one question.
func (l *Ledger) Batch() int {
	if l.local {
		return 1
	}
	return farBatch
}

// refresh makes the store look again.
func (l *Ledger) refresh() {
	if l.store != nil {
		l.store.Forget()
	}
}

// lately is how long after its claim a request is of interest to all runs: it
// counts against limits for 25 hours (docs/design.md A6), and clocks differ.
const lately = 27 * time.Hour

// View reads the records of the keys, of what was claimed lately and of what is
// open, as they are now. A ledger that is missing, damaged, or of another project
// or platform is no error: it is the view's Problem, and there are no records
// then. A ledger that can't be reached is an error.
func (l *Ledger) View(ctx context.Context, keys []kind.Key) (View, error) {
	l.refresh()
	g, err := l.usable(ctx, keys)
	var recent []Key
	view := View{ID: l.cfg.ID, Records: map[kind.Key]Record{}, Terms: map[kind.Area]Terms{}}
	if err == nil {
		for _, area := range []kind.Area{kind.Compute, kind.Delivery} {
			view.Terms[area] = l.terms(g, area)
		}
		view.Finished = g.Finished
		view.Unseen = g.Finished != nil && len(g.Finished.Requests) > 0 && !l.Remembers()
		keys, recent, err = l.withRecent(ctx, keys)
	}
	if err == nil {
		err = l.Add(ctx, &view, keys)
	}
	for _, key := range recent {
		if _, ok := view.Records[key.Key]; err == nil && !ok {
			err = fmt.Errorf("%w: the index of recent requests names the record of %s, which is missing: restore it from a copy", ErrDamaged, key.Key)
		}
	}
	if p := Problem(err); p != nil {
		return View{Problem: p.Problem, Fix: p.Fix, Elsewhere: p.Elsewhere}, nil
	}
	if err != nil {
		return View{}, err
	}
	return view, nil
}

// Add reads the records of more keys into a view, as of when it was made.
func (l *Ledger) Add(ctx context.Context, v *View, keys []kind.Key) error {
	where := l.places(keys)
	found, err := l.readChecked(ctx, where)
	if err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for i, key := range keys {
		rec, ok := found[where[i]]
		l.seen[key] = rec.Seq
		if ok {
			v.Records[key] = rec
		}
	}
	return nil
}

// Look reads the records of the keys as they are now, without taking them for
// what decisions rest on.
func (l *Ledger) Look(ctx context.Context, keys []kind.Key) (map[kind.Key]Record, error) {
	l.refresh()
	found, err := l.store.Read(ctx, l.places(keys))
	if err != nil {
		return nil, err
	}
	records := make(map[kind.Key]Record, len(found))
	for key, rec := range found {
		records[key.Key] = rec
	}
	return records, nil
}

func (l *Ledger) places(keys []kind.Key) []Key {
	places := make([]Key, len(keys))
	for i, key := range keys {
		places[i] = l.at(key)
	}
	return places
}

// withRecent adds the keys of what was claimed lately or is open, and returns these.
func (l *Ledger) withRecent(ctx context.Context, keys []kind.Key) ([]kind.Key, []Key, error) {
	recent, err := l.store.Recent(ctx, l.cfg.Workspace.UUID, l.cfg.Now().Add(-lately))
	if err != nil {
		return nil, nil, err
	}
	all := slices.Clone(keys)
	for _, key := range recent {
		all = append(all, key.Key)
	}
	slices.SortFunc(all, func(a, b kind.Key) int { return strings.Compare(a.String(), b.String()) })
	return slices.Compact(all), recent, nil
}

// terms decide about open requests of an area.
func (l *Ledger) terms(g Genesis, area kind.Area) Terms {
	_, proven := g.Proofs[area]
	return Terms{Window: l.cfg.Window, Proven: proven}
}

// Prove records how the platform refused a second request of the same name;
// from then on requests whose outcome is open are sent again inside their
// window (docs/design.md 0.7).
func (l *Ledger) Prove(ctx context.Context, area kind.Area, p Proof) error {
	err := l.rewrite(ctx, func(g *Genesis) {
		g.Proofs = maps.Clone(g.Proofs)
		if g.Proofs == nil {
			g.Proofs = map[kind.Area]Proof{}
		}
		g.Proofs[area] = p
	})
	if err != nil {
		return fmt.Errorf("record a proof: %w", err)
	}
	return nil
}

// Finish records which requests git had when an apply of the whole project had left
// nothing to do. It writes only if they are others than those of the view.
func (l *Ledger) Finish(ctx context.Context, v View, keys []kind.Key) error {
	now := Finished{At: l.cfg.Now().UTC(), Commit: l.cfg.Claim.Commit, Requests: []string{}}
	for _, key := range keys {
		if singular(key) {
			now.Requests = append(now.Requests, key.String())
		}
	}
	slices.Sort(now.Requests)
	if v.Finished == nil && len(now.Requests) == 0 || v.Finished != nil && slices.Equal(v.Finished.Requests, now.Requests) {
		return nil
	}
	if err := l.rewrite(ctx, func(g *Genesis) { g.Finished = &now }); err != nil {
		return fmt.Errorf("record that the apply finished: %w", err)
	}
	return nil
}

// rewrite changes the genesis by compare-and-swap.
func (l *Ledger) rewrite(ctx context.Context, to func(*Genesis)) error {
	for try := 1; ; try++ {
		l.refresh()
		g, err := l.usable(ctx, nil)
		if err != nil {
			return err
		}
		to(&g)
		g.Seq++
		err = l.store.WriteGenesis(ctx, g.Seq-1, g)
		if !errors.Is(err, ErrConflict) || try == writeTries {
			return err
		}
	}
}

// List returns all records, in the order of kinds and names; a *ProblemError if
// the ledger can't be used.
func (l *Ledger) List(ctx context.Context) ([]Record, error) {
	l.refresh()
	if _, err := l.usable(ctx, nil); err != nil {
		return nil, err
	}
	var records []Record
	err := l.store.All(ctx, func(rec Record, err error) error {
		records = append(records, rec)
		return err
	})
	slices.SortFunc(records, func(a, b Record) int {
		return strings.Compare(a.Workspace+"/"+a.String(), b.Workspace+"/"+b.String())
	})
	return records, err
}

// usable is Usable for the areas of the keys.
func (l *Ledger) usable(ctx context.Context, keys []kind.Key) (Genesis, error) {
	areas, err := areasOf(keys)
	if err != nil {
		return Genesis{}, err
	}
	return l.Usable(ctx, areas...)
}

// Usable returns the genesis if the ledger is there, ours, and bound to the platform for
// the areas; else a *ProblemError, or what kept it from being read. Every command asks
// this way.
func (l *Ledger) Usable(ctx context.Context, areas ...kind.Area) (Genesis, error) {
	var g Genesis
	var err error
	if l.store != nil {
		g, err = l.readGenesis(ctx)
	}
	problem, err := l.problem(g, err, areas)
	if err != nil {
		return Genesis{}, err
	}
	if problem != nil {
		return Genesis{}, problem
	}
	return g, nil
}

func (l *Ledger) seenRecords() seenCache { return seenCache(l.cfg.SeenCache).ofLedger(l.cfg.ID) }

func (l *Ledger) at(key kind.Key) Key { return Key{Workspace: l.cfg.Workspace.UUID, Key: key} }
