package plan

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"trueup/internal/kind"
	"trueup/internal/ledger"
	"trueup/internal/purge"
)

// activeFor is how long a purge counts against its hostname's limits: the
// platform keeps it for about 24 hours (docs/platform.md 3), and an hour is margin.
const activeFor = 25 * time.Hour

// minutes is how a plan writes a time for people.
const minutes = "2006-01-02T15:04Z07:00"

// use is a request that counts against the limits of its hostname.
type use struct {
	key   kind.Key
	spec  purge.Spec
	usage purge.Usage
	// since is when it began to count.
	since time.Time
	// posted says that the platform accepted it, planned that this plan posts it.
	posted, planned bool
}

func (u use) host() string { return kind.HostKey(u.spec.Hostname) }

// spending is the usage of a hostname's limits, counted in two ways: each path once,
// and once more for each subdomain. The platform's document does not say which is
// right (docs/design.md A6).
type spending struct{ once, each purge.Usage }

func (s spending) add(u use) spending {
	subdomains := slices.Compact(slices.Sorted(slices.Values(u.spec.Subdomains)))
	return spending{s.once.Add(u.usage), s.each.Add(u.usage.Pessimistic(len(subdomains)))}
}

// budget has the requests that count against the limits of one hostname.
type budget struct {
	uses []use
	// active is the usage before this plan, total the usage with what it posts.
	active, total spending
}

func (b *budget) add(u use) {
	b.uses = append(b.uses, u)
	b.total = b.total.add(u)
}

// wish is a request that the plan would post.
type wish struct {
	use
	item *Item
}

// spend decides what fits into the limits of each hostname, in the order of the
// items: what does not is deferred (docs/design.md A6).
func (p *Planner) spend(items []Item) {
	wishes := p.wishes(items)
	if len(wishes) == 0 {
		return
	}
	budgets := p.activeBudgets(wishes)
	// What may have been sent holds its place, whatever its name is.
	for _, w := range wishes {
		if w.item.Resend {
			budgets[w.host()].add(w.use)
		}
	}
	var late []wish
	for _, w := range wishes {
		if b := budgets[w.host()]; !b.post(w) {
			late = append(late, w)
		}
	}
	for _, w := range late {
		budgets[w.host()].postpone(w)
	}
	pointOut(wishes, budgets)
}

func (p *Planner) wishes(items []Item) []wish {
	var wishes []wish
	for i := range items {
		if items[i].Op == Post {
			u := newUse(items[i].Key, p.in.Set.Find(items[i].Key).Spec)
			u.since, u.planned = p.in.At.Now, true
			wishes = append(wishes, wish{u, &items[i]})
		}
	}
	return wishes
}

// newUse reads a spec. One that can't be read is a request to no hostname.
func newUse(key kind.Key, spec []byte) use {
	parsed, _ := purge.Parse(decodedObject(spec))
	return use{key: key, spec: parsed, usage: parsed.Usage()}
}

// activeBudgets adds up what counts against the hostnames of the wishes before
// this plan; what names no hostname counts against each.
func (p *Planner) activeBudgets(wishes []wish) map[string]*budget {
	budgets := map[string]*budget{}
	again := map[kind.Key]bool{}
	for _, w := range wishes {
		budgets[w.host()] = &budget{}
		again[w.key] = true
	}
	for key, rec := range p.in.Ledger.Records {
		since, ok := activeSince(rec, p.in.At.Now)
		if k, known := kind.Named(key.Kind); !ok || !known || !k.RequestOnly() || again[key] {
			continue
		}
		u := newUse(key, rec.Spec)
		u.since, u.posted = since, rec.State == ledger.Posted
		if b := budgets[u.host()]; b != nil {
			b.add(u)
			continue
		}
		if u.host() == "" {
			for _, b := range budgets {
				b.add(u)
			}
		}
	}
	for _, b := range budgets {
		b.active = b.total
		slices.SortFunc(b.uses, func(a, b use) int {
			return cmp.Or(a.since.Compare(b.since), cmp.Compare(a.key.String(), b.key.String()))
		})
	}
	return budgets
}

// activeSince reports whether a request counts against its hostname's limits at a
// time, and since when.
func activeSince(rec ledger.Record, now time.Time) (since time.Time, ok bool) {
	if !slices.Contains([]ledger.State{ledger.Posted, ledger.Claimed, ledger.Unknown}, rec.State) {
		return time.Time{}, false
	}
	at := cmp.Or(rec.AcceptedAt, rec.FirstClaimAt)
	if at == nil {
		return time.Time{}, false
	}
	return *at, now.Sub(*at) < activeFor
}

// post adds a request to the budget, or reports that it does not fit. If the platform
// counts paths more than once, it may reject a request that fits here. That loses
// nothing.
func (b *budget) post(w wish) bool {
	if !w.item.Resend {
		if b.total.once.Add(w.usage).Exceeds(purge.Limits()) != nil {
			return false
		}
		b.add(w.use)
	}
	w.item.Purge.Active, w.item.Purge.Budget = b.active.once, b.total.once
	if over := b.total.each.Exceeds(purge.Limits()); over != nil {
		w.item.Hints = append(w.item.Hints, fmt.Sprintf(
			"the platform may refuse it: if it counts each path per subdomain, %s are active for %s",
			strings.Join(over, ", "), w.spec.Hostname))
	}
	return true
}

// postpone defers a request that has no room beside all that is posted.
func (b *budget) postpone(w wish) {
	item := w.item
	item.Op, item.Request, item.After = Deferred, nil, nil
	item.Purge.Active, item.Purge.Budget = b.active.once, b.total.once
	if over := w.usage.Exceeds(purge.Limits()); over != nil {
		item.Reason = "it has " + strings.Join(over, " and ")
		item.Fix = fmt.Sprintf("split it into %d purges, a day apart", w.usage.Parts(purge.Limits()))
		return
	}
	item.Purge.Earliest = b.earliest(w.usage)
	item.Reason = fmt.Sprintf("%s would have %s active at once; apply can send this from %s", w.spec.Hostname,
		strings.Join(b.total.once.Add(w.usage).Exceeds(purge.Limits()), " and "),
		item.Purge.Earliest.Add(time.Minute-1).Truncate(time.Minute).UTC().Format(minutes))
	item.Fix = "run apply again from then on"
}

// earliest is when so much has ended that there is room for the request beside
// the rest. The latest end last, so it is the end of the last use that does not
// fit beside the later ones.
func (b *budget) earliest(own purge.Usage) time.Time {
	uses := slices.SortedFunc(slices.Values(b.uses), func(a, b use) int { return b.since.Compare(a.since) })
	rest := own
	for _, u := range uses {
		if rest = rest.Add(u.usage); rest.Exceeds(purge.Limits()) != nil {
			return u.since.Add(activeFor)
		}
	}
	return time.Time{}
}
