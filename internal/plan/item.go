package plan

import (
	"cmp"
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"

	"trueup/internal/kind"
	"trueup/internal/ledger"
	"trueup/internal/manifest"
	"trueup/internal/routing"
)

// sendsRequest reports whether apply sends the request of such an item.
func (op Op) sendsRequest() bool { return op == Create || op == Patch || op == Post || op == Delete }

// blockForPerson marks an item that a person must decide about; nothing is sent for it.
func (it *Item) blockForPerson(reason, fix string) {
	it.blockForNow(reason, fix)
	it.NeedsPerson = true
}

// blockForNow blocks an item for a reason that may end without a person's decision.
func (it *Item) blockForNow(reason, fix string) {
	it.Op, it.Request, it.Reason, it.Fix, it.NeedsPerson = Blocked, nil, reason, fix, false
}

func (it *Item) addHint(text string) { it.Hints = append(it.Hints, text) }

// allChanges returns the changes and notes of an item.
func (it *Item) allChanges() iter.Seq[*Change] {
	return func(yield func(*Change) bool) {
		for _, changes := range [][]Change{it.Changes, it.Notes} {
			for i := range changes {
				if !yield(&changes[i]) {
					return
				}
			}
		}
	}
}

func (p *Plan) addNote(format string, args ...any) {
	p.Notes = append(p.Notes, fmt.Sprintf(format, args...))
}

// CountItems counts what the items of the plan do.
func (p *Plan) CountItems() Summary {
	s := Summary{Unmanaged: len(p.Unmanaged)}
	counts := map[Op]*int{
		Create: &s.Create, Patch: &s.Change, Post: &s.Purge, Delete: &s.Delete, Deferred: &s.Deferred,
		InFlight: &s.InFlight, Blocked: &s.Blocked, Kept: &s.Kept, None: &s.Unchanged,
	}
	risks := map[kind.Risk]*int{
		kind.RiskSecurity: &s.Security, kind.RiskServes: &s.Serves, kind.RiskAvailability: &s.Availability, kind.RiskCost: &s.Cost,
	}
	for _, it := range p.Items {
		if n := counts[it.Op]; n != nil && !it.Happened {
			*n++
		}
		for _, l := range it.RemovalLines() {
			for _, p := range l.Parts(it.Kind) {
				s.Removed += p.N
			}
		}
		s.Drifted += it.countDrifted()
		for _, risk := range it.sentRisks() {
			if n := risks[risk]; n != nil {
				*n++
			}
		}
	}
	s.Risk = s.Gravest()
	return s
}

// RemovalLines returns the lines of what a patch takes out of live. What is renamed stays.
func (it Item) RemovalLines() []ChangeLine {
	if it.Op != Patch || it.Happened {
		return nil
	}
	return slices.DeleteFunc(it.Lines(), func(l ChangeLine) bool { return l.Left || !isRemoval(l.Change) })
}

// HasDifferences reports whether live is not what git says, or something is to be sent, now or later, or is blocked. What
// another run is sending is no difference.
func (p *Plan) HasDifferences() bool {
	return slices.ContainsFunc(p.Items, func(it Item) bool {
		return it.Happened || it.leavesChange() || it.Op.sendsRequest() || it.Op == Deferred || it.Op == Blocked
	})
}

// SendsAnything reports whether apply would send anything.
func (p *Plan) SendsAnything() bool {
	return p.Summary.Create+p.Summary.Change+p.Summary.Purge+p.Summary.Delete > 0
}

// DescribeTarget names the workspace and the addresses that requests go to.
func (p *Plan) DescribeTarget() string {
	text := fmt.Sprintf("workspace %s (%s)", p.Target.Workspace.Name, p.Target.Workspace.UUID)
	if p.Sandbox {
		return text + " of the sandbox"
	}
	var origins []string
	for _, it := range p.Items {
		if k, ok := kind.FindKind(it.Kind); ok && it.Request != nil {
			origins = append(origins, p.Target.Origins[k.Area])
		}
	}
	slices.Sort(origins)
	return text + " at " + strings.Join(slices.Compact(origins), " and ")
}

// NarrowToUnanswered is the part of a plan whose requests were begun and have no outcome (docs/design.md 0.12).
// One that waits for an object which is not in sync goes on waiting.
func (p *Plan) NarrowToUnanswered(records map[kind.Key]ledger.Record) *Plan {
	var items []Item
	for _, it := range p.Items {
		if !records[it.Key].IsOpen() {
			continue
		}
		if len(it.After) > 0 {
			it.blockForNow(fmt.Sprintf("this waits for %s, which still differs from git", it.After[0]), "trueup apply sends both")
			it.After = nil
		}
		items = append(items, it)
	}
	out := p.withItems(items)
	out.Blame = nil // whose change it is matters to nobody
	return out
}

// NarrowToObject is the part of a plan that concerns one object, which then waits for nothing else.
func (p *Plan) NarrowToObject(key kind.Key) *Plan {
	var items []Item
	for _, it := range p.Items {
		if it.Key == key {
			it.After = nil
			items = append(items, it)
		}
	}
	return p.withItems(items)
}

// withItems is the plan with other items, and nothing of what it leaves alone.
func (p *Plan) withItems(items []Item) *Plan {
	out := *p
	out.Items, out.Unmanaged, out.Digest = items, nil, ""
	out.Requests = slices.DeleteFunc(slices.Clone(p.Requests), func(l routing.RequestChange) bool {
		return !slices.ContainsFunc(items, func(it Item) bool { return slices.Contains(l.Objects, it.Key) })
	})
	out.Summary = out.CountItems()
	return &out
}

// ObjectStatus says in a few words how an object of git and the live one compare.
type ObjectStatus string

// The values of State. status asks for no deletion, so none is to come.
const (
	Unchanged ObjectStatus = "unchanged"
	ToCreate  ObjectStatus = "to create"
	ToChange  ObjectStatus = "to change"
	ToPost    ObjectStatus = "to post"
	NotRead   ObjectStatus = "not read" // the platform could not be asked
	Drifted   ObjectStatus = "drifted"  // only another client changed it
	Posted    ObjectStatus = "posted"
	NotReady  ObjectStatus = "not ready"
	Failed    ObjectStatus = "failed"
	Stopped   ObjectStatus = "blocked"
	Claimed   ObjectStatus = "in flight"
	Later     ObjectStatus = "deferred"
	LeftAlone ObjectStatus = "kept"
	LeftGit   ObjectStatus = "not in git now"
	NotInGit  ObjectStatus = "not in git"
)

// ObjectState is the state of one object of git or live.
type ObjectState struct {
	kind.Key
	State ObjectStatus `json:"state"`
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
	By     ChangeOrigin `json:"by,omitempty"`
	Commit *Commit      `json:"commit,omitempty"`
	Reason string       `json:"reason,omitempty"`
	Fix    string       `json:"fix,omitempty"`
	// Applied says which run applied it last, if the ledger knows.
	Applied *ledger.LastApply `json:"applied,omitempty"`
}

// AppliedBy says in short from which commit the object was applied, by whom and when.
func (o ObjectState) AppliedBy() string {
	if o.Applied == nil {
		return ""
	}
	by := fmt.Sprintf("%.12s by %s, %s", o.Applied.Commit, cmp.Or(o.Applied.Actor, "somebody"), o.Applied.At.UTC().Format(time.DateOnly))
	return strings.TrimSpace(by)
}

// ObjectStates returns the state of each object of a plan and of the manifests in areas that were not read, by kind
// and name.
func ObjectStates(p *Plan, set *manifest.Set, unread kind.Unread, records map[kind.Key]ledger.Record) []ObjectState {
	all := make([]ObjectState, 0, len(set.Objects)+len(p.Unmanaged))
	for _, o := range set.Objects {
		if unread[o.Kind.Area] != nil {
			all = append(all, ObjectState{Key: o.Key(), State: NotRead, Path: o.Path, Line: o.Line})
		}
	}
	for _, it := range p.Items {
		s := ObjectState{
			Key: it.Key, State: it.standing(), Path: it.Path, Line: it.Line, Changes: len(it.Changes),
			By: it.By, Commit: it.Commit, Reason: it.Reason, Fix: it.Fix, Applied: records[it.Key].LastApplied(),
		}
		if !areUnattributed(it.Changes) {
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

// IsRemovedFromGit reports whether trueup applied the object and git has it no longer.
func (it Item) IsRemovedFromGit() bool {
	departs := it.Op == Kept || it.Op == Delete || it.Op == InFlight
	return it.Cause == FromRemoval || it.Cause == FromThisChange && departs && it.Path == ""
}

func (it Item) standing() ObjectStatus {
	k, _ := kind.FindKind(it.Kind)
	switch {
	case it.Failed:
		return Failed
	case it.Op == Kept && it.IsRemovedFromGit():
		return LeftGit
	case it.Op == None && k.IsRequestOnly():
		return Posted
	case it.Op == None && slices.Contains(it.Hints, notReady):
		return NotReady
	}
	return tableOfStates[it.Op]
}

// tableOfStates has the state of an operation, unless Item.state finds a more exact one.
var tableOfStates = map[Op]ObjectStatus{
	None: Unchanged, Create: ToCreate, Patch: ToChange, Post: ToPost,
	Blocked: Stopped, InFlight: Claimed, Deferred: Later, Kept: LeftAlone,
}
