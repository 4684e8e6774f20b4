package ledger

import (
	"time"
)

// Instant is what is known of the present at one moment (docs/design.md 0.8).
type Instant struct {
	// Now is the platform's time, or this machine's where the platform gave none.
	Now time.Time
	// Early and Late bound the present: the earlier and the later clock.
	Early, Late time.Time
	// Alone says that only this machine's clock spoke.
	Alone bool
}

// Observed is the present by the platform's clock, zero where it gave none, and
// by this machine's.
func Observed(server, wall time.Time) Instant {
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

// The times of docs/design.md A1 and A3. An intent of another run that is younger than
// the lease is taken to be under way; it is no safety margin.
const (
	DefaultWindow = 20 * time.Hour
	Lease         = 10 * time.Minute
	// aloneMargin is taken off the window where only this machine's clock spoke
	// (docs/design.md A6).
	aloneMargin = time.Hour
)

// Terms decide about a request whose outcome is open.
type Terms struct {
	// Window is how long after its first intent a request may be sent again:
	// less than the platform remembers names.
	Window time.Duration
	// Proven says that the platform was seen to refuse a second request of the
	// same name (docs/design.md 0.7). Without it none is sent again.
	Proven bool
}

// MaySend is the one rule, for right before every send (docs/design.md A1).
func (t Terms) MaySend(first time.Time, now Instant) bool {
	return now.Late.Before(t.Until(first, now))
}

// Until is when the window of an intent ends. A short one keeps half of itself.
func (t Terms) Until(first time.Time, now Instant) time.Time {
	if now.Alone {
		return first.Add(t.Window - min(aloneMargin, t.Window/2))
	}
	return first.Add(t.Window)
}

// Standing says what a run that is not its writer may make of a record.
type Standing string

// The standings of a record (docs/design.md A3).
const (
	// Free may be claimed.
	Free Standing = "free"
	// InFlight is claimed by a run that may still be going.
	InFlight Standing = "in flight"
	// Resendable is claimed by a run that is gone; sending it again under the
	// same name is safe.
	Resendable Standing = "resendable"
	// Lost may or may not have been executed, and only a person can tell.
	Lost Standing = "lost"
	// Settled needs nothing more.
	Settled Standing = "settled"
)

// Standing judges the record at a moment. To everybody but its writer a claim
// is uncertain: the writer may have sent and died.
func (r Record) Standing(now Instant, t Terms) Standing {
	switch r.State {
	case "", Rejected:
		return Free
	case Claimed:
		switch {
		case r.FirstClaimAt.After(now.Late.Add(aloneMargin)):
			return Lost // a clock is wrong, and nobody can tell how old it is
		case r.young(now):
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

// young reports whether the run that claimed the request may still be at it.
func (r Record) young(now Instant) bool {
	return r.State == Claimed && !r.Left && now.Now.Sub(*r.ClaimedAt) < Lease
}

// Open reports whether it is not known what became of the request.
func (r Record) Open() bool { return r.State == Claimed || r.State == Unknown }

// NameTaken reports whether the platform has an object of the request's name that
// is not from this ledger.
func (r Record) NameTaken() bool {
	return r.State == Unknown && r.Outcome != nil && r.Outcome.How == NotOurs
}
