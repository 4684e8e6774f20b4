package plan

import (
	"cmp"
	"fmt"

	"trueup/internal/canon"
	"trueup/internal/ledger"
	"trueup/internal/manifest"
	"trueup/internal/merge"
)

// createOnly plans an object that is created once, never patched, and created again only if a person
// allows it (docs/design.md 0.5 and C6).
func (d *decision) createOnly() {
	o := d.manifest
	d.item.Disk = text(canon.MustDecode(o.Spec), o.Kind.DiskField...)
	switch {
	case d.open():
	case d.unsettled():
		d.showCandidates()
	case d.item.Live.Exists && !d.live.Terminating:
		d.compareMoment()
	default:
		d.createOnce()
	}
}

func (d *decision) createOnce() {
	o := d.manifest
	known := d.made() || d.rec.Applied != nil
	switch {
	case d.rec.State == ledger.Abandoned:
		d.item.Op, d.item.Reason = Kept, "a person abandoned it; trueup does not create it"
	case known && !d.in.Options.AllowRecreate[o.Key()]:
		d.gone()
	case d.live.Terminating:
		d.item.hold("an object of that name is being deleted", "run trueup again when it is gone, or choose another name")
	case d.unrecorded():
	default:
		d.create()
		d.item.Recreate, d.item.Deleted = d.made(), known
		if d.rec.RemoteName != o.Name {
			d.item.RemoteName = d.rec.RemoteName
		}
		d.resend()
	}
}

// made reports whether the ledger says that the object was made.
func (d *decision) made() bool { return d.rec.State == ledger.Posted || d.rec.State == ledger.Adopted }

// gone blocks an item that is in the ledger and not live.
func (d *decision) gone() {
	what := "it was created and no longer exists"
	switch unmade := d.rec.Unmade(); {
	case unmade != "":
		what += ": " + unmade
	case d.live.Terminating:
		what = "live is being deleted"
	}
	d.item.block(what+"; a new one would have other data",
		fmt.Sprintf("remove the manifest from git, or create a new one with apply --allow-recreate %s", d.item.Key))
	d.item.Deleted = true
}

// compareMoment compares a live object that can't change with its manifest.
func (d *decision) compareMoment() {
	if d.replaced() {
		d.item.block("another object has this name now: it has other data than the one that was created",
			"to keep the live object, remove this manifest from git; to create your own, write a manifest with another name")
		d.item.Deleted = true
		return
	}
	if d.live.Digest != d.manifest.Digest {
		in, _ := d.comparison()
		if !merge.Covers(in.Rules, in.Desired, in.Live) {
			d.momentChanged(in)
			return
		}
	}
	// The ledger remembers an object that another client made, so that trueup does not
	// make it again when it is gone.
	d.item.Record = !d.made() && d.rec.State != ledger.Abandoned && d.rec.Applied == nil && d.in.Ledger.Problem == ""
	d.progress()
}

// momentChanged reports how git differs from a live object. Nothing can change such an object, so
// without a record of another spec, git changed.
func (d *decision) momentChanged(in merge.Input) {
	switch {
	case in.Applied != nil:
	case d.made() && d.rec.Spec != nil:
		in.Applied = canon.MustDecode(d.rec.Spec)
	default:
		in.Applied = in.Live
	}
	d.item.Changes = d.explained(merge.Compare(in).Changes)
	field, message := "spec", fmt.Sprintf("%s is live with another spec", d.manifest.Key())
	if len(d.item.Changes) > 0 {
		c := d.item.Changes[0]
		field = "spec." + merge.Place(c.At)
		message = fmt.Sprintf("%[1]s is %[2]s in git, and %[4]s in the live %[3]s", c.Path, cmp.Or(said(c.Desired), "nothing"), d.manifest.Key(), cmp.Or(said(c.Live), "nothing"))
		if more := len(d.item.Changes) - 1; more > 0 {
			message += fmt.Sprintf(", and %s", counted(more, "more difference"))
		}
	}
	d.wrong(manifest.RuleSnapshotChanged, field, message+": a snapshot can't be changed",
		"restore the old spec, and give the new one another name")
}

// progress adds whether a live object is ready. One that failed may recover, so it asks no person.
func (d *decision) progress() {
	ready, failure := d.manifest.Kind.Ready(d.live.Status)
	switch {
	case failure != "":
		d.item.hold("the platform says that it failed: "+failure,
			"fix the cause; if the platform does not recover it, give the manifest another name to create a new one")
		d.item.Failed = true
	case !ready:
		d.item.hint("not ready yet")
	}
}

// text returns the text at a path of a tree, or "".
func text(tree any, path ...string) string {
	for _, step := range path {
		object, _ := tree.(map[string]any)
		tree = object[step]
	}
	s, _ := tree.(string)
	return s
}
