package ledger

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"time"

	"github.com/gofrs/flock"
)

// The layout of a file store: lock, genesis.json, .gitignore,
// records/<workspace>/<kind>/<2 hex>/<sha256 of the name>.json, the index, and
// tmp/ for what is being written.
const (
	lockFile    = "lock"
	genesisFile = "genesis.json"
	recordsDir  = "records"
	tempDir     = "tmp"
	// ignoreFile keeps the ledger out of the project's git: a checkout of an
	// older commit would turn it back, and what was sent since would be sent
	// again.
	ignoreFile = ".gitignore"
)

// lockRetry is how often a busy lock is tried again, lockWait how long: whoever
// holds it longer than it takes to write a file is stopped or stuck.
const (
	lockRetry = 2 * time.Millisecond
	lockWait  = 30 * time.Second
)

// fileStore is a directory on a disk that lasts (design A7). Writers exclude
// each other by a lock on a file; readers need none, because files are replaced
// whole. The directory is opened anew for each call, so that a ledger that was
// moved away is noticed.
type fileStore struct {
	dir string
	// wait replaces lockWait where it is set.
	wait time.Duration
	held held
}

func (s fileStore) ReadGenesis(context.Context) (Genesis, error) {
	root, err := s.open()
	if err != nil {
		return Genesis{}, err
	}
	defer func() { _ = root.Close() }()
	return s.genesis(root)
}

func (s fileStore) WriteGenesis(ctx context.Context, expectSeq int, g Genesis) error {
	b, err := encode(g)
	if err != nil {
		return fmt.Errorf("write genesis: %w", err)
	}
	if g.Seq != expectSeq+1 {
		return fmt.Errorf("write genesis: seq %d does not follow %d", g.Seq, expectSeq)
	}
	if expectSeq == 0 {
		if err := makeDir(s.dir); err != nil {
			return fmt.Errorf("write genesis in %s: %w", s.dir, advised(err))
		}
	}
	root, err := os.OpenRoot(s.dir)
	if err != nil {
		return fmt.Errorf("write genesis in %s: %w", s.dir, advised(err))
	}
	defer func() { _ = root.Close() }()
	return s.locked(ctx, root, func() error {
		have, err := s.genesis(root)
		if err != nil && !errors.Is(err, ErrNoGenesis) {
			return err
		}
		if have.Seq != expectSeq {
			return fmt.Errorf("write genesis: %w", ErrConflict)
		}
		if expectSeq == 0 {
			if err := furnish(root); err != nil {
				return fmt.Errorf("write genesis in %s: %w", s.dir, advised(err))
			}
		}
		w := &swap{path: genesisFile, nonce: fmt.Sprintf("genesis-%d", g.Seq), create: expectSeq == 0, content: b}
		s.replace(root, []*swap{w})
		return w.err
	})
}

func (s fileStore) Read(ctx context.Context, keys []Key) (map[Key]Record, error) {
	root, err := s.open()
	if err != nil {
		return nil, err
	}
	defer func() { _ = root.Close() }()
	folders := map[string][]int{}
	for i, key := range keys {
		if err := key.check(); err != nil {
			return nil, err
		}
		dir := path.Dir(recordPath(key))
		folders[dir] = append(folders[dir], i)
	}
	found, errs := make([]Record, len(keys)), make([]error, len(keys))
	dirs := slices.Collect(maps.Keys(folders))
	err = eachParallel(ctx, len(dirs), func(_ context.Context, i int) error {
		// From the folder itself the way to each of its files is short.
		dir, opened := root.OpenRoot(dirs[i])
		if opened == nil {
			defer func() { _ = dir.Close() }()
		}
		for _, at := range folders[dirs[i]] {
			found[at], errs[at] = s.recordFrom(root, dir, opened, keys[at])
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read ledger: %w", err)
	}
	records := make(map[Key]Record, len(keys))
	for i, key := range keys {
		switch {
		case errs[i] == nil:
			records[key] = found[i]
		case !errors.Is(errs[i], fs.ErrNotExist):
			return nil, errs[i]
		}
	}
	return records, nil
}

func (s fileStore) All(ctx context.Context, each func(Record) error) error {
	return s.audit(ctx, undamaged(each))
}

// audit is All that goes on after what is damaged.
func (s fileStore) audit(ctx context.Context, each func(Record, error) error) error {
	root, err := s.open()
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }()
	return fs.WalkDir(root.FS(), recordsDir, func(p string, d fs.DirEntry, err error) error {
		if err == nil {
			err = ctx.Err()
		}
		switch {
		case err != nil:
			return fmt.Errorf("read ledger %s: %w", s.dir, advised(err))
		case d.IsDir():
			return nil
		case path.Ext(p) != ".json" && d.Type().IsRegular():
			// Left by an editor or a file manager; records end in .json.
			return nil
		}
		return each(s.recordAt(root, p))
	})
}

func (s fileStore) Scratch(_ context.Context, name string) (Store, func() error, error) {
	dir := filepath.Join(s.dir, tempDir, "proof-"+name)
	return fileStore{dir: dir}, func() error { return os.RemoveAll(dir) }, nil
}

// open opens the directory of a ledger that exists.
func (s fileStore) open() (*os.Root, error) {
	root, err := os.OpenRoot(s.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s: %w", s.dir, ErrNoGenesis)
	}
	if err != nil {
		return nil, fmt.Errorf("open ledger: %w", advised(err))
	}
	if err := s.whole(root); err != nil {
		_ = root.Close()
		return nil, err
	}
	return root, nil
}

// whole says that the ledger has what every ledger has.
func (s fileStore) whole(root *os.Root) error {
	_, err := root.Lstat(genesisFile)
	if errors.Is(err, fs.ErrNotExist) {
		err = ErrNoGenesis
	}
	if err != nil {
		return fmt.Errorf("%s: %w", s.dir, advised(err))
	}
	// Without it every record would look as if it had never been.
	info, err := root.Lstat(recordsDir)
	switch {
	case errors.Is(err, fs.ErrNotExist) || err == nil && !info.IsDir():
		return fmt.Errorf("%w %s: the folder %s is missing: restore it", ErrDamaged, s.dir, recordsDir)
	case err != nil:
		return fmt.Errorf("open ledger %s: %w", s.dir, advised(err))
	}
	return nil
}

// furnish makes what a new ledger has before its genesis.
func furnish(root *os.Root) error {
	for _, dir := range []string{recordsDir, indexDir} {
		if err := root.MkdirAll(dir, 0o777); err != nil {
			return err
		}
	}
	err := writeSynced(root, ignoreFile, []byte("*\n"))
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	return err
}

func (s fileStore) genesis(root *os.Root) (Genesis, error) {
	b, err := readRegular(root, genesisFile)
	if errors.Is(err, fs.ErrNotExist) {
		return Genesis{}, fmt.Errorf("%s: %w", s.dir, ErrNoGenesis)
	}
	if err != nil {
		return Genesis{}, fmt.Errorf("read ledger %s: %w", s.dir, advised(err))
	}
	g, err := decodeGenesis(b)
	if err != nil {
		return Genesis{}, fmt.Errorf("read ledger file %s: %w", filepath.Join(s.dir, genesisFile), err)
	}
	return g, nil
}

// record reads the record of a key; fs.ErrNotExist means that it has none.
func (s fileStore) record(root *os.Root, key Key) (Record, error) {
	if err := key.check(); err != nil {
		return Record{}, err
	}
	return s.recordAt(root, recordPath(key))
}

// recordAt reads a record's file.
func (s fileStore) recordAt(root *os.Root, name string) (Record, error) {
	return s.recordIn(root, name, name)
}

// recordFrom reads a record from its folder, unless that could not be opened. What is
// wrong is told by the way from the top, which says where.
func (s fileStore) recordFrom(root, dir *os.Root, opened error, key Key) (rec Record, err error) {
	name := recordPath(key)
	if err = opened; err == nil {
		rec, err = s.recordIn(dir, path.Base(name), name)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return s.record(root, key)
	}
	return rec, err
}

// recordIn reads a record's file by its name in a folder; name is its place in
// the ledger.
func (s fileStore) recordIn(dir *os.Root, file, name string) (Record, error) {
	b, err := readRegular(dir, file)
	if err != nil {
		return Record{}, s.unreadable(err)
	}
	rec, err := decodeRecordAt(b, name)
	if err != nil {
		return Record{}, fmt.Errorf("read ledger file %s: %w", filepath.Join(s.dir, filepath.FromSlash(name)), err)
	}
	s.held.share(&rec)
	return rec, nil
}

func (s fileStore) unreadable(err error) error {
	return fmt.Errorf("read ledger %s: %w", s.dir, advised(err))
}

func recordPath(key Key) string {
	sum := sha256.Sum256([]byte(key.Name))
	name := hex.EncodeToString(sum[:])
	return path.Join(recordsDir, key.Workspace, key.Kind, name[:2], name+".json")
}

// locked runs do while this process alone may write.
func (s fileStore) locked(ctx context.Context, root *os.Root, do func() error) error {
	// The lock is opened by its path, which would follow a link.
	if info, err := root.Lstat(lockFile); err == nil && !info.Mode().IsRegular() {
		return fmt.Errorf("%w: lock %s is not a regular file", ErrDamaged, filepath.Join(s.dir, lockFile))
	}
	lock := flock.New(filepath.Join(s.dir, lockFile), flock.SetFlag(os.O_CREATE|os.O_RDWR), flock.SetPermissions(0o666))
	wait := cmp.Or(s.wait, lockWait)
	waiting, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	if _, err := lock.TryLockContext(waiting, lockRetry); err != nil {
		if ctx.Err() == nil && waiting.Err() != nil {
			err = fmt.Errorf("another process has held it for %s", wait)
		}
		return fmt.Errorf("lock ledger %s: %w", s.dir, advised(err))
	}
	// Closing the file lets go of the lock, even if unlocking failed.
	defer func() { _ = lock.Close() }()
	return do()
}
