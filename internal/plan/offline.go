package plan

import (
	"fmt"
	"slices"

	"trueup/internal/canon"
	"trueup/internal/kind"
	"trueup/internal/ledger"
	"trueup/internal/manifest"
	"trueup/internal/merge"
)

// MakeOffline compares git with the base only, as if that were live and applied. The plan has no requests,
// because apply decides them against live, and asserts nothing.
func MakeOffline(in Inputs, past BaseState) *Plan {
	in.Live.Objects, in.Ledger.Records = map[kind.Key]kind.LiveObject{}, map[kind.Key]ledger.Record{}
	unclear := map[kind.Key]bool{}
	for _, o := range in.Set.Objects {
		was, known := past.findBefore(o.Key(), o)
		if !known {
			unclear[o.Key()] = true
		}
		if was != nil {
			in.Live.Objects[o.Key()] = kind.LiveObject{Kind: o.Kind, Name: o.Name, Host: was.Host, Spec: was.Spec, Digest: was.Digest}
			in.Ledger.Records[o.Key()] = ledger.Record{Applied: was.Spec}
		}
	}
	p := NewPlanner(in)
	out := &Plan{
		Format: Format, Tool: in.Tool, Offline: true, Target: in.Target, LedgerStore: in.LedgerStore, Blame: &past.Blame,
		Notes: []string{"trueup compared git with git only: drift and earlier unfinished applies are not shown"},
	}
	all := p.planObjects(func(d *objectPlanner) {
		d.planAgainstBase()
		if unclear[d.item.Key] {
			d.item.Cause, d.item.By = FromUnknown, ""
		} else {
			p.blockTakenHost(&d.item, d.manifest)
		}
	})
	out.Items = slices.DeleteFunc(all.items, func(it Item) bool { return !p.isTargeted(it.Key) })
	if n := len(unclear); n > 0 {
		out.addNote("some manifests of the base have errors, so trueup can't tell whether %s existed before", countNoun(n, "object"))
	}
	p.addGoneSinceBase(out, past)
	p.arrangeItems(out, all.ops, nil)
	p.adviseOnPlan(out, all, out.addRequests(all.requests, false))
	out.Settings = append(p.compareSettings(past.Project), p.addedSilences(out, past)...)
	out.WeighRisks()
	out.Summary = out.CountItems()
	return out
}

// planAgainstBase plans one object against the base.
func (d *objectPlanner) planAgainstBase() {
	d.beginItem()
	o, item := d.manifest, &d.item
	if !d.item.Live.Exists {
		d.planObjectNewInGit(item, o)
		return
	}
	if SpecDigest(o.Kind, d.live.Spec) == SpecDigest(o.Kind, o.Spec) {
		return
	}
	in, _ := d.mergeInput()
	res := merge.Compare(in)
	if len(res.Changes) == 0 {
		return
	}
	item.Changes, item.Lists, item.Collateral = d.explainChanges(res.Changes, in.Live), res.Lists, res.Collateral
	for c := range item.allChanges() {
		c.Cause, c.By = blameCause(c.Cause, true)
	}
	// Without the ledger, plan does not know whether an object that is created once was created. So it gives a fix
	// instead of a question.
	const fix = "restore the old spec, and give the new one another name"
	switch o.Kind.Policy {
	case kind.Converge:
		item.Op = Patch
	case kind.CreateOnly:
		item.blockForNow("its spec changed; it may already exist, and a snapshot can't be changed", fix)
	case kind.RequestOnly:
		item.blockForNow("its spec changed; it may already have been sent, and then its name can't be used again", fix)
	}
}

// blockTakenHost blocks an object that comes to a hostname which another has in git.
func (p *Planner) blockTakenHost(item *Item, o *manifest.Object) {
	host := kind.HostKey(o.Host)
	if was, ok := p.in.Live.Objects[o.Key()]; ok && kind.HostKey(was.Host) == host || o.Kind.IsSendOnce() {
		return
	}
	in := p.hosts[host]
	if i := slices.IndexFunc(in, func(other *manifest.Object) bool { return other != o }); i >= 0 {
		item.blockForNow(fmt.Sprintf("%s has the hostname %s too", in[i].Key(), o.Host), anotherHostname)
	}
}

// planObjectNewInGit plans an object that git did not have.
func (p *Planner) planObjectNewInGit(item *Item, o *manifest.Object) {
	item.Op, item.Cause, item.By = Create, FromThisChange, ByThisChange
	item.Spec = p.specToSend(o)
	if !o.Kind.IsRequestOnly() {
		item.Disk = canon.TextAt(canon.MustDecode(o.Spec), o.Kind.DiskField...)
		return
	}
	item.Op = Post
	spec := parseSpec(o.Spec)
	item.Purge = newPurgeInfo(spec)
	item.Purge.Budget = spec.Usage()
	if _, _, ok := p.findServingObject(spec.Hostname); !ok {
		item.addHint("nothing in git serves " + spec.Hostname + ": trueup can't tell whether live does")
	}
}

// addGoneSinceBase adds the objects that git had and does not have any more.
func (p *Planner) addGoneSinceBase(out *Plan, past BaseState) {
	var gone []Item
	for _, o := range past.Set.Objects {
		if p.in.Set.Find(o.Key()) != nil || !p.isTargeted(o.Key()) {
			continue
		}
		item := Item{Key: o.Key(), Op: Kept, Cause: FromThisChange, By: ByThisChange, Live: Fingerprint{Exists: true, Digest: new(o.Digest)}}
		switch {
		case o.Kind.IsRequestOnly():
			item.Live = Fingerprint{}
			item.Reason = "if it was not sent before, trueup never sends it"
		case o.Kind.Documents(kind.Delete):
			item.Reason = "it stays live without --prune"
		default:
			item.Reason = "the platform documents no deletion, so it stays live"
		}
		gone = append(gone, item)
	}
	if (p.in.Options.PartOfTree || past.Partial) && len(gone) > 0 {
		out.addNote("trueup read only part of the project, so the plan does not show %s that git had before", countNoun(len(gone), "more object"))
		return
	}
	out.Items = append(out.Items, gone...)
}
