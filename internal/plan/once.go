package plan

import (
	"fmt"
	"slices"

	"trueup/internal/canon"
	"trueup/internal/kind"
	"trueup/internal/ledger"
	"trueup/internal/purge"
	"trueup/internal/rules"
)

// sampleSize is how many paths of a purge a plan shows.
const sampleSize = 10

// allPaths is the path of a purge that invalidates all of a hostname.
const allPaths = "/*"

// SpecDigest is the digest that a record holds. That of a send-once request does not depend on the
// order of lists (docs/design.md A2).
func SpecDigest(k *kind.Kind, spec []byte) canon.Sum {
	if k.RequestOnly() {
		if parsed, err := purge.ParseSpec(decodedObject(spec)); err == nil {
			return canon.Digest(canon.Bytes(parsed.Canonical().Tree()))
		}
	}
	return canon.Digest(spec)
}

// parseSpec reads a spec. Manifests are valid; a record that can't be read names no hostname.
func parseSpec(spec []byte) purge.Spec {
	parsed, _ := purge.ParseSpec(decodedObject(spec))
	return parsed
}

// planOnce plans a request that is sent once, by the ledger alone: live forgets (docs/design.md A5).
func (d *decision) planOnce() {
	switch {
	case d.isSpent(), d.planUnsettled(), d.wasMade():
	case d.rec.State == ledger.Abandoned:
		d.item.Op, d.item.Reason = Kept, "a person abandoned it; trueup does not send it"
	case d.blockUnrecorded():
	case d.blockUnserved(d.manifest.Host):
	default:
		d.planPost()
		d.markResend()
	}
}

// blockUnserved rejects, or blocks, a request whose hostname no object has, letter by letter
// (docs/platform.md 2.3).
func (d *decision) blockUnserved(hostname string) bool {
	if d.spelled[hostname] {
		return false
	}
	field := "spec." + d.manifest.Kind.HostField
	if server, right, ok := d.serverOf(hostname); ok {
		d.addMistake(rules.PurgeHostname, field,
			fmt.Sprintf("the hostname %s must equal that of %s, %s", hostname, server, right), "write "+right)
		return true
	}
	for _, k := range kind.AllKinds() {
		if k.CanPatch() && k.HostField != "" && d.isIncomplete(k) {
			d.item.blockForNow(fmt.Sprintf("the list of %s is incomplete, so trueup can't tell whether %s exists", k.Name, hostname), "run again")
			return true
		}
	}
	d.addMistake(rules.PurgeHostname, field,
		fmt.Sprintf("no CDN in git or live has the hostname %s", hostname),
		"write the hostname of an existing CDN, or add the CDN to git")
	return true
}

// blockUnrecorded blocks a request whose record can't be read, or must have been lost.
func (d *decision) blockUnrecorded() bool {
	if d.in.Ledger.Problem != "" {
		d.item.blockForPerson(noLedger, d.in.Ledger.Fix)
		return true
	}
	finished := d.in.Ledger.Finished
	if d.rec.Seq > 0 || !finished.HadRequest(d.item.Key) {
		return false
	}
	name := ledger.ShellWord(d.item.String())
	d.item.blockForPerson(fmt.Sprintf("git had %s at %s, but the ledger has no record of it. The record was lost, and the request may have been executed", d.item.Key, finished),
		fmt.Sprintf("restore the ledger from a copy. Or, if it was executed, run trueup ledger adopt %s. If not, run "+
			"trueup ledger resolve %s --repost --reason TEXT: the next apply sends it", name, name))
	return true
}

// claimStatus is what this run may do with the object's record.
func (d *decision) claimStatus() ledger.Standing {
	return d.rec.ClaimStatus(d.in.At, d.in.Ledger.Terms[d.manifest.Kind.Area])
}

// planUnsettled plans an item whose request must not be sent now: it is in flight, or only a person can
// decide (docs/design.md 0.7).
func (d *decision) planUnsettled() bool {
	switch d.claimStatus() {
	case ledger.InFlight:
		d.item.Op = InFlight
		d.item.Reason, d.item.Fix = ledger.ExplainFlight(d.rec)
	case ledger.Lost:
		d.item.blockForPerson(ledger.ExplainRecord(d.rec))
		d.item.Lost = d.rec.State == ledger.Claimed
	case ledger.Free, ledger.Resendable, ledger.Settled:
		return false
	}
	return true
}

// markResend marks what a run that is gone may have sent.
func (d *decision) markResend() {
	if d.claimStatus() == ledger.Resendable {
		d.item.Resend = true
		reason, _ := ledger.ExplainRecord(d.rec)
		d.item.addHint(reason)
	}
}

// isSpent finds a request that was sent, or may have been, with another spec.
func (d *decision) isSpent() bool {
	o, rec := d.manifest, d.rec
	free := rec.State == "" || rec.State == ledger.Rejected
	if free || rec.SpecDigest == nil || *rec.SpecDigest == SpecDigest(o.Kind, o.Spec) {
		return false
	}
	outcome := "was " + string(rec.State)
	if rec.IsOpen() {
		outcome = "may have been sent"
	}
	d.addMistake(rules.PurgeSpent, "metadata.name",
		fmt.Sprintf("%s %s before with another spec, so its name can't be used again", o.Key(), outcome),
		"restore the old spec, and give the new one another name")
	return true
}

// serverOf returns what serves a hostname, and its spelling; false if nothing in git or live does.
func (p *Planner) serverOf(hostname string) (kind.Key, string, bool) {
	host := kind.HostKey(hostname)
	if in := p.hosts[host]; len(in) > 0 {
		return in[0].Key(), in[0].Host, true
	}
	key, ok := p.in.Live.Hosts[host]
	if o, found := p.in.Live.Objects[key]; found {
		return key, o.Host, ok
	}
	if i := slices.IndexFunc(p.in.Live.Unmanaged, func(o kind.LiveObject) bool { return o.Key() == key }); i >= 0 {
		return key, p.in.Live.Unmanaged[i].Host, ok
	}
	return key, host, ok
}

// planPost plans the request, and shows what its body says.
func (d *decision) planPost() {
	d.item.Op, d.item.Request = Post, d.createRequest()
	spec, _ := purge.ParseSpec(d.item.BodySpec()) // what is sent, perhaps without fields that an override omits
	d.item.Purge = newPurgeInfo(spec)
	if d.rec.State == ledger.Rejected && d.rec.Outcome != nil {
		d.item.addHint("the platform rejected it before: " + d.rec.Outcome.Message.String())
	}
}
