package plan

import (
	"cmp"
	"fmt"

	"trueup/internal/kind"
	"trueup/internal/ledger"
)

// If the ledger knows objects of an area, a plan may create so many others, or so much
// of what git has there, whichever is more, without --max-creates.
const (
	defaultFreeCreates = 10
	defaultFreePercent = 50
	hundredPercent     = 100
)

// knows reports whether the ledger says that an object was live.
func knows(rec ledger.Record) bool {
	return rec.Applied != nil || rec.State == ledger.Posted || rec.State == ledger.Adopted
}

// history returns the areas that trueup applied to before, also with objects of no manifest: another
// tree is as wrong as another workspace.
func (p *Planner) history() map[kind.Area]bool {
	areas := map[kind.Area]bool{}
	for key, rec := range p.in.Ledger.Records {
		if p.in.Sandbox && p.in.Set.Find(key) == nil {
			continue // it begins with objects that nobody applied
		}
		if k, ok := kind.Named(key.Kind); ok && !k.RequestOnly() && knows(rec) {
			areas[k.Area] = true
		}
	}
	return areas
}

// manyCreates blocks many creations in an area that was applied to before: live, or git, may be the
// wrong place. A first apply is free (docs/design.md C4).
func (p *Planner) manyCreates(out *Plan, ops map[kind.Key]Op) {
	o, history, objects, creates := p.in.Options, p.history(), map[kind.Area]int{}, map[kind.Area][]*Item{}
	for _, o := range p.in.Set.Objects {
		if !o.Kind.RequestOnly() {
			objects[o.Kind.Area]++
		}
	}
	for i := range out.Items {
		if it := &out.Items[i]; it.Op == Create {
			k, _ := kind.Named(it.Kind)
			creates[k.Area] = append(creates[k.Area], it)
		}
	}
	for area, items := range creates {
		n := len(items)
		free := max(cmp.Or(o.FreeCreates, defaultFreeCreates), objects[area]*cmp.Or(o.FreePercent, defaultFreePercent)/hundredPercent)
		if !history[area] || n <= max(free, o.MaxCreates) {
			continue
		}
		for _, it := range items {
			it.block(fmt.Sprintf("the plan would create %d of the %d objects of the %s area, although trueup applied to it before", n, objects[area], area),
				fmt.Sprintf("check workspace, addresses and manifests; if they are right, add --max-creates %d", n))
			ops[it.Key] = Blocked
		}
	}
}
