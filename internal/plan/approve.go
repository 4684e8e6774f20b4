package plan

import (
	"fmt"
	"slices"
	"time"

	"trueup/internal/kind"
	"trueup/internal/ledger"
	"trueup/internal/routing"
)

// BlockHeld blocks what holds keep from being sent, and what waits for it. It reports whether there is any.
func (p *Plan) BlockHeld(holds []ledger.Hold, at time.Time) bool {
	held := map[kind.Key]bool{}
	for i := range p.Items {
		it := &p.Items[i]
		if hold := ledger.FindHold(holds, it.Key, at); hold != nil && it.Request != nil {
			held[it.Key] = true
			it.blockForPerson(hold.String(), hold.Fix())
		}
	}
	return p.blockWaiting(held, "a hold")
}

// BlockAbove blocks the items whose SentRisk is graver than most, and those that wait for them. A person decides about
// them, and the rest of the plan can be sent without. It reports whether it blocked any.
func (p *Plan) BlockAbove(most kind.Risk) bool {
	held, risks, option := map[kind.Key]bool{}, map[kind.Key]kind.Risk{}, "--auto-approve="+most.Class()
	for _, it := range p.Items {
		risks[it.Key] = it.SentRisk()
	}
	for i := range p.Items {
		it := &p.Items[i]
		risk := risks[it.Key]
		if !it.Op.sendsRequest() || risk <= most {
			continue
		}
		held[it.Key] = true
		needed := risk
		for _, key := range it.After {
			needed = max(needed, risks[key])
		}
		it.blockForPerson(fmt.Sprintf("its risk is %s, and %s approves less: it %s", risk, option, risk.Meaning()),
			"review it, then run trueup apply with --auto-approve="+needed.Class())
	}
	return p.blockWaiting(held, option)
}

// blockWaiting blocks the items that wait for those that are held back by what by names. It reports whether there are any of
// those: otherwise the plan stays as it is, with its digest.
func (p *Plan) blockWaiting(held map[kind.Key]bool, by string) bool {
	if len(held) == 0 {
		return false
	}
	for i := range p.Items {
		it := &p.Items[i]
		if at := slices.IndexFunc(it.After, func(key kind.Key) bool { return held[key] }); at >= 0 && it.Op.sendsRequest() {
			it.blockForNow(fmt.Sprintf("this waits for %s, which %s holds back", it.After[at], by), "decide about that object first")
		}
	}
	p.Digest, p.Summary = "", p.CountItems()
	p.Requests = slices.DeleteFunc(slices.Clone(p.Requests), func(l routing.RequestChange) bool {
		return !slices.ContainsFunc(l.Objects, func(key kind.Key) bool { return !held[key] })
	})
	return true
}
