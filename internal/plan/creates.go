package plan

import (
	"fmt"

	"trueup/internal/kind"
	"trueup/internal/ledger"
)

// If the ledger knows objects of an area, a plan may create so many others, or so much
// of what git has there, whichever is more, without --max-creates.
const (
	freeCreates    = 10
	freePercent    = 50
	hundredPercent = 100
)

// area is what git and the ledger have of an area, without requests that are sent once.
type area struct {
	// objects counts the objects in git. known counts those of them that were live according to the ledger, and that
	// are not known to be gone.
	objects, known int
	// present means that at least one known object is live. In a wrong workspace, none is (docs/design.md C4).
	present bool
	// applied means that trueup has applied objects of this area before, possibly of other manifests.
	applied bool
}

func newAreas(in Inputs) map[kind.Area]*area {
	areas := map[kind.Area]*area{}
	for _, k := range kind.All() {
		areas[k.Area] = &area{}
	}
	for _, o := range in.Set.Objects {
		if o.Kind.RequestOnly() {
			continue
		}
		a, rec := areas[o.Kind.Area], in.Ledger.Records[o.Key()]
		a.objects++
		if knows(rec) && !rec.Gone() && !in.Options.AllowRecreate[o.Key()] {
			_, live := in.Live.Objects[o.Key()]
			if a.known++; live {
				a.present = true
			}
		}
	}
	for key, rec := range in.Ledger.Records {
		if k, ok := kind.Named(key.Kind); ok && !k.RequestOnly() && in.applied(key, rec) {
			areas[k.Area].applied = true
		}
	}
	return areas
}

// applied reports whether trueup applied an object. In the sandbox, objects that are not in git are samples.
func (in Inputs) applied(key kind.Key, rec ledger.Record) bool {
	return knows(rec) && (!in.Sandbox || in.Set.Find(key) != nil)
}

// knows reports whether the ledger says that an object was live.
func knows(rec ledger.Record) bool {
	return rec.Applied != nil || rec.State == ledger.Posted || rec.State == ledger.Adopted
}

// manyCreates blocks many creations in an area that was applied to before: live, or git, may be the
// wrong place. A first apply is free (docs/design.md C4).
func (p *Planner) manyCreates(out *Plan, ops map[kind.Key]Op) {
	creates := map[kind.Area][]*Item{}
	for i := range out.Items {
		if it := &out.Items[i]; it.Op == Create {
			k, _ := kind.Named(it.Kind)
			creates[k.Area] = append(creates[k.Area], it)
		}
	}
	for name, items := range creates {
		n, a := len(items), p.areas[name]
		if !a.applied || n <= max(freeCreates, a.objects*freePercent/hundredPercent, p.in.Options.MaxCreates) {
			continue
		}
		for _, it := range items {
			it.block(fmt.Sprintf("the plan would create %d of the %d objects of the %s area, although trueup applied to it before", n, a.objects, name),
				fmt.Sprintf("check workspace, addresses and manifests; if they are right, add --max-creates %d", n))
			ops[it.Key] = Blocked
		}
	}
}
