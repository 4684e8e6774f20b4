package ledger

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"trueup/internal/diag"
	"trueup/internal/kind"
)

// Hold keeps applies from sending anything for some objects, or for all, until a time.
type Hold struct {
	Seq    int       `json:"seq"` // that of the genesis that the hold was set or ended with
	At     time.Time `json:"at"`
	Until  time.Time `json:"until"`
	Reason string    `json:"reason"`
	// Objects are those that it holds, as KIND/NAME, sorted; none means all.
	Objects []string `json:"objects,omitempty"`
	// Ended says who ended it before its time, and when.
	Ended *LastApply `json:"ended,omitempty"`
	Claim            // who set it
}

// IsActive reports whether the hold still holds.
func (h Hold) IsActive(at time.Time) bool { return h.Ended == nil && at.Before(h.Until) }

// Covers reports whether it holds the object.
func (h Hold) Covers(key kind.Key) bool {
	return len(h.Objects) == 0 || slices.Contains(h.Objects, key.String())
}

// holdsAny reports whether it holds one of the wanted objects.
func (h Hold) holdsAny(wants func(kind.Key) bool) bool {
	return len(h.Objects) == 0 || slices.ContainsFunc(h.Objects, func(name string) bool {
		key, err := kind.ParseKey(name)
		return err == nil && wants(key)
	})
}

// describeObjects names what it holds.
func (h Hold) describeObjects() string { return cmp.Or(diag.JoinFirst(h.Objects, 5), "every object") }

// String says who holds what, until when and why.
func (h Hold) String() string {
	text := fmt.Sprintf("%s holds %s until %s: %s", h.nameOfPerson(), h.describeObjects(), h.Until.UTC().Format(time.RFC3339), h.Reason)
	if h.Ended != nil {
		text = h.Ended.nameOfPerson() + " ended: " + text
	}
	return text
}

// Fix says what a person can do about it.
func (h Hold) Fix() string {
	return fmt.Sprintf("wait, or ask %s. %s ends it; apply --despite-hold TEXT goes on, and records why", h.nameOfPerson(), h.endCommand())
}

func (h Hold) endCommand() string {
	return strings.Join(append([]string{"trueup hold --end"}, h.Objects...), " ")
}

// ActiveHolds returns the holds that still hold.
func ActiveHolds(all []Hold, at time.Time) []Hold {
	return slices.DeleteFunc(slices.Clone(all), func(h Hold) bool { return !h.IsActive(at) })
}

// FindHold returns a hold of the object, or nil. At the zero time none counts.
func FindHold(all []Hold, key kind.Key, at time.Time) *Hold {
	i := slices.IndexFunc(all, func(h Hold) bool { return h.IsActive(at) && h.Covers(key) })
	if i < 0 || at.IsZero() {
		return nil
	}
	return &all[i]
}

// HeldError means that a hold keeps a request from being sent. Nothing was written.
type HeldError struct{ Hold }

func (e *HeldError) Error() string { return e.String() }

// indexOfHold finds the hold of exactly these objects; -1 for none.
func indexOfHold(holds []Hold, objects []string) int {
	return slices.IndexFunc(holds, func(h Hold) bool { return slices.Equal(h.Objects, objects) })
}

// SetHold holds the objects, or all if there are none. It replaces a hold of the same objects, and returns that too.
func (l *Ledger) SetHold(ctx context.Context, objects []string, until time.Time, reason string) (hold, replaced Hold, err error) {
	err = l.rewriteGenesis(ctx, func(g *Genesis) error {
		now := l.cfg.Now().UTC()
		hold = Hold{Seq: g.Seq + 1, At: now, Until: until.UTC(), Reason: cutText(reason, maxMessage), Objects: objects, Claim: l.cfg.Claim}
		g.Holds = ActiveHolds(g.Holds, now)
		if i := indexOfHold(g.Holds, objects); i >= 0 {
			replaced = g.Holds[i]
			g.Holds = slices.Delete(g.Holds, i, i+1)
		}
		g.Holds = append(g.Holds, hold)
		return nil
	})
	return hold, replaced, err
}

// EndHold ends the hold of the objects, or the one of all if there are none.
func (l *Ledger) EndHold(ctx context.Context, objects []string) (hold Hold, err error) {
	err = l.rewriteGenesis(ctx, func(g *Genesis) error {
		now := l.cfg.Now().UTC()
		g.Holds = ActiveHolds(g.Holds, now)
		i := indexOfHold(g.Holds, objects)
		switch {
		case i >= 0:
			g.Holds[i].Ended, g.Holds[i].Seq = &LastApply{Claim: l.cfg.Claim, At: now}, g.Seq+1
			hold = g.Holds[i]
			return nil
		case len(g.Holds) == 0:
			return errors.New("there is no hold")
		}
		return fmt.Errorf("no hold is of %s. %s: run %s", Hold{Objects: objects}.describeObjects(), g.Holds[0], g.Holds[0].endCommand())
	})
	return hold, err
}
