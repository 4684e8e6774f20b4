package plan

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"trueup/internal/canon"
	"trueup/internal/kind"
	"trueup/internal/ledger"
	"trueup/internal/merge"
	"trueup/internal/rules"
)

// planCreateOnly plans an object that is created once, never patched, and created again only if a person
// allows it (docs/design.md 0.5 and C6).
func (d *objectPlanner) planCreateOnly() {
	o := d.manifest
	d.item.Disk = canon.TextAt(canon.MustDecode(o.Spec), o.Kind.DiskField...)
	switch {
	case d.planUnanswered():
	case d.planUnsettled():
		d.showCandidates()
	case d.item.Live.Exists && !d.live.Terminating:
		d.compareCreated()
	default:
		d.planFirstCreation()
	}
}

func (d *objectPlanner) planFirstCreation() {
	o := d.manifest
	known := d.wasMade() || d.rec.Applied != nil
	switch {
	case d.rec.State == ledger.Abandoned:
		d.item.Op, d.item.Reason = Kept, "a person abandoned or forgot it; trueup does not create it"
	case known && !d.in.Options.AllowRecreate[o.Key()]:
		d.blockGone()
	case d.live.Terminating:
		d.item.blockForNow("an object of that name is being deleted", "run trueup again when it is gone, or choose another name")
	case d.blockUnrecorded():
	default:
		d.planCreate()
		d.item.Recreate, d.item.Deleted = d.wasMade(), known
		if d.rec.RemoteName != o.Name {
			d.item.RemoteName = d.rec.RemoteName
		}
		d.markResend()
	}
}

// wasMade reports whether the ledger says that the object was made.
func (d *objectPlanner) wasMade() bool {
	return d.rec.State == ledger.Posted || d.rec.State == ledger.Adopted
}

// blockGone blocks an item that is in the ledger and not live.
func (d *objectPlanner) blockGone() {
	what := "it was created and no longer exists"
	switch unmade := d.rec.DescribeDeletion(); {
	case unmade != "":
		what += ": " + unmade
	case d.live.Terminating:
		what = "live is being deleted"
	}
	d.item.blockForPerson(what+"; a new one would have other data",
		fmt.Sprintf("remove the manifest from git, or create a new one with apply --accept recreate=%s", d.item.Key))
	d.item.Deleted = true
}

// compareCreated compares a live object that can't change with its manifest.
func (d *objectPlanner) compareCreated() {
	if d.isReplaced() {
		d.item.blockForPerson("another object has this name now: it has other data than the one that was created",
			"to keep the live object, remove this manifest from git; to create your own, write a manifest with another name")
		d.item.Deleted = true
		return
	}
	if d.live.Digest != d.manifest.Digest {
		in, _ := d.mergeInput()
		if !merge.LiveCovers(in.Rules, in.Desired, in.Live) {
			d.reportDifference(in)
			return
		}
	}
	// The ledger remembers an object that another client made, so that trueup does not
	// make it again when it is gone.
	d.item.Record = !d.wasMade() && d.rec.State != ledger.Abandoned && d.rec.Applied == nil && d.in.Ledger.Problem == ""
	d.addProgress()
}

// reportDifference reports how git differs from a live object. Nothing can change such an object, so
// without a record of another spec, git changed.
func (d *objectPlanner) reportDifference(in merge.Input) {
	switch {
	case in.Applied != nil:
	case d.wasMade() && d.rec.Spec != nil:
		in.Applied = canon.MustDecode(d.rec.Spec)
	default:
		in.Applied = in.Live
	}
	d.item.Changes = d.explainChanges(merge.Compare(in).Changes, in.Live)
	field, message := "spec", fmt.Sprintf("%s is live with another spec", d.manifest.Key())
	if len(d.item.Changes) > 0 {
		c := d.item.Changes[0]
		field = "spec." + merge.FormatPlace(c.At)
		message = fmt.Sprintf("%[1]s is %[2]s in git, and %[4]s in the live %[3]s", c.Path, cmp.Or(shortText(c.Desired), "nothing"), d.manifest.Key(), cmp.Or(shortText(c.Live), "nothing"))
		if more := len(d.item.Changes) - 1; more > 0 {
			message += fmt.Sprintf(", and %s", countNoun(more, "more difference"))
		}
	}
	d.addMistake(rules.SnapshotChanged, field, message+": a snapshot can't be changed",
		"restore the old spec, and give the new one another name")
}

// notReady is the hint of an object that the platform still makes.
const notReady = "not ready yet"

// addProgress adds whether a live object is ready. One that failed may recover, so it asks no person.
func (d *objectPlanner) addProgress() {
	ready, failure := d.manifest.Kind.IsReady(d.live.Status)
	switch {
	case failure != "":
		d.item.blockForNow("the platform says that it failed: "+failure,
			"fix the cause; if the platform does not recover it, give the manifest another name to create a new one")
		d.item.Failed = true
	case !ready:
		d.item.addHint(notReady)
	}
}

// clockSkew is how far the platform's clocks may be apart.
const clockSkew = 5 * time.Minute

// planUnanswered plans an object whose request got no answer, by the live object of its name (docs/design.md 0.5). It is
// false if live does not show what happened.
func (d *objectPlanner) planUnanswered() bool {
	if !d.rec.IsOpen() || d.claimStatus() == ledger.InFlight {
		return false
	}
	reason, fix := ledger.ExplainRecord(d.rec)
	switch {
	case d.rec.SpecDigest == nil || *d.rec.SpecDigest != SpecDigest(d.manifest.Kind, d.manifest.Spec):
		d.item.blockForPerson(reason+"; its manifest has another spec since", fix)
	case d.live.Terminating || !d.item.Live.Exists:
		return false
	case d.fitsRecord(d.rec, d.live):
		d.item.Found = true
		d.item.addHint("the request got no answer, but its object is live: apply records that it was executed")
		d.addProgress()
	default:
		d.item.blockForPerson("the live object of this name is not what trueup sent: it is older, or of another disk",
			fmt.Sprintf("give your object another name, and abandon this request: trueup ledger resolve %s --abandon --reason TEXT", d.item.Key))
	}
	return true
}

// showCandidates adds to the question about an open request the live objects that it may have made, because the platform may
// rename one: they fit, no other record is of their name or uid, and none was there before the claim.
func (d *objectPlanner) showCandidates() {
	if !d.rec.IsOpen() || d.item.Op != Blocked {
		return
	}
	names, uids := map[string]bool{}, map[string]bool{"": false}
	for key, rec := range d.in.Ledger.Records {
		if key.Kind != d.item.Kind {
			continue
		}
		if names[key.Name] = true; key != d.item.Key {
			names[rec.RemoteName] = true
			uids[rec.UID] = rec.UID != ""
		}
	}
	var found []string
	for _, obj := range d.in.Live.Unmanaged {
		before := d.rec.Before != nil && d.rec.Before.Has(obj.Name, obj.UID)
		known := names[obj.Name] || uids[obj.UID]
		if obj.Kind == d.manifest.Kind && !obj.Terminating && !before && !known && d.fitsRecord(d.rec, obj) {
			found = append(found, fmt.Sprintf("%s (created at %s)", obj.Name, obj.CreationTimestamp))
		}
	}
	if len(found) > 0 {
		d.item.Reason += "; it may be one of these, which are live and not in the ledger: " + strings.Join(found, ", ")
	}
}

// fitsRecord reports whether a live object has what the request of a record sent, and was made after it.
func (d *objectPlanner) fitsRecord(rec ledger.Record, obj kind.LiveObject) bool {
	made, err := time.Parse(time.RFC3339, obj.CreationTimestamp)
	if err != nil || !made.After(rec.FirstClaimAt.Add(-clockSkew)) || obj.Spec == nil || rec.Spec == nil {
		return false
	}
	return merge.LiveCovers(d.rules[obj.Kind.Name], canon.MustDecode(rec.Spec), canon.MustDecode(obj.Spec))
}
