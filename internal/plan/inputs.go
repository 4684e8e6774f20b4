package plan

import (
	"cmp"
	"maps"
	"reflect"
	"slices"

	"trueup/internal/kind"
	"trueup/internal/ledger"
	"trueup/internal/live"
	"trueup/internal/manifest"
)

// Inputs are everything that a plan depends on, as values.
type Inputs struct {
	Tool    string
	Sandbox bool
	Target  Destination
	Set     *manifest.Set
	Live    live.State
	// Release drops the spec of each live object once it is planned, to save memory. Explain then needs a base with
	// the same overrides.
	Release bool
	// ReadOnly says that no request of the plan is sent: no ledger has to keep what live was before.
	ReadOnly bool
	// ForDrift says that the plan is made for NarrowToDrift, which needs no advice.
	ForDrift bool
	Ledger   ledger.View
	// LedgerStore is where the ledger is kept, for people.
	LedgerStore string
	// At is the time that budgets, and the outcomes of open requests, depend on.
	At      ledger.Instant
	Options Options
	// Project is trueup.yaml; it has no Path where there is none.
	Project ProjectSettings
	// Base proves that manifests were in git before; only deletions rest on it.
	Base Base
}

// Options are what the user allowed or narrowed.
type Options struct {
	// Targets narrows the plan to matching objects, which the user named by Patterns; nil
	// means all. An object that it leaves out is not planned, and never looks removed.
	Targets  func(kind.Key) bool
	Patterns []string
	Drift    DriftPolicy
	// TakeOver and AllowRecreate name the objects of --accept.
	TakeOver, AllowRecreate map[kind.Key]bool
	// AllowEmptyLive lets objects be created although nothing that the ledger
	// knows is live any more.
	AllowEmptyLive bool
	// PartOfTree says that only some of the project's manifests were read.
	PartOfTree bool
	// Unread says that something that may hold manifests was not read.
	Unread    bool
	Overrides []Override
	// MaxCreates is how many objects of an area may be created if the ledger knows others.
	MaxCreates int
	// ShowUnmanaged lists the fields of live that git does not mention.
	ShowUnmanaged bool
	// Prune deletes objects that left git, at most MaxDeletes.
	Prune      bool
	MaxDeletes int
}

// Override changes how a field is compared, for servers that sort or rewrite (docs/design.md 0.20).
type Override struct {
	Kind     string   `json:"kind"`
	Path     string   `json:"path"`
	Ignore   bool     `json:"ignore,omitempty"`
	ReadOnly bool     `json:"readonly,omitempty"`
	Omit     bool     `json:"omit,omitempty"`
	Order    string   `json:"order,omitempty"`
	Key      []string `json:"key,omitzero"` // empty pairs by position, nil says nothing
	Type     string   `json:"type,omitempty"`
	// Undocumented are fields of the object at the path, or values of the text, that
	// the platform's document lacks. Such an override changes no comparison.
	Undocumented []string `json:"undocumented,omitempty"`
}

// choicesOf returns what was chosen for a plan, by options and by the project, as schemas/plan.schema.json
// has it, independent of the order of the command line.
func choicesOf(in Inputs) map[string]any {
	names := func(keys map[kind.Key]bool) (list []string) {
		for key := range keys {
			list = append(list, key.String())
		}
		slices.Sort(list)
		return list
	}
	o := in.Options
	chosen := map[string]any{
		"drift": cmp.Or(o.Drift, OverwriteDrift), "targets": slices.Compact(slices.Sorted(slices.Values(o.Patterns))),
		"takeOver": names(o.TakeOver), "allowRecreate": names(o.AllowRecreate), "allowEmptyLive": o.AllowEmptyLive,
		"maxCreates": o.MaxCreates, "prune": o.Prune, "maxDeletes": o.MaxDeletes, "partOfTree": o.PartOfTree,
		"duplicate": in.Project.Purge.Duplicate.String(), // it decides whether a purge counts as executed
	}
	if len(o.Overrides) > 0 {
		chosen["overrides"] = o.Overrides
	}
	for _, terms := range in.Ledger.Terms {
		chosen["window"] = terms.Window.String() // it is the project's, and so of all areas
	}
	maps.DeleteFunc(chosen, func(_ string, v any) bool { return reflect.ValueOf(v).IsZero() })
	return chosen
}
