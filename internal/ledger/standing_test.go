package ledger

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"trueup/internal/kind"
)

func TestTheWindowByOneClockOnly(t *testing.T) {
	first := time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC)
	for window, want := range map[time.Duration]time.Duration{
		20 * time.Hour: 19 * time.Hour, 2 * time.Hour: time.Hour, time.Hour: 30 * time.Minute,
	} {
		terms := ResendTerms{Window: window}
		if got := terms.WindowEnd(first, NewInstant(time.Time{}, first)); !got.Equal(first.Add(want)) {
			t.Errorf("a window of %s ends at %s", window, got)
		}
		if got := terms.WindowEnd(first, NewInstant(first, first)); !got.Equal(first.Add(window)) {
			t.Errorf("a window of %s by two clocks ends at %s", window, got)
		}
	}
}

// TestAClaimIsHeldByBothClocks: a machine that slept gets the time of before from a
// cache, or a clock was set meanwhile.
func TestAClaimIsHeldByBothClocks(t *testing.T) {
	server := time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC)
	for name, c := range map[string]struct {
		skew         time.Duration
		server, wall time.Duration
		mayBeSent    bool
	}{
		"at once":                       {0, 0, 0, true},
		"a second before the lease":     {0, Lease - time.Second, Lease - time.Second, true},
		"a server's clock that stands":  {0, 0, Lease, false},
		"ours stands":                   {0, Lease, 0, false},
		"ours is ahead all the time":    {time.Hour, time.Second, time.Second, true},
		"ours is ahead, theirs stands":  {time.Hour, 0, Lease, false},
		"ours is behind all the time":   {-time.Hour, time.Second, time.Second, true},
		"ours is behind, and was stuck": {-time.Hour, Lease, 0, false},
	} {
		wall := server.Add(c.skew)
		at := NewInstant(server, wall)
		h := OwnClaim{Record: Record{FirstClaimAt: &at.Early, ClaimedAt: &at.Now}, Late: at.Late, Terms: ResendTerms{Window: DefaultWindow}}
		if got := h.MaySend(NewInstant(server.Add(c.server), wall.Add(c.wall))); got != c.mayBeSent {
			t.Errorf("%s: it may be sent: %t", name, got)
		}
	}
}

func TestObserved(t *testing.T) {
	server := time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC)
	for name, c := range map[string]struct {
		server, wall, now, early, late time.Time
		alone                          bool
	}{
		"they agree":      {server, server, server, server, server, false},
		"ours is ahead":   {server, server.Add(time.Hour), server, server, server.Add(time.Hour), false},
		"ours is behind":  {server, server.Add(-time.Hour), server, server.Add(-time.Hour), server, false},
		"only ours spoke": {time.Time{}, server, server, server, server, true},
	} {
		i := NewInstant(c.server, c.wall)
		if !i.Now.Equal(c.now) || !i.Early.Equal(c.early) || !i.Late.Equal(c.late) || i.Alone != c.alone {
			t.Errorf("%s: %+v", name, i)
		}
	}
}

// TestStandings is what another run may make of a record: each state by the age
// of its claim, by whether its run has ended, by what is known of the platform,
// and by the window.
func TestStandings(t *testing.T) {
	ages := []time.Duration{-time.Hour, 0, Lease - 1, Lease, time.Hour - 1, time.Hour, 2*time.Hour - 1, 2 * time.Hour, 22 * time.Hour, 1000 * time.Hour}
	for _, state := range allStates() {
		for _, age := range ages {
			for _, left := range []bool{false, true} {
				for _, proven := range []bool{false, true} {
					for _, alone := range []bool{false, true} {
						for _, window := range []time.Duration{time.Hour, 2 * time.Hour, DefaultWindow, 22 * time.Hour} {
							rec := inState(state)
							rec.Left = left
							now := NewInstant(testTime.Add(age), testTime.Add(age))
							now.Alone = alone
							got := rec.ClaimStatus(now, ResendTerms{Window: window, Proven: proven})
							if want := standingOf(state, age, left, proven && age < usable(window, alone)); got != want {
								t.Errorf("%q of %s, left %v, proven %v, alone %v, window %s: %s, want %s", state, age, left, proven, alone, window, got, want)
							}
						}
					}
				}
			}
		}
	}
}

func usable(window time.Duration, alone bool) time.Duration {
	if !alone {
		return window
	}
	return window - min(time.Hour, window/2)
}

func standingOf(state RequestState, age time.Duration, left, safe bool) ClaimStatus {
	switch state {
	case "", Rejected:
		return Free
	case Unknown:
		return Lost
	case Claimed:
		switch {
		case !left && age < 10*time.Minute:
			return InFlight
		case safe:
			return Resendable
		}
		return Lost
	case Posted, Adopted, Abandoned:
	}
	return Settled
}

// TestTheWindowByTheLaterClock: a claim that was first made long ago is taken
// over by its first time, and judged by the later clock (docs/design.md 0.8).
func TestTheWindowByTheLaterClock(t *testing.T) {
	rec, terms := inState(Claimed), ResendTerms{Window: DefaultWindow, Proven: true}
	at := testTime.Add(DefaultWindow - time.Minute)
	again := testTime.Add(DefaultWindow - 2*time.Hour)
	rec.ClaimedAt = &again
	if got := rec.ClaimStatus(NewInstant(at, at), terms); got != Resendable {
		t.Errorf("in the window: %s", got)
	}
	if got := rec.ClaimStatus(NewInstant(at, at.Add(time.Minute)), terms); got != Lost {
		t.Errorf("over by this machine's clock: %s", got)
	}
	if got := rec.ClaimStatus(NewInstant(at.Add(time.Minute), at), terms); got != Lost {
		t.Errorf("over by the platform's clock: %s", got)
	}
}

// TestAClaimFromTheFuture: where the platform tells no time, a wrong clock would
// keep a claim in flight for days, and its window open after the platform has
// forgotten the name.
func TestAClaimFromTheFuture(t *testing.T) {
	now := time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC)
	terms := ResendTerms{Window: DefaultWindow, Proven: true}
	for ahead, want := range map[time.Duration]ClaimStatus{
		Lease: InFlight, time.Hour: InFlight, time.Hour + time.Second: Lost, 48 * time.Hour: Lost,
	} {
		at := now.Add(ahead)
		rec := Record{State: Claimed, FirstClaimAt: &at, ClaimedAt: &at}
		if got := rec.ClaimStatus(NewInstant(time.Time{}, now), terms); got != want {
			t.Errorf("%s ahead it is %s, want %s", ahead, got, want)
		}
		// A person's own clock is not believed against the claim's.
		if !rec.mayStillRun(NewInstant(time.Time{}, now)) {
			t.Errorf("%s ahead it may be answered as not executed", ahead)
		}
	}
}

// TestQuestions are the open requests. A record that is named exactly is there whatever its state and age, so that
// nobody is asked about a request whose outcome is known.
func TestQuestions(t *testing.T) {
	cfg := made(t)
	l := open(t, cfg)
	for _, key := range []kind.Key{purgeKey, diskKey} {
		must(t, tryClaim(t.Context(), l, key))
	}
	must(t, l.RecordPosted(t.Context(), purgeKey, AcceptedAnswer{}))
	cfg.Now = func() time.Time { return testTime.Add(2 * recentAge) }
	l = open(t, cfg)
	for patterns, want := range map[string]string{
		"": diskKey.String() + "=true", "*/*": diskKey.String() + "=true", "purge/rel-42": "Purge/rel-42=false:posted",
		"purge/other purge/rel-42 */*": "Purge/other=false:free Purge/rel-42=false:posted " + diskKey.String() + "=true",
		"purge/*":                      `"purge/*" matches no request`, "purge": `"purge": write KIND/NAME`,
	} {
		view, list, err := l.ReadQuestions(t.Context(), strings.Fields(patterns))
		got := make([]string, len(list))
		for i, rec := range list {
			got[i] = fmt.Sprintf("%s=%t", rec, rec.IsOpen())
			if !rec.IsOpen() {
				got[i] += ":" + rec.Status()
			}
			if view.AwaitsProof(rec) {
				t.Errorf("%q: a probe would not help with %s", patterns, rec)
			}
		}
		if text := strings.Join(got, " "); err == nil && text != want || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %s, %v; want %s", patterns, text, err, want)
		}
	}
}
