package plan

import (
	"fmt"
	"iter"
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
	if len(candidates) != 1 || d.rec.Before == nil || d.incomplete(d.manifest.Kind) {
		return false
	}
	obj, renames := candidates[0], false
	for key, rec := range d.records() {
		if key != d.item.Key && rec.Open() && d.fits(rec, obj) {
			return false
		}
		renames = renames || rec.Ours() && rec.RemoteName != "" && rec.RemoteName != key.Name
	}
	made, err := madeAt(obj)
	if !renames || err != nil || !made.Before(d.rec.ClaimedAt.Add(ledger.Lease)) || !made.After(d.in.At.Now.Add(-activeFor)) {
		return false // the view does not hold all that was made before activeFor
	}
	d.item.RemoteName = obj.Name
	d.item.Live = Fingerprint{Exists: true, UID: obj.UID, Digest: &obj.Digest}
	d.live = obj
	d.foundAs("it is live as " + obj.Name)
	return true
}

// candidates are the live objects that the open request may have made: they fit, no other record is of
// their name or uid, and none was there before the claim.
func (d *decision) candidates() []kind.Object {
	names, uids := map[string]bool{}, map[string]bool{"": false}
	for key, rec := range d.records() {
		names[key.Name] = true
		if key != d.item.Key {
			names[rec.RemoteName] = true
			uids[rec.UID] = rec.UID != ""
		}
	}
	var found []kind.Object
	for _, obj := range d.in.Live.Unmanaged {
		before := d.rec.Before != nil && d.rec.Before.Has(obj.Name, obj.UID)
		known := names[obj.Name] || uids[obj.UID]
		if obj.Kind == d.manifest.Kind && !obj.Terminating && !before && !known && d.fits(d.rec, obj) {
			found = append(found, obj)
		}
	}
	return found
}

// records returns the records of the kind.
func (d *decision) records() iter.Seq2[kind.Key, ledger.Record] {
	return func(yield func(kind.Key, ledger.Record) bool) {
		for key, rec := range d.in.Ledger.Records {
			if key.Kind == d.item.Kind && !yield(key, rec) {
				return
			}
		}
	}
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
