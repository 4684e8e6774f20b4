package report

import (
	"slices"
	"strings"

	"trueup/internal/canon"
	"trueup/internal/kind"
	"trueup/internal/plan"
)

// The number of parts that one line lists before it only counts the rest.
const maxParts = 12

// note is an unmarked line below the marked ones: a consequence or advice.
type note struct {
	text safe
	// fix says that the line tells a person what to do.
	fix bool
	// list says that the line lists names, of which some say something, too.
	list bool
	// path and risk are those of a value that is dropped.
	path safe
	risk kind.Risk
}

// itemNotes are the consequences of an item, its request, and advice.
func itemNotes(item plan.Item) []note { return append(besides(item), effects(item)...) }

// besides are the values that go along with a change, or with what it removes.
func besides(item plan.Item) []note {
	var notes []note
	for _, v := range item.Preserved {
		notes = append(notes, note{text: "kept: " + cut(clean(v.Path), maxPath) + " = " + value(v.Value, false) + " (not managed here)"})
	}
	for _, v := range item.Collateral {
		risk := riskOf(item, v)
		text := "dropped: " + clean(v.Path) + " = " + value(v.Value, risk.Grave()) + " (removed with its parent)"
		notes = append(notes, note{text: text, path: clean(v.Path), risk: risk})
	}
	return notes
}

// effects are what apply sends for an item, what that uses up, and advice.
func effects(item plan.Item) []note {
	notes := purgeNotes(item)
	if item.Request != nil {
		notes = append(notes, note{text: requestLine(item)})
	}
	for _, h := range item.Hints {
		notes = append(notes, note{text: "note: " + message(h)})
	}
	fix := message(item.Fix)
	flag := "--take-over " + named(item.Key)
	if len(item.FirstContact) > 0 && !strings.Contains(string(fix), string(flag)) {
		notes = append(notes, note{text: "fix: add them to the manifest, or drop them with apply " + flag, fix: true})
	}
	if fix != "" {
		notes = append(notes, note{text: "fix: " + fix, fix: true})
	}
	return notes
}

// requestLine is the request and what its body holds.
func requestLine(item plan.Item) safe {
	r := item.Request
	line := cut(clean(r.Method), maxPath) + " " + cut(clean(r.Path), maxPath)
	if item.Op != plan.Patch {
		return line
	}
	return line + "  {" + limited(patchParts(item), "; ") + "}"
}

// patchParts names what a merge patch holds: scalars by their path, lists with
// their length because they replace the whole list, and removals.
func patchParts(item plan.Item) []safe {
	lists := make(map[string]int, len(item.Lists))
	for _, l := range item.Lists {
		lists[l.Path] = l.Elements
	}
	var parts []safe
	var walk func(path string, v any)
	walk = func(path string, v any) {
		switch t := v.(type) {
		case map[string]any:
			if len(t) == 0 {
				parts = append(parts, cut(clean(path), maxPath)+": {}")
			}
			for _, k := range canon.SortedKeys(t) {
				walk(strings.TrimPrefix(path+"."+k, "."), t[k])
			}
		case []any:
			elements, ok := lists[path]
			if !ok {
				elements = len(t)
			}
			parts = append(parts, cut(clean(path), maxPath)+": whole list of "+number(elements))
		case nil:
			parts = append(parts, cut(clean(path), maxPath)+": removed")
		default:
			parts = append(parts, cut(clean(path), maxPath))
		}
	}
	walk("", item.BodySpec())
	return parts
}

// limited joins the first parts and counts the rest.
func limited(parts []safe, sep safe) safe {
	if len(parts) <= maxParts {
		return join(parts, sep)
	}
	return join(parts[:maxParts], sep) + sep + number(len(parts)-maxParts) + " more"
}

// invalidated says what a purge hits: paths, prefixes, hosts.
func invalidated(p *plan.PurgeInfo) safe {
	if p == nil {
		return ""
	}
	var what []safe
	if p.Paths > 0 || p.Prefixes == 0 {
		what = append(what, count(p.Paths, "path"))
	}
	switch {
	case p.Prefixes == 1:
		what = append(what, "1 prefix")
	case p.Prefixes > 1:
		what = append(what, number(p.Prefixes)+" prefixes")
	}
	hosts := []safe{cut(clean(p.Hostname), maxPath)}
	for _, s := range p.Subdomains {
		hosts = append(hosts, cut(clean(s), maxName))
	}
	text := join(what, " and ")
	if slices.Contains(p.Sample, "/*") {
		text = "everything (" + text + ")"
	}
	return text + " on " + limited(hosts, ", ")
}

// purgeNotes are the first paths, and the hostname's budget if that decides
// about the request: what is held is not in it.
func purgeNotes(item plan.Item) []note {
	p := item.Purge
	if p == nil {
		return nil
	}
	var notes []note
	if len(p.Sample) > 0 {
		paths := make([]safe, len(p.Sample))
		for i, s := range p.Sample {
			paths[i] = cut(clean(s), maxName)
		}
		line := "paths: " + join(paths, ", ")
		if rest := p.Paths + p.Prefixes - len(paths); rest > 0 {
			line += ", " + number(rest) + " more"
		}
		notes = append(notes, note{text: line})
	}
	if item.Op != plan.Post && item.Op != plan.Deferred {
		return notes
	}
	return append(notes, note{text: "budget of " + cut(clean(p.Hostname), maxPath) + ": " +
		used(p.Budget.Requests, p.Limits.Requests, " requests", p.Active.Requests) + ", " +
		used(p.Budget.Paths, p.Limits.Paths, " paths", p.Active.Paths) + ", " +
		used(p.Budget.Prefixes, p.Limits.Prefixes, " prefixes", p.Active.Prefixes)})
}

// used is a part of a budget: how much of it is gone, and how much of that was
// before this plan.
func used(n, limit int, what safe, before int) safe {
	text := number(n)
	if limit > 0 {
		text += " of " + number(limit)
	}
	text += what
	switch {
	case before == n && n > 0:
		text += " (all active)"
	case before > 0:
		text += " (" + number(before) + " active + " + number(n-before) + ")"
	}
	return text
}
