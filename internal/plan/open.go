package plan

import (
	"fmt"

	"trueup/internal/kind"
	"trueup/internal/ledger"
)

// OpenOnly is the part of a plan whose requests were begun and have no outcome (docs/design.md 0.12).
// One that waits for an object which is not in sync goes on waiting.
func (p *Plan) OpenOnly(records map[kind.Key]ledger.Record) *Plan {
	var items []Item
	for _, it := range p.Items {
		if !records[it.Key].Open() {
			continue
		}
		if len(it.After) > 0 {
			it.hold(fmt.Sprintf("this waits for %s, which still differs from git", it.After[0]), "trueup apply sends both")
			it.After = nil
		}
		items = append(items, it)
	}
	return p.with(items)
}

// Only is the part of a plan that concerns one object, which then waits for nothing else.
func (p *Plan) Only(key kind.Key) *Plan {
	var items []Item
	for _, it := range p.Items {
		if it.Key == key {
			it.After = nil
			items = append(items, it)
		}
	}
	return p.with(items)
}

// with is the plan with other items, and nothing of what it leaves alone.
func (p *Plan) with(items []Item) *Plan {
	out := *p
	out.Items, out.Unmanaged, out.Digest = items, nil, ""
	out.Summary = summarize(&out)
	return &out
}
