package reconcile

import (
	"testing"

	"trueup/internal/apply"
)

// TestExitCode is docs/design.md 0.24: if several things happened, 130, 8, 6, 7, 5
// in that order, and 3 only where nothing was sent.
func TestExitCode(t *testing.T) {
	type verdicts []apply.Verdict
	for _, tt := range []struct {
		ends verdicts
		sent bool
		want int
	}{
		{nil, false, 0},
		{verdicts{apply.OK, apply.OK}, true, 0},
		{verdicts{apply.OK, apply.Stale}, false, 3},
		{verdicts{apply.Stale, apply.Partial}, false, 3},
		{verdicts{apply.OK, apply.Stale}, true, 5},
		{verdicts{apply.OK, apply.Partial}, true, 5},
		{verdicts{apply.Partial}, false, 5},
		{verdicts{apply.Partial, apply.NotConverged}, true, 7},
		{verdicts{apply.Stale, apply.NotConverged}, true, 7},
		{verdicts{apply.NotConverged, apply.NeedsPerson}, true, 6},
		{verdicts{apply.Stale, apply.NeedsPerson}, false, 6},
		{verdicts{apply.NeedsPerson, apply.Auth}, true, 8},
		{verdicts{apply.Auth, apply.Stale}, false, 8},
		{verdicts{apply.Auth, apply.NeedsPerson, apply.Interrupted, apply.NotConverged, apply.Partial}, true, 130},
	} {
		for _, turned := range []bool{false, true} {
			var res apply.Result
			for i := range tt.ends {
				v := tt.ends[i]
				if turned {
					v = tt.ends[len(tt.ends)-1-i]
				}
				res.Outcomes = append(res.Outcomes, apply.ItemOutcome{Verdict: v, Sent: tt.sent && i == 0})
			}
			if got := ExitCode(res); got != tt.want {
				t.Errorf("%v, sent %v: %d, want %d", tt.ends, tt.sent, got, tt.want)
			}
		}
	}
}
