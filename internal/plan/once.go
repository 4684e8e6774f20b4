package plan

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	"trueup/internal/canon"
	"trueup/internal/diag"
	"trueup/internal/kind"
	"trueup/internal/ledger"
	"trueup/internal/manifest"
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
	if k.IsRequestOnly() {
		if parsed, err := purge.ParseSpec(decodedObject(spec)); err == nil {
			return canon.Digest(canon.Encode(parsed.Canonical().Tree()))
		}
	}
	return canon.Digest(spec)
}

// parseSpec reads a spec. Manifests are valid; a record that can't be read names no hostname.
func parseSpec(spec []byte) purge.Spec {
	parsed, _ := purge.ParseSpec(decodedObject(spec))
	return parsed
}

// planSendOnce plans a request that is sent once, by the ledger alone: live forgets (docs/design.md A5).
func (d *objectPlanner) planSendOnce() {
	switch {
	case d.rejectSpentName(), d.planUnsettled(), d.wasMade():
	case d.rec.State == ledger.Abandoned:
		d.item.Op, d.item.Reason = Kept, "a person abandoned it; trueup does not send it"
	case d.blockUnrecorded():
	case d.blockUnserved(d.manifest.Host):
	default:
		d.item.Op, d.item.Request = Post, d.createRequest()
		spec, _ := purge.ParseSpec(d.item.BodySpec()) // what is sent, perhaps without fields that an override omits
		d.item.Purge = newPurgeInfo(spec)
		if d.rec.State == ledger.Rejected && d.rec.Outcome != nil {
			d.item.addHint("the platform rejected it before: " + d.rec.Outcome.Message.String())
		}
		d.markResend()
	}
}

// blockUnserved rejects, or blocks, a request whose hostname no object has, letter by letter
// (docs/platform.md 2.3).
func (d *objectPlanner) blockUnserved(hostname string) bool {
	if d.spelled[hostname] {
		return false
	}
	field := "spec." + d.manifest.Kind.HostField
	if server, right, ok := d.findServingObject(hostname); ok {
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
func (d *objectPlanner) blockUnrecorded() bool {
	if d.in.Ledger.Problem != "" {
		d.item.blockForPerson(noLedger, d.in.Ledger.Fix)
		return true
	}
	finished := d.in.Ledger.Finished
	if d.rec.Seq > 0 || !finished.HadRequest(d.item.Key) {
		return false
	}
	name := ledger.ShellQuote(d.item.String())
	d.item.blockForPerson(fmt.Sprintf("git had %s at %s, but the ledger has no record of it. The record was lost, and the request may have been executed", d.item.Key, finished),
		fmt.Sprintf("restore the ledger from a copy. Or, if it was executed, run trueup ledger adopt %s. If not, run "+
			"trueup ledger resolve %s --repost --reason TEXT: the next apply sends it", name, name))
	return true
}

// claimStatus is what this run may do with the object's record.
func (d *objectPlanner) claimStatus() ledger.ClaimStatus {
	return d.rec.ClaimStatus(d.in.At, d.in.Ledger.Terms[d.manifest.Kind.Area])
}

// planUnsettled plans an item whose request must not be sent now: it is in flight, or only a person can
// decide (docs/design.md 0.7).
func (d *objectPlanner) planUnsettled() bool {
	switch d.claimStatus() {
	case ledger.InFlight:
		d.item.Op = InFlight
		d.item.Reason, d.item.Fix = ledger.ExplainInFlight(d.rec)
	case ledger.Lost:
		d.item.blockForPerson(ledger.ExplainRecord(d.rec))
		d.item.Lost = d.rec.State == ledger.Claimed
	case ledger.Free, ledger.Resendable, ledger.Settled:
		return false
	}
	return true
}

// markResend marks what a run that is gone may have sent.
func (d *objectPlanner) markResend() {
	if d.claimStatus() == ledger.Resendable {
		d.item.Resend = true
		reason, _ := ledger.ExplainRecord(d.rec)
		d.item.addHint(reason)
	}
}

// rejectSpentName finds a request that was sent, or may have been, with another spec.
func (d *objectPlanner) rejectSpentName() bool {
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

// findServingObject returns what serves a hostname, and its spelling; false if nothing in git or live does.
func (p *Planner) findServingObject(hostname string) (kind.Key, string, bool) {
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

// OnceStatus is the state of a request that is sent once, by git and the ledger alone: that of its record, unless somebody has
// something to do.
type OnceStatus string

// The statuses of requests.
const (
	// Due is in git and was never sent, or provably not executed: the next
	// apply sends it.
	Due OnceStatus = "due"
	// Rejected was rejected by the platform: the next apply tries again.
	Rejected = OnceStatus(ledger.Rejected)
	// Begun is claimed by a run that may still be going.
	Begun OnceStatus = "in-flight"
	// Again was begun by a run that is gone: the next apply sends it again, safely.
	Again OnceStatus = "again"
	// Unknown may or may not have been executed: only a person can decide.
	Unknown OnceStatus = "unknown"
	// Accepted was sent and accepted, Done was sent by another client, and GivenUp
	// is never sent.
	Accepted = OnceStatus(ledger.Posted)
	Done     = OnceStatus(ledger.Adopted)
	GivenUp  = OnceStatus(ledger.Abandoned)
	// NoLedger is in git, and the ledger can't be used.
	NoLedger OnceStatus = "no-ledger"
)

// RequestStatus is a request that is sent once, and what is known of it.
type RequestStatus struct {
	kind.Key
	Status OnceStatus `json:"status"`
	// Active is true if it counts against the limits of its hostname, from Since until Until.
	Active bool      `json:"active"`
	Since  time.Time `json:"since,omitzero"`
	Until  time.Time `json:"until,omitzero"`
	// AcceptedAt is zero if it is not known.
	AcceptedAt time.Time   `json:"acceptedAt,omitzero"`
	Spec       purge.Spec  `json:"-"`
	Usage      purge.Usage `json:"-"`
	// Manifest is nil if git has none. Edited is true if it is not what was sent.
	Manifest *manifest.Object `json:"-"`
	Edited   bool             `json:"edited"`
	// Says is what the ledger knows, and Fix what a person can do; both are empty without a record.
	Says string `json:"says,omitempty"`
	Fix  string `json:"fix,omitempty"`
}

// WillBeSent reports whether the next apply sends it.
func (r RequestStatus) WillBeSent() bool {
	return r.Manifest != nil && slices.Contains([]OnceStatus{Due, Rejected, Again}, r.Status)
}

// HostUsage is the usage of the limits of a hostname (docs/platform.md 8).
type HostUsage struct {
	Hostname string `json:"hostname"`
	// Active is what counts now, WithDue that and what is due, and AtMost the same if the platform counts
	// each path for each subdomain too, which its document leaves open.
	Active  purge.Usage `json:"active"`
	WithDue purge.Usage `json:"withDue"`
	AtMost  purge.Usage `json:"atMost"`
}

// ReadRequests returns all send-once requests of git and the ledger, those that need a person first, and
// the usage of the limits of their hostnames. It asks the platform nothing.
func ReadRequests(set *manifest.Set, view ledger.View, now time.Time) ([]RequestStatus, []HostUsage) {
	at := ledger.NewInstant(time.Time{}, now)
	var all []RequestStatus
	for _, o := range set.Objects {
		if !o.Kind.IsRequestOnly() {
			continue
		}
		spec := parseSpec(o.Spec)
		r := RequestStatus{Key: o.Key(), Status: Due, Manifest: o, Spec: spec, Usage: spec.Usage()}
		if view.Problem != "" {
			r.Status = NoLedger
		} else if rec, ok := view.Records[o.Key()]; ok {
			r.readRecord(rec, at, view.Terms[o.Kind.Area])
		}
		all = append(all, r)
	}
	for key, rec := range view.Records {
		if k, ok := kind.FindKind(key.Kind); ok && k.IsRequestOnly() && set.Find(key) == nil {
			r := RequestStatus{Key: key}
			r.readRecord(rec, at, view.Terms[k.Area])
			all = append(all, r)
		}
	}
	slices.SortFunc(all, func(a, b RequestStatus) int {
		return cmp.Or(a.sortRank()-b.sortRank(), b.AcceptedAt.Compare(a.AcceptedAt), cmp.Compare(a.Name, b.Name))
	})
	return all, sumUsages(all)
}

// sortRank sorts the requests: first those that a person must decide about, last those that are over.
func (r RequestStatus) sortRank() int {
	order := []OnceStatus{Unknown, Begun, Again, Rejected, Due, NoLedger, Accepted, Done, GivenUp}
	at := 2 * slices.Index(order, r.Status)
	if r.Active {
		at--
	}
	return at
}

// readRecord fills in what the ledger says. What was sent counts, even if the manifest changed.
func (r *RequestStatus) readRecord(rec ledger.Record, at ledger.Instant, terms ledger.ResendTerms) {
	r.Status = cmp.Or(
		map[ledger.ClaimStatus]OnceStatus{ledger.InFlight: Begun, ledger.Resendable: Again, ledger.Lost: Unknown}[rec.ClaimStatus(at, terms)],
		OnceStatus(rec.State), Due)
	r.Says, r.Fix = ledger.ExplainRecord(rec)
	if rec.AcceptedAt != nil {
		r.AcceptedAt = *rec.AcceptedAt
	}
	if since, ok := activeSince(rec, at.Now); ok {
		r.Active, r.Since, r.Until = true, since, since.Add(activeFor)
	}
	if r.Manifest != nil && (r.Status == Due || r.Status == Rejected) {
		return
	}
	r.Edited = r.Manifest != nil && rec.SpecDigest != nil && *rec.SpecDigest != SpecDigest(r.Manifest.Kind, r.Manifest.Spec)
	if rec.Spec != nil {
		r.Spec = parseSpec(rec.Spec)
		r.Usage = r.Spec.Usage()
	}
}

// sumUsages add up what counts against the limits of each hostname, sorted by name.
func sumUsages(all []RequestStatus) []HostUsage {
	byHost := map[string]*HostUsage{}
	for _, r := range all {
		if !r.Active && !r.WillBeSent() || r.Spec.Hostname == "" {
			continue
		}
		host := kind.HostKey(r.Spec.Hostname)
		if byHost[host] == nil {
			byHost[host] = &HostUsage{Hostname: host}
		}
		h := byHost[host]
		if r.Active {
			h.Active = h.Active.Add(r.Usage)
		}
		spent := usageBounds{h.WithDue, h.AtMost}.addUse(countedRequest{spec: r.Spec, usage: r.Usage})
		h.WithDue, h.AtMost = spent.once, spent.each
	}
	return diag.MapList(slices.Sorted(maps.Keys(byHost)), func(host string) HostUsage { return *byHost[host] })
}
