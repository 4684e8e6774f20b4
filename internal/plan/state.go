package plan

import (
	"slices"
	"strings"

	"trueup/internal/kind"
	"trueup/internal/live"
	"trueup/internal/manifest"
)

// State says in a few words how an object of git and the live one compare.
type State string

// The values of State. status asks for no deletion, so none is to come.
const (
	Unchanged State = "unchanged"
	ToCreate  State = "to create"
	ToChange  State = "to change"
	ToPost    State = "to post"
	NotRead   State = "not read" // the platform could not be asked
	Drifted   State = "drifted"  // only another client changed it
	Posted    State = "posted"
	NotReady  State = "not ready"
	Failed    State = "failed"
	Stopped   State = "blocked"
	Claimed   State = "in flight"
	Later     State = "deferred"
	LeftAlone State = "kept"
	LeftGit   State = "not in git now"
	NotInGit  State = "not in git"
)

// ObjectState is the state of one object of git or live.
type ObjectState struct {
	kind.Key
	State State `json:"state"`
	// Path and Line are where the manifest is; empty where there is none.
	Path string `json:"path,omitempty"`
	Line int    `json:"line,omitempty"`
	// Changes counts the fields that differ, Outside those of them that another client changed, and Conflicts
	// those of these that git changed too.
	Changes   int `json:"changes"`
	Outside   int `json:"changedOutsideGit"`
	Conflicts int `json:"inConflict"`
	// By and Commit say which change of git created or removed the manifest, if that is known; Reason and
	// Fix are those of the item.
	By     By      `json:"by,omitempty"`
	Commit *Commit `json:"commit,omitempty"`
	Reason string  `json:"reason,omitempty"`
	Fix    string  `json:"fix,omitempty"`
}

// States returns the state of each object of a plan and of the manifests in areas that were not read, by kind
// and name.
func States(p *Plan, set *manifest.Set, unread live.Unread) []ObjectState {
	all := make([]ObjectState, 0, len(set.Objects)+len(p.Unmanaged))
	for _, o := range set.Objects {
		if unread[o.Kind.Area] != nil {
			all = append(all, ObjectState{Key: o.Key(), State: NotRead, Path: o.Path, Line: o.Line})
		}
	}
	for _, it := range p.Items {
		s := ObjectState{
			Key: it.Key, State: it.state(), Path: it.Path, Line: it.Line, Changes: len(it.Changes),
			By: it.By, Commit: it.Commit, Reason: it.Reason, Fix: it.Fix,
		}
		if !unsure(it.Changes) {
			s.Outside = len(driftOf(it))
		}
		for _, c := range it.Changes {
			if causeOf(c.Class) == FromBoth {
				s.Conflicts++
			}
		}
		if s.State == ToChange && s.Outside == s.Changes && s.Conflicts == 0 {
			s.State = Drifted
		}
		all = append(all, s)
	}
	for _, key := range p.Unmanaged {
		all = append(all, ObjectState{Key: key, State: NotInGit})
	}
	slices.SortFunc(all, func(a, b ObjectState) int { return strings.Compare(a.String(), b.String()) })
	return all
}

func (it Item) state() State {
	k, _ := kind.Named(it.Kind)
	switch {
	case it.Failed:
		return Failed
	case it.Op == Kept && it.Cause == FromRemoval:
		return LeftGit
	case it.Op == None && k.RequestOnly():
		return Posted
	case it.Op == None && slices.Contains(it.Hints, notReady):
		return NotReady
	}
	return tableOfStates[it.Op]
}

// tableOfStates has the state of an operation, unless Item.state finds a more exact one.
var tableOfStates = map[Op]State{
	None: Unchanged, Create: ToCreate, Patch: ToChange, Post: ToPost,
	Blocked: Stopped, InFlight: Claimed, Deferred: Later, Kept: LeftAlone,
}
