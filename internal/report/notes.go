package report

import (
	"cmp"
	"slices"
	"strings"

	"trueup/internal/canon"
	"trueup/internal/diag"
	"trueup/internal/kind"
	"trueup/internal/plan"
	"trueup/internal/safetext"
)

// maxParts is the most parts that a line lists; the rest is counted.
const maxParts = 12

type note struct {
	Text safe
	// Fix marks an instruction, and list a list of names.
	Fix, list bool
	// path and risk belong to a dropped value.
	path safe
	risk kind.Risk
}

// gravePath returns the path of a dropped value with a grave risk; empty for others.
func (n note) gravePath() safe {
	if n.risk.Grave() {
		return n.path
	}
	return safe{}
}

// itemNotes returns kept and dropped values, and the effects.
func itemNotes(item plan.Item, opts Options) []note {
	var notes []note
	for _, v := range item.Preserved {
		notes = append(notes, note{Text: safetext.F("live only: %s = %s (it stays)", clean(v.Path).Cut(maxPath), value(v.Value, false))})
	}
	for _, v := range item.Collateral {
		risk := riskAt(item.Kind, v.Path, v.Value)
		effect := safetext.Join(safetext.Filled(clean("not in git"), clean("lost unless the platform sets it itself"), risky(item, risk)), "; ")
		text := safetext.F("not sent: %s = %s (%s)", v.Path, value(v.Value, risk.Grave()), effect)
		notes = append(notes, note{Text: text, path: clean(v.Path), risk: risk})
	}
	return append(notes, effects(item, opts)...)
}

// effects returns what is sent, its purges and quota, and hints.
func effects(item plan.Item, opts Options) []note {
	notes := purgeNotes(item, opts)
	if item.Request != nil {
		notes = append(notes, note{Text: requestLine(item)})
	}
	for _, h := range item.Hints {
		notes = append(notes, note{Text: safetext.F("note: %s", message(h))})
	}
	flag := safetext.F("--take-over %s", clean(item.Key.String()).Cut(maxPath))
	if len(item.FirstContact) > 0 && !strings.Contains(message(item.Fix).String(), flag.String()) {
		notes = append(notes, note{Text: safetext.F("fix: add them to the manifest, or drop them with apply %s", flag), Fix: true})
	}
	if item.Fix != "" {
		fix := safetext.Join(safetext.Filled(safetext.F("fix"), clean(item.Project).CutLeft(maxPath)), " in ")
		notes = append(notes, note{Text: safetext.F("%s: %s", fix, message(item.Fix)), Fix: true})
	}
	return notes
}

func requestLine(item plan.Item) safe {
	if item.Op == plan.Delete {
		item.Name = cmp.Or(item.RemoteName, item.Name)
	}
	item.Project = "" // the title has it
	line := safetext.F("%s %s", clean(item.Request.Method).Cut(maxPath), titled(item.Key))
	if item.Op != plan.Patch {
		return line
	}
	return safetext.F("%s  {%s}", line, limited(patchParts(item), "; "))
}

// patchParts names the paths in a merge patch: lists with their length, because a patch
// replaces the whole list, and removals.
func patchParts(item plan.Item) []safe {
	lists := make(map[string]int, len(item.Lists))
	for _, l := range item.Lists {
		lists[l.Path] = l.Elements
	}
	var parts []safe
	var walk func(path string, v any)
	walk = func(path string, v any) {
		name := clean(path).Cut(maxPath)
		switch t := v.(type) {
		case map[string]any:
			if len(t) == 0 {
				parts = append(parts, safetext.F("%s: {}", name))
			}
			for _, k := range canon.SortedKeys(t) {
				walk(strings.TrimPrefix(path+"."+k, "."), t[k])
			}
		case []any:
			elements, ok := lists[path]
			if !ok {
				elements = len(t)
			}
			parts = append(parts, safetext.F("%s: whole list of %d", name, elements))
		case nil:
			parts = append(parts, safetext.F("%s: removed", name))
		default:
			parts = append(parts, name)
		}
	}
	walk("", item.BodySpec())
	return parts
}

// limited joins the first parts and counts the rest.
func limited(parts []safe, sep string) safe {
	if len(parts) <= maxParts {
		return safetext.Join(parts, sep)
	}
	return safetext.F("%s%s%d more", safetext.Join(parts[:maxParts], sep), sep, len(parts)-maxParts)
}

// invalidated counts the paths and prefixes of a purge, and names its hosts.
func invalidated(p *plan.PurgeInfo) safe {
	if p == nil {
		return safe{}
	}
	var what []safe
	if p.Paths > 0 || p.Prefixes == 0 {
		what = append(what, safetext.Count(p.Paths, "path"))
	}
	if p.Prefixes > 0 {
		what = append(what, clean(diag.Plural(p.Prefixes, "prefix", "prefixes")))
	}
	hosts := []safe{clean(p.Hostname).Cut(maxPath)}
	for _, s := range p.Subdomains {
		hosts = append(hosts, clean(s).Cut(maxName))
	}
	text := safetext.Join(what, " and ")
	if slices.Contains(p.Sample, "/*") {
		text = safetext.F("everything (%s)", text)
	}
	return safetext.F("%s on %s", text, limited(hosts, ", "))
}

// purgeNotes lists the first paths, and the hostname's budget if it matters or opts ask for it.
func purgeNotes(item plan.Item, opts Options) []note {
	p := item.Purge
	if p == nil {
		return nil
	}
	var notes []note
	if len(p.Sample) > 0 {
		paths := make([]safe, len(p.Sample))
		for i, s := range p.Sample {
			paths[i] = clean(s).Cut(maxName)
		}
		line := safetext.F("paths: %s", safetext.Join(paths, ", "))
		if rest := p.Paths + p.Prefixes - len(paths); rest > 0 {
			line = safetext.F("%s, %d more", line, rest)
		}
		notes = append(notes, note{Text: line})
	}
	if item.Op != plan.Deferred && (item.Op != plan.Post || !opts.Verbose && !scarce(p.Budget, p.Limits)) {
		return notes
	}
	return append(notes, note{Text: safetext.F("budget of %s: %s, %s, %s", clean(p.Hostname).Cut(maxPath),
		used(p.Budget.Requests, p.Limits.Requests, "requests", p.Active.Requests),
		used(p.Budget.Paths, p.Limits.Paths, "paths", p.Active.Paths),
		used(p.Budget.Prefixes, p.Limits.Prefixes, "prefixes", p.Active.Prefixes))})
}

// scarce reports whether more than half of any limit is used.
func scarce(used, limits plan.Budget) bool {
	return 2*used.Requests > limits.Requests || 2*used.Paths > limits.Paths || 2*used.Prefixes > limits.Prefixes
}

// used counts the used quota, and how much was used before this plan.
func used(n, limit int, what string, before int) safe {
	text := safetext.F("%d %s", n, what)
	if limit > 0 {
		text = safetext.F("%d of %d %s", n, limit, what)
	}
	switch {
	case before == n && n > 0:
		return safetext.F("%s (all active)", text)
	case before > 0:
		return safetext.F("%s (%d active + %d)", text, before, n-before)
	}
	return text
}
