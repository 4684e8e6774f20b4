package plan

import (
	"fmt"

	"trueup/internal/kind"
	"trueup/internal/ledger"
)

// OpenOnly is the part of a plan that ends what was begun before: the items
// whose request has no outcome yet, by the records that the plan was made from
// (design 0.12). One that waits for an object which is not as git says goes on
// waiting: nothing is sent here that nobody has claimed.
func (p *Plan) OpenOnly(records map[kind.Key]ledger.Record) *Plan {
	out := *p
	out.Items, out.Unmanaged = nil, nil
	for _, it := range p.Items {
		if !records[it.Key].Open() {
			continue
		}
		if len(it.After) > 0 {
			block(&it, fmt.Sprintf("%s is not as git says yet, and this comes after it", it.After[0]),
				"trueup apply sends both")
			it.After, it.NeedsPerson = nil, false
		}
		out.Items = append(out.Items, it)
	}
	out.Summary = summarize(&out)
	return &out
}
