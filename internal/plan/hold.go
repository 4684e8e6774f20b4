package plan

import (
	"time"

	"trueup/internal/kind"
	"trueup/internal/ledger"
)

// noteHolds notes which holds keep apply from sending.
func (p *Planner) noteHolds(out *Plan) {
	for _, hold := range ledger.ActiveHolds(p.in.Ledger.Holds, p.in.At.Early) {
		out.addNote("%s", hold)
	}
}

// BlockHeld blocks what holds keep from being sent, and what waits for it. It reports whether there is any.
func (p *Plan) BlockHeld(holds []ledger.Hold, at time.Time) bool {
	held := map[kind.Key]bool{}
	for i := range p.Items {
		it := &p.Items[i]
		if hold := ledger.HoldOf(holds, it.Key, at); hold != nil && it.Request != nil {
			held[it.Key] = true
			it.blockForPerson(hold.String(), hold.Fix())
		}
	}
	return p.blockWaiting(held, "a hold")
}
