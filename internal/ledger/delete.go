package ledger

import (
	"context"
	"fmt"

	"trueup/internal/kind"
)

// Deleting records that the object that a request made is about to be deleted,
// and returns once that is durable; after an error it must not be. The record
// must be as View showed it, and speak of the object with that uid and
// creationTimestamp: what proves that we made it was read there (docs/design.md C6).
func (l *Ledger) Deleting(ctx context.Context, key kind.Key, uid, created string) error {
	k, err := kindOf(key)
	if err != nil {
		return err
	}
	if !k.Can(kind.Delete) {
		return fmt.Errorf("record the deletion of %s: the platform documents no deletion", key)
	}
	if _, err := l.sendable(ctx, key); err != nil {
		return fmt.Errorf("record the deletion of %s: %w", key, err)
	}
	_, err = l.change(ctx, key, move{event: evDelete, who: asSeen, detail: "uid " + uid}, func(r Record) (Record, error) {
		if !r.Ours() || r.UID == "" || r.UID != uid || r.CreationTimestamp != created {
			return r, fmt.Errorf("no request in this ledger created the object with uid %q", uid)
		}
		return r, r.in(evDelete)
	})
	return err
}

// Deleted records that the object of this run's Deleting is gone, or that the
// platform is at it. It is never made again by itself: a new one would hold
// other data.
func (l *Ledger) Deleted(ctx context.Context, key kind.Key, message string) error {
	return l.end(ctx, key, move{event: evDeleted, who: holder, detail: message}, func(r Record) (Record, error) { return r.removed(message) })
}

// removed is the record of an object that was deleted by us.
func (r Record) removed(message string) (Record, error) {
	if err := r.in(evDeleted); err != nil {
		return r, err
	}
	r.Outcome = &Outcome{How: Removed, Message: clip(message)}
	return r, nil
}

// NotDeleted records that the object of this run's Deleting was left alone.
func (l *Ledger) NotDeleted(ctx context.Context, key kind.Key, message string) error {
	return l.end(ctx, key, move{event: evSpare, who: holder, detail: message}, func(r Record) (Record, error) {
		return r, r.in(evSpare)
	})
}

// Ours reports whether the object of the record was surely made by a request of
// this ledger: its answer said so, or the platform refused a second one of the
// name. What was adopted, or found to be there, may be somebody else's.
func (r Record) Ours() bool {
	return r.State == Posted && r.Outcome != nil && (r.Outcome.How == Created || r.Outcome.How == Duplicate)
}

// Blank reports whether there is no record, or one of which nothing is left to say.
func (r Record) Blank() bool { return r.State == "" && r.Applied == nil && r.Pending == nil }

// Gone reports whether the object of the record was deleted by us.
func (r Record) Gone() bool { return r.State == Posted && r.Outcome != nil && r.Outcome.How == Removed }

// Unmade says in a clause what is known of the deletion of the record's object by
// us, or is empty.
func (r Record) Unmade() string {
	var last Step
	if n := len(r.History); n > 0 {
		last = r.History[n-1]
	}
	switch {
	case last.Event == string(evDeleted):
		return fmt.Sprintf("trueup deleted it (%s%s)", last.By, at(&last.At))
	case last.Event == string(evDelete):
		return fmt.Sprintf("%s%s started its deletion and recorded no outcome", last.By, at(&last.At))
	case r.Gone():
		return "trueup deleted it"
	}
	return ""
}
