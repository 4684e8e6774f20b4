package ledger

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"
	"unicode/utf8"

	"trueup/internal/kind"
)

// validate rejects a record that readers can't rely on.
func (r Record) validate() error {
	if err := checkSchema(r.Schema); err != nil {
		return err
	}
	switch {
	case !part().MatchString(r.Workspace):
		return fmt.Errorf("workspace %q can't be part of a path", r.Workspace)
	case !part().MatchString(r.Kind):
		return fmt.Errorf("kind %q can't be part of a path", r.Kind)
	case r.Name == "" || !utf8.ValidString(r.Name):
		return fmt.Errorf("name %q is not text", r.Name)
	case r.Seq < 1:
		return fmt.Errorf("seq %d is less than 1", r.Seq)
	case r.Nonce == "":
		return errors.New("no nonce")
	}
	return r.validateState()
}

func (r Record) validateState() error {
	switch {
	case !slices.Contains([]RequestState{"", Claimed, Posted, Rejected, Unknown, Adopted, Abandoned}, r.State):
		return fmt.Errorf("unknown state %q", r.State)
	case r.State != "" && r.SpecDigest == nil:
		return fmt.Errorf("state %s without a specDigest", r.State)
	case r.IsOpen() && (r.FirstClaimAt == nil || r.ClaimedAt == nil):
		return fmt.Errorf("state %s without the time of its claim", r.State)
	}
	return nil
}

func (g Genesis) validate() error {
	if err := checkSchema(g.Schema); err != nil {
		return err
	}
	switch {
	case g.LedgerID == "":
		return errors.New("no ledgerId")
	case !part().MatchString(g.Workspace):
		return fmt.Errorf("workspace %q can't be part of a path", g.Workspace)
	case g.Seq < 1:
		return fmt.Errorf("seq %d is less than 1", g.Seq)
	}
	return nil
}

// checkTransitions rejects a record that no transition makes: something else changed it.
func (r Record) checkTransitions() error {
	k, err := kindOf(r.Key)
	if err != nil {
		return err
	}
	return cmp.Or(r.validateHistory(), r.validateFieldsOfState(k), r.validateTimes())
}

func (r Record) validateFieldsOfState(k *kind.Kind) error {
	switch {
	case k.CanPatch() && r.State != "":
		return fmt.Errorf("it has the state %s, which a %s never has", r.State, k.Name)
	case k.IsRequestOnly() && (r.Applied != nil || r.Pending != nil):
		return fmt.Errorf("it has an applied spec, but a %s can't have one", k.Name)
	case r.State != "" && r.Spec == nil:
		return fmt.Errorf("state %s without a spec", r.State)
	case r.IsOpen() && r.Claim == nil:
		return fmt.Errorf("state %s without who claimed it", r.State)
	case r.State == Posted && r.AcceptedAt == nil:
		return errors.New("state posted without the time when it was accepted")
	}
	return nil
}

func (r Record) validateHistory() error {
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

// maxClockError bounds how far clocks of machines differ.
const maxClockError = 24 * time.Hour

func (r Record) validateTimes() error {
	before := func(t *time.Time) bool {
		return t != nil && r.FirstClaimAt != nil && t.Before(r.FirstClaimAt.Add(-maxClockError))
	}
	switch {
	case before(r.ClaimedAt):
		return fmt.Errorf("it was claimed at %s, before its first claim at %s", r.ClaimedAt, r.FirstClaimAt)
	case before(r.AcceptedAt):
		return fmt.Errorf("it was accepted at %s, before its first claim at %s", r.AcceptedAt, r.FirstClaimAt)
	}
	return nil
}
