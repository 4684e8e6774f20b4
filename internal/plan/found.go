package plan

import (
	"fmt"
	"strings"
	"time"

	"trueup/internal/canon"
	"trueup/internal/kind"
	"trueup/internal/ledger"
	"trueup/internal/merge"
)

// clockSkew is how far the platform's clocks may be apart.
const clockSkew = 5 * time.Minute

// open plans an object whose request got no answer, by the live object of its name or one without a
// record (docs/design.md 0.5). It is false if live does not show what happened.
func (d *decision) open() bool {
	if !d.rec.Open() || d.standing() == ledger.InFlight {
		return false
	}
	reason, fix := ledger.Explain(d.rec)
	switch {
	case d.rec.SpecDigest == nil || *d.rec.SpecDigest != SpecDigest(d.manifest.Kind, d.manifest.Spec):
		d.item.block(reason+"; its manifest has another spec since", fix)
	case d.live.Terminating:
		return false
	case !d.item.Live.Exists:
		return d.foundElsewhere()
	case d.fits(d.rec, d.live):
		d.foundAs("it is live")
	default:
		d.item.block("a live object has that name, but is not what trueup sent: it was there before, or is of another disk",
			fmt.Sprintf("give yours another name, and resolve this one: trueup ledger resolve %s --abandon --reason TEXT", d.item.Key))
	}
	return true
}

func (d *decision) foundAs(where string) {
	d.item.Found = true
	d.item.hint("its request got no answer, and " + where + ": apply records that it was executed")
	d.progress()
}

// foundElsewhere finds the object of a request under another name, if the server was seen to rename:
// the only candidate, made within the claim's lease, that no other open request can have made.
func (d *decision) foundElsewhere() bool {
	candidates := d.candidates()
	if len(candidates) != 1 || d.rec.Before == nil || !d.renames() || d.contested(candidates[0]) || d.incomplete(d.manifest.Kind) {
		return false
	}
	obj := candidates[0]
	made, err := madeAt(obj)
	if err != nil || !made.Before(d.rec.ClaimedAt.Add(ledger.Lease)) || !made.After(d.in.At.Now.Add(-activeFor)) {
		return false // the view does not hold all that was made before activeFor
	}
	d.item.RemoteName = obj.Name
	d.item.Live = Fingerprint{Exists: true, UID: obj.UID, Digest: &obj.Digest}
	d.live = obj
	d.foundAs("it is live as " + obj.Name)
	return true
}

// candidates are the live objects that the open request may have made: they fit, no record names
// them, and none was there before the claim.
func (d *decision) candidates() []kind.Object {
	var found []kind.Object
	for _, obj := range d.in.Live.Unmanaged {
		before := d.rec.Before != nil && d.rec.Before.Has(obj.Name, obj.UID)
		if obj.Kind == d.manifest.Kind && !obj.Terminating && !before && d.fits(d.rec, obj) && !d.known(obj) {
			found = append(found, obj)
		}
	}
	return found
}

// renames reports whether the platform gave another object of the kind another name.
func (d *decision) renames() bool {
	return d.anyRecord(func(key kind.Key, rec ledger.Record) bool {
		return rec.Ours() && rec.RemoteName != "" && rec.RemoteName != key.Name
	})
}

// anyRecord reports whether the predicate holds for any record of the kind.
func (d *decision) anyRecord(holds func(kind.Key, ledger.Record) bool) bool {
	for key, rec := range d.in.Ledger.Records {
		if key.Kind == d.item.Kind && holds(key, rec) {
			return true
		}
	}
	return false
}

// showCandidates adds to the question about an open request what a person has to choose from.
func (d *decision) showCandidates() {
	if !d.rec.Open() || d.item.Op != Blocked {
		return
	}
	var names []string
	for _, obj := range d.candidates() {
		names = append(names, fmt.Sprintf("%s (created at %s)", obj.Name, obj.CreationTimestamp))
	}
	if len(names) > 0 {
		d.item.Reason += "; it may be one of these, which are live and not in the ledger: " + strings.Join(names, ", ")
	}
}

// known reports whether another record is of a live object, by its name or uid.
func (d *decision) known(obj kind.Object) bool {
	_, ok := d.in.Ledger.Records[obj.Key()]
	return ok || d.anyRecord(func(key kind.Key, rec ledger.Record) bool {
		return key != d.item.Key && (rec.RemoteName == obj.Name || rec.UID != "" && rec.UID == obj.UID)
	})
}

// contested reports whether another open request may have made the object.
func (d *decision) contested(obj kind.Object) bool {
	return d.anyRecord(func(key kind.Key, rec ledger.Record) bool {
		return key != d.item.Key && rec.Open() && d.fits(rec, obj)
	})
}

// fits reports whether a live object has what the request of a record sent, and was made after it.
func (d *decision) fits(rec ledger.Record, obj kind.Object) bool {
	made, err := madeAt(obj)
	if err != nil || !made.After(rec.FirstClaimAt.Add(-clockSkew)) || obj.Spec == nil || rec.Spec == nil {
		return false
	}
	return merge.Covers(d.rules[obj.Kind.Name], canon.MustDecode(rec.Spec), canon.MustDecode(obj.Spec))
}

func madeAt(obj kind.Object) (time.Time, error) {
	return time.Parse(time.RFC3339, obj.CreationTimestamp)
}
