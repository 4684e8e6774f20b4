package plan

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"trueup/internal/kind"
	"trueup/internal/ledger"
	"trueup/internal/manifest"
	"trueup/internal/purge"
)

// OnceStatus is the state of a request that is sent once, by git and the ledger alone.
type OnceStatus string

// The statuses of requests.
const (
	// Due is in git and was never sent, or provably not executed: the next
	// apply sends it.
	Due OnceStatus = "due"
	// Rejected was rejected by the platform: the next apply tries again.
	Rejected OnceStatus = "rejected"
	// Begun is claimed by a run that may still be going.
	Begun OnceStatus = "in-flight"
	// Again was begun by a run that is gone: the next apply sends it again, safely.
	Again OnceStatus = "again"
	// Unknown may or may not have been executed: only a person can decide.
	Unknown OnceStatus = "unknown"
	// Accepted was sent and accepted, Done was sent by another client, and GivenUp
	// is never sent.
	Accepted OnceStatus = "posted"
	Done     OnceStatus = "adopted"
	GivenUp  OnceStatus = "abandoned"
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

// Waits reports whether the next apply sends it.
func (r RequestStatus) Waits() bool {
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
	at := ledger.ObserveTimes(time.Time{}, now)
	var all []RequestStatus
	for _, o := range set.Objects {
		if !o.Kind.RequestOnly() {
			continue
		}
		own := newUse(o.Key(), o.Spec)
		r := RequestStatus{Key: o.Key(), Status: Due, Manifest: o, Spec: own.spec, Usage: own.usage}
		if view.Problem != "" {
			r.Status = NoLedger
		} else if rec, ok := view.Records[o.Key()]; ok {
			r.readRecord(rec, at, view.Terms[o.Kind.Area])
		}
		all = append(all, r)
	}
	for key, rec := range view.Records {
		if k, ok := kind.FindKind(key.Kind); ok && k.RequestOnly() && set.Find(key) == nil {
			r := RequestStatus{Key: key}
			r.readRecord(rec, at, view.Terms[k.Area])
			all = append(all, r)
		}
	}
	slices.SortFunc(all, func(a, b RequestStatus) int {
		return cmp.Or(a.sortRank()-b.sortRank(), b.AcceptedAt.Compare(a.AcceptedAt), cmp.Compare(a.Name, b.Name))
	})
	return all, addUsages(all)
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
func (r *RequestStatus) readRecord(rec ledger.Record, at ledger.Instant, terms ledger.Terms) {
	r.Status = cmp.Or(
		map[ledger.Standing]OnceStatus{ledger.InFlight: Begun, ledger.Resendable: Again, ledger.Lost: Unknown}[rec.ClaimStatus(at, terms)],
		map[ledger.RequestState]OnceStatus{
			ledger.Rejected: Rejected, ledger.Posted: Accepted, ledger.Adopted: Done, ledger.Abandoned: GivenUp,
		}[rec.State], Due)
	r.Says, r.Fix = ledger.ExplainRecord(rec)
	if rec.AcceptedAt != nil {
		r.AcceptedAt = *rec.AcceptedAt
	}
	if since, ok := activeSince(rec, at.Now); ok {
		r.Active, r.Since, r.Until = true, since, since.Add(activeFor)
	}
	if rec.Spec == nil || r.Manifest != nil && (r.Status == Due || r.Status == Rejected) {
		return
	}
	sent := newUse(r.Key, rec.Spec)
	r.Spec, r.Usage = sent.spec, sent.usage
	if r.Manifest != nil && rec.SpecDigest != nil {
		r.Edited = *rec.SpecDigest != SpecDigest(r.Manifest.Kind, r.Manifest.Spec)
	}
}

// addUsages add up what counts against the limits of each hostname, sorted by name.
func addUsages(all []RequestStatus) []HostUsage {
	byHost := map[string]*HostUsage{}
	for _, r := range all {
		if !r.Active && !r.Waits() || r.Spec.Hostname == "" {
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
		spent := spending{h.WithDue, h.AtMost}.addUse(use{spec: r.Spec, usage: r.Usage})
		h.WithDue, h.AtMost = spent.once, spent.each
	}
	var list []HostUsage
	for _, host := range slices.Sorted(maps.Keys(byHost)) {
		list = append(list, *byHost[host])
	}
	return list
}
