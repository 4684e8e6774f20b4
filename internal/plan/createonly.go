package plan

import (
	"fmt"
	"time"

	"trueup/internal/canon"
	"trueup/internal/kind"
	"trueup/internal/ledger"
	"trueup/internal/manifest"
	"trueup/internal/merge"
)

// createOnly plans an object that is a moment in time: made once, never
// patched, never made again by itself (design 0.5 and C6).
func (d *decision) createOnly() {
	o := d.manifest
	d.item.Disk = text(canon.MustDecode(o.Spec), o.Kind.DiskField...)
	if d.standing() == ledger.InFlight && d.unsettled() {
		return
	}
	if d.found() {
		where := "it is live"
		if d.item.RemoteName != "" {
			where += " as " + d.item.RemoteName
		}
		d.hint("its request got no answer, and " + where + ": apply records that it was executed")
		d.progress()
		return
	}
	if d.rec.Open() && d.item.Live.Exists {
		d.block("one of that name is live, and is not what was sent: it was there before, or is of another disk",
			fmt.Sprintf("give yours another name, and answer for this one: trueup ledger resolve %s --abandon --reason TEXT", d.item.Key))
		return
	}
	if d.unsettled() {
		return
	}
	if d.item.Live.Exists && !d.live.Terminating {
		d.compareMoment()
		return
	}
	known := d.made() || d.rec.Applied != nil
	switch {
	case d.rec.State == ledger.Abandoned:
		d.item.Op, d.item.Reason = Kept, "given up by a person; it is not made"
	case known && !d.in.Options.AllowRecreate[o.Key()]:
		d.gone()
	case d.live.Terminating:
		d.item.Op, d.item.Reason = Blocked, "one of that name is being deleted"
		d.item.Fix = "run again when it is gone, or choose another name"
	case d.in.Ledger.Problem != "":
		d.block("the ledger can't be used: "+d.in.Ledger.Problem, d.in.Ledger.Fix)
	default:
		d.create()
		d.recreate(known)
		d.resend()
	}
}

// made tells whether the ledger says that the object was made.
func (d *decision) made() bool { return d.rec.State == ledger.Posted || d.rec.State == ledger.Adopted }

// recreate marks a creation of what the ledger knows: it was allowed.
func (d *decision) recreate(known bool) {
	d.item.Recreate, d.item.Deleted = d.made(), known
	if d.rec.RemoteName != d.manifest.Name {
		d.item.RemoteName = d.rec.RemoteName
	}
}

// gone blocks an item that the ledger knows and live lacks.
func (d *decision) gone() {
	what := "it is gone since it was made"
	if d.live.Terminating {
		what = "live is being deleted"
	}
	d.block(what+"; a new one would hold other data",
		fmt.Sprintf("take the manifest out of git, or make a new one with apply --allow-recreate %s", d.item.Key))
	d.item.Deleted = true
}

// compareMoment holds a live object against its manifest.
func (d *decision) compareMoment() {
	o := d.manifest
	if d.replaced() {
		d.block("live is another one than was made under this name: it holds other data",
			"keep it under its name by taking the manifest out of git, and give yours another name")
		d.item.Deleted = true
		return
	}
	if d.live.Digest != o.Digest {
		in := d.comparison()
		if !merge.Covers(in.Rules, in.Desired, in.Live) {
			d.item.Changes = merge.Compare(in).Changes
			d.wrong(manifest.RuleSnapshotChanged, "spec",
				fmt.Sprintf("%s is live with another spec, and it can't be changed: it is a moment in time", o.Key()),
				"give the new one a name of its own")
			return
		}
	}
	// One that somebody else made is remembered, so that it is not made again by
	// itself when it is gone.
	d.item.Record = !d.made() && d.rec.State != ledger.Abandoned && d.rec.Applied == nil && d.in.Ledger.Problem == ""
	d.progress()
}

// progress says how far a live object is.
func (d *decision) progress() {
	if ready, failure := d.manifest.Kind.Ready(d.live.Status); failure != "" {
		d.hint("the server says that it failed: " + failure)
	} else if !ready {
		d.hint("not ready yet")
	}
}

// clockSkew is how far the platform's clocks may be apart.
const clockSkew = 5 * time.Minute

// found looks for the object of a request whose outcome is open: by its name,
// then among the live objects that nobody knows (design 0.5). It was made after
// the intent, and from the same disk.
func (d *decision) found() bool {
	if !d.rec.Open() || d.live.Terminating {
		return false
	}
	if d.item.Live.Exists {
		d.item.Found = d.madeAfterIntent(d.live) && d.ofSameSpec(d.live)
		return d.item.Found
	}
	var candidates []kind.Object
	for _, obj := range d.in.Live.Unmanaged {
		_, known := d.in.Ledger.Records[obj.Key()]
		if obj.Kind == d.manifest.Kind && !known && !obj.Terminating && d.madeAfterIntent(obj) && d.ofSameSpec(obj) {
			candidates = append(candidates, obj)
		}
	}
	if len(candidates) != 1 || !d.madeInLease(candidates[0]) {
		return false
	}
	obj := candidates[0]
	d.item.Found, d.item.RemoteName = true, obj.Name
	d.item.Live = Fingerprint{Exists: true, UID: obj.UID, Digest: &obj.Digest}
	d.live = obj
	return true
}

func (d *decision) ofSameSpec(obj kind.Object) bool {
	if obj.Digest == d.manifest.Digest {
		return true
	}
	in := d.comparison()
	return obj.Spec != nil && merge.Covers(in.Rules, in.Desired, canon.MustDecode(obj.Spec))
}

// madeAfterIntent tells whether a live object can be what the open request made.
func (d *decision) madeAfterIntent(obj kind.Object) bool {
	made, err := time.Parse(time.RFC3339, obj.CreationTimestamp)
	return err == nil && made.After(d.rec.FirstClaimAt.Add(-clockSkew))
}

// madeInLease tells whether it was made so soon after the claim that it was the
// request that made it, and not somebody later.
func (d *decision) madeInLease(obj kind.Object) bool {
	made, err := time.Parse(time.RFC3339, obj.CreationTimestamp)
	return err == nil && made.Before(d.rec.ClaimedAt.Add(ledger.Lease))
}

// text returns the text at a path of a tree, or "".
func text(tree any, path ...string) string {
	for _, step := range path {
		object, ok := tree.(map[string]any)
		if !ok {
			return ""
		}
		tree = object[step]
	}
	s, _ := tree.(string)
	return s
}
