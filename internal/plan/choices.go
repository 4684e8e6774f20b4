package plan

import (
	"maps"
	"slices"

	"trueup/internal/kind"
)

// Choices are what was chosen for a plan, as values: its options, and the
// settings of the project that decide what is planned.
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
	// Window is how long after its first intent a request may be sent again, as
	// Go writes a duration; empty where there is no ledger.
	Window string `json:"window,omitempty"`
}

// choices are those of the inputs, in an order that does not depend on the
// command line.
func choices(in Inputs) *Choices {
	o := in.Options
	c := &Choices{
		Drift: o.Drift.orUsual(), Targets: slices.Compact(slices.Sorted(slices.Values(o.Patterns))),
		TakeOver: names(o.TakeOver), AllowRecreate: names(o.AllowRecreate), AllowEmptyLive: o.AllowEmptyLive,
		MaxCreates: o.MaxCreates, Prune: o.Prune, MaxDeletes: o.MaxDeletes, PartOfTree: o.PartOfTree, Overrides: o.Overrides,
	}
	for _, terms := range in.Ledger.Terms {
		c.Window = terms.Window.String() // it is the project's, and so of all areas
	}
	return c
}

func names(keys map[kind.Key]bool) []string {
	var list []string
	for key := range maps.Keys(keys) {
		list = append(list, key.String())
	}
	slices.Sort(list)
	return list
}
