package ledger

import (
	"time"

	"trueup/internal/kind"
)

// Instant is the time by two clocks. Each decision uses the safer one: after a laptop slept, or if a cache answers, an
// old claim must not look young.
type Instant struct {
	Now         time.Time // the platform's time, or else this machine's
	Early, Late time.Time // the earlier and the later clock
	Alone       bool      // the platform gave no time
}

// NewInstant returns the time by the platform's clock, which may be zero, and by this machine's.
func NewInstant(server, wall time.Time) Instant {
	if server.IsZero() {
		return Instant{Now: wall, Early: wall, Late: wall, Alone: true}
	}
	i := Instant{Now: server, Early: server, Late: wall}
	if wall.Before(server) {
		i.Early, i.Late = wall, server
	}
	return i
}

// Add returns the instant that much later.
func (i Instant) Add(d time.Duration) Instant {
	return Instant{Now: i.Now.Add(d), Early: i.Early.Add(d), Late: i.Late.Add(d), Alone: i.Alone}
}

// The platform remembers names for about 24 hours: within DefaultWindow after the first claim, sending again is safe. A
// claim of another run younger than Lease is in flight.
const (
	DefaultWindow = 20 * time.Hour
	Lease         = 10 * time.Minute
	aloneMargin   = time.Hour // shortens the window if the platform gave no time
)

// ResendTerms say whether a request without an outcome may be sent again.
type ResendTerms struct {
	Window time.Duration // how long after its first claim a request may be sent again
	// Proven means that the platform has rejected a duplicate name. Otherwise nothing is sent again.
	Proven bool
}

// MaySend reports whether the window is open. Ask right before every send.
func (t ResendTerms) MaySend(first time.Time, now Instant) bool {
	return now.Late.Before(t.WindowEnd(first, now))
}

// WindowEnd returns when the window ends. If the platform gave no time, it ends earlier, but not before its middle.
func (t ResendTerms) WindowEnd(first time.Time, now Instant) time.Time {
	if now.Alone {
		return first.Add(t.Window - min(aloneMargin, t.Window/2))
	}
	return first.Add(t.Window)
}

// ClaimStatus says what a run may do about another run's record.
type ClaimStatus string

// The values of ClaimStatus.
const (
	Free       ClaimStatus = "free"       // may be claimed
	InFlight   ClaimStatus = "in flight"  // claimed by a run that may still be working
	Resendable ClaimStatus = "resendable" // was claimed by a run that died; sending it again is safe
	Lost       ClaimStatus = "lost"       // may have been executed, and a person must decide
	Settled    ClaimStatus = "settled"    // needs nothing more
)

// ClaimStatus returns what a run may do that did not write the record: the writer may have sent the request and died.
func (r Record) ClaimStatus(now Instant, t ResendTerms) ClaimStatus {
	switch r.State {
	case "", Rejected:
		return Free
	case Claimed:
		switch {
		case r.FirstClaimAt.After(now.Late.Add(aloneMargin)):
			return Lost // a clock is wrong, so the age of the claim is unknown
		case r.mayStillRun(now):
			return InFlight
		case t.Proven && t.MaySend(*r.FirstClaimAt, now):
			return Resendable
		default:
			return Lost
		}
	case Unknown:
		return Lost
	case Posted, Adopted, Abandoned:
	}
	return Settled
}

// mayStillRun reports whether the run with the claim may still be working.
func (r Record) mayStillRun(now Instant) bool {
	return r.State == Claimed && !r.Left && now.Now.Sub(*r.ClaimedAt) < Lease
}

// IsOpen reports whether the outcome of the request is unknown.
func (r Record) IsOpen() bool { return r.State == Claimed || r.State == Unknown }

// AwaitsProof reports whether trueup could send the request again by itself, if it knew that the platform rejects a
// second request of the same name.
func (v View) AwaitsProof(r Record) bool {
	k, ok := kind.FindKind(r.Kind)
	return ok && k.IsRequestOnly() && r.IsOpen() && !v.Terms[k.Area].Proven && !r.NameTaken()
}

// NameTaken reports whether the name belongs to a live object that this ledger did not make.
func (r Record) NameTaken() bool {
	return r.State == Unknown && r.Outcome != nil && r.Outcome.How == NotOurs
}
