package ledger_test

import (
	"fmt"
	"strings"

	"trueup/internal/apply"
	"trueup/internal/ledger"
	"trueup/internal/plan"
)

// row is a transition of docs/design.md A3, or what its section 0 adds.
type row string

// The rows: from, event, to.
const (
	claimedAbsent   row = "absent | wants to send | claimed"
	claimedRejected row = "rejected | wants to send | claimed"
	claimedReleased row = "released | wants to send | claimed"
	postedFirst     row = "claimed, 1st send | 2xx | posted"
	postedResent    row = "claimed, after an uncertain send | 2xx | posted"
	releasedUnsent  row = "claimed, 1st send | nothing written | released"
	unknownForeign  row = "claimed, 1st send | duplicate | unknown (foreign)"
	postedDuplicate row = "claimed, after an uncertain send | duplicate | posted"
	rejectedFirst   row = "claimed, 1st send | 4xx | rejected"
	leftRefused     row = "claimed, after an uncertain send | 4xx | left open"
	leftUnsent      row = "claimed, after an uncertain send | nothing written | left open"
	sentAgain       row = "claimed | no answer | sent again by the same run"
	leftSilent      row = "claimed | no answer, proven | left open"
	unknownSilent   row = "claimed | no answer, not proven | unknown"
	inFlight        row = "claimed by another run, within the lease | plan | in flight elsewhere"
	waitedInVain    row = "claimed by another run | waited a minute | exit 5, nothing sent"
	waitedWell      row = "claimed by another run | it ended meanwhile | done"
	givenBack       row = "claimed by another run | it gave it back meanwhile | claimed"
	takenOver       row = "claimed, lease over, within the window | apply | claimed, F carried"
	takenOverLeft   row = "left open, within the window | apply | claimed, F carried"
	unknownOver     row = "claimed, window over | apply | unknown"
	unknownUnproven row = "claimed, lease over, not proven | apply | unknown"
	releasedLate    row = "claimed, 1st send | may not be sent any more | released"
	unknownLate     row = "claimed, after an uncertain send | may not be sent any more | unknown"
	postedAnyway    row = "unknown | the run that had claimed it gets a 2xx | posted"
	foundLive       row = "claimed or unknown | the object is live | posted (found)"
	saidPosted      row = "open | a person: posted | posted"
	saidRepost      row = "open | a person: repost | released"
	saidAbandon     row = "open | a person: abandon | abandoned"
)

func rows() []row {
	return []row{
		claimedAbsent, claimedRejected, claimedReleased, postedFirst, postedResent, releasedUnsent, unknownForeign,
		postedDuplicate, rejectedFirst, leftRefused, leftUnsent, sentAgain, leftSilent, unknownSilent, inFlight,
		waitedInVain, waitedWell, givenBack, takenOver, takenOverLeft, unknownOver, unknownUnproven, releasedLate,
		unknownLate, postedAnyway, foundLive, saidPosted, saidRepost, saidAbandon,
	}
}

// tally counts how often each row was met.
type tally struct {
	hits      map[row]int
	histories int
	steps     int
	// executed and asked count requests that were executed, and those that a
	// person was asked about; alarms runs that asked for a person about a request
	// that is recorded as posted.
	executed, asked, alarms int
}

func newTally() *tally { return &tally{hits: map[row]int{}} }

func (t *tally) hit(r row) { t.hits[r]++ }

// missing are the rows that were never met.
func (t *tally) missing() []row {
	var none []row
	for _, r := range rows() {
		if t.hits[r] == 0 {
			none = append(none, r)
		}
	}
	return none
}

func (t *tally) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d histories, %d calls, %d requests executed, %d questions to a person, %d for nothing\n",
		t.histories, t.steps, t.executed, t.asked, t.alarms)
	for _, r := range rows() {
		fmt.Fprintf(&b, "%9d  %s\n", t.hits[r], r)
	}
	return b.String()
}

// moved counts the row of a record that was written.
func (t *tally) moved(old, rec ledger.Record, w *world) {
	switch event := rec.History[len(rec.History)-1].Event; event {
	case "claimed":
		t.claimed(old)
	case "taken over":
		t.hit(map[bool]row{false: takenOver, true: takenOverLeft}[old.Left])
	case "posted":
		t.posted(old, rec)
	case "released":
		t.hit(map[bool]row{false: releasedUnsent, true: releasedLate}[strings.Contains(rec.Outcome.Message.String(), "paused for too long")])
	case "rejected":
		t.hit(rejectedFirst)
	case "left open":
		t.left(rec.Outcome.Message.String())
	case "made unknown":
		t.asked++
		t.doubted(rec.Outcome.Message.String(), w.nature.proven)
	case "resolved by a person":
		t.hit(map[ledger.RequestState]row{ledger.Posted: saidPosted, "": saidRepost, ledger.Abandoned: saidAbandon}[rec.State])
	}
}

func (t *tally) claimed(old ledger.Record) {
	switch {
	case old.Seq == 0:
		t.hit(claimedAbsent)
	case old.State == ledger.Rejected:
		t.hit(claimedRejected)
	default:
		t.hit(claimedReleased)
	}
}

func (t *tally) posted(old, rec ledger.Record) {
	switch how := rec.Outcome.How; {
	case how == ledger.Found:
		t.hit(foundLive)
	case how == ledger.Duplicate:
		t.hit(postedDuplicate)
	case old.State == ledger.Unknown:
		t.hit(postedAnyway)
	case old.EarlierUnknown:
		t.hit(postedResent)
	default:
		t.hit(postedFirst)
	}
}

func (t *tally) left(message string) {
	switch {
	case strings.Contains(message, ": no"):
		t.hit(leftRefused)
	case strings.Contains(message, "no answer"):
		t.hit(leftSilent)
	default:
		t.hit(leftUnsent)
	}
}

func (t *tally) doubted(message string, proven bool) {
	switch {
	case strings.Contains(message, "this ledger did not create it"):
		t.hit(unknownForeign)
	case strings.Contains(message, "it could be sent until"):
		t.hit(unknownLate)
	case strings.Contains(message, "recorded no outcome") && proven:
		t.hit(unknownOver)
	case strings.Contains(message, "recorded no outcome"):
		t.hit(unknownUnproven)
	default:
		t.hit(unknownSilent)
	}
}

// ended counts what a run said of the requests of others.
func (t *tally) ended(p *plan.Plan, res apply.Result, w *world) {
	for i, o := range res.Outcomes {
		if o.Verdict == apply.NeedsPerson && w.records[o.Key].State == ledger.Posted {
			t.alarms++
		}
		if p.Items[i].Op != plan.InFlight {
			continue
		}
		t.hit(inFlight)
		switch {
		case o.Status == apply.Done:
			t.hit(waitedWell)
		case o.Verdict == apply.Partial && !o.Sent && w.records[o.Key].State == ledger.Claimed:
			t.hit(waitedInVain)
		}
	}
}
