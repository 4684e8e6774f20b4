package plan

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"trueup/internal/canon"
	"trueup/internal/kind"
	"trueup/internal/ledger"
	"trueup/internal/manifest"
	"trueup/internal/purge"
)

// activeFor is how long a purge counts against its hostname's limits: the
// platform keeps it for about 24 hours (platform-api 3), and an hour is margin.
const activeFor = 25 * time.Hour

// sampleSize is how many paths of a purge a plan shows.
const sampleSize = 10

// SpecDigest is the digest that a record of the kind holds: for a once-only
// request it does not depend on the order of lists (design A2).
func SpecDigest(k *kind.Kind, spec []byte) canon.Sum {
	if k.Policy != kind.Once {
		return canon.Digest(spec)
	}
	parsed, err := parseSpec(spec)
	if err != nil {
		return canon.Digest(spec)
	}
	return canon.Digest(canon.Bytes(parsed.Canonical().Tree()))
}

func parseSpec(spec []byte) (purge.Spec, error) {
	tree, _ := canon.MustDecode(spec).(map[string]any)
	return purge.Parse(tree)
}

// once plans a request that is sent a single time; only the ledger decides,
// because live forgets (design A5).
func (d *decision) once() {
	o, rec := d.manifest, d.rec
	spec, err := parseSpec(o.Spec)
	if err != nil {
		return // the schema has said so
	}
	if d.spent() || d.unsettled() {
		return
	}
	switch {
	case rec.State == ledger.Posted || rec.State == ledger.Adopted:
	case rec.State == ledger.Abandoned:
		d.item.Op, d.item.Reason = Kept, "given up by a person; it is not sent"
	case d.in.Ledger.Problem != "":
		d.block("the ledger can't be used: "+d.in.Ledger.Problem, d.in.Ledger.Fix)
	case !d.serves(spec.Hostname):
		d.wrong(manifest.RulePurgeHostname, "spec."+o.Kind.HostField,
			fmt.Sprintf("hostname %s belongs to nothing in git and to nothing live", spec.Hostname),
			"write the hostname of an existing object, or add the object to git")
	default:
		d.post(spec)
		d.resend()
	}
}

// standing is what this run may make of the object's record.
func (d *decision) standing() ledger.Standing {
	return d.rec.Standing(d.in.At, d.in.Ledger.Terms[d.manifest.Kind.Area])
}

// unsettled plans an item whose request may or may not have been executed, and
// which must not be sent now: it is under way elsewhere, or only a person can
// tell (design 0.7).
func (d *decision) unsettled() bool {
	switch d.standing() {
	case ledger.InFlight:
		d.item.Op = InFlight
		d.item.Reason, d.item.Fix = ledger.Explain(d.rec)
	case ledger.Lost:
		d.block(ledger.Explain(d.rec))
		d.item.Lost = d.rec.State == ledger.Claimed
	case ledger.Free, ledger.Resendable, ledger.Settled:
		return false
	}
	return true
}

// resend marks what a run that is gone may have sent.
func (d *decision) resend() {
	if d.standing() != ledger.Resendable {
		return
	}
	d.item.Resend = true
	reason, _ := ledger.Explain(d.rec)
	d.hint(reason + "; it is sent again under the same name, which the platform refuses if it was")
}

// spent finds a request that was sent, or may have been, with another spec.
func (d *decision) spent() bool {
	o, rec := d.manifest, d.rec
	free := rec.State == "" || rec.State == ledger.Rejected
	if free || rec.SpecDigest == nil || *rec.SpecDigest == SpecDigest(o.Kind, o.Spec) {
		return false
	}
	d.wrong(manifest.RulePurgeSpent, "metadata.name",
		fmt.Sprintf("%s was %s before with another spec: its name is spent", o.Key(), rec.State),
		"put the old spec back, and give the new one a name of its own")
	return true
}

func (p *Planner) serves(hostname string) bool {
	host := kind.HostKey(hostname)
	if _, ok := p.hosts[host]; ok {
		return true
	}
	_, ok := p.in.Live.Hosts[host]
	return ok
}

func (d *decision) post(spec purge.Spec) {
	usage := spec.Usage()
	d.item.Op = Post
	d.item.Request = d.whole()
	d.item.Purge = &PurgeInfo{
		Hostname:   spec.Hostname,
		Subdomains: spec.Subdomains,
		Paths:      usage.Paths,
		Prefixes:   usage.Prefixes,
		Sample:     spec.Paths[:min(len(spec.Paths), sampleSize)],
		Limits:     Budget(purge.Limits()),
	}
	if d.rec.State == ledger.Rejected && d.rec.Outcome != nil {
		d.hint("the platform refused it before: " + d.rec.Outcome.Message)
	}
}

// spending is what is used of a hostname's limits: each path counted once, and
// counted once more for each subdomain, because the platform's document does
// not say which (design A6).
type spending struct{ once, each purge.Usage }

func (s spending) add(u purge.Usage, subdomains []string) spending {
	return spending{s.once.Add(u), s.each.Add(u.Pessimistic(distinct(subdomains)))}
}

// over says which limits are passed, and whether only by the second way of
// counting; nil where all are kept.
func (s spending) over() (limits []string, perhaps bool) {
	if over := s.once.Exceeds(purge.Limits()); over != nil {
		return over, false
	}
	return s.each.Exceeds(purge.Limits()), true
}

func distinct(list []string) int {
	sorted := slices.Sorted(slices.Values(list))
	return len(slices.Compact(sorted))
}

// spend adds up, hostname by hostname, what is active and what the plan adds.
func (p *Planner) spend(items []Item) {
	budgets := p.activeBudgets()
	for i := range items {
		info := items[i].Purge
		if items[i].Op != Post || info == nil {
			continue
		}
		own := purge.Usage{Requests: 1, Paths: info.Paths, Prefixes: info.Prefixes}
		host := kind.HostKey(info.Hostname)
		used := budgets[host].add(own, info.Subdomains)
		budgets[host] = used
		info.Budget = Budget(used.once)
		over, perhaps := used.over()
		if over == nil {
			continue
		}
		hint := fmt.Sprintf("the platform may refuse it: %s are active for %s", strings.Join(over, ", "), info.Hostname)
		if perhaps {
			hint += ", if it counts each path for each subdomain too"
		}
		items[i].Hints = append(items[i].Hints, hint)
	}
}

// activeBudgets adds up what counts against each hostname before this plan.
func (p *Planner) activeBudgets() map[string]spending {
	budgets := map[string]spending{}
	for key, rec := range p.in.Ledger.Records {
		if k, ok := kind.Named(key.Kind); !ok || k.Policy != kind.Once || !p.active(rec) {
			continue
		}
		if spec, err := parseSpec(rec.Spec); err == nil {
			host := kind.HostKey(spec.Hostname)
			budgets[host] = budgets[host].add(spec.Usage(), spec.Subdomains)
		}
	}
	return budgets
}

func (p *Planner) active(rec ledger.Record) bool {
	if !slices.Contains([]ledger.State{ledger.Posted, ledger.Claimed, ledger.Unknown}, rec.State) {
		return false
	}
	since := rec.AcceptedAt
	if since == nil {
		since = rec.FirstClaimAt
	}
	return since != nil && p.in.Now.Sub(*since) < activeFor
}
