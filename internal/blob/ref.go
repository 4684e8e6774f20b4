package blob

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"

	"trueup/internal/diag"
	"trueup/internal/git"
)

const (
	refTries = 3                     // how often Create pushes while the ref has not moved
	refPause = 40 * time.Millisecond // roughly the first pause between pushes
	refDepth = 256                   // where Create finds its commit after an unclear push: others can't add so many

	// beforeEnd ends the name of the ref with the history before the newest blob that is Whole.
	beforeEnd = "-before"
)

var (
	refForm    = diag.Pattern(`^refs(/[A-Za-z0-9_][A-Za-z0-9._-]*){2,}$`)
	remoteForm = diag.Pattern(`^[A-Za-z0-9_][A-Za-z0-9._/-]*$`)
	// ownForm matches the refs that trueup.yaml may name. Strangers can write other refs, such as those of pull requests.
	ownForm = diag.Pattern(`^refs/(trueup|heads)/`)
)

// GitRefStore is a Store in a ref on a remote, with its own history. Each commit adds blobs, and removes those that they
// replace. A reader fetches only the newest commit. Each push names the commit that it expects, so the remote rejects it if
// another one came first. Create returns ErrExists if the ref has moved since List.
//
// A blob that is Whole begins the history anew, and the one before stays in the ref REF-before until the next. A ref
// below another keeps no history, and its readers fetch only the blobs that they read if the remote can filter.
type GitRefStore struct {
	dir, ref, remote string
	below            bool

	// lock serializes operations, which use mirror and tip. mu guards only the fields mirror and closed, so that Close
	// need not wait for an operation.
	lock chan struct{}
	tip  *refTip // the commit that List fetched or Create pushed last; nil before that
	// older has the commit that added each file, if it is one of the newest depth commits.
	older map[string]string
	depth int

	mu     sync.Mutex
	mirror *git.Mirror
	closed bool
}

// refTip is a commit and its files. The commit is "" if the remote has no such ref.
type refTip struct {
	commit string
	files  []string
}

// OpenRef opens REF or REF@REMOTE of the repository that has dir. Unless trusted, the ref must be below refs/trueup/ or
// refs/heads/. It does not contact the remote. Call Close.
func OpenRef(where, dir string, trusted bool) (*GitRefStore, error) {
	ref, remote := SplitRemoteRef(where)
	odd := strings.Contains(ref, "..") || strings.Contains(ref+"/", ".lock/") || strings.Contains(ref+"/", "./")
	if odd || !refForm().MatchString(ref) || !remoteForm().MatchString(remote) {
		return nil, errors.New("it is not of the form git:refs/trueup/ledger or git:refs/trueup/ledger@REMOTE")
	}
	if strings.HasSuffix(ref, beforeEnd) || strings.HasSuffix(ref, "-folded") {
		return nil, errors.New("its ref may not end in -before or -folded: trueup adds these for the history of a ledger")
	}
	if !trusted && !ownForm().MatchString(ref) {
		return nil, errors.New("trueup.yaml may only name refs below refs/trueup/ and refs/heads/: name one of those, or set TRUEUP_LEDGER to another")
	}
	return newGitRefStore(dir, ref, remote), nil
}

// SplitRemoteRef splits REF or REF@REMOTE. The remote is origin by default.
func SplitRemoteRef(where string) (ref, remote string) {
	ref, remote, named := strings.Cut(where, "@")
	if !named {
		remote = "origin"
	}
	return ref, remote
}

// LacksRemote reports whether an error means that there is no repository here, or that it has no such remote.
func LacksRemote(err error) bool {
	return errors.Is(err, git.ErrNoRepository) || errors.Is(err, git.ErrNoRemote)
}

func newGitRefStore(dir, ref, remote string) *GitRefStore {
	return &GitRefStore{dir: dir, ref: ref, remote: remote, lock: make(chan struct{}, 1)}
}

// Close removes what was fetched, and does not wait for a push.
func (s *GitRefStore) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	if s.mirror == nil {
		return nil
	}
	return s.mirror.Close()
}

// Prepare does nothing: the first push makes the ref.
func (s *GitRefStore) Prepare(context.Context) error { return nil }

// SubStore returns a store in the ref REF-FOLDER of the same remote.
func (s *GitRefStore) SubStore(folder string) Store {
	r := newGitRefStore(s.dir, s.ref+"-"+path.Base(folder), s.remote)
	r.below = true
	return r
}

// Location names the ref and the remote.
func (s *GitRefStore) Location(name string) string {
	return strings.TrimPrefix(name+" in ", " in ") + s.ref + " of remote " + s.remote
}

// CheckRefusesCreation does not test the remote: git checks the expected commit in every push.
func (s *GitRefStore) CheckRefusesCreation(ctx context.Context, _ string) error { return ctx.Err() }

// withMirror calls do with exclusive access. It fetches the tip if it is unknown or must be fresh.
func (s *GitRefStore) withMirror(ctx context.Context, fresh bool, do func(m *git.Mirror) error) error {
	select {
	case s.lock <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { <-s.lock }()
	m, err := s.openMirror(ctx)
	if err != nil {
		return s.unreadableError(err)
	}
	if fresh || s.tip == nil {
		if s.tip, err = s.fetchTip(ctx, m, s.ref); err != nil {
			return err
		}
	}
	return do(m)
}

// openMirror makes the mirror. It rejects a ref with another use, such as a branch of code.
func (s *GitRefStore) openMirror(ctx context.Context) (*git.Mirror, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.closed:
		return nil, errors.New("it is closed")
	case s.mirror != nil:
		return s.mirror, nil
	}
	m, err := git.OpenMirror(ctx, s.dir, s.remote)
	if err != nil {
		return nil, err
	}
	m.Lazy = s.below
	use, err := m.WhyInUse(ctx, s.ref)
	if err == nil && use != "" {
		err = fmt.Errorf("%w: %s", ErrStore, use)
	}
	if err != nil {
		return nil, errors.Join(err, m.Close())
	}
	s.mirror = m
	return m, nil
}

// fetchTip fetches the newest commit of a ref, which must contain only blobs.
func (s *GitRefStore) fetchTip(ctx context.Context, m *git.Mirror, ref string) (*refTip, error) {
	commit, err := m.Fetch(ctx, ref, 1)
	t := &refTip{commit: commit}
	if err == nil && commit != "" {
		var odd []string
		t.files, odd, err = m.ListFiles(ctx, commit)
		for _, name := range t.files {
			if !strings.HasPrefix(name, "log/") {
				odd = append(odd, name)
			}
		}
		if err == nil && odd != nil {
			err = fmt.Errorf("%w: it has %q, which is not part of a ledger", ErrStore, odd[0])
		}
	}
	if err != nil {
		return nil, s.unreadableError(err)
	}
	return t, nil
}

// List fetches the newest commit.
func (s *GitRefStore) List(ctx context.Context, under string, most int) (names []string, err error) {
	err = s.withMirror(ctx, true, func(*git.Mirror) error {
		for _, name := range s.tip.files {
			if strings.HasPrefix(name, under+"/") && (most == 0 || len(names) < most) {
				names = append(names, name)
			}
		}
		return nil
	})
	return names, err
}

// Get reads a file of the commit that List saw. In a ref below another, the file may be newer.
func (s *GitRefStore) Get(ctx context.Context, name string) (content []byte, err error) {
	err = s.withMirror(ctx, false, func(m *git.Mirror) (err error) {
		if s.below && !slices.Contains(s.tip.files, name) {
			tip, err := s.fetchTip(ctx, m, s.ref)
			if err != nil {
				return err
			}
			s.tip = tip
		}
		if !slices.Contains(s.tip.files, name) {
			return fmt.Errorf("%s: %w", s.Location(name), ErrAbsent)
		}
		if content, err = m.ReadFile(ctx, s.tip.commit, name); err != nil {
			return s.unreadableError(err)
		}
		return nil
	})
	return content, err
}

// GetOld is Get for a file that a later commit may have removed.
func (s *GitRefStore) GetOld(ctx context.Context, name string, behind int) (content []byte, err error) {
	err = s.withMirror(ctx, false, func(m *git.Mirror) error {
		if behind >= s.depth {
			s.depth = max(refDepth, 2*behind)
			s.older = map[string]string{}
			for _, ref := range []string{s.ref + beforeEnd, s.ref} {
				added, err := m.FindAdded(ctx, ref, s.depth)
				if err != nil {
					return s.unreadableError(err)
				}
				maps.Copy(s.older, added)
			}
		}
		commit := s.older[name]
		if commit == "" {
			return fmt.Errorf("%s: %w", s.Location(name), ErrAbsent)
		}
		if content, err = m.ReadFile(ctx, commit, name); err != nil {
			return s.unreadableError(err)
		}
		return nil
	})
	return content, err
}

// Create pushes a commit.
func (s *GitRefStore) Create(ctx context.Context, blobs ...Blob) error {
	return s.withMirror(ctx, false, func(m *git.Mirror) error {
		c := git.CommitInput{Message: blobs[0].Note, Anew: blobs[0].Whole || s.below, Files: map[string][]byte{}}
		for _, b := range blobs {
			if slices.Contains(s.tip.files, b.Name) {
				return fmt.Errorf("%s: %w", s.Location(b.Name), ErrExists)
			}
			c.Files[b.Name] = b.Content
			c.Removed = append(c.Removed, b.Replaces...)
		}
		if blobs[0].Whole { // the push replaces that ref
			if _, err := s.fetchTip(ctx, m, s.ref+beforeEnd); err != nil {
				return err
			}
		}
		return s.pushChange(ctx, m, c)
	})
}

// Remove pushes a commit without files of the newest one.
func (s *GitRefStore) Remove(ctx context.Context, names ...string) error {
	return s.withMirror(ctx, true, func(m *git.Mirror) error {
		names = slices.DeleteFunc(slices.Clone(names), func(name string) bool { return !slices.Contains(s.tip.files, name) })
		if len(names) == 0 {
			return nil
		}
		return s.pushChange(ctx, m, git.CommitInput{Message: "remove what is not needed", Removed: names, Anew: s.below})
	})
}

// pushChange pushes a commit. If the push fails, it fetches the ref to find out why, and does not parse git's message. If
// the remote refuses to begin the history anew, the commit continues it.
func (s *GitRefStore) pushChange(ctx context.Context, m *git.Mirror, c git.CommitInput) error {
	for n, pause := 1, refPause; ; n, pause = n+1, 2*pause {
		next, err := s.makeCommit(ctx, m, c)
		if err != nil {
			return err
		}
		keep := ""
		if c.Anew && !s.below {
			keep = s.ref + beforeEnd
		}
		won, failed := m.Push(ctx, s.ref, s.tip.commit, next.commit, keep)
		if won {
			s.tip = next
			return nil
		}
		now, err := s.fetchTip(ctx, m, s.ref)
		if err == nil && now.commit != s.tip.commit {
			return s.findIfPushed(ctx, m, next)
		}
		failed = cmp.Or(failed, err)
		if n == refTries || Sleep(ctx, pause/2+rand.N(pause)) != nil {
			return s.unwritableError(failed)
		}
		c.Anew = false
	}
}

// findIfPushed finds out whether a failed push of next arrived, after the ref has moved. It returns ErrExists if it did not.
func (s *GitRefStore) findIfPushed(ctx context.Context, m *git.Mirror, next *refTip) error {
	arrived, err := m.HasCommit(ctx, s.ref, refDepth, next.commit)
	switch {
	case err != nil:
		return s.unreadableError(err)
	case !arrived:
		return fmt.Errorf("%s changed meanwhile: %w", s.Location(""), ErrExists)
	}
	s.tip = next // if others came after, the next push fails
	return nil
}

// makeCommit makes a commit on top of the tip, with a random id in its message: if two runs made the same commit, the
// remote would accept both pushes.
func (s *GitRefStore) makeCommit(ctx context.Context, m *git.Mirror, c git.CommitInput) (*refTip, error) {
	files := slices.DeleteFunc(slices.Clone(s.tip.files), func(name string) bool { return slices.Contains(c.Removed, name) })
	files = slices.AppendSeq(files, maps.Keys(c.Files))
	slices.Sort(files)
	c.Parent, c.Message = s.tip.commit, c.Message+"\n\npush "+uuid.NewString()+"\n"
	commit, err := m.CreateCommit(ctx, c)
	if err != nil {
		return nil, s.unwritableError(err)
	}
	return &refTip{commit: commit, files: files}, nil
}

// Clear removes the ref and closes the store.
func (s *GitRefStore) Clear(ctx context.Context) error {
	err := s.withMirror(ctx, true, func(m *git.Mirror) error {
		if s.tip.commit == "" {
			return nil
		}
		if gone, err := m.Push(ctx, s.ref, s.tip.commit, "", ""); !gone {
			return s.unwritableError(err)
		}
		return nil
	})
	return errors.Join(err, s.Close())
}

func (s *GitRefStore) unwritableError(err error) error {
	err = cmp.Or(err, errors.New("the remote did not confirm the push"))
	advice := "this run needs permission to push there (in CI often contents: write). If the host keeps only branches, use git:refs/heads/trueup-ledger"
	if errors.Is(err, git.ErrLocal) {
		advice = "the remote is not the reason: " + git.Advice(err)
	}
	return fmt.Errorf("write ledger %s of remote %s: %w: %s", s.ref, s.remote, err, advice)
}

func (s *GitRefStore) unreadableError(err error) error {
	advice := "check that the remote can be reached and that this run may read it"
	switch {
	case errors.Is(err, git.ErrLocal):
		advice = "the remote is not the reason: " + git.Advice(err)
	case errors.Is(err, git.ErrNoGit), errors.Is(err, git.ErrRefused):
		advice = git.Advice(err)
	case errors.Is(err, git.ErrNoRepository):
		advice = "the ledger is on a remote of the repository of trueup.yaml: run trueup in a clone of it"
	case errors.Is(err, ErrStore):
		advice = "a ledger needs its own ref, such as git:refs/trueup/ledger"
	case errors.Is(err, git.ErrNoRemote):
		advice = "add the remote, or name another one: git:" + s.ref + "@REMOTE"
	}
	return fmt.Errorf("read ledger %s of remote %s: %w: %s", s.ref, s.remote, err, advice)
}
