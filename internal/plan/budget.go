package plan

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"trueup/internal/diag"
	"trueup/internal/kind"
	"trueup/internal/ledger"
	"trueup/internal/purge"
)

// activeFor is how long a purge counts against the limits: the platform keeps it for about 24 hours
// (docs/platform.md 3), and an hour is margin.
const activeFor = 25 * time.Hour

// minutes is how a plan writes a time for people.
const minutes = "2006-01-02T15:04Z07:00"

// countedRequest is a request that counts against the limits of its hostname.
type countedRequest struct {
	spec  purge.Spec
	usage purge.Usage
	// since is when it began to count.
	since time.Time
	// item is the one of this plan that would post it; nil for what the ledger has.
	item *Item
}

func (u countedRequest) hostOf() string { return kind.HostKey(u.spec.Hostname) }

// usageBounds is a usage in two counts, each path once, and once more for each subdomain: the
// platform's document does not say which is right (docs/design.md A6).
type usageBounds struct{ once, each purge.Usage }

func (s usageBounds) addUse(u countedRequest) usageBounds {
	subdomains := slices.Compact(slices.Sorted(slices.Values(u.spec.Subdomains)))
	return usageBounds{s.once.Add(u.usage), s.each.Add(u.usage.PessimisticUsage(len(subdomains)))}
}

// hostLimitTracker has the requests that count against the limits of one hostname.
type hostLimitTracker struct {
	uses []countedRequest
	// active is the usage before this plan, total the usage with what it posts.
	active, total usageBounds
}

func (b *hostLimitTracker) addUse(u countedRequest) {
	b.uses = append(b.uses, u)
	b.total = b.total.addUse(u)
}

// deferOverLimit defers what exceeds the limits of a hostname, in the order of the items (docs/design.md A6).
func (p *Planner) deferOverLimit(items []Item) {
	budgets, posts, isPost := map[string]*hostLimitTracker{}, map[string][]*Item{}, map[kind.Key]bool{}
	for i := range items {
		if it := &items[i]; it.Op == Post {
			host := kind.HostKey(p.in.Set.Find(it.Key).Host)
			budgets[host], posts[host], isPost[it.Key] = &hostLimitTracker{}, append(posts[host], it), true
		}
	}
	if len(posts) > 0 {
		p.addActive(budgets, isPost)
	}
	for host, b := range budgets {
		b.allocatePosts(diag.MapList(posts[host], func(it *Item) countedRequest {
			spec := parseSpec(p.in.Set.Find(it.Key).Spec)
			return countedRequest{spec: spec, usage: spec.Usage(), since: p.in.At.Now, item: it}
		}))
		delete(budgets, host) // paths take much memory
	}
}

// allocatePosts adds the requests of a plan to the budget, in their order, or defers them.
func (b *hostLimitTracker) allocatePosts(posts []countedRequest) {
	// What may have been sent keeps its place, whatever its name is.
	for _, u := range posts {
		if u.item.Resend {
			b.addUse(u)
		}
	}
	var late []countedRequest
	for _, u := range posts {
		if !b.reservePost(u) {
			late = append(late, u)
		}
	}
	for _, u := range late {
		b.deferUse(u)
	}
}

// addActive adds what counts before this plan, but for its posts; a record without a hostname counts
// against each.
func (p *Planner) addActive(budgets map[string]*hostLimitTracker, posts map[kind.Key]bool) {
	for key, rec := range p.in.Ledger.Records {
		since, ok := activeSince(rec, p.in.At.Now)
		if k, known := kind.FindKind(key.Kind); !ok || !known || !k.IsRequestOnly() || posts[key] {
			continue
		}
		spec := parseSpec(rec.Spec)
		u := countedRequest{spec: spec, usage: spec.Usage(), since: since}
		if b := budgets[u.hostOf()]; b != nil {
			b.addUse(u)
		} else if u.hostOf() == "" {
			for _, b := range budgets {
				b.addUse(u)
			}
		}
	}
	for _, b := range budgets {
		b.active = b.total
	}
}

// activeSince reports whether a request counts against its hostname's limits, and since when.
func activeSince(rec ledger.Record, now time.Time) (since time.Time, ok bool) {
	at := cmp.Or(rec.AcceptedAt, rec.FirstClaimAt)
	if at == nil || rec.State != ledger.Posted && rec.State != ledger.Claimed && rec.State != ledger.Unknown {
		return time.Time{}, false
	}
	return *at, now.Sub(*at) < activeFor
}

// reservePost adds a request to the budget, or reports that it does not fit. If the platform counts more,
// it may reject a request that fits here, which loses nothing.
func (b *hostLimitTracker) reservePost(u countedRequest) bool {
	if !u.item.Resend {
		if b.total.once.Add(u.usage).Exceeds(purge.HostLimits()) != nil {
			return false
		}
		b.addUse(u)
	}
	u.item.Purge.Active, u.item.Purge.Budget = b.active.once, b.total.once
	if over := b.total.each.Exceeds(purge.HostLimits()); over != nil {
		u.item.addHint(fmt.Sprintf("the platform may reject it: if it counts each path per subdomain, %s are active for %s",
			strings.Join(over, ", "), u.spec.Hostname))
	}
	return true
}

// deferUse defers a request that has no room beside all that is posted.
func (b *hostLimitTracker) deferUse(u countedRequest) {
	item := u.item
	item.Op, item.Request, item.After = Deferred, nil, nil
	item.Purge.Active, item.Purge.Budget = b.active.once, b.total.once
	if over := u.usage.Exceeds(purge.HostLimits()); over != nil {
		item.Reason = "it has " + strings.Join(over, " and ")
		item.Fix = fmt.Sprintf("split it into %d purges, a day apart", u.usage.CountParts(purge.HostLimits()))
		return
	}
	item.Purge.Earliest = b.earliestRoom(u.usage)
	item.Reason = fmt.Sprintf("%s would have %s active at once; apply can send this from %s", u.spec.Hostname,
		strings.Join(b.total.once.Add(u.usage).Exceeds(purge.HostLimits()), " and "),
		item.Purge.Earliest.Add(time.Minute-1).Truncate(time.Minute).UTC().Format(minutes))
	item.Fix = "run apply again from then on"
}

// earliestRoom is when there is room for the request: the end of the last use that does not fit beside
// the later ones.
func (b *hostLimitTracker) earliestRoom(own purge.Usage) time.Time {
	rest := own
	for _, u := range slices.SortedFunc(slices.Values(b.uses), func(a, b countedRequest) int { return b.since.Compare(a.since) }) {
		if rest = rest.Add(u.usage); rest.Exceeds(purge.HostLimits()) != nil {
			return u.since.Add(activeFor)
		}
	}
	return time.Time{}
}
