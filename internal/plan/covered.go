package plan

import (
	"cmp"
	"fmt"
	"slices"

	"trueup/internal/kind"
	"trueup/internal/purge"
)

// maxCovering is how many requests a hint about covered paths names.
const maxCovering = 3

// hintCovered hints at paths of a request that another active or planned one purges too. The narrowest
// prefix decides, and of equal ones the last. The rules of manifests report what one request names twice.
func (b *budget) hintCovered() {
	cover := purge.NewCover(each(b.uses, func(u use) []string { return u.spec.Paths })...)
	for _, own := range b.posts {
		at := slices.IndexFunc(b.uses, func(u use) bool { return u.key == own.key })
		if at < 0 {
			at = len(b.uses) // it is deferred, so all others come before it
		}
		counts := each(b.uses, func(u use) bool {
			return u.key != own.key && (u.posted || u.item != nil) && includes(u.spec.Subdomains, own.spec.Subdomains)
		})
		paths, example := make([]int, len(b.uses)), make([]string, len(b.uses))
		var by []int // the requests that cover any
		for _, path := range own.spec.Paths {
			i, prefix, ok := cover.By(path, func(i int, prefix string) bool {
				// Of two that name the same prefix the first is not needless.
				return counts[i] && (i < at || prefix != path)
			})
			if !ok {
				continue
			}
			if paths[i]++; paths[i] == 1 {
				by, example[i] = append(by, i), prefix
			}
		}
		slices.SortFunc(by, func(i, j int) int { return cmp.Or(paths[j]-paths[i], i-j) })
		b.hint(own, by, paths, example)
	}
}

// includes reports whether the first list has all names of the second.
func includes(all, names []string) bool {
	has := map[string]bool{}
	for _, name := range all {
		has[kind.HostKey(name)] = true
	}
	return !slices.ContainsFunc(names, func(name string) bool { return !has[kind.HostKey(name)] })
}

// hint names the requests that cover paths of this one.
func (b *budget) hint(own use, by, paths []int, example []string) {
	rest := 0
	for n, i := range by {
		u := b.uses[i]
		switch part := share(paths[i], len(own.spec.Paths)); {
		case n >= maxCovering:
			rest += paths[i]
		case u.item != nil:
			own.item.hint(fmt.Sprintf("%s covered by %s of this plan (%s)", part, u.key, example[i]))
		default:
			own.item.hint(fmt.Sprintf("%s covered by the active %s (%s), accepted at %s; the content may have changed since",
				part, u.key, example[i], u.since.UTC().Format(minutes)))
		}
	}
	if rest > 0 {
		own.item.hint(fmt.Sprintf("%s covered by %d other purges too", share(rest, len(own.spec.Paths)), len(by)-maxCovering))
	}
}

// share is a number of paths as the beginning of a sentence.
func share(n, of int) string {
	if n == 1 {
		return fmt.Sprintf("1 of %d paths is", of)
	}
	return fmt.Sprintf("%d of %d paths are", n, of)
}
