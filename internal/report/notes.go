package report

import (
	"cmp"
	"slices"
	"strings"

	"trueup/internal/canon"
	"trueup/internal/diag"
	"trueup/internal/plan"
	"trueup/internal/safetext"
)

// maxParts is the most parts that a line lists; the rest is counted.
const maxParts = 12

// itemNotes returns sentences about an item: its purge and quota, what is sent, hints, and what to do.
func itemNotes(item plan.Item, opts Options) []row {
	notes := purgeNotes(item, opts)
	if item.Request != nil {
		notes = append(notes, row{Text: requestLine(item)})
	}
	for _, h := range item.Hints {
		notes = append(notes, row{Text: safetext.F("note: %s", message(h))})
	}
	flag := safetext.F("--take-over %s", clean(item.Key.String()).Cut(maxPath))
	if len(item.FirstContact) > 0 && !strings.Contains(message(item.Fix).String(), flag.String()) {
		notes = append(notes, row{Text: safetext.F("fix: add them to the manifest, or drop them with apply %s", flag), Fix: true})
	}
	if item.Fix != "" {
		fix := safetext.Join(safetext.Filled(safetext.F("fix"), clean(item.Project).CutLeft(maxPath)), " in ")
		notes = append(notes, row{Text: safetext.F("%s: %s", fix, message(item.Fix)), Fix: true})
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
	if p.Everything || slices.Contains(p.Sample, "/*") {
		text = safetext.F("everything (%s)", text)
	}
	return safetext.F("%s on %s", text, limited(hosts, ", "))
}

// maxPaths is the most paths of a purge that are shown, but for its prefixes, which are all shown.
const maxPaths = 10

// purgeNotes lists the prefixes and the first files, and the hostname's budget if it matters or opts ask for it.
func purgeNotes(item plan.Item, opts Options) []row {
	p := item.Purge
	if p == nil {
		return nil
	}
	var notes []row
	if prefixes, files := pathsOf(item); len(prefixes)+len(files) > 0 {
		n := row{facts: factsOfPurge(item)}
		files = files[:min(len(files), max(0, maxPaths-len(prefixes)))]
		n.Text = safetext.F("paths: %s", safetext.Join(cleanAll(slices.Concat(prefixes, files)), ", "))
		if rest := p.Paths + p.Prefixes - len(prefixes) - len(files); rest > 0 {
			n.Text = safetext.F("%s, %d more", n.Text, rest)
		}
		notes = append(notes, n)
	}
	if item.Op != plan.Deferred && (item.Op != plan.Post || !opts.Verbose && !scarce(p.Budget, p.Limits)) {
		return notes
	}
	return append(notes, row{Text: safetext.F("budget of %s: %s, %s, %s", clean(p.Hostname).Cut(maxPath),
		used(p.Budget.Requests, p.Limits.Requests, "requests", p.Active.Requests),
		used(p.Budget.Paths, p.Limits.Paths, "paths", p.Active.Paths),
		used(p.Budget.Prefixes, p.Limits.Prefixes, "prefixes", p.Active.Prefixes))})
}

// pathsOf returns the prefixes of a purge and its other paths: those that it sends, or the sample of one that is not sent.
func pathsOf(item plan.Item) (prefixes, files []string) {
	paths := item.Purge.Sample
	if sent, _ := item.BodySpec()["paths"].([]any); sent != nil {
		paths = nil
		for _, path := range sent {
			text, _ := path.(string)
			paths = append(paths, text)
		}
	}
	for _, path := range paths {
		if strings.HasSuffix(path, "*") {
			prefixes = append(prefixes, path)
		} else {
			files = append(files, path)
		}
	}
	return prefixes, files
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
