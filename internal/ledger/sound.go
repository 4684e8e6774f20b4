package ledger

import (
	"errors"
	"fmt"
	"time"

	"trueup/internal/kind"
)

// maxClockError bounds the difference between clocks of machines that write one record.
const maxClockError = 24 * time.Hour

// sound returns an error for a record that no transition makes: something else changed it.
func (r Record) sound() error {
	k, err := kindOf(r.Key)
	if err != nil {
		return err
	}
	if err := r.soundHistory(); err != nil {
		return err
	}
	if err := r.soundState(k); err != nil {
		return err
	}
	return r.soundTimes()
}

func (r Record) soundState(k *kind.Kind) error {
	switch {
	case k.CanPatch() && r.State != "":
		return fmt.Errorf("it is %s, and a %s is never that", r.State, k.Name)
	case k.RequestOnly() && (r.Applied != nil || r.Pending != nil):
		return fmt.Errorf("it has an applied spec, which a %s never has", k.Name)
	case r.State != "" && r.Spec == nil:
		return fmt.Errorf("state %s without a spec", r.State)
	case r.Open() && r.Claim == nil:
		return fmt.Errorf("state %s without who claimed it", r.State)
	case r.State == Posted && r.AcceptedAt == nil:
		return errors.New("state posted without the time of it")
	}
	return nil
}

// soundHistory returns an error if steps are missing, or the last one is of another nonce.
func (r Record) soundHistory() error {
	if len(r.History) == 0 {
		return errors.New("it has no history")
	}
	for i, s := range r.History {
		if want := r.Seq - len(r.History) + 1 + i; s.Seq != want {
			return fmt.Errorf("step %d of its history says seq %d, which should be %d", i+1, s.Seq, want)
		}
		if s.Nonce == "" {
			return fmt.Errorf("step %d of its history has no nonce", i+1)
		}
	}
	if last := r.History[len(r.History)-1]; last.Nonce != r.Nonce {
		return fmt.Errorf("its history ends in nonce %q, but it says %q", last.Nonce, r.Nonce)
	}
	return nil
}

func (r Record) soundTimes() error {
	before := func(a, b *time.Time) bool { return a != nil && b != nil && a.Before(b.Add(-maxClockError)) }
	switch {
	case before(r.ClaimedAt, r.FirstClaimAt):
		return fmt.Errorf("it was claimed at %s, before its first claim at %s", r.ClaimedAt, r.FirstClaimAt)
	case before(r.AcceptedAt, r.FirstClaimAt):
		return fmt.Errorf("it was accepted at %s, before its first claim at %s", r.AcceptedAt, r.FirstClaimAt)
	}
	return nil
}
