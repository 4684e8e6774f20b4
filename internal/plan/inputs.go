package plan

import (
	"cmp"
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
	Target  Target
	Set     *manifest.Set
	Live    live.State
	Ledger  ledger.View
	// LedgerStore is where the ledger is kept, for people.
	LedgerStore string
	// At is the time that budgets, and the outcomes of open requests, depend on.
	At      ledger.Instant
	Options Options
	// Project is trueup.yaml; it has no Path where there is none.
	Project Project
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
	// TakeOver and AllowRecreate name the objects of the flags of that name.
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

// Choices are what was chosen for a plan, by options and by the project, as a plan's file has it.
type Choices struct {
	Drift          DriftPolicy `json:"drift"`
	Targets        []string    `json:"targets,omitempty"`
	TakeOver       []string    `json:"takeOver,omitempty"`
	AllowRecreate  []string    `json:"allowRecreate,omitempty"`
	AllowEmptyLive bool        `json:"allowEmptyLive,omitempty"`
	MaxCreates     int         `json:"maxCreates,omitempty"`
	Prune          bool        `json:"prune,omitempty"`
	MaxDeletes     int         `json:"maxDeletes,omitempty"`
	PartOfTree     bool        `json:"partOfTree,omitempty"`
	Overrides      []Override  `json:"overrides,omitempty"`
	// Window is how long after its first claim a request may be sent again, as
	// Go writes a duration; empty without a ledger.
	Window string `json:"window,omitempty"`
}

// choices returns those of the inputs, independent of the order of the command line.
func choices(in Inputs) *Choices {
	names := func(keys map[kind.Key]bool) (list []string) {
		for key := range keys {
			list = append(list, key.String())
		}
		slices.Sort(list)
		return list
	}
	o := in.Options
	c := &Choices{
		Drift: cmp.Or(o.Drift, OverwriteDrift), Targets: slices.Compact(slices.Sorted(slices.Values(o.Patterns))),
		TakeOver: names(o.TakeOver), AllowRecreate: names(o.AllowRecreate), AllowEmptyLive: o.AllowEmptyLive,
		MaxCreates: o.MaxCreates, Prune: o.Prune, MaxDeletes: o.MaxDeletes, PartOfTree: o.PartOfTree, Overrides: o.Overrides,
	}
	for _, terms := range in.Ledger.Terms {
		c.Window = terms.Window.String() // it is the project's, and so of all areas
	}
	return c
}
