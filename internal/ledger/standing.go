package ledger

import "time"

// Instant is the present by two clocks. A decision takes the one that makes it safe: a laptop that slept, or a
// cache that answers, must not make an old claim look young.
type Instant struct {
	// Now is the platform's time, or else this machine's.
	Now time.Time
	// Early and Late are the earlier and the later clock.
	Early, Late time.Time
	// Alone says that the platform gave no time.
	Alone bool
}

// Observed returns the present by the platform's clock, which may be zero, and by this machine's.
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

// The platform refuses a name that it knows for about 24 hours: until DefaultWindow after the first claim,
// sending again is safe. A claim of another run that is younger than Lease is in flight.
const (
	DefaultWindow = 20 * time.Hour
	Lease         = 10 * time.Minute
	// aloneMargin shortens the window if the platform gave no time.
	aloneMargin = time.Hour
)

// Terms say whether a request without an outcome may be sent again.
type Terms struct {
	// Window is how long after its first claim a request may be sent again: shorter than the platform remembers
	// names.
	Window time.Duration
	// Proven says that the platform refused a second request of the same name before. Otherwise nothing is sent
	// again.
	Proven bool
}

// MaySend reports whether the window is open. Every send must ask right before it.
func (t Terms) MaySend(first time.Time, now Instant) bool {
	return now.Late.Before(t.Until(first, now))
}

// Until returns when the window ends. A short window keeps at least a half.
func (t Terms) Until(first time.Time, now Instant) time.Time {
	if now.Alone {
		return first.Add(t.Window - min(aloneMargin, t.Window/2))
	}
	return first.Add(t.Window)
}

// Standing says what a run may do about the record of another one.
type Standing string

// The standings of a record.
const (
	// Free may be claimed.
	Free Standing = "free"
	// InFlight is claimed by a run that may still be working.
	InFlight Standing = "in flight"
	// Resendable was claimed by a run that died, and sending it again is safe.
	Resendable Standing = "resendable"
	// Lost may have been executed, and a person must decide.
	Lost Standing = "lost"
	// Settled needs nothing more.
	Settled Standing = "settled"
)

// Standing returns what another run than the writer may do: the writer may have sent the request and died.
func (r Record) Standing(now Instant, t Terms) Standing {
	switch r.State {
	case "", Rejected:
		return Free
	case Claimed:
		switch {
		case r.FirstClaimAt.After(now.Late.Add(aloneMargin)):
			return Lost // a clock is wrong, so the age of the claim is unknown
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

// young reports whether the run that claimed the request may still be working.
func (r Record) young(now Instant) bool {
	return r.State == Claimed && !r.Left && now.Now.Sub(*r.ClaimedAt) < Lease
}

// Open reports whether the outcome of the request is unknown.
func (r Record) Open() bool { return r.State == Claimed || r.State == Unknown }

// NameTaken reports whether an object of the name is live that this ledger did not make.
func (r Record) NameTaken() bool {
	return r.State == Unknown && r.Outcome != nil && r.Outcome.How == NotOurs
}
