package ledger

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"trueup/internal/diag"
	"trueup/internal/kind"
)

// LiveBefore is what live had right before a write.
type LiveBefore struct {
	Absent bool `json:"absent,omitempty"` // there was no object
	// Diff is how live differed from the spec applied before, as a merge patch of what git says or said.
	Diff CanonicalJSON `json:"diff,omitempty"`
	// Sum identifies all of live, without what the server owns.
	Sum string `json:"sum,omitempty"`
}

// WriteAction says what a write did.
type WriteAction string

// The values of Did.
const (
	DidCreate WriteAction = "created"
	DidChange WriteAction = "changed"
	DidPost   WriteAction = "posted"
	DidDelete WriteAction = "deleted"
	DidHold   WriteAction = "hold" // somebody set a hold or ended one, or an apply went on despite one, for a Reason
)

// LogEntry is one write to one object, or an entry about a hold.
type LogEntry struct {
	Entry int       `json:"entry"`
	At    time.Time `json:"at"`
	kind.Key
	Did WriteAction `json:"did"`
	// By is the run, as a word. Claim is nil if the ledger does not have it: it has that of a change with its outcome.
	By    string `json:"by,omitempty"`
	Claim *Claim `json:"claim,omitempty"`
	// Unconfirmed means that no outcome was recorded.
	Unconfirmed bool   `json:"unconfirmed,omitempty"`
	Hold        *Hold  `json:"hold,omitempty"`
	Reason      string `json:"reason,omitempty"`
	// Applied was applied before Sent was. Live is nil if an older version of trueup wrote the entry.
	Applied CanonicalJSON `json:"-"`
	Sent    CanonicalJSON `json:"-"`
	Live    *LiveBefore   `json:"-"`
}

// ReadLog calls each for the writes to the wanted objects and for their holds, the newest first, until it returns false. If
// wants is nil, it wants all of them, and the applies that went on despite a hold. It returns where the log begins.
func (l *Ledger) ReadLog(ctx context.Context, wants func(kind.Key) bool, each func(LogEntry) bool) (begin LogBegin, err error) {
	l.forgetState()
	if _, err := l.readUsable(ctx); err != nil {
		return begin, err
	}
	log, ok := l.store.(*logStore)
	if !ok {
		return begin, errors.New("this ledger keeps no log")
	}
	w, last := logWalk{wants: wants, each: each, newer: map[kind.Key]Record{}}, 0
	readBegin := func() error {
		return log.withGenesis(ctx, func() error {
			last, begin = log.state.last, log.state.folded.Begin
			return nil
		})
	}
	err = readBegin()
	for from := last; from >= max(1, begin.Entry) && err == nil && !w.done; {
		segments, was := make([]segment, min(from-max(1, begin.Entry)+1, atOnce)), begin
		err = diag.TryInParallel(ctx, atOnce, len(segments), func(ctx context.Context, i int) (err error) {
			segments[i], err = log.readEntry(ctx, from-i, last)
			return err
		})
		if log.Invalidate(); errors.Is(err, errMissing) && readBegin() == nil && begin != was {
			err = nil // a fold has removed it
			continue
		}
		for i := 0; i < len(segments) && err == nil && !w.done; i++ {
			err = w.addEntry(from-i, segments[i])
		}
		from -= atOnce
	}
	return begin, err
}

// readEntry returns the records that an entry wrote, and the genesis if it wrote that. last is the newest entry.
func (s *logStore) readEntry(ctx context.Context, n, last int) (segment, error) {
	whole, err := s.readSegmentWith(ctx, n, func(ctx context.Context, name string) ([]byte, error) { return s.blobs.GetOld(ctx, name, last-n) }, s.decodeSegment)
	p := segment{Entry: n}
	for _, l := range whole.lines {
		if l.At == n {
			p.lines = append(p.lines, l)
		}
	}
	if whole.GenesisAt == n && (whole.Folded == nil || whole.Folded.Entry != n) {
		p.Genesis = whole.Genesis
	}
	return p, err
}

// logWalk goes through a log, from its newest entry.
type logWalk struct {
	wants func(kind.Key) bool
	each  func(LogEntry) bool
	newer map[kind.Key]Record // of each object, the record after the next older one
	done  bool
}

func (w *logWalk) addEntry(n int, p segment) error {
	if p.Genesis != nil {
		w.addHolds(n, *p.Genesis, len(p.lines) > 0)
	}
	for i := range p.lines {
		l := &p.lines[i]
		if w.wants != nil && !w.wants(l.Key) {
			continue
		}
		rec, err := l.decodeRecord()
		if err != nil {
			return err
		}
		if e, isWrite := rec.logEntry(w.newer[rec.Key]); isWrite {
			e.Entry = n
			w.yieldEntry(e)
		}
		w.newer[rec.Key] = rec
	}
	return nil
}

// addHolds adds what an entry says of holds. isApply means that an apply wrote it.
func (w *logWalk) addHolds(n int, g Genesis, isApply bool) {
	for _, h := range g.Holds {
		if by := cmp.Or(h.Ended, &LastApply{Claim: h.Claim, At: h.At}); h.Seq == g.Seq && (w.wants == nil || h.holdsAny(w.wants)) {
			w.yieldEntry(LogEntry{Entry: n, At: by.At, Did: DidHold, Claim: &by.Claim, Hold: &h})
		}
	}
	if isApply && w.wants == nil && g.Head != nil && g.Head.DespiteHold != "" {
		w.yieldEntry(LogEntry{Entry: n, At: g.Head.At, Did: DidHold, Claim: &g.Head.Claim, Reason: g.Head.DespiteHold})
	}
}

func (w *logWalk) yieldEntry(e LogEntry) { w.done = w.done || !w.each(e) }

// logEntry returns the write that a record is of, if it is of one. newer is the record after it, or empty.
func (r Record) logEntry(newer Record) (e LogEntry, isWrite bool) {
	step, ended := r.lastStep(), event(newer.lastStep().Event)
	if event(step.Event) == evBegin && len(r.Pending) == 0 {
		return e, false // something else changed it
	}
	e = LogEntry{At: step.At, Key: r.Key, By: step.By, Claim: r.Claim, Sent: r.Spec}
	switch event(step.Event) { //nolint:exhaustive // no other transition is of a write
	case evPost:
		e.Did = DidPost
	case evDeleted:
		e.Did, e.Claim = DidDelete, nil
	case evBegin:
		e.Did, e.Claim, e.Applied, e.Sent, e.Live = DidChange, newer.Claim, r.Applied, r.Pending[len(r.Pending)-1], cmp.Or(newer.Live, r.Live)
		if r.Live == nil && r.Applied == nil || r.Live != nil && r.Live.Absent {
			e.Did = DidCreate
		}
		if e.Unconfirmed = ended != evConfirm; e.Unconfirmed {
			e.Claim, e.Live = nil, r.Live
		}
		return e, ended != evDrop
	}
	return e, e.Did != ""
}

func (r Record) lastStep() LogStep {
	if len(r.History) == 0 {
		return LogStep{}
	}
	return r.History[len(r.History)-1]
}

// Title says in a line what the entry is about.
func (e LogEntry) Title() string {
	text := fmt.Sprintf("%s %s", e.Key, e.Did)
	switch {
	case e.Reason != "":
		text = "apply went on despite a hold: " + e.Reason
	case e.Hold != nil:
		text = e.Hold.String()
	case e.Unconfirmed:
		text += ", and no outcome was recorded"
	}
	return text
}

// DescribeAuthor says from which commit, by whom and when.
func (e LogEntry) DescribeAuthor() string {
	if e.Claim != nil {
		return (&LastApply{Claim: *e.Claim, At: e.At}).String()
	}
	return fmt.Sprintf("by %s%s", e.By, formatTime(&e.At))
}
