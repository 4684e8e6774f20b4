package ledger

import (
	"context"
	"errors"
	"fmt"
	"time"

	"trueup/internal/blob"
	"trueup/internal/kind"
	"trueup/internal/parallel"
)

// LiveBefore is what live had right before a write.
type LiveBefore struct {
	Absent bool `json:"absent,omitempty"` // there was no object
	// Diff is how live differed from the spec applied before, as a merge patch of what git says or said.
	Diff JSON `json:"diff,omitempty"`
	// Sum identifies all of live, without what the server owns.
	Sum string `json:"sum,omitempty"`
}

// Did says what a write did.
type Did string

// The values of Did.
const (
	DidCreate Did = "created"
	DidChange Did = "changed"
	DidPost   Did = "posted"
	DidDelete Did = "deleted"
	DidHold   Did = "hold"         // somebody set a hold, or ended one
	DidGoOn   Did = "despite-hold" // an apply went on despite a hold
)

// LogEntry is one write to one object, or an entry about a hold.
type LogEntry struct {
	Entry int       `json:"entry"`
	At    time.Time `json:"at"`
	kind.Key
	Did Did `json:"did"`
	// By is the run, as a word. Claim is nil if the ledger does not have it: it has that of a change with its outcome.
	By    string `json:"by,omitempty"`
	Claim *Claim `json:"claim,omitempty"`
	// Unconfirmed means that no outcome was recorded.
	Unconfirmed bool   `json:"unconfirmed,omitempty"`
	Hold        *Hold  `json:"hold,omitempty"`
	Reason      string `json:"reason,omitempty"` // of DidGoOn
	// Applied was applied before Sent was. Live is nil if an older version of trueup wrote the entry.
	Applied JSON        `json:"-"`
	Sent    JSON        `json:"-"`
	Live    *LiveBefore `json:"-"`
}

// entriesAtOnce is how many entries ReadLog reads together.
const entriesAtOnce = 32

// ReadLog calls each for the writes to the wanted objects, the newest first, until it returns false. If wants is nil, it
// wants all objects, and the entries about holds.
func (l *Ledger) ReadLog(ctx context.Context, wants func(kind.Key) bool, each func(LogEntry) bool) error {
	l.forgetState()
	if _, err := l.readUsable(ctx); err != nil {
		return err
	}
	log, ok := l.store.(*logStore)
	if !ok {
		return errors.New("this ledger keeps no log")
	}
	w := logWalk{wants: wants, each: each, newer: map[kind.Key]Record{}}
	last, from := 0, 0
	err := log.withGenesis(ctx, func() error {
		last = log.state.last
		for key, line := range log.state.lines {
			if wants != nil && wants(key) {
				from, w.left = max(from, line.At), w.left+1
			}
		}
		return nil
	})
	if wants == nil {
		from = last
	}
	for ; from > 0 && err == nil && !w.done; from -= entriesAtOnce {
		pieces := make([]piece, min(from, entriesAtOnce))
		err = parallel.Try(ctx, atOnce, len(pieces), func(ctx context.Context, i int) (err error) {
			pieces[i], err = log.readEntry(ctx, from-i, last)
			return err
		})
		for i := 0; i < len(pieces) && err == nil && !w.done; i++ {
			err = w.addEntry(from-i, pieces[i])
		}
	}
	return err
}

// readEntry returns the records that an entry wrote, and the genesis if it wrote that. last is the newest entry.
func (s *logStore) readEntry(ctx context.Context, n, last int) (piece, error) {
	at, get := span{n, 1}, s.blobs.Get
	if ref, ok := s.blobs.(*blob.Ref); ok { // its copies replace entries
		pieces := fewestPieces(n)
		at = pieces[len(pieces)-1]
		get = func(ctx context.Context, name string) ([]byte, error) { return ref.GetOld(ctx, name, last-n) }
	}
	whole, err := s.getPieceWith(ctx, at, get)
	p := piece{span: span{n, 1}}
	for _, l := range whole.lines {
		if l.At == n {
			p.lines = append(p.lines, l)
		}
	}
	if whole.GenesisAt == n {
		p.Genesis = whole.Genesis
	}
	return p, err
}

// logWalk goes through a log, from its newest entry.
type logWalk struct {
	wants func(kind.Key) bool
	each  func(LogEntry) bool
	// newer has the record of each object after the next older one, and left counts the objects whose first is still to come.
	newer map[kind.Key]Record
	left  int
	done  bool
}

func (w *logWalk) addEntry(n int, p piece) error {
	if w.wants == nil && p.Genesis != nil {
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
		if e, isWrite := rec.logEntry(w.newer[rec.Key]); isWrite && !w.done {
			e.Entry = n
			w.done = !w.each(e)
		}
		w.newer[rec.Key] = rec
		if rec.Seq == 1 && w.wants != nil {
			w.left--
			w.done = w.done || w.left == 0
		}
	}
	return nil
}

// addHolds adds what an entry says of holds. isApply means that an apply wrote it.
func (w *logWalk) addHolds(n int, g Genesis, isApply bool) {
	add := func(e LogEntry) {
		e.Entry = n
		w.done = w.done || !w.each(e)
	}
	for _, h := range g.Holds {
		switch g.Seq {
		case h.Seq:
			add(LogEntry{At: h.At, Did: DidHold, By: h.nameOfPerson(), Claim: &h.Claim, Hold: &h})
		case h.EndSeq:
			add(LogEntry{At: h.Ended.At, Did: DidHold, By: h.Ended.nameOfPerson(), Claim: &h.Ended.Claim, Hold: &h})
		}
	}
	if isApply && g.Head != nil && g.Head.DespiteHold != "" {
		add(LogEntry{At: g.Head.At, Did: DidGoOn, By: g.Head.nameOfPerson(), Claim: &g.Head.Claim, Reason: g.Head.DespiteHold})
	}
}

// logEntry returns the write that a record is of, if it is of one. newer is the record after it, or empty.
func (r Record) logEntry(newer Record) (e LogEntry, isWrite bool) {
	step, next := r.lastStep(), event(newer.lastStep().Event)
	e = LogEntry{At: step.At, Key: r.Key, By: step.By, Claim: r.Claim, Sent: r.Spec}
	switch event(step.Event) {
	case evPost:
		e.Did = DidPost
	case evDeleted:
		e.Did, e.Claim = DidDelete, nil
	case evBegin:
		e.Did, e.Claim, e.Applied, e.Sent, e.Live = DidChange, nil, r.Applied, r.Pending[len(r.Pending)-1], r.Live
		if r.Live == nil && r.Applied == nil || r.Live != nil && r.Live.Absent {
			e.Did = DidCreate
		}
		if e.Unconfirmed = next != evConfirm; !e.Unconfirmed {
			e.Claim = newer.Claim
		}
		if !e.Unconfirmed && newer.Live != nil {
			e.Live = newer.Live
		}
		return e, next != evDrop
	default:
		return e, false
	}
	return e, true
}

func (r Record) lastStep() Step {
	if len(r.History) == 0 {
		return Step{}
	}
	return r.History[len(r.History)-1]
}

// Title says in a line what the entry is about.
func (e LogEntry) Title() string {
	switch {
	case e.Did == DidGoOn:
		return "apply went on despite a hold: " + e.Reason
	case e.Did == DidHold && e.Hold.Ended != nil:
		return "hold ended: " + e.Hold.String()
	case e.Did == DidHold:
		return e.Hold.String()
	case e.Unconfirmed:
		return fmt.Sprintf("%s %s, and no outcome was recorded", e.Key, e.Did)
	}
	return fmt.Sprintf("%s %s", e.Key, e.Did)
}

// Who says from which commit, by whom and when.
func (e LogEntry) Who() string {
	if e.Claim != nil {
		return (&Applied{Claim: *e.Claim, At: e.At}).String()
	}
	return fmt.Sprintf("by %s%s", e.By, formatTime(&e.At))
}
