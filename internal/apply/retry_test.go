package apply_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"trueup/internal/api"
	"trueup/internal/apply"
	"trueup/internal/kind"
	"trueup/internal/ledger"
)

// answered is the failure that the status of an answer to a write is.
func answered(status int) *said {
	class := api.Rejected
	switch {
	case status == 429:
		class = api.Unsent
	case status == 408 || status >= 500:
		class = api.Unknown
	}
	return &said{fmt.Sprintf("%d %s", status, http.StatusText(status)), api.Error{Status: status, Class: class}}
}

// TestAPatchIsTriedAgain is docs/design.md C4: on 429, 408, 502 to 504 and where the
// network fails, four times in all, each after a look.
func TestAPatchIsTriedAgain(t *testing.T) {
	for _, err := range []*said{
		answered(429), answered(408), answered(502), answered(503), answered(504), {"connection reset", api.Error{Class: api.Unknown}}, {"refused", api.Error{Class: api.Unsent}},
	} {
		begin := func() *stage { return begin(t, cdn("shop", forced)).has(shop, loose) }
		s := begin().on("PATCH CDN/shop", 1, err, false).on("PATCH CDN/shop", 2, err, false).on("PATCH CDN/shop", 3, err, false)
		if o := s.ends(s.run(), shop, apply.Done, apply.OK, "changed 1 field"); !o.Sent {
			t.Error("it was sent")
		}
		const try = "PATCH CDN/shop, GET CDN/shop, "
		s.wrote("pending CDN/shop, GET CDN/shop, " + try + try + try + try + "applied CDN/shop")
		if s.slept <= 0 || s.slept > 4*time.Second || len(s.sent) != 1 || !strings.Contains(phases(s), "wait again in ") {
			t.Errorf("%v: slept %s, sent %s: %s", err, s.slept, s.sent, phases(s))
		}

		s = begin().on("PATCH CDN/shop", 0, err, false)
		s.ends(s.run(), shop, apply.Failed, apply.Partial, err.Error(), "gave up after 4 tries")
		log, open := s.took(), err.answer.Class == api.Unknown
		if strings.Count(log, "PATCH") != 4 || strings.HasSuffix(log, "drop CDN/shop") == open || s.records[key(shop)].Pending == nil == open {
			t.Errorf("%v: %s", err, log)
		}
	}
	// What no other try would mend, or what is a certain answer, is not tried again.
	for _, err := range []error{answered(500), answered(501), answered(422), denied(), broken()} {
		s := begin(t, cdn("shop", forced)).has(shop, loose).on("PATCH CDN/shop", 0, err, false)
		if res := s.run(); strings.Count(s.took(), "PATCH") != 1 || s.of(res, shop).Status != apply.Failed {
			t.Errorf("%v: %+v", err, s.of(res, shop))
		}
	}
}

// TestALostPatchIsComparedAgain: what it did is seen, and no more is sent than
// what was shown (docs/design.md 0.23).
func TestALostPatchIsComparedAgain(t *testing.T) {
	s := begin(t, cdn("shop", forced)).has(shop, loose).on("PATCH CDN/shop", 1, unclear(), true)
	s.ends(s.run(), shop, apply.Done, apply.OK, "changed 1 field")
	s.wrote("pending CDN/shop, GET CDN/shop, PATCH CDN/shop, GET CDN/shop, applied CDN/shop")
	if r := s.records[key(shop)]; r.Pending != nil || r.NotConverged {
		t.Errorf("record %+v", r)
	}

	// It arrives only after the second look: the version that went along is stale.
	s = begin(t, cdn("shop", group)).has(shop, lately).applied(shop, group).on("PATCH CDN/shop", 1, unclear(), false)
	s.at("PATCH CDN/shop", 2, func() { s.has(shop, strings.Replace(lately, "scheme: http", "scheme: https", 1)) })
	s.ends(s.run(), shop, apply.Done, apply.OK)
	if len(s.sent) != 1 || !strings.Contains(s.spec(shop), "kept") {
		t.Errorf("sent %s", s.sent)
	}

	// Somebody changes what the patch speaks of, before it is sent again.
	s = begin(t, cdn("shop", forced)).has(shop, loose)
	s.on("PATCH CDN/shop", 1, answered(503), false)
	s.at("GET CDN/shop", 2, func() { s.has(shop, strings.Replace(loose, `forced: "false"`, "forced: other", 1)) })
	s.ends(s.run(), shop, apply.Skipped, apply.Stale, "left it unchanged", "may already be written: 503", "run plan again")
	if r := s.records[key(shop)]; r.Pending == nil || len(s.sent) != 0 {
		t.Errorf("record %+v, sent %s", r, s.sent)
	}

	// What was rejected for certain after that stays unknown.
	s = begin(t, cdn("shop", forced)).has(shop, loose).on("PATCH CDN/shop", 1, unclear(), false).on("PATCH CDN/shop", 2, refused(), false)
	s.ends(s.run(), shop, apply.Failed, apply.Partial, "422", "may already be written: connection reset", "which checks first")
	if s.records[key(shop)].Pending == nil {
		t.Error("the intent is forgotten")
	}
	// But not where nothing was written before.
	s = begin(t, cdn("shop", forced)).has(shop, loose).on("PATCH CDN/shop", 1, answered(429), false).on("PATCH CDN/shop", 2, refused(), false)
	s.ends(s.run(), shop, apply.Failed, apply.Partial, "422")
	if s.records[key(shop)].Pending != nil {
		t.Error("it is pending")
	}
}

// TestAServerThatAsksForTime gets it, up to a limit: beyond it nothing is waited for.
func TestAServerThatAsksForTime(t *testing.T) {
	for _, asked := range []time.Duration{30 * time.Second, 2 * time.Minute, time.Hour} {
		busy := answered(429)
		busy.answer.RetryAfter = asked
		for name, s := range map[string]*stage{
			shop: begin(t, cdn("shop", forced)).has(shop, loose).on("PATCH CDN/shop", 1, busy, false),
			rel:  due(t).on("POST Purge/rel", 1, busy, false),
			db:   begin(t, snapshot("db")).on("POST "+db, 1, busy, false),
		} {
			status, verdict, want := apply.Done, apply.OK, asked
			if asked > 15*time.Minute {
				status, verdict, want = apply.Failed, apply.Partial, 0
			}
			if s.ends(s.run(), name, status, verdict); s.slept != want {
				t.Errorf("%s: slept %s, want %s", name, s.slept, want)
			}
		}
	}
}

// TestAPauseOfAnotherRequestUsesUpNoTry: whoever is turned away, because another
// request of the area was asked to wait, was not tried.
func TestAPauseOfAnotherRequestUsesUpNoTry(t *testing.T) {
	away := &said{"not sent, because the platform asks to wait", api.Error{Class: api.Unsent, RetryAfter: time.Millisecond}}
	for name, begun := range map[string]struct {
		s    *stage
		call string
	}{
		shop: {begin(t, cdn("shop", forced)).has(shop, loose), "PATCH CDN/shop"},
		rel:  {due(t), "POST Purge/rel"},
		db:   {begin(t, snapshot("db")), "POST " + db},
	} {
		for n := 1; n <= 6; n++ {
			begun.s.on(begun.call, n, away, false)
		}
		begun.s.on(begun.call, 7, answered(429), false)
		begun.s.ends(begun.s.run(), name, apply.Done, apply.OK)
	}
}

// TestAPostOfWhatConverges is docs/design.md C4: repeated where it was not written, or
// where live shows, twice, that it made nothing.
func TestAPostOfWhatConverges(t *testing.T) {
	const head = "GET CDN/shop, pending CDN/shop, POST CDN/shop"
	appears := func(spec string) func(*stage) {
		return func(s *stage) { s.at("POST CDN/shop", 1, func() { s.has(shop, spec) }) }
	}
	for name, tt := range map[string]struct {
		err     error
		did     bool
		always  bool
		at      func(*stage)
		status  apply.Status
		verdict apply.Verdict
		words   string
		calls   string
		pending bool
	}{
		"throttled once": {
			err: answered(429), status: apply.Done, verdict: apply.OK, words: "created",
			calls: head + ", GET CDN/shop, POST CDN/shop, GET CDN/shop, applied CDN/shop",
		},
		"throttled always": {
			err: answered(429), always: true, status: apply.Failed, verdict: apply.Partial, words: "gave up after 4 tries",
			calls: head + ", GET CDN/shop, POST CDN/shop, GET CDN/shop, POST CDN/shop, GET CDN/shop, POST CDN/shop, drop CDN/shop",
		},
		"throttled, and somebody else is faster": {
			err: answered(429), at: appears(plain), status: apply.Skipped, verdict: apply.Stale, words: "appeared after",
			calls: head + ", GET CDN/shop, drop CDN/shop",
		},
		"not written": {
			err: unsent(), status: apply.Done, verdict: apply.OK, words: "created",
			calls: head + ", GET CDN/shop, POST CDN/shop, GET CDN/shop, applied CDN/shop",
		},
		"done without an answer": {
			err: answered(504), did: true, status: apply.Done, verdict: apply.OK, words: "created",
			calls: head + ", GET CDN/shop, applied CDN/shop",
		},
		"not done, without an answer": {
			err: answered(500), status: apply.Done, verdict: apply.OK, words: "created",
			calls: head + ", GET CDN/shop, GET CDN/shop, GET CDN/shop, POST CDN/shop, GET CDN/shop, applied CDN/shop",
		},
		"never done, never answered": {
			err: unclear(), always: true, status: apply.Failed, verdict: apply.Partial, words: "sent 3 times, but live does not show it", pending: true,
			calls: head + strings.Repeat(", GET CDN/shop, GET CDN/shop, GET CDN/shop, POST CDN/shop", 2) + ", GET CDN/shop, GET CDN/shop",
		},
		"something else appeared": {
			err: unclear(), at: appears(loose), status: apply.Skipped, verdict: apply.Stale, words: "differs from git", pending: true,
			calls: head + ", GET CDN/shop, GET CDN/shop, GET CDN/shop, GET CDN/shop, GET CDN/shop",
		},
		"taken by the same": {
			err: isNameTaken(), at: appears(forced), status: apply.Done, verdict: apply.OK, words: "another run or client created it",
			calls: head + ", GET CDN/shop, applied CDN/shop",
		},
		"taken: choose": {
			err: isNameTaken(), at: appears(loose), status: apply.Skipped, verdict: apply.Stale, words: " meanwhile",
			calls: head + ", GET CDN/shop, GET CDN/shop, GET CDN/shop, GET CDN/shop, GET CDN/shop, drop CDN/shop",
		},
		"a conflict about something else": {
			err: isNameTaken(), status: apply.Failed, verdict: apply.Partial, words: "409",
			calls: head + ", GET CDN/shop, GET CDN/shop, drop CDN/shop",
		},
		"a conflict that passes": {
			err: contended(), status: apply.Done, verdict: apply.OK, words: "created",
			calls: head + ", GET CDN/shop, GET CDN/shop, GET CDN/shop, POST CDN/shop, GET CDN/shop, applied CDN/shop",
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := begin(t, cdn("shop", forced))
			n := 1
			if tt.always {
				n = 0
			}
			s.on("POST CDN/shop", n, tt.err, tt.did)
			if tt.at != nil {
				before := s.hook
				tt.at(s)
				appear := s.hook
				s.hook = func(call string, i int) *errorOutcome { appear(call, i); return before(call, i) }
			}
			s.ends(s.run(), shop, tt.status, tt.verdict, tt.words)
			s.wrote(tt.calls)
			if got := s.records[key(shop)].Pending != nil; got != tt.pending {
				t.Errorf("pending %v", got)
			}
		})
	}
}

// TestALostPostAndWhatFollows: an unknown outcome outlives the tries after it.
func TestALostPostAndWhatFollows(t *testing.T) {
	// It arrives late, so that the second is refused, or is not needed.
	late := func() *stage { return begin(t, cdn("shop", forced)).on("POST CDN/shop", 1, unclear(), false) }
	s := late()
	s.at("POST CDN/shop", 2, func() { s.has(shop, forced) })
	s.ends(s.run(), shop, apply.Done, apply.OK, "created")
	s = late()
	s.at("GET CDN/shop", 4, func() { s.has(shop, forced) })
	s.ends(s.run(), shop, apply.Done, apply.OK, "created")
	s.wrote("GET CDN/shop, pending CDN/shop, POST CDN/shop, GET CDN/shop, GET CDN/shop, GET CDN/shop, applied CDN/shop")

	s = late().on("POST CDN/shop", 2, refused(), false)
	s.ends(s.run(), shop, apply.Failed, apply.Partial, "422", "may already be written: ")
	if s.records[key(shop)].Pending == nil {
		t.Error("the intent is forgotten")
	}
	s = late().on("GET CDN/shop", 2, &said{"503", api.Error{Class: api.Unavailable}}, false)
	s.ends(s.run(), shop, apply.Failed, apply.Partial, "tell whether it was written: connection reset", "which checks first")
	s = late().on("GET CDN/shop", 4, &said{"503", api.Error{Class: api.Unavailable}}, false)
	s.ends(s.run(), shop, apply.Failed, apply.Partial, "503", "may already be written: connection reset")

	// It is there, and shows what was sent after a while.
	s = begin(t, cdn("shop", forced)).on("POST CDN/shop", 1, unclear(), true)
	full := kind.LiveObject{}
	s.at("GET CDN/shop", 2, func() { full = s.objects[key(shop)]; s.change(shop, func(o *kind.LiveObject) { o.Spec = nil }) })
	s.at("GET CDN/shop", 4, func() { s.objects[key(shop)] = full })
	s.ends(s.run(), shop, apply.Done, apply.OK, "created")
}

// TestWhatIsSentOnceAndWasNotWritten is sent again under the same claim: nothing
// of it has arrived (docs/design.md A3).
func TestWhatIsSentOnceAndWasNotWritten(t *testing.T) {
	for _, proven := range []bool{false, true} {
		for _, err := range []error{answered(429), unsent()} {
			s := due(t).on("POST Purge/rel", 1, err, false).on("POST Purge/rel", 2, err, false).on("POST Purge/rel", 3, err, false)
			s.proven = proven
			s.ends(s.run(), rel, apply.Done, apply.OK, "executes it later")
			s.wrote(sendOnce + ", POST Purge/rel, POST Purge/rel, POST Purge/rel, posted Purge/rel")

			s = due(t).on("POST Purge/rel", 0, err, false)
			s.proven = proven
			s.ends(s.run(), rel, apply.Failed, apply.Partial, err.Error(), "run apply again")
			if s.counts["turn"] != 4 || s.counts["clock"] != 5 {
				t.Errorf("%d turns, %d looks at the clock", s.counts["turn"], s.counts["clock"])
			}
			s.wrote(sendOnce + ", POST Purge/rel, POST Purge/rel, POST Purge/rel, release Purge/rel")

			s = begin(t, snapshot("db")).on("POST "+db, 1, err, false)
			s.proven = proven
			s.ends(s.run(), db, apply.Done, apply.OK, "created ready")
			s.wrote("GET VolumeSnapshot/db, claim VolumeSnapshot/db, POST VolumeSnapshot/db, POST VolumeSnapshot/db, " +
				"posted VolumeSnapshot/db, GET VolumeSnapshot/db")

			// What may have arrived then is what it always is.
			s = due(t).on("POST Purge/rel", 1, err, false).on("POST Purge/rel", 2, unclear(), true)
			s.ends(s.run(), rel, apply.Failed, apply.NeedsPerson, "may have been executed")
			s.wrote(sendOnce + ", POST Purge/rel, unknown Purge/rel")
		}
	}
	// A 409 after a 429 is another client's: ours was never written.
	s := due(t).on("POST Purge/rel", 1, answered(429), false).on("POST Purge/rel", 2, isNameTaken(), false)
	s.proven = true
	s.ends(s.run(), rel, apply.Failed, apply.NeedsPerson, "this ledger did not create it")

	// After a send that may have arrived, one that did not changes nothing.
	s = due(t).on("POST Purge/rel", 1, unclear(), true).on("POST Purge/rel", 2, answered(429), false).on("POST Purge/rel", 3, isNameTaken(), false)
	s.proven = true
	s.ends(s.run(), rel, apply.Done, apply.OK, "when it was first sent")

	// The window is looked at before each of them.
	s = due(t).on("POST Purge/rel", 0, answered(429), false)
	s.at("clock", 3, func() { s.now = s.now.Add(ledger.DefaultWindow) })
	s.ends(s.run(), rel, apply.Failed, apply.Partial, "it was not sent")
	s.wrote(sendOnce + ", release Purge/rel")
}
