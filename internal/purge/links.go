package purge

import (
	"maps"
	"path"
	"slices"
)

// maxLinks is how many links in a row Reaching follows, like operating systems.
const maxLinks = 40

// Reaching returns the symbolic links, sorted, that lead to one of the names, to a directory that has one,
// or to another such link. links maps them to their targets.
func Reaching(links map[string]string, names []string) []string {
	// reached has the names and the directories above them; whole has the names alone.
	reached, whole := map[string]bool{}, map[string]bool{}
	reach := func(name string) {
		whole[name] = true
		for ; name != "." && !reached[name]; name = path.Dir(name) {
			reached[name] = true
		}
	}
	for _, name := range names {
		reach(name)
	}
	var found []string
	rest := slices.Sorted(maps.Keys(links))
	for range maxLinks {
		before := len(found)
		rest = slices.DeleteFunc(rest, func(link string) bool {
			if !leads(link, links[link], reached, whole) {
				return false
			}
			found = append(found, link)
			reach(link)
			return true
		})
		if len(found) == before {
			break
		}
	}
	slices.Sort(found)
	return found
}

// leads reports whether a link leads to something reached, or to something below a whole name.
func leads(link, target string, reached, whole map[string]bool) bool {
	if path.IsAbs(target) {
		return false
	}
	target = path.Join(path.Dir(link), target)
	if target == "." || reached[target] {
		return true
	}
	for target = path.Dir(target); target != "."; target = path.Dir(target) {
		if whole[target] {
			return true
		}
	}
	return false
}
