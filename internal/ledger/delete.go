package ledger

import (
	"context"
	"fmt"

	"trueup/internal/kind"
)

// Deleting records that trueup is about to delete an object that it made. After an error the object must not be
// deleted. The record must be as View returned it, and of the object with this uid and creation time.
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
	_, err = l.change(ctx, key, move{event: evDelete, who: asSeen, detail: "uid " + uid, to: func(r Record) (Record, error) {
		if !r.Ours() || r.UID == "" || r.UID != uid || r.CreationTimestamp != created {
			return r, fmt.Errorf("no request in this ledger created the object with uid %q", uid)
		}
		return r, r.in(evDelete)
	}})
	return err
}

// Deleted records that the platform has deleted the object, or is deleting it. trueup never makes it again by
// itself: a new one would hold other data.
func (l *Ledger) Deleted(ctx context.Context, key kind.Key, message string) error {
	return l.ended(ctx, key, evDeleted, Outcome{How: Removed, Message: message})
}

// NotDeleted records that the object was not deleted.
func (l *Ledger) NotDeleted(ctx context.Context, key kind.Key, message string) error {
	to := func(r Record) (Record, error) { return r, r.in(evNotDeleted) }
	return l.end(ctx, key, move{event: evNotDeleted, who: holder, detail: message, to: to})
}

// Ours reports whether a request of this ledger certainly made the object: the answer said so, or the platform
// refused a second one of the name. An adopted object may be somebody else's.
func (r Record) Ours() bool {
	return r.State == Posted && r.Outcome != nil && (r.Outcome.How == Created || r.Outcome.How == Duplicate)
}

// Blank reports whether there is no record, or an empty one.
func (r Record) Blank() bool { return r.State == "" && r.Applied == nil && r.Pending == nil }

// Gone reports whether trueup deleted the object.
func (r Record) Gone() bool { return r.State == Posted && r.Outcome != nil && r.Outcome.How == Removed }

// Unmade returns a clause about the object's deletion, or "".
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
