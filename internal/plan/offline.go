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

// Offline compares git with the base only. The plan has no requests, because apply decides them
// against live, and asserts nothing.
func Offline(in Inputs, past Past) *Plan {
	p := NewPlanner(in)
	out := &Plan{
		Format: Format, Tool: in.Tool, Offline: true, Target: in.Target, LedgerStore: in.LedgerStore, Blame: &past.Blame,
		Notes: []string{"trueup compared git with git only: drift and earlier unfinished applies are not shown"},
	}
	ops := make(map[kind.Key]Op, len(in.Set.Objects))
	unclear := 0
	for _, o := range in.Set.Objects {
		was, known := past.find(o.Key(), o)
		item := p.sinceBase(o, was)
		if !known {
			item.Cause, item.By = FromGit, ""
			unclear++
		} else if was == nil || kind.HostKey(was.Host) != kind.HostKey(o.Host) {
			p.takes(&item, o)
		}
		ops[o.Key()] = item.Op
		if p.targeted(o.Key()) {
			out.Items = append(out.Items, item)
		}
	}
	if unclear > 0 {
		out.note("some manifests of the base have errors: %s may be new, or may have been there", counted(unclear, "object"))
	}
	p.goneSinceBase(out, past)
	p.arrange(out, ops, nil)
	p.advise(out, ops, func(key kind.Key) []byte {
		if was, _ := past.find(key, in.Set.Find(key)); was != nil {
			return was.Spec
		}
		return nil
	})
	out.Settings = append(p.compareSettings(past.Project, past.counterpart), p.newSilences(out, past)...)
	out.Weigh()
	out.Summary = summarize(out)
	return out
}

// counterpart is an object as the base has it, as if that were live and applied.
func (past Past) counterpart(o *manifest.Object) (kind.Object, ledger.Record, bool) {
	was, _ := past.find(o.Key(), o)
	if was == nil {
		return kind.Object{}, ledger.Record{}, false
	}
	return kind.Object{Spec: was.Spec, Digest: was.Digest}, ledger.Record{Applied: was.Spec}, true
}

// sinceBase plans one object against the base; was is nil if the base lacks it.
func (p *Planner) sinceBase(o, was *manifest.Object) Item {
	item := Item{Key: o.Key(), Path: o.Path, Line: o.Line, Op: None, DesiredDigest: &o.Digest}
	if was == nil {
		p.isNew(&item, o)
		return item
	}
	item.Live = Fingerprint{Exists: true, Digest: &was.Digest}
	if SpecDigest(o.Kind, was.Spec) == SpecDigest(o.Kind, o.Spec) {
		return item
	}
	before := canon.MustDecode(was.Spec)
	res := merge.Compare(merge.Input{
		Rules: p.rules[o.Kind.Name], Applied: before, Live: before, Desired: canon.MustDecode(o.Spec),
	})
	if len(res.Changes) == 0 {
		return item
	}
	d := &decision{Planner: p, manifest: o}
	item.Changes, item.Lists, item.Collateral = d.explained(res.Changes), res.Lists, res.Collateral
	for c := range item.all() {
		c.Cause, c.By = blame(c.Cause, true)
	}
	// Apply may find that one that is made or sent once never was, so nobody is asked.
	const fix = "restore the old spec, and give the new one another name"
	switch o.Kind.Policy {
	case kind.Converge:
		item.Op = Patch
	case kind.CreateOnly:
		item.hold("its spec changed; it may already exist, and a snapshot can't be changed", fix)
	case kind.RequestOnly:
		item.hold("its spec changed; it may already have been sent, and then its name can't be used again", fix)
	}
	return item
}

// takes blocks an object that comes to a hostname which another has in git.
func (p *Planner) takes(item *Item, o *manifest.Object) {
	in := p.hosts[kind.HostKey(o.Host)]
	i := slices.IndexFunc(in, func(other *manifest.Object) bool { return other != o })
	if !o.Kind.SentOnce() && i >= 0 {
		item.hold(fmt.Sprintf("%s has the hostname %s too", in[i].Key(), o.Host), anotherHostname)
	}
}

// isNew plans an object that git did not have.
func (p *Planner) isNew(item *Item, o *manifest.Object) {
	item.Op, item.Cause, item.By = Create, FromThisChange, ByThisChange
	item.Spec = p.sendable(o)
	if !o.Kind.RequestOnly() {
		item.Disk = text(canon.MustDecode(o.Spec), o.Kind.DiskField...)
		return
	}
	item.Op = Post
	spec := parseSpec(o.Spec)
	item.Purge = newPurgeInfo(spec)
	item.Purge.Budget = spec.Usage()
	if _, _, ok := p.server(spec.Hostname); !ok {
		item.hint("nothing in git serves " + spec.Hostname + ": trueup can't tell whether live does")
	}
}

// goneSinceBase adds the objects that git had and does not have any more.
func (p *Planner) goneSinceBase(out *Plan, past Past) {
	var gone []Item
	for _, o := range past.Set.Objects {
		if p.in.Set.Find(o.Key()) != nil || !p.targeted(o.Key()) {
			continue
		}
		item := Item{Key: o.Key(), Op: Kept, Cause: FromRemoval, By: ByThisChange, Live: Fingerprint{Exists: true, Digest: &o.Digest}}
		switch {
		case o.Kind.RequestOnly():
			item.Live = Fingerprint{}
			item.Reason = "removed from git; if it was not sent before, trueup never sends it"
		case o.Kind.Can(kind.Delete):
			item.Reason = "removed from git; it stays live without --prune"
		default:
			item.Reason = "removed from git; the platform documents no deletion, so it stays live"
		}
		gone = append(gone, item)
	}
	if (p.in.Options.PartOfTree || past.Partial) && len(gone) > 0 {
		out.note("only part of the project was read: the plan does not show %s that git had before", counted(len(gone), "more object"))
		return
	}
	out.Items = append(out.Items, gone...)
}
