package plan

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"trueup/internal/canon"
	"trueup/internal/diag"
	"trueup/internal/kind"
	"trueup/internal/ledger"
	"trueup/internal/manifest"
)

// PruneBase is what git had before. It proves that a manifest left git, and nothing else
// (docs/design.md C6).
type PruneBase struct {
	// Trees are looked at one after the other.
	Trees []BaseTree
	// Newer are trees that prove nothing. A manifest may have been marked there since, so
	// marks are looked for here before Trees.
	Newer []BaseTree
	// Elsewhere are the files, in folders that were not read, of manifests in Trees: they
	// did not leave git.
	Elsewhere map[kind.Key]string
	// Problem says why a tree could not be read, and Fix what to do.
	Problem, Fix string
}

// BaseTree has the manifests of one commit.
type BaseTree struct {
	// Ref is how the user knows the commit.
	Ref string
	Set *manifest.Set
}

// pruneCandidate is a live object that the ledger knows and no manifest names.
type pruneCandidate struct {
	*Planner
	key  kind.Key
	live kind.LiveObject
	rec  ledger.Record
	// broken says that a manifest has errors.
	broken bool
}

// planDeparted deletes an object that trueup provably created and that has left git, else keeps it.
func (d *pruneCandidate) planDeparted() Item {
	item := Item{Key: d.key, Cause: FromRemoval, Live: Fingerprint{Exists: true, UID: d.live.UID}, Made: d.live.CreationTimestamp, Hostname: d.live.Host}
	if d.live.Name != d.key.Name {
		item.RemoteName = d.live.Name
	}
	if d.rec.Spec != nil {
		item.Disk = canon.TextAt(canon.MustDecode(d.rec.Spec), d.live.Kind.DiskField...)
	}
	if why, fix := d.whyKept(); why != "" {
		item.Op, item.Reason, item.Fix = Kept, why, fix
		return item
	}
	item.Op = Delete
	item.Request = &Request{Method: "DELETE", Path: d.live.Kind.ShortObjectPath(d.live.Name)}
	return item
}

// whyKept returns what a deletion lacks, beside a whole list and a whole project, and what to do; or
// nothing (docs/design.md C6).
func (d *pruneCandidate) whyKept() (why, fix string) {
	const mark, noBase = "marked " + kind.KeepAnnotation, "it stays, because nothing proves that it was in git: "
	o, base, elsewhere, foreign := d.in.Options, d.in.Base, d.in.Base.Elsewhere[d.key], d.whyForeign()
	byHand := "delete " + d.live.Kind.Name + " " + d.live.Name + " by hand"
	inGit, marked := d.findManifest(base.Trees), d.findManifest(slices.Concat(base.Newer, base.Trees))
	refs := diag.MapList(base.Trees, func(t BaseTree) string { return t.Ref })
	for _, c := range []struct {
		is       bool
		why, fix string
	}{
		{!d.live.Kind.Documents(kind.Delete), "the platform documents no deletion, so it stays live", "delete it in the web console if you don't need it"},
		{d.live.Terminating, "it is already being deleted", "wait until it is gone"},
		{!o.Prune, "it stays live without --prune", "plan --prune shows whether it may be deleted"},
		// An unread manifest may be in git.
		{d.broken, "it stays while manifests have errors", "fix them first"},
		{o.Unread, "it stays because part of the tree was not read", "fix what validate warns about"},
		{o.Targets != nil, "it stays because --target covers only part of the project", "run it for the whole project, without --target"},
		{
			len(d.in.Set.Objects) == 0, "it stays because no manifest is left, which looks like a mistake",
			"if you removed all manifests on purpose, " + byHand,
		},
		{foreign != "", "it stays: " + foreign, byHand + " if you don't need it"},
		{
			elsewhere != "", "it stays: its manifest is in " + elsewhere + ", which is not read here",
			"remove it there too, or name its folder in trueup.yaml",
		},
		{inGit == nil && base.Problem != "", noBase + base.Problem, base.Fix},
		{
			inGit == nil, noBase + "its manifest is not in " + strings.Join(refs, ", nor in "),
			"name a commit that has it with --base-ref REF",
		},
		{
			marked != nil && marked.Keep, "it stays: its manifest was " + mark,
			"to delete it, first restore the manifest without the annotation, and remove it in a later commit",
		},
		{d.live.Keep, "it stays: live is " + mark, "remove the annotation if you don't need it"},
	} {
		if c.is {
			return c.why, c.fix
		}
	}
	return "", ""
}

// whyForeign returns why no record shows that a request of trueup created the live object, or nothing.
func (d *pruneCandidate) whyForeign() string {
	rec := d.rec
	switch {
	case !rec.IsOurs():
		return whyUnproven(rec)
	case rec.UID == "" || rec.CreationTimestamp == "":
		return "the platform did not say which object it created (no uid or creationTimestamp in its answer)"
	case rec.UID != d.live.UID || rec.CreationTimestamp != d.live.CreationTimestamp:
		return "live is another object of that name, not the one that trueup created"
	}
	return ""
}

func whyUnproven(rec ledger.Record) string {
	how := ledger.OutcomeStatus("")
	if rec.State == ledger.Posted && rec.Outcome != nil {
		how = rec.Outcome.How
	}
	switch {
	case rec.IsGone():
		return rec.DescribeDeletion() + " before, and it is still live"
	case rec.State == ledger.Adopted:
		return "it was adopted and not created by trueup"
	case how == ledger.Found:
		return "it was found after a request that got no answer, which does not prove that trueup created it"
	case how == ledger.Operator:
		return "a person said that trueup created it, but no answer of the platform proves it"
	case rec.State == "" && rec.Applied != nil:
		return "it was live before trueup could create it"
	}
	return "the ledger does not show that trueup created it"
}

// findManifest returns the manifest of the first tree that has it, or nil.
func (d *pruneCandidate) findManifest(trees []BaseTree) *manifest.Object {
	for _, t := range trees {
		if o := t.Set.Find(d.key); o != nil {
			return o
		}
	}
	return nil
}

// planRemovedFromGit reports live objects that no manifest names: it deletes or keeps those of the ledger
// (docs/design.md C6), and only counts the others.
func (p *Planner) planRemovedFromGit(out *Plan, broken bool) {
	elsewhere, unsure := 0, map[string]int{}
	for _, obj := range p.in.Live.Unmanaged {
		key := cmp.Or(p.renamed[obj.Key()], obj.Key())
		rec := p.in.Ledger.Records[key]
		switch {
		case rec.IsOpen(): // addOpenWithoutManifest asks about it
		case rec.IsBlank() || rec.IsForgotten() || rec.IsGone() && rec.UID != obj.UID:
			if !p.in.Options.PartOfTree { // otherwise a manifest that was not read may name it
				out.Unmanaged = append(out.Unmanaged, obj.Key())
			}
		case p.isIncomplete(obj.Kind):
			unsure[key.Kind]++
		case p.in.Options.PartOfTree:
			elsewhere++
		case p.isTargeted(key):
			d := &pruneCandidate{Planner: p, key: key, live: obj, rec: rec, broken: broken}
			out.Items = append(out.Items, d.planDeparted())
		}
	}
	if elsewhere > 0 && !p.in.Set.HasOnlyRequests() {
		out.addNote("trueup read only part of the project, so the plan does not show %s that the ledger knows", countNoun(elsewhere, "more live object"))
	}
	p.noteUnlisted(out, unsure)
	p.blockManyDeletes(out)
}

// isIncomplete reports whether the list of a kind is known to leave something out.
func (p *Planner) isIncomplete(k *kind.Kind) bool {
	list, listed := p.in.Live.Lists[k.Name]
	return listed && !list.Complete
}

// noteUnlisted notes the kinds whose removed objects are not known.
func (p *Planner) noteUnlisted(out *Plan, unsure map[string]int) {
	for _, k := range kind.AllKinds() {
		_, listed := p.in.Live.Lists[k.Name]
		switch {
		case p.isIncomplete(k):
			counts := ""
			if n := unsure[k.Name]; n > 0 {
				counts = fmt.Sprintf(" (%s in the ledger without a manifest)", countNoun(n, "live object"))
			}
			out.addNote("the list of %s is incomplete, so trueup can't detect removed objects and deletes none%s", k.Name, counts)
		case p.in.Options.Prune && !listed && k.Documents(kind.Delete):
			out.addNote("trueup deletes no %s, because the %s area has no address or token", k.Name, k.Area)
		}
	}
}

// blockManyDeletes blocks all deletions if there are more than allowed.
func (p *Planner) blockManyDeletes(out *Plan) {
	var deletes []*Item
	for i := range out.Items {
		if out.Items[i].Op == Delete {
			deletes = append(deletes, &out.Items[i])
		}
	}
	n, most := len(deletes), p.in.Project.DeletesAllowed()
	if n <= most {
		return
	}
	for _, it := range deletes {
		it.blockForPerson(fmt.Sprintf("removed from git; the plan would delete %d and maxDeletes is %d, so trueup deletes none", n, most),
			fmt.Sprintf("review each; to delete all of them, write maxDeletes: %d in trueup.yaml", n))
	}
}

// If the ledger knows objects of an area, a plan may create so many others, or so much
// of what git has there, whichever is more, without maxCreates.
const (
	freeCreates    = 10
	freePercent    = 50
	hundredPercent = 100
)

// areaPresence is what git and the ledger have of an area, without requests that are sent once.
type areaPresence struct {
	// objects counts the objects in git. known counts those of them that were live according to the ledger, and that
	// are not known to be gone.
	objects, known int
	// present means that at least one known object is live. In a wrong workspace, none is (docs/design.md C4).
	present bool
	// applied means that trueup has applied objects of this area before, possibly of other manifests.
	applied bool
}

func newAreas(in Inputs) map[kind.Area]*areaPresence {
	areas := map[kind.Area]*areaPresence{}
	for _, k := range kind.AllKinds() {
		areas[k.Area] = &areaPresence{}
	}
	for _, o := range in.Set.Objects {
		if o.Kind.IsRequestOnly() {
			continue
		}
		a, rec := areas[o.Kind.Area], in.Ledger.Records[o.Key()]
		a.objects++
		if wasLive(rec) && !rec.IsGone() && !in.Options.AllowRecreate[o.Key()] {
			_, live := in.Live.Objects[o.Key()]
			if a.known++; live {
				a.present = true
			}
		}
	}
	for key, rec := range in.Ledger.Records {
		// In the sandbox, objects that are not in git are samples.
		if k, ok := kind.FindKind(key.Kind); ok && !k.IsRequestOnly() && wasLive(rec) && (!in.Sandbox || in.Set.Find(key) != nil) {
			areas[k.Area].applied = true
		}
	}
	return areas
}

// wasLive reports whether the ledger says that an object was live.
func wasLive(rec ledger.Record) bool {
	return rec.Applied != nil || rec.State == ledger.Posted || rec.State == ledger.Adopted
}

// blockManyCreates blocks many creations in an area that was applied to before: live, or git, may be the
// wrong place. A first apply is free (docs/design.md C4).
func (p *Planner) blockManyCreates(out *Plan, ops map[kind.Key]Op) {
	creates := map[kind.Area][]*Item{}
	for i := range out.Items {
		if it := &out.Items[i]; it.Op == Create {
			k, _ := kind.FindKind(it.Kind)
			creates[k.Area] = append(creates[k.Area], it)
		}
	}
	for name, items := range creates {
		n, a := len(items), p.areas[name]
		if !a.applied || n <= max(freeCreates, a.objects*freePercent/hundredPercent, p.in.Project.MaxCreates) {
			continue
		}
		for _, it := range items {
			it.blockForPerson(fmt.Sprintf("the plan would create %d of the %d objects of the %s area, although trueup applied to it before", n, a.objects, name),
				fmt.Sprintf("check workspace, addresses and manifests; if they are right, write maxCreates: %d in trueup.yaml", n))
			ops[it.Key] = Blocked
		}
	}
}
