package plan

import (
	"fmt"
	"slices"
	"strings"

	"trueup/internal/canon"
	"trueup/internal/kind"
	"trueup/internal/ledger"
	"trueup/internal/manifest"
)

// Base is what git had before. A manifest that is not in it did not leave git
// (docs/design.md C6). Base proves deletions and nothing else.
type Base struct {
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

// departed is a live object that the ledger knows and no manifest names.
type departed struct {
	*Planner
	key  kind.Key
	live kind.Object
	rec  ledger.Record
	// broken says that a manifest has errors.
	broken bool
}

// decide deletes an object that trueup provably created and that has left git, and
// keeps every other.
func (d *departed) decide() Item {
	item := Item{Key: d.key, Cause: FromRemoval, Live: Fingerprint{Exists: true, UID: d.live.UID}, Made: d.live.CreationTimestamp}
	if d.live.Name != d.key.Name {
		item.RemoteName = d.live.Name
	}
	if d.rec.Spec != nil {
		item.Disk = text(canon.MustDecode(d.rec.Spec), d.live.Kind.DiskField...)
	}
	// A deletion needs all of these, beside a whole list and a whole project; each says
	// why it is missing and what to do, or nothing (docs/design.md C6).
	for _, proof := range []func() (missing, fix string){d.permitted, d.wholeTree, d.made, d.same, d.stood, d.unmarked} {
		if missing, fix := proof(); missing != "" {
			item.Op, item.Reason, item.Fix = Kept, "removed from git; "+missing, fix
			return item
		}
	}
	item.Op = Delete
	item.Request = &Request{Method: methodDelete, Path: d.live.Kind.ShortObjectPath(d.live.Name)}
	return item
}

// permitted requires a documented deletion, an object that is not being deleted yet,
// and --prune.
func (d *departed) permitted() (missing, fix string) {
	switch {
	case !d.live.Kind.Can(kind.Delete):
		return "the platform documents no deletion, so it stays live", "delete it in the web console if you don't need it"
	case d.live.Terminating:
		return "it is already being deleted", "wait until it is gone"
	case !d.in.Options.Prune:
		return "it stays live without --prune", "plan --prune shows whether it may be deleted"
	}
	return "", ""
}

// wholeTree requires that every manifest was read: an unread one may be in git.
func (d *departed) wholeTree() (missing, fix string) {
	switch o := d.in.Options; {
	case d.broken:
		return "it stays while manifests have errors", "mend them first"
	case o.Unread:
		return "it stays because part of the tree was not read", "fix what validate warns about"
	case o.Targets != nil:
		return "it stays because --target covers only part of the project", "run it for the whole project, without --target"
	case len(d.in.Set.Objects) == 0:
		return "it stays because no manifest is left, which looks like a mistake",
			"delete it by hand if that is intended: " + d.byHand()
	}
	return "", ""
}

// made requires a record that a request of trueup created the object.
func (d *departed) made() (missing, fix string) {
	if d.rec.Ours() {
		return "", ""
	}
	why := "the ledger does not show that trueup created it"
	switch {
	case d.rec.Gone():
		why = d.rec.Unmade() + " before, and it is still live"
	case d.rec.State == ledger.Adopted:
		why = "it was adopted and not created by trueup"
	case d.rec.State == ledger.Posted && d.rec.Outcome != nil && d.rec.Outcome.How == ledger.Found:
		why = "it was found after a request that got no answer, which does not prove that trueup created it"
	case d.rec.State == ledger.Posted && d.rec.Outcome != nil && d.rec.Outcome.How == ledger.Operator:
		why = "a person said that trueup created it, but no answer of the platform proves it"
	case d.rec.State == "" && d.rec.Applied != nil:
		why = "it was live before trueup could create it"
	}
	return "it stays: " + why, "delete it by hand if you don't need it: " + d.byHand()
}

// same requires that live has the uid and creation time that the platform answered
// when it created the object.
func (d *departed) same() (missing, fix string) {
	switch {
	case d.rec.UID == "" || d.rec.CreationTimestamp == "":
		missing = "the platform did not say which object it created (no uid or creationTimestamp in its answer)"
	case d.rec.UID != d.live.UID || d.rec.CreationTimestamp != d.live.CreationTimestamp:
		missing = "live is another object of that name, not the one that trueup created"
	default:
		return "", ""
	}
	return "it stays: " + missing, "delete it by hand if you don't need it: " + d.byHand()
}

// stood requires that an earlier commit has the manifest, and no folder has it now.
func (d *departed) stood() (missing, fix string) {
	if where := d.in.Base.Elsewhere[d.key]; where != "" {
		return "it stays: its manifest is in " + where + ", which is not read here",
			"remove it there too, or name its folder in trueup.yaml"
	}
	base := d.in.Base
	if d.find(base.Trees) != nil {
		return "", ""
	}
	if base.Problem != "" {
		return "it stays, because nothing proves that it was in git: " + base.Problem, base.Fix
	}
	refs := make([]string, len(base.Trees))
	for i, t := range base.Trees {
		refs[i] = t.Ref
	}
	return "it stays, because nothing proves that it was in git: its manifest is not in " + strings.Join(refs, ", nor in "),
		"name a commit that has it with --base-ref REF"
}

// find returns the manifest of the first tree that has it, or nil.
func (d *departed) find(trees []BaseTree) *manifest.Object {
	for _, t := range trees {
		if o := t.Set.Find(d.key); o != nil {
			return o
		}
	}
	return nil
}

// unmarked requires that neither manifest nor live has the annotation that keeps it.
func (d *departed) unmarked() (missing, fix string) {
	const mark = "marked " + kind.KeepAnnotation
	switch {
	case d.find(slices.Concat(d.in.Base.Newer, d.in.Base.Trees)).Keep:
		return "it stays: its manifest was " + mark,
			"to delete it, first restore the manifest without the annotation, and remove it in a later commit"
	case d.live.Keep:
		return "it stays: live is " + mark, "remove the annotation if you don't need it"
	}
	return "", ""
}

// byHand is the call that a person would make.
func (d *departed) byHand() string {
	return methodDelete + " " + d.live.Kind.ShortObjectPath(d.live.Name)
}

// leftGit reports live objects that no manifest names: those that the ledger
// knows have left git and are deleted or kept (docs/design.md C6), the others are only
// counted.
func (p *Planner) leftGit(out *Plan, broken bool) {
	elsewhere, unsure := 0, map[string]int{}
	for _, obj := range p.in.Live.Unmanaged {
		key, ok := p.renamed[obj.Key()]
		if !ok {
			key = obj.Key()
		}
		rec := p.in.Ledger.Records[key]
		switch {
		case rec.Open(): // openLeft asks about it
		case rec.Blank() || rec.Gone() && rec.UID != obj.UID:
			out.Unmanaged = append(out.Unmanaged, obj.Key())
		case p.incomplete(obj.Kind):
			unsure[key.Kind]++
		case p.in.Options.PartOfTree:
			elsewhere++
		case p.targeted(key):
			d := &departed{Planner: p, key: key, live: obj, rec: rec, broken: broken}
			out.Items = append(out.Items, d.decide())
		}
	}
	if elsewhere > 0 {
		out.note("only part of the project was read: the plan does not show %s that the ledger knows", counted(elsewhere, "more live object"))
	}
	p.unlisted(out, unsure)
	p.fewDeletes(out)
}

// incomplete reports whether the list of a kind is known to leave something out.
func (p *Planner) incomplete(k *kind.Kind) bool {
	list, listed := p.in.Live.Lists[k.Name]
	return listed && !list.Complete
}

// unlisted notes the kinds whose removed objects are not known.
func (p *Planner) unlisted(out *Plan, unsure map[string]int) {
	for _, k := range kind.All() {
		_, listed := p.in.Live.Lists[k.Name]
		switch {
		case p.incomplete(k):
			counts := ""
			if n := unsure[k.Name]; n > 0 {
				counts = fmt.Sprintf("; live objects in the ledger without a manifest: %d", n)
			}
			out.note("the list of %s is incomplete, so trueup does not look for removed ones and deletes none%s", k.Name, counts)
		case p.in.Options.Prune && !listed && k.Can(kind.Delete):
			out.note("trueup deletes no %s, because it has no address or no token of the %s area", k.Name, k.Area)
		}
	}
}

// fewDeletes blocks all deletions if there are more than allowed.
func (p *Planner) fewDeletes(out *Plan) {
	var deletes []*Item
	for i := range out.Items {
		if out.Items[i].Op == Delete {
			deletes = append(deletes, &out.Items[i])
		}
	}
	n := len(deletes)
	if n <= p.in.Options.MaxDeletes {
		return
	}
	for _, it := range deletes {
		it.block(fmt.Sprintf("removed from git; %d would be deleted and --max-deletes is %d, so none is", n, p.in.Options.MaxDeletes),
			fmt.Sprintf("review each; to delete all of them, add --max-deletes %d", n))
	}
}
