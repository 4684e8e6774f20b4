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
	// Newer are trees that prove nothing, and where a manifest may have been marked
	// since: they are looked at before Trees for that.
	Newer []BaseTree
	// Elsewhere are the files, in folders that were not read, of manifests that
	// stood in Trees: they did not leave git.
	Elsewhere map[kind.Key]string
	// Problem says why a tree could not be looked at, and Fix what to do; both are
	// empty where there was none.
	Problem string
	Fix     string
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
	item Item
	live kind.Object
	rec  ledger.Record
	// broken says that a manifest has errors.
	broken bool
}

// proofs are what a deletion needs, all of them, beside a whole list and a whole
// project; each says why it is missing and what to do, or nothing (docs/design.md C6).
func (d *departed) proofs() []func() (missing, fix string) {
	return []func() (missing, fix string){
		d.permitted, d.wholeTree, d.made, d.same, d.stood, d.unmarked,
	}
}

// decide deletes what is proven in every way to be ours and to have left git, and
// keeps everything else.
func (d *departed) decide() Item {
	for _, proof := range d.proofs() {
		if missing, fix := proof(); missing != "" {
			d.item.Op, d.item.Reason, d.item.Fix = Kept, "removed from git; "+missing, fix
			return d.item
		}
	}
	k := d.live.Kind
	d.item.Op = Delete
	d.item.Request = &Request{Method: methodDelete, Path: k.ShortObjectPath(d.live.Name)}
	return d.item
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
	if where := d.in.Base.Elsewhere[d.item.Key]; where != "" {
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
		if o := t.Set.Find(d.item.Key); o != nil {
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
		key := p.gitKey(obj)
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
			d := &departed{Planner: p, live: obj, rec: rec, broken: broken}
			d.item = d.describe(key)
			out.Items = append(out.Items, d.decide())
		}
	}
	if elsewhere > 0 {
		out.Notes = append(out.Notes, fmt.Sprintf("only part of the project was read: the plan does not show %s that the ledger knows", counted(elsewhere, "more live object")))
	}
	p.unlisted(out, unsure)
	p.fewDeletes(out)
}

// describe is the item of a live object without a manifest.
func (d *departed) describe(key kind.Key) Item {
	item := Item{Key: key, Cause: FromRemoval, Live: Fingerprint{Exists: true, UID: d.live.UID}, Made: d.live.CreationTimestamp}
	if d.live.Name != key.Name {
		item.RemoteName = d.live.Name
	}
	if d.rec.Spec != nil {
		item.Disk = text(canon.MustDecode(d.rec.Spec), d.live.Kind.DiskField...)
	}
	return item
}

// gitKey is git's key of a live object: the server may call it otherwise.
func (p *Planner) gitKey(obj kind.Object) kind.Key {
	if key, ok := p.renamed[obj.Key()]; ok {
		return key
	}
	return obj.Key()
}

// renamed maps the server's keys of objects that no manifest names any more to
// those of the ledger, where they differ.
func renamed(in Inputs) map[kind.Key]kind.Key {
	names := map[kind.Key]kind.Key{}
	for key, rec := range in.Ledger.Records {
		if rec.RemoteName != "" && rec.RemoteName != key.Name && in.Set.Find(key) == nil {
			names[kind.Key{Kind: key.Kind, Name: rec.RemoteName}] = key
		}
	}
	return names
}

// incomplete reports whether the list of a kind is known to leave something out.
func (p *Planner) incomplete(k *kind.Kind) bool {
	list, listed := p.in.Live.Lists[k.Name]
	return listed && !list.Complete
}

// unlisted says of which kinds nothing is known by their lists: how many objects
// left git is only counted, and none of them is deleted.
func (p *Planner) unlisted(out *Plan, unsure map[string]int) {
	for _, k := range kind.All() {
		_, listed := p.in.Live.Lists[k.Name]
		switch {
		case p.incomplete(k):
			note := fmt.Sprintf("the list of %s is incomplete, so trueup does not look for removed ones and deletes none", k.Name)
			if n := unsure[k.Name]; n > 0 {
				note += fmt.Sprintf("; live objects in the ledger without a manifest: %d", n)
			}
			out.Notes = append(out.Notes, note)
		case p.in.Options.Prune && !listed && k.Can(kind.Delete):
			out.Notes = append(out.Notes, fmt.Sprintf("trueup deletes no %s, because it has no address or no token of the %s area", k.Name, k.Area))
		}
	}
}

// fewDeletes blocks all deletions where they are more than were allowed.
func (p *Planner) fewDeletes(out *Plan) {
	n := 0
	for _, it := range out.Items {
		if it.Op == Delete {
			n++
		}
	}
	if n <= p.in.Options.MaxDeletes {
		return
	}
	for i := range out.Items {
		if it := &out.Items[i]; it.Op == Delete {
			block(it, fmt.Sprintf("removed from git; %d would be deleted and --max-deletes is %d, so none is", n, p.in.Options.MaxDeletes),
				fmt.Sprintf("review each; to delete all of them, add --max-deletes %d", n))
		}
	}
}
