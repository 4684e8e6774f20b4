package ledger

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/s3"
)

// The layout of a bucket store, below its prefix: genesis/<version>,
// records/<workspace>/<kind>/<sha256 of the name>/<version>, and the index.
// Below tmp/ are proofs that are being made.
const (
	genesisDir = "genesis"
	// newestFirst makes later versions sort before earlier ones, so that the
	// first name of a listing is the current one, however long the history is.
	newestFirst int64 = 9_999_999_999
)

// bucketParallel bounds the requests under way for one call.
const bucketParallel = 32

// bucketStore is a prefix of a bucket on a server that speaks the S3 protocol
// (design A7). Each transition is a new object, created only where nothing is
// (If-None-Match: *); no object is ever replaced. What is current is the object
// of the highest seq. Servers that ignore the condition exist, so it is tried
// on the genesis before the first write of every run.
//
// What was read of the genesis is kept until forget, and the versions that were
// seen are kept for good, because they never change.
type bucketStore struct {
	client         *s3.Client
	bucket, prefix string
	// pause is what the first wait between two tries is near, patience bounds
	// one request with all its tries.
	pause, patience time.Duration
	held            held

	proof sync.Mutex
	// proven says that this run saw the server refuse a second creation.
	proven bool

	seen bucketMemory
}

func (s *bucketStore) ReadGenesis(ctx context.Context) (Genesis, error) {
	have, err := s.genesis(ctx)
	return have.Genesis, err
}

func (s *bucketStore) WriteGenesis(ctx context.Context, expectSeq int, g Genesis) error {
	b, err := encode(g)
	if err != nil {
		return fmt.Errorf("write genesis: %w", err)
	}
	if g.Seq != expectSeq+1 {
		return fmt.Errorf("write genesis: seq %d does not follow %d", g.Seq, expectSeq)
	}
	s.forget()
	defer s.forget()
	if expectSeq > 0 {
		have, err := s.usable(ctx)
		if err != nil {
			return fmt.Errorf("write genesis: %w", err)
		}
		if have.Seq != expectSeq {
			return fmt.Errorf("write genesis: %w", ErrConflict)
		}
	}
	if err := s.create(ctx, path.Join(genesisDir, versionName(g.Seq)), b); err != nil {
		return fmt.Errorf("write genesis: %w", err)
	}
	return nil
}

func (s *bucketStore) Read(ctx context.Context, keys []Key) (map[Key]Record, error) {
	if _, err := s.genesis(ctx); err != nil {
		return nil, err
	}
	found := make([]Record, len(keys))
	err := eachParallel(ctx, len(keys), func(ctx context.Context, i int) (err error) {
		found[i], err = s.record(ctx, keys[i])
		return err
	})
	if err != nil {
		return nil, err
	}
	records := make(map[Key]Record, len(keys))
	for i, rec := range found {
		if rec.Seq > 0 {
			records[keys[i]] = rec
		}
	}
	return records, nil
}

func (s *bucketStore) Put(ctx context.Context, expectSeq int, rec Record) error {
	b, err := change{expectSeq: expectSeq, rec: rec}.encode()
	if err != nil {
		return err
	}
	if _, err := s.usable(ctx); err != nil {
		return fmt.Errorf("write record of %s: %w", rec.Key, err)
	}
	if err := s.follow(ctx, expectSeq, rec, b); err != nil {
		return fmt.Errorf("write record of %s: %w", rec.Key, err)
	}
	return nil
}

// follow makes the next version of a record, with what the index has of it
// before and after.
func (s *bucketStore) follow(ctx context.Context, expectSeq int, rec Record, b []byte) error {
	dir := recordDir(rec.key())
	old, known := s.seen.record(dir, expectSeq)
	if expectSeq > 0 && !known {
		// The creation below refuses what is too late; this refuses what is too
		// early, and would leave a gap.
		have, err := s.newest(ctx, dir)
		if err != nil {
			return err
		}
		if have != expectSeq {
			return ErrConflict
		}
	}
	if err := s.enter(ctx, rec.entries()); err != nil {
		return err
	}
	if err := s.create(ctx, path.Join(dir, versionName(rec.Seq)), b); err != nil {
		return err
	}
	if kept, err := decodeRecord(b); err == nil {
		s.seen.keep(dir, kept)
	}
	if !rec.Open() && expectSeq > 0 && (old.Open() || !known) {
		s.leave(ctx, rec)
	}
	s.sweep(ctx)
	return nil
}

func (s *bucketStore) All(ctx context.Context, each func(Record) error) error {
	return s.audit(ctx, undamaged(each))
}

// audit is All that goes on after what is damaged.
func (s *bucketStore) audit(ctx context.Context, each func(Record, error) error) error {
	if _, err := s.genesis(ctx); err != nil {
		return err
	}
	names, err := s.listAll(ctx, recordsDir+"/", "")
	if err != nil {
		return err
	}
	newest := map[string]int{}
	for _, name := range names {
		seq, err := versionOf(path.Base(name))
		if err == nil {
			newest[path.Dir(name)] = max(newest[path.Dir(name)], seq)
		} else if err := each(Record{}, s.failed("read", name, err)); err != nil {
			return err
		}
	}
	dirs := slices.Collect(maps.Keys(newest))
	var mu sync.Mutex
	return eachParallel(ctx, len(dirs), func(ctx context.Context, i int) error {
		rec, err := s.version(ctx, dirs[i], newest[dirs[i]])
		if err != nil && !errors.Is(err, ErrDamaged) && !errors.Is(err, ErrNewer) {
			return err
		}
		mu.Lock()
		defer mu.Unlock()
		if err := ctx.Err(); err != nil {
			return err
		}
		return each(rec, err)
	})
}

func (s *bucketStore) Scratch(ctx context.Context, name string) (Store, func() error, error) {
	scratch := &bucketStore{
		client: s.client, bucket: s.bucket, prefix: path.Join(s.prefix, tempDir, "proof-"+name),
		pause: s.pause, patience: s.patience,
	}
	// What was made is removed even where the proof was interrupted.
	return scratch, func() error { return scratch.removeAll(context.WithoutCancel(ctx)) }, nil
}

// heldGenesis is a genesis, and the object that holds it.
type heldGenesis struct {
	Genesis
	name string
	object
}

// forget makes the next call read the genesis again.
func (s *bucketStore) forget() { s.seen.keepGenesis(nil) }

// genesis is the current genesis, as this run saw it; ErrNoGenesis if there is
// none.
func (s *bucketStore) genesis(ctx context.Context) (heldGenesis, error) {
	if g := s.seen.genesisKept(); g != nil {
		return *g, nil
	}
	seq, err := s.newest(ctx, genesisDir)
	if err == nil && seq == 0 {
		err = s.failed("read", genesisDir, ErrNoGenesis)
	}
	if err != nil {
		return heldGenesis{}, err
	}
	g := heldGenesis{name: path.Join(genesisDir, versionName(seq))}
	if g.object, err = s.get(ctx, g.name); err == nil {
		g.Genesis, err = decodeGenesis(g.body)
	}
	if err == nil && g.Seq != seq {
		err = fmt.Errorf("%w: it holds seq %d, which belongs elsewhere", ErrDamaged, g.Seq)
	}
	if err != nil {
		return heldGenesis{}, s.failed("read", g.name, err)
	}
	s.seen.keepGenesis(&g)
	return g, nil
}

// usable returns the genesis, for a write.
func (s *bucketStore) usable(ctx context.Context) (heldGenesis, error) {
	g, err := s.genesis(ctx)
	if err == nil {
		err = s.proveOnce(ctx, g)
	}
	return g, err
}

// proveOnce creates the genesis again, with the same bytes, before the first
// write of a run: a server that takes it would let two runs claim the same
// request.
func (s *bucketStore) proveOnce(ctx context.Context, g heldGenesis) error {
	s.proof.Lock()
	defer s.proof.Unlock()
	if s.proven {
		return nil
	}
	if err := s.refusesCreation(ctx, g.name, g.object); err != nil {
		return err
	}
	s.proven = true
	return nil
}

// record reads the current record of a key; its seq is 0 if there is none.
func (s *bucketStore) record(ctx context.Context, key Key) (Record, error) {
	if err := key.check(); err != nil {
		return Record{}, err
	}
	dir := recordDir(key)
	seq, err := s.newest(ctx, dir)
	if err != nil || seq == 0 {
		return Record{}, err
	}
	rec, err := s.version(ctx, dir, seq)
	if err == nil {
		s.seen.keep(dir, rec)
	}
	return rec, err
}

// version reads one version of a record, which must belong where it is: an
// object that was copied over another would else speak for it.
func (s *bucketStore) version(ctx context.Context, dir string, seq int) (Record, error) {
	if rec, ok := s.seen.record(dir, seq); ok {
		return rec, nil
	}
	name := path.Join(dir, versionName(seq))
	have, err := s.get(ctx, name)
	if err != nil {
		return Record{}, s.failed("read", name, err)
	}
	rec, err := decodeRecord(have.body)
	if err == nil && (recordDir(rec.key()) != dir || rec.Seq != seq) {
		err = fmt.Errorf("%w: it holds seq %d of the record of %s in workspace %s, which belongs elsewhere", ErrDamaged, rec.Seq, rec.Key, rec.Workspace)
	}
	if err != nil {
		return Record{}, s.failed("read", name, err)
	}
	s.held.share(&rec)
	return rec, nil
}

// newest returns the highest seq of the versions in a folder, 0 if there are
// none, at the cost of one name.
func (s *bucketStore) newest(ctx context.Context, dir string) (int, error) {
	page, err := s.list(ctx, dir+"/", start{}, 1)
	if err != nil || len(page.names) == 0 {
		return 0, err
	}
	name, ok := strings.CutPrefix(page.names[0], dir+"/")
	seq, err := versionOf(name)
	if err != nil || !ok {
		return 0, s.failed("read", page.names[0], cmp.Or(err, errNotOurs))
	}
	return seq, nil
}

var errNotOurs = fmt.Errorf("%w: it was not put there by trueup: remove it", ErrDamaged)

func recordDir(key Key) string {
	sum := sha256.Sum256([]byte(key.Name))
	return path.Join(recordsDir, key.Workspace, key.Kind, hex.EncodeToString(sum[:]))
}

func versionName(seq int) string {
	return fmt.Sprintf("%010d-%d.json", newestFirst-int64(seq), seq)
}

func versionOf(name string) (int, error) {
	_, rest, _ := strings.Cut(name, "-")
	seq, err := strconv.Atoi(strings.TrimSuffix(rest, ".json"))
	if err != nil || seq < 1 || versionName(seq) != name {
		return 0, fmt.Errorf("%q is not the name of a version: %w", name, errNotOurs)
	}
	return seq, nil
}

// surviving calls do; a panic in it is its error, so that the work of others goes
// on to its end.
func surviving(do func() error) (err error) {
	defer func() {
		if value := recover(); value != nil {
			err = fmt.Errorf("ledger: internal error: %.300v; this is a bug", value)
		}
	}()
	return do()
}

// eachParallel calls do for 0 to n-1, some at once, and returns the first error,
// which stops the rest.
func eachParallel(ctx context.Context, n int, do func(ctx context.Context, i int) error) error {
	if n == 1 && ctx.Err() == nil {
		err := surviving(func() error { return do(ctx, 0) })
		return cmp.Or(err, context.Cause(ctx))
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	next := make(chan int)
	var wg sync.WaitGroup
	for range min(n, bucketParallel) {
		wg.Go(func() {
			for i := range next {
				if err := surviving(func() error { return do(ctx, i) }); err != nil {
					cancel(err)
				}
			}
		})
	}
	for i := 0; i < n && ctx.Err() == nil; i++ {
		select {
		case next <- i:
		case <-ctx.Done():
		}
	}
	close(next)
	wg.Wait()
	return context.Cause(ctx)
}
