package report

import (
	"cmp"
	"maps"
	"slices"

	"trueup/internal/plan"
)

// targetPart is one thing that a plan speaks of, such as its workspace.
type targetPart struct {
	name   safe
	values []safe
}

// target says where the requests of a plan would go, and what records them.
func target(doc Document) []targetPart {
	pl := doc.Plan
	var parts []targetPart
	add := func(name safe, values ...safe) {
		if values = filled(values...); len(values) > 0 {
			parts = append(parts, targetPart{name, values})
		}
	}
	workspace := clean(pl.Target.Workspace.Name)
	if uuid := clean(pl.Target.Workspace.UUID); uuid != "" {
		workspace = join(filled(workspace, "("+uuid+")"), " ")
	}
	add("Workspace", workspace)
	var origins []safe
	for _, area := range slices.Sorted(maps.Keys(pl.Target.Origins)) {
		if origin := clean(pl.Target.Origins[area]); !slices.Contains(origins, origin) {
			origins = append(origins, origin)
		}
	}
	if !doc.Sandbox { // the banner names the embedded platform
		add("Platform", origins...)
	}
	add("Ledger", clean(cmp.Or(pl.LedgerStore, pl.Ledger)))
	return parts
}

// risksLine counts the lines of the first two risks and names the objects, empty
// where there are none.
func risksLine(pl *plan.Plan) safe {
	var parts []safe
	for _, n := range risks() {
		total, names := n.in(pl)
		if total > 0 {
			parts = append(parts, n.title(total)+" ("+limited(names, ", ")+")")
		}
	}
	if len(parts) == 0 {
		return ""
	}
	return join(parts, "; ") + "."
}
