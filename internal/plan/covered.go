package plan

import (
	"fmt"
	"slices"

	"trueup/internal/kind"
	"trueup/internal/purge"
)

// maxCovering is how many requests a hint about covered paths names.
const maxCovering = 3

// covering is another request that purges paths of this one too.
type covering struct {
	use
	paths int
	// example is one of its prefix paths that does.
	example string
}

// pointOut hints at paths that another active or planned request purges too. The rules of manifests
// report what one request names twice.
func pointOut(posts []use, budgets map[string]*budget) {
	covers := map[*budget]purge.Cover{}
	for _, u := range posts {
		b := budgets[u.host()]
		c, ok := covers[b]
		if !ok {
			lists := make([][]string, len(b.uses))
			for i, u := range b.uses {
				lists[i] = u.spec.Paths
			}
			c = purge.NewCover(lists...)
			covers[b] = c
		}
		u.hintCovered(b.coveredBy(u, c))
	}
}

// coveredBy counts the paths of the request by the other that covers them: the narrowest prefix
// decides, and of equal ones the last.
func (b *budget) coveredBy(own use, c purge.Cover) []covering {
	at := slices.IndexFunc(b.uses, func(u use) bool { return u.key == own.key })
	if at < 0 {
		at = len(b.uses) // it is deferred, so all others come before it
	}
	counts := make([]bool, len(b.uses))
	for i, u := range b.uses {
		counts[i] = i != at && (u.posted || u.item != nil) && includes(u.spec.Subdomains, own.spec.Subdomains)
	}
	found := make([]covering, len(b.uses))
	for _, path := range own.spec.Paths {
		i, prefix, ok := c.By(path, func(i int, prefix string) bool {
			// Of two that name the same prefix the first is not needless.
			return counts[i] && (i < at || prefix != path)
		})
		if !ok {
			continue
		}
		if found[i].paths == 0 {
			found[i].use, found[i].example = b.uses[i], prefix
		}
		found[i].paths++
	}
	found = slices.DeleteFunc(found, func(c covering) bool { return c.paths == 0 })
	slices.SortStableFunc(found, func(a, b covering) int { return b.paths - a.paths })
	return found
}

// includes reports whether the first list has all names of the second.
func includes(all, names []string) bool {
	has := map[string]bool{}
	for _, name := range all {
		has[kind.HostKey(name)] = true
	}
	return !slices.ContainsFunc(names, func(name string) bool { return !has[kind.HostKey(name)] })
}

func (u use) hintCovered(by []covering) {
	for i, c := range by {
		paths := share(c.paths, len(u.spec.Paths))
		switch {
		case i == maxCovering:
			rest := 0
			for _, c := range by[i:] {
				rest += c.paths
			}
			u.item.hint(fmt.Sprintf("%s covered by %d other purges too", share(rest, len(u.spec.Paths)), len(by)-i))
			return
		case c.item != nil:
			u.item.hint(fmt.Sprintf("%s covered by %s of this plan (%s)", paths, c.key, c.example))
		default:
			u.item.hint(fmt.Sprintf("%s covered by the active %s (%s), accepted at %s; the content may have changed since",
				paths, c.key, c.example, c.since.UTC().Format(minutes)))
		}
	}
}

// share is a number of paths as the beginning of a sentence.
func share(n, of int) string {
	if n == 1 {
		return fmt.Sprintf("1 of %d paths is", of)
	}
	return fmt.Sprintf("%d of %d paths are", n, of)
}
