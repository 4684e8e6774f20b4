package ledger

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"trueup/internal/git"
)

// gitRemote is the remote where none is named.
const gitRemote = "origin"

const (
	// gitChunk is how many files are read at once, where all are.
	gitChunk = 500
	// gitFew is how many records are brought all at once: some 400 kB take less
	// time than two more conversations with a host.
	gitFew = 1000
)

// gitStore is a ref on a remote of the repository that dir is in (design A7): a
// history of its own without code. The compare-and-swap is the remote's: a push
// that names the commit it expects. Of the newest commit only that is brought
// which is read, so that it costs the same however many records there are.
// What was read is kept until a write of this process, a conflict or forget.
type gitStore struct {
	dir, ref, remote string
	held             held

	// net is held while the mirror talks to the remote or makes a commit.
	net chan struct{}

	mu     sync.Mutex
	mirror *git.Mirror
	// tip is the newest commit that is known, nil if it must be asked for; last is
	// the one before that was forgotten.
	tip  *gitTip
	last gitTip
	// queue waits for the next commit; working says that somebody makes them.
	queue   []*gitChange
	working bool
}

// gitTip is a commit of the ledger; without an id the remote has no such ref.
type gitTip struct {
	mirror *git.Mirror
	commit string
	// records is how many there are, -1 if that is not known.
	records int
	// known are files of the commit that were read, nil for those that it has not.
	known *gitKnown
}

// gitKnown is what is known of the files of a commit.
type gitKnown struct {
	mu    sync.Mutex
	files map[string][]byte
}

// of returns the files that are known, and the paths of the others.
func (k *gitKnown) of(paths []string) (files map[string][]byte, unknown []string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	files = make(map[string][]byte, len(paths))
	for _, p := range paths {
		content, ok := k.files[p]
		switch {
		case !ok:
			unknown = append(unknown, p)
		case content != nil:
			files[p] = content
		}
	}
	return files, unknown
}

// learn takes what a commit has at the paths.
func (k *gitKnown) learn(paths []string, files map[string][]byte) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, p := range paths {
		k.files[p] = files[p]
	}
}

// with is what is known of the next commit, which changes some files. It takes
// over what is known of this one: of that nobody asks any more, and a copy for each
// commit would cost more the more there is.
func (k *gitKnown) with(changed []git.File) *gitKnown {
	k.mu.Lock()
	defer k.mu.Unlock()
	next := &gitKnown{files: k.files}
	k.files = map[string][]byte{}
	for _, f := range changed {
		next.files[f.Path] = append([]byte{}, f.Content...) // an empty file is there
	}
	return next
}

var (
	gitRefForm    = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^refs(/[A-Za-z0-9_][A-Za-z0-9._-]*){2,}$`) })
	gitRemoteForm = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9._/-]*$`) })
)

// newGitStore reads REF or REF@REMOTE.
func newGitStore(where, dir string) (*gitStore, error) {
	ref, remote, named := strings.Cut(where, "@")
	if !named {
		remote = gitRemote
	}
	odd := strings.Contains(ref, "..") || strings.Contains(ref+"/", ".lock/") || strings.Contains(ref+"/", "./")
	if odd || !gitRefForm().MatchString(ref) || !gitRemoteForm().MatchString(remote) {
		return nil, fmt.Errorf("store %q is not of the form git:refs/trueup/ledger or git:refs/trueup/ledger@REMOTE", shownStore("git:"+where))
	}
	return &gitStore{dir: dir, ref: ref, remote: remote, net: make(chan struct{}, 1)}, nil
}

// Close removes what was fetched. The store is not used afterwards.
func (s *gitStore) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.mirror == nil {
		return nil
	}
	return s.mirror.Close()
}

// forget makes the next call ask the remote.
func (s *gitStore) forget() { s.keep(nil) }

func (s *gitStore) keep(t *gitTip) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.tip != nil {
		s.last = *s.tip
	}
	s.tip = t
}

func (s *gitStore) kept() *gitTip {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.tip
}

// alone runs do while nobody else of this process talks to the remote.
func (s *gitStore) alone(ctx context.Context, do func() error) error {
	select {
	case s.net <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { <-s.net }()
	return do()
}

// newest returns the tip that is known, or asks for it.
func (s *gitStore) newest(ctx context.Context) (gitTip, error) {
	if t := s.kept(); t != nil {
		return *t, nil
	}
	var t gitTip
	err := s.alone(ctx, func() (err error) {
		t, err = s.known(ctx)
		return err
	})
	return t, err
}

// known is newest for who is alone.
func (s *gitStore) known(ctx context.Context) (gitTip, error) {
	if t := s.kept(); t != nil {
		return *t, nil
	}
	return s.fetch(ctx)
}

func (s *gitStore) fetch(ctx context.Context) (gitTip, error) {
	s.mu.Lock()
	m := s.mirror
	s.mu.Unlock()
	if m == nil {
		var err error
		if m, err = s.open(ctx); err != nil {
			return gitTip{}, s.unreadable(err)
		}
		s.mu.Lock()
		s.mirror = m
		s.mu.Unlock()
	}
	t, err := fetchTip(ctx, m, s.ref)
	if err == nil {
		err = t.pure(ctx)
	}
	if err != nil {
		return gitTip{}, s.unreadable(err)
	}
	s.mu.Lock()
	if t.commit != "" && t.commit == s.last.commit {
		t.known = s.last.known
	}
	s.mu.Unlock()
	s.keep(&t)
	return t, nil
}

// fetchTip brings the newest commit and what almost every reader needs of it.
func fetchTip(ctx context.Context, m *git.Mirror, ref string) (gitTip, error) {
	commit, err := m.Fetch(ctx, ref, 1)
	known := &gitKnown{files: map[string][]byte{}}
	if err != nil || commit == "" {
		return gitTip{mirror: m, known: known}, err
	}
	message, err := m.Message(ctx, commit)
	if err != nil {
		return gitTip{}, err
	}
	hints := readHints(message)
	t := gitTip{mirror: m, commit: commit, records: hints.records, known: known}
	if t.records >= 0 && t.records <= gitFew {
		return t, m.Bring(ctx, commit)
	}
	return t, m.Expect(ctx, commit, hints.files())
}

func (s *gitStore) unreadable(err error) error {
	advice := "check that the remote can be reached and that this run may read it"
	switch {
	case errors.Is(err, git.ErrNoRepository):
		advice = "the ledger is on a remote of the git repository that trueup.yaml is in: run trueup in a clone of it"
	case errors.Is(err, ErrStore):
		advice = "a ledger needs a ref of its own, such as git:refs/trueup/ledger"
	case errors.Is(err, git.ErrNoRemote):
		advice = "add the remote, or name another one: git:" + s.ref + "@REMOTE"
	}
	return fmt.Errorf("read ledger %s of remote %s: %w: %s", s.ref, s.remote, err, advice)
}

// files returns files of a tip, those that are known without a look; there must
// be a ledger in it.
func (s *gitStore) files(ctx context.Context, t gitTip, paths []string) (map[string][]byte, error) {
	paths = append([]string{gitGenesis}, paths...)
	files, unknown := t.known.of(paths)
	if t.commit != "" && len(unknown) == 0 {
		return files, ctx.Err()
	}
	read, err := s.look(ctx, t, unknown)
	if err != nil {
		return nil, err
	}
	t.known.learn(unknown, read)
	maps.Copy(files, read)
	return files, nil
}

// look reads the files of a tip; there must be a ledger in it.
func (s *gitStore) look(ctx context.Context, t gitTip, paths []string) (map[string][]byte, error) {
	if t.commit == "" {
		return nil, fmt.Errorf("%s of remote %s: %w", s.ref, s.remote, ErrNoGenesis)
	}
	files, err := t.mirror.Read(ctx, t.commit, append([]string{gitGenesis}, paths...))
	if err != nil {
		return nil, s.unreadable(err)
	}
	if files[gitGenesis] == nil {
		return nil, fmt.Errorf("%s of remote %s has no %s: it is no ledger, or a damaged one: restore it, or name another ref",
			s.ref, s.remote, gitGenesis)
	}
	return files, nil
}

func (s *gitStore) ReadGenesis(ctx context.Context) (Genesis, error) {
	t, err := s.newest(ctx)
	if err != nil {
		return Genesis{}, err
	}
	files, err := s.files(ctx, t, nil)
	if err != nil {
		return Genesis{}, err
	}
	g, err := decodeGenesis(files[gitGenesis])
	if err != nil {
		return Genesis{}, s.damaged(gitGenesis, err)
	}
	return g, nil
}

func (s *gitStore) damaged(name string, err error) error {
	return fmt.Errorf("read ledger file %s in %s of remote %s: %w", name, s.ref, s.remote, err)
}

func (s *gitStore) Read(ctx context.Context, keys []Key) (map[Key]Record, error) {
	paths := make([]string, len(keys))
	for i, key := range keys {
		if err := key.check(); err != nil {
			return nil, err
		}
		paths[i] = gitRecordPath(key)
	}
	t, err := s.newest(ctx)
	if err != nil {
		return nil, err
	}
	files, err := s.files(ctx, t, paths)
	if err != nil {
		return nil, err
	}
	records := make(map[Key]Record, len(keys))
	for i, key := range keys {
		b, ok := files[paths[i]]
		if !ok {
			continue
		}
		rec, err := gitRecord(b, paths[i])
		if err != nil {
			return nil, s.damaged(paths[i], err)
		}
		s.held.share(&rec)
		records[key] = rec
	}
	return records, nil
}

func (s *gitStore) Recent(ctx context.Context, workspace string, since time.Time) ([]Key, error) {
	t, err := s.newest(ctx)
	if err != nil {
		return nil, err
	}
	files, err := s.files(ctx, t, []string{gitRecents})
	if err != nil {
		return nil, err
	}
	index, err := s.index(files)
	if err != nil {
		return nil, err
	}
	return index.since(workspace, since), nil
}

// taken is true: a record and the index that names it are written in one commit.
func (s *gitStore) taken(context.Context, Key) (bool, error) { return true, nil }

// index decodes the index among the files.
func (s *gitStore) index(files map[string][]byte) (gitIndex, error) {
	b, ok := files[gitRecents]
	if !ok {
		return nil, s.damaged(gitRecents, fmt.Errorf("%w: it is missing: restore it from an earlier commit", ErrDamaged))
	}
	index, err := decodeIndex(b)
	if err != nil {
		return nil, s.damaged(gitRecents, err)
	}
	return index, nil
}

func (s *gitStore) All(ctx context.Context, each func(Record) error) error {
	return s.audit(ctx, undamaged(each))
}

// audit is All that goes on after what is damaged.
func (s *gitStore) audit(ctx context.Context, each func(Record, error) error) error {
	t, err := s.newest(ctx)
	if err != nil {
		return err
	}
	if _, err := s.files(ctx, t, nil); err != nil {
		return err
	}
	paths, err := t.mirror.Files(ctx, t.commit)
	if err != nil {
		return s.unreadable(err)
	}
	// The others are those of the ledger itself.
	paths = slices.DeleteFunc(paths, func(p string) bool { return !gitRecordForm().MatchString(p) })
	for chunk := range slices.Chunk(paths, gitChunk) {
		// They may be too many to be kept.
		files, err := s.look(ctx, t, chunk)
		if err != nil {
			return err
		}
		for _, p := range chunk {
			rec, err := gitRecord(files[p], p)
			if err != nil {
				err = s.damaged(p, err)
			}
			if err := each(rec, err); err != nil {
				return err
			}
		}
	}
	return nil
}

func (s *gitStore) Scratch(ctx context.Context, name string) (Store, func() error, error) {
	proof := &gitStore{dir: s.dir, ref: s.ref + "-proof-" + name, remote: s.remote, net: make(chan struct{}, 1)}
	return proof, func() error {
		// A proof that was cut short is removed too.
		ctx := context.WithoutCancel(ctx)
		return errors.Join(proof.remove(ctx), proof.Close())
	}, nil
}

// remove takes the ref away.
func (s *gitStore) remove(ctx context.Context) error {
	return s.alone(ctx, func() error {
		t, err := s.fetch(ctx)
		if err != nil || t.commit == "" {
			return err
		}
		if gone, err := t.mirror.Push(ctx, s.ref, t.commit, ""); !gone {
			return s.unwritable(err)
		}
		return nil
	})
}
