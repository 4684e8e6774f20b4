package ledger

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"trueup/internal/canon"
	"trueup/internal/kind"
)

// ApplyHead is the newest apply of a project. The ledger has it before the first request of that apply is sent, so that an
// older commit can't undo it.
type ApplyHead struct {
	At time.Time `json:"at"`
	// Claim says whose apply it is. Its Commit was checked out; it is empty where no commit is known.
	Claim
	// Ancestors are abbreviated ids of commits before Newest, for runs whose clone lacks that one.
	Ancestors []string `json:"ancestors,omitempty"`
	// After is the commit that was recorded before. A head has it if its own files were those of no commit.
	After string `json:"after,omitempty"`
	// OlderCommit means that a person allowed a commit that is older than the one before.
	OlderCommit bool `json:"olderCommit,omitempty"`
	// DespiteHold is why a person let the apply go on despite a hold.
	DespiteHold string `json:"despiteHold,omitempty"`
	// Areas are those whose objects were applied, now or before: some may be live although git has none there any more.
	Areas []kind.Area `json:"areas,omitempty"`
	// Tree is the digest of everything that the apply depended on. A head has it if the apply left nothing to do, until
	// anything else is recorded.
	Tree *canon.Sum `json:"tree,omitempty"`
}

// NewestCommit returns the commit to compare others with, or "".
func (h *ApplyHead) NewestCommit() string {
	if h == nil {
		return ""
	}
	return cmp.Or(h.After, h.Commit)
}

// String says which commit was applied, by whom and when.
func (h *ApplyHead) String() string {
	return fmt.Sprintf("%.12s, which %s applied at %s", h.NewestCommit(), h.nameOfPerson(), h.At.UTC().Format(time.RFC3339))
}

// joinAreas returns the areas of two heads, sorted.
func (h *ApplyHead) joinAreas(other *ApplyHead) []kind.Area {
	all := slices.Concat(h.Areas, cmp.Or(other, &ApplyHead{}).Areas)
	slices.Sort(all)
	return slices.Compact(all)
}

// stateID identifies what was applied: applies of the same files may run at once.
func (h *ApplyHead) stateID() string {
	if h == nil || h.Commit+h.After == "" {
		return ""
	}
	return fmt.Sprint(h.Commit, h.Dirty, h.After)
}

// SupersededError means that another apply was recorded since this one began, and this one must send nothing more.
type SupersededError struct{ By *ApplyHead }

func (e *SupersededError) Error() string {
	return fmt.Sprintf("another apply began meanwhile, of commit %s", e.By)
}

// applyOrder is the place of a run among the applies of its project.
type applyOrder struct {
	head   ApplyHead
	mayAdd MayFollow
	from   string // the state of the head that this run may replace
	// recorded means that the ledger has head. moved means that it had another one when the run saw it last.
	recorded, moved bool
	provenAt        time.Time // when the ledger had head last
	// skew is how far the platform's clock is ahead of this machine's. Holds end by the earlier one.
	skew time.Duration
}

var errOtherHead = errors.New("the ledger has another head")

// MayFollow reports whether the head of a run may follow the recorded one, and returns the Ancestors that it has then.
type MayFollow func(ctx context.Context, recorded *ApplyHead) (ancestors []string, may bool)

// BeginRun lets every record that precedes a request first record the head of this run. If the ledger has another head by
// then, mayAdd says whether this one may follow it. at is the time by both clocks.
func (l *Ledger) BeginRun(seen *ApplyHead, own ApplyHead, at Instant, mayAdd MayFollow) {
	own.At, own.Areas = l.cfg.Now().UTC(), own.joinAreas(seen)
	l.cfg.Claim = own.Claim
	l.order = &applyOrder{head: own, mayAdd: mayAdd, from: seen.stateID(), moved: seen.stateID() != own.stateID()}
	l.order.skew = at.Now.Sub(at.Early) - at.Late.Sub(at.Now)
}

// precedesRequest reports whether a request follows the event.
func (e event) precedesRequest() bool {
	return slices.Contains([]event{evBegin, evClaim, evReclaim, evTakeOver, evDelete}, e)
}

// requireHead returns the change with what it needs of the head, if a request follows it.
func (l *Ledger) requireHead(e event, c RecordChange) RecordChange {
	l.mu.Lock()
	defer l.mu.Unlock()
	if o := l.order; o != nil && e.precedesRequest() {
		c.head, c.from, c.addHead, c.heldAt = &o.head, o.from, !o.recorded, l.holdTime()
	}
	return c
}

// holdTime returns the time by which holds end for this run, or zero if it goes on despite them.
func (l *Ledger) holdTime() time.Time {
	if l.order.head.DespiteHold != "" {
		return time.Time{}
	}
	return l.cfg.Now().Add(min(0, l.order.skew))
}

// putRecord writes a record. If the ledger has another head than this run may replace, it asks again whether it may.
func (l *Ledger) putRecord(ctx context.Context, e event, c RecordChange) error {
	for try := 1; ; try++ {
		err := l.store.PutAll(ctx, []RecordChange{l.requireHead(e, c)})[0]
		if !errors.Is(err, errOtherHead) || try == writeTries {
			return err
		}
		if _, err := l.checkStoredHead(ctx); err != nil {
			return err
		}
	}
}

// fitsHead reports whether a change may follow the head.
func (c *RecordChange) fitsHead(h *ApplyHead) bool {
	return c.head == nil || h.stateID() == c.head.stateID() || c.addHead && h.stateID() == c.from
}

// checkReplaceHead returns nil if this run may replace the head that the ledger has.
func (l *Ledger) checkReplaceHead(ctx context.Context, h *ApplyHead) error {
	l.mu.Lock()
	o := *l.order
	l.mu.Unlock()
	switch {
	case h.stateID() == o.head.stateID(), h.stateID() == o.from && !o.recorded:
		return nil
	case o.recorded:
		return &SupersededError{h}
	}
	ancestors, may := o.mayAdd(ctx, h)
	if !may {
		return &SupersededError{h}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.order.from, l.order.moved, l.order.head.Ancestors, l.order.head.Areas = h.stateID(), true, ancestors, l.order.head.joinAreas(h)
	return nil
}

// checkStoredHead is checkReplaceHead for the head that the ledger has now. It returns the genesis.
func (l *Ledger) checkStoredHead(ctx context.Context) (Genesis, error) {
	g, err := l.readUsable(ctx)
	if err != nil {
		return g, err
	}
	return g, l.checkReplaceHead(ctx, g.Head)
}

// proofAge is how long a run may rely on its head. Each record before a request proves it anew.
const proofAge = 2 * time.Second

// CheckNotSuperseded returns an error if another apply was recorded since this run recorded its own, or if a hold covers the
// object. Ask right before a request.
func (l *Ledger) CheckNotSuperseded(ctx context.Context, key kind.Key) error {
	l.mu.Lock()
	now := l.cfg.Now().Round(0) // a machine that slept must not rely on its monotonic clock
	proven := l.order == nil || l.order.recorded && now.Sub(l.order.provenAt).Abs() < proofAge
	l.mu.Unlock()
	if proven {
		return nil
	}
	l.forgetState()
	g, err := l.checkStoredHead(ctx)
	if err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.order.provenAt = now
	if hold := FindHold(g.Holds, key, l.holdTime()); hold != nil {
		return &HeldError{*hold}
	}
	return nil
}

// ApplyEnd is how an apply ended.
type ApplyEnd struct {
	// Keys are the objects in git, and Spec returns what git says of one. Whole means that all of them were applied and
	// none failed or waits.
	Keys  []kind.Key
	Spec  func(kind.Key) []byte
	Whole bool
	// Tree is the digest of everything that the apply depended on, or nil if it left anything else.
	Tree *canon.Sum
}

// FinishRun records how this run ended, and folds the ledger if that is worthwhile. It returns the objects that a run of
// another commit wrote meanwhile.
func (l *Ledger) FinishRun(ctx context.Context, v View, e ApplyEnd) (disturbed []kind.Key, err error) {
	disturbed, err = l.recordApplyEnd(ctx, v, e)
	if log, ok := l.store.(*logStore); ok && err == nil && len(disturbed) == 0 {
		now := l.cfg.Now()
		err = log.fold(ctx, now.Add(min(0, l.order.skew)), now.Add(max(0, l.order.skew)))
		if errors.Is(err, ErrConflict) {
			err = nil // another run folds
		} else if err != nil {
			err = fmt.Errorf("fold the ledger: %w", err)
		}
	}
	return disturbed, err
}

// recordApplyEnd records the head of this run if that did not happen yet, and of an apply that left nothing to do its tree and
// which requests git had. It writes nothing that the ledger had at the view.
func (l *Ledger) recordApplyEnd(ctx context.Context, v View, e ApplyEnd) (disturbed []kind.Key, err error) {
	had := cmp.Or(v.Finished, &CompleteApply{}).Requests
	now := CompleteApply{At: l.cfg.Now().UTC(), Commit: l.cfg.Claim.Commit, Requests: had}
	own, recorded := l.order.head, l.order.recorded
	if own.Tree = e.Tree; e.Whole {
		now.Requests = requestsOf(e.Keys)
	}
	sameRequests := slices.Equal(now.Requests, had)
	if same := own.stateID() == v.Head.stateID() && own.treeDigest() == v.Head.treeDigest(); sameRequests && (recorded && e.Tree == nil || !recorded && same) {
		return nil, nil
	}
	err = l.rewriteGenesis(ctx, func(g *Genesis) error {
		if err := l.checkReplaceHead(ctx, g.Head); err != nil {
			return err
		}
		var whole bool
		if whole, disturbed, err = l.checkComplete(ctx, v, e); !whole {
			own.Tree = nil
		}
		if g.Head = &own; !sameRequests && len(disturbed) == 0 {
			g.Finished = &now
		}
		return err
	})
	return disturbed, err
}

func (h *ApplyHead) treeDigest() canon.Sum {
	if h == nil || h.Tree == nil {
		return canon.Sum{}
	}
	return *h.Tree
}

// requestsOf returns the names of requests that are sent once, sorted.
func requestsOf(keys []kind.Key) []string {
	names := []string{}
	for _, key := range keys {
		if isSendOnce(key) {
			names = append(names, key.String())
		}
	}
	slices.Sort(names)
	return names
}

// checkComplete reports whether the records say that all objects are as git says. It returns the others whose record another
// run changed since this run saw or wrote it, if the ledger had another head then and that run sends something else.
func (l *Ledger) checkComplete(ctx context.Context, v View, e ApplyEnd) (whole bool, disturbed []kind.Key, err error) {
	found, err := l.store.Read(ctx, e.Keys)
	if err != nil {
		return false, nil, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	whole = true
	for _, key := range e.Keys {
		rec, known := found[key], l.seen[key]
		if own, ours := l.own[key]; ours {
			known = own.seq
		}
		if seen := v.Records[key]; seen.Pending != nil && seen.WrittenLately(l.cfg.Now()) {
			whole = false // the request of a run that is gone may still arrive
		}
		if rec.isComplete(e.Spec(key)) {
			continue
		}
		if whole = false; rec.Seq != known && l.order.moved && !rec.isSending(e.Spec(key)) {
			disturbed = append(disturbed, key)
		}
	}
	return whole, disturbed, nil
}

// IsComplete reports whether the records say that all objects are as git says, and nothing of them is open or owed.
func (v View) IsComplete(keys []kind.Key, spec func(kind.Key) []byte) bool {
	return !slices.ContainsFunc(keys, func(key kind.Key) bool { return !v.Records[key].isComplete(spec(key)) })
}

// isSending reports whether the last that a run began to send is what git says, so that it only has not ended.
func (r Record) isSending(spec []byte) bool {
	last := len(r.Pending) - 1
	return isSendOnce(r.Key) || last >= 0 && bytes.Equal(r.Pending[last], spec)
}

// isComplete reports whether the record says that an object is as git says, and nothing of it is open or owed.
func (r Record) isComplete(spec []byte) bool {
	if isSendOnce(r.Key) {
		return r.isFinal()
	}
	return bytes.Equal(r.Applied, spec) && r.Pending == nil && r.Owed == nil && !r.NotConverged && len(r.Altered) == 0
}
