package ledger

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode"

	"github.com/google/uuid"

	"trueup/internal/git"
)

const (
	// gitBatchTime bounds one commit with all its tries.
	gitBatchTime = 3 * time.Minute
	// gitRefusals is how often a push may fail although nobody else moved the
	// ref, before it counts as refused.
	gitRefusals = 3
	// gitDepth is how far back a commit of ours is looked for: more pushes than
	// that don't fit between a push and the look.
	gitDepth = 256
	// gitGather is how long a first change waits for others.
	gitGather = 10 * time.Millisecond
	// gitPause is the first pause between two tries, gitLongest the longest.
	gitPause   = 40 * time.Millisecond
	gitLongest = 2 * time.Second
)

// gitChange is one file to be replaced, if it is at the seq that was expected.
type gitChange struct {
	path      string
	expectSeq int
	content   []byte
	// rec is the record; nil changes the genesis.
	rec *Record
	// line says in the commit's message what changes; it holds the nonce.
	line string
	// seq reads the seq of the file that is there.
	seq  func([]byte) (int, error)
	done chan error
}

func (s *gitStore) WriteGenesis(ctx context.Context, expectSeq int, g Genesis) error {
	b, err := encode(g)
	if err == nil && g.Seq != expectSeq+1 {
		err = fmt.Errorf("seq %d does not follow %d", g.Seq, expectSeq)
	}
	if err == nil {
		err = s.submit(ctx, &gitChange{
			path: gitGenesis, expectSeq: expectSeq, content: b, line: fmt.Sprintf("genesis of ledger %s, seq %d", g.LedgerID, g.Seq),
			seq: func(b []byte) (int, error) { g, err := decodeGenesis(b); return g.Seq, err },
		})
	}
	if err != nil {
		return fmt.Errorf("write genesis: %w", err)
	}
	return nil
}

func (s *gitStore) Put(ctx context.Context, expectSeq int, rec Record) error {
	return s.putAll(ctx, []change{{expectSeq: expectSeq, rec: rec}})[0]
}

// putAll hands all over at once, so that they come together in one commit.
func (s *gitStore) putAll(ctx context.Context, changes []change) []error {
	errs := make([]error, len(changes))
	ready := make([]*gitChange, len(changes))
	for i, c := range changes {
		ready[i], errs[i] = c.forGit()
	}
	var wg sync.WaitGroup
	for i, c := range ready {
		if errs[i] != nil {
			continue
		}
		wg.Go(func() {
			if err := s.submit(ctx, c); err != nil {
				errs[i] = fmt.Errorf("write record of %s: %w", c.rec.Key, err)
			}
		})
	}
	wg.Wait()
	return errs
}

func (c change) forGit() (*gitChange, error) {
	b, err := c.encode()
	place := gitRecordPath(c.rec.key())
	return &gitChange{
		path: place, expectSeq: c.expectSeq, content: b, rec: &c.rec,
		line: recordLine(c.rec),
		seq:  func(b []byte) (int, error) { r, err := gitRecord(b, place); return r.Seq, err },
	}, err
}

// recordLine says what a transition is; texts from outside stay on the line.
func recordLine(rec Record) string {
	line := fmt.Sprintf("%s %s, seq %d, nonce %s", cmp.Or(rec.State, "recorded"), rec.Key, rec.Seq, rec.Nonce)
	if rec.Claim != nil {
		line += ", sent by " + sender(rec.Claim)
	}
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, line)
}

// submit hands a change over to the next commit and waits for it: changes that
// come while a push is under way go together in one.
func (s *gitStore) submit(ctx context.Context, c *gitChange) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	c.done = make(chan error, 1)
	s.mu.Lock()
	s.queue = append(s.queue, c)
	if !s.working {
		s.working = true
		// One that gives up must not take the others of the commit with it.
		go s.work(context.WithoutCancel(ctx))
	}
	s.mu.Unlock()
	select {
	case err := <-c.done:
		return err
	case <-ctx.Done():
	}
	if s.withdraw(c) {
		return ctx.Err()
	}
	return fmt.Errorf("a push was under way, and it was not waited for: %w", ctx.Err())
}

// withdraw takes a change back that no commit has taken up.
func (s *gitStore) withdraw(c *gitChange) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	i := slices.Index(s.queue, c)
	if i >= 0 {
		s.queue = slices.Delete(s.queue, i, i+1)
	}
	return i >= 0
}

// work makes commits until nothing waits.
func (s *gitStore) work(ctx context.Context) {
	s.net <- struct{}{}
	defer func() { <-s.net }()
	// What is to be written at the same time needs a moment to come together.
	_ = sleep(ctx, gitGather)
	for {
		s.mu.Lock()
		batch := s.queue
		s.queue = nil
		s.working = len(batch) > 0
		s.mu.Unlock()
		if len(batch) == 0 {
			return
		}
		s.commit(ctx, batch)
	}
}

func (s *gitStore) commit(ctx context.Context, batch []*gitChange) {
	ctx, cancel := context.WithTimeout(ctx, gitBatchTime)
	defer cancel()
	p := &gitPush{store: s, batch: batch}
	p.finish(surviving(func() error { return p.run(ctx) }))
}

// gitPush is a commit on its way to the remote.
type gitPush struct {
	store *gitStore
	// batch are the changes that have no result yet.
	batch []*gitChange
	// tried are the commits that were pushed with this batch: one that failed
	// may have arrived all the same.
	tried []string
}

func (p *gitPush) finish(err error) {
	for _, c := range p.batch {
		c.done <- err
	}
	p.batch = nil
}

// run pushes until the remote has the batch, or somebody else changed what it
// changes, or the remote refuses. What failed is never judged by its text: the
// remote is asked what it has.
func (p *gitPush) run(ctx context.Context) error {
	s := p.store
	var failed error
	refusals, before := 0, "none yet"
	for pause := gitPause; ; pause = min(2*pause, gitLongest) {
		t, err := s.known(ctx)
		if err == nil {
			t, err = p.judge(ctx, t)
		}
		switch {
		case err != nil && len(p.tried) == 0, err == nil && len(p.batch) == 0:
			return err
		case err != nil || t.commit == before:
			refusals++
			failed = cmp.Or(err, failed)
		}
		if refusals >= gitRefusals {
			return failed
		}
		if err == nil {
			before = t.commit
			if failed = p.push(ctx, t); failed == nil {
				return nil
			}
		}
		if err := sleep(ctx, pause/2+rand.N(pause)); err != nil {
			return errors.Join(err, failed)
		}
	}
}

// push makes one try; nil means that the remote has the batch.
func (p *gitPush) push(ctx context.Context, t gitTip) error {
	c, records, err := p.next(ctx, t)
	if err != nil {
		return err
	}
	commit, err := t.mirror.Commit(ctx, c)
	if err != nil {
		return p.store.unwritable(err)
	}
	p.tried = append(p.tried, commit)
	p.store.forget()
	won, err := t.mirror.Push(ctx, p.store.ref, t.commit, commit)
	if !won {
		return p.store.unwritable(err)
	}
	p.store.keep(&gitTip{mirror: t.mirror, commit: commit, records: records, known: t.known.with(c.Files)})
	p.finish(nil)
	return nil
}

// next is the commit that has the batch, and how many records there are in it.
func (p *gitPush) next(ctx context.Context, t gitTip) (git.Commit, int, error) {
	var genesis []byte
	var index gitIndex
	if t.commit != "" {
		files, err := p.store.files(ctx, t, []string{gitRecents})
		if err == nil {
			index, err = p.store.index(files)
		}
		if err != nil {
			return git.Commit{}, 0, err
		}
		genesis = files[gitGenesis]
	}
	c, records := git.Commit{Parent: t.commit}, t.records
	for _, change := range p.batch {
		c.Files = append(c.Files, git.File{Path: change.path, Content: change.content})
		if change.rec == nil {
			genesis = change.content
			continue
		}
		index = index.with(*change.rec)
		if change.expectSeq == 0 && records >= 0 {
			records++
		}
	}
	recent, err := index.trimmed().encode()
	if err != nil {
		return git.Commit{}, 0, fmt.Errorf("write %s: %w", gitRecents, err)
	}
	c.Files = append(c.Files, git.File{Path: gitRecents, Content: recent})
	c.Message = p.message(gitHints{genesis: t.mirror.BlobID(genesis), recent: t.mirror.BlobID(recent), records: records})
	return c, records, nil
}

// message names what changes. The id makes each commit another one: a remote
// that has the very same commit already would call the push done.
func (p *gitPush) message(hints gitHints) string {
	lines := make([]string, 0, len(p.batch)+1)
	if len(p.batch) > 1 {
		lines = append(lines, fmt.Sprintf("%d changes\n", len(p.batch)))
	}
	for _, c := range p.batch {
		lines = append(lines, c.line)
	}
	return strings.Join(lines, "\n") + "\n\npush " + uuid.NewString() + "\n" + hints.String()
}

func (s *gitStore) unwritable(err error) error {
	err = cmp.Or(err, errors.New("the remote did not confirm the push"))
	return fmt.Errorf("write ledger %s of remote %s: %w: this run must be allowed to push there (in CI often contents: write), "+
		"and the host to keep such a ref; where only branches are kept, use git:refs/heads/trueup-ledger", s.ref, s.remote, err)
}

// judge ends the changes that can't be made any more and returns the tip that
// the others can be made on. A conflict is only believed of a fresh tip, and
// only if none of our commits has arrived.
func (p *gitPush) judge(ctx context.Context, t gitTip) (gitTip, error) {
	moved, err := p.moved(ctx, t)
	if err != nil || len(moved) == 0 {
		return t, err
	}
	if t, err = p.store.fetch(ctx); err != nil {
		return t, err
	}
	if moved, err = p.moved(ctx, t); err != nil || len(moved) == 0 {
		return t, err
	}
	if len(p.tried) > 0 {
		arrived, err := t.mirror.Holds(ctx, p.store.ref, gitDepth, p.tried)
		if err != nil {
			return t, p.store.unreadable(err)
		}
		if arrived {
			p.finish(nil)
			return t, nil
		}
	}
	p.batch = slices.DeleteFunc(p.batch, func(c *gitChange) bool {
		err, gone := moved[c]
		if gone {
			c.done <- err
		}
		return gone
	})
	// The ref has moved on, so that none of them can arrive late.
	p.tried = nil
	return t, nil
}

// moved returns the changes that can't be made on a tip, and why; of two to the
// same file the first stays.
func (p *gitPush) moved(ctx context.Context, t gitTip) (map[*gitChange]error, error) {
	moved := map[*gitChange]error{}
	paths := make([]string, 0, len(p.batch))
	taken := make(map[string]bool, len(p.batch))
	for _, c := range p.batch {
		if taken[c.path] {
			moved[c] = ErrConflict
			continue
		}
		taken[c.path] = true
		paths = append(paths, c.path)
	}
	files, err := p.store.files(ctx, t, paths)
	none := errors.Is(err, ErrNoGenesis)
	if err != nil && !none {
		return nil, err
	}
	for _, c := range p.batch {
		if none && c.rec != nil {
			moved[c] = err
			continue
		}
		have := 0
		if b, ok := files[c.path]; ok {
			n, err := c.seq(b)
			if err != nil {
				moved[c] = p.store.damaged(c.path, err)
				continue
			}
			have = n
		}
		if have != c.expectSeq {
			moved[c] = ErrConflict
		}
	}
	return moved, nil
}

// sleep returns early when the context ends.
func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
