package plan

import (
	"slices"
	"time"

	"trueup/internal/kind"
	"trueup/internal/merge"
)

// Change is one path whose live value differs from git's, and why it does.
type Change struct {
	merge.Difference
	// Cause is what made the line, By whether this change of git has a part in it.
	Cause Cause        `json:"cause,omitempty"`
	By    ChangeOrigin `json:"by,omitempty"`
	// Commit is the newest that gave the place its value in git, if that is proven and it is not of
	// this change.
	Commit *Commit `json:"commit,omitempty"`
	// Risk is what the table of risks has for the change.
	Risk kind.Risk `json:"risk,omitempty"`
	// RiskReason is why it can do that.
	RiskReason string `json:"riskReason,omitempty"`
	// Position is set if the change is Moved, or a new element of an ordered list that is not its last.
	Position *ListPosition `json:"position,omitempty"`
	// KeptAt is when the server last kept the value although git had removed it.
	KeptAt *time.Time `json:"keptAt,omitempty"`
	// Units are set if the values are numbers of a unit of time.
	Units Units `json:"units,omitzero"`
	// Line and Column are the place in the manifest, from 1; 0 where there is none.
	Line   int `json:"line,omitempty"`
	Column int `json:"column,omitempty"`
}

// ListPosition is where a list has an element, in live and in git, from 1. Live is 0 for a new one, of which Of is the length of
// git's list.
type ListPosition struct {
	Live    int `json:"live,omitempty"`
	Desired int `json:"desired"`
	Of      int `json:"of,omitempty"`
}

// Units are the units of time of a number, in live and in git; empty if unknown.
type Units struct {
	Live    string `json:"live,omitempty"`
	Desired string `json:"desired,omitempty"`
}

// positionOf returns the position of a moved element, or of a new one that is not the last, or nil.
func positionOf(c merge.Difference) *ListPosition {
	if !c.Moved && c.Of == 0 {
		return nil
	}
	last := c.At[len(c.At)-1]
	if !c.Moved {
		return &ListPosition{Desired: last.Index + 1, Of: c.Of}
	}
	return &ListPosition{Live: last.Live + 1, Desired: last.Index + 1}
}

// Cause is why a line of a plan is there.
type Cause string

// The causes. FromPending is what git has and trueup did not apply last, FromRemoval what git no longer has, and FromTakeOver what
// it has without having applied it. Of these, FromThisChange is what git changed since the base: the class tells them apart.
const (
	FromThisChange Cause = "this-change"
	FromPending    Cause = "pending"
	FromDrift      Cause = "drift"
	FromBoth       Cause = "conflict"
	FromTakeOver   Cause = "newly-managed"
	FromRemoval    Cause = "removed"
	FromLiveOnly   Cause = "live-only"
	FromRefusal    Cause = "server-normalised"
	FromUnknown    Cause = "unknown"
)

// ChangeOrigin names who changed git in the place of a line. It is empty if that is not known to be this change.
type ChangeOrigin string

// ByThisChange is the commits since the base, and what is not committed.
const ByThisChange ChangeOrigin = "this-change"

// ComparedCommits names the commits that were compared to find whose change a line is.
type ComparedCommits struct {
	// Ref is how the user knows the base, Base the id of the commit that was read
	// for it, the merge base with Head, which is the commit that is checked out.
	Ref  string `json:"ref,omitempty"`
	Base string `json:"base,omitempty"`
	Head string `json:"head,omitempty"`
	// Merge says that Head is a merge that the code host made for a pull request.
	Merge bool `json:"merge,omitempty"`
	// Problem is what trueup could not find out and why, and Fix what to do.
	Problem string `json:"problem,omitempty"`
	Fix     string `json:"fix,omitempty"`
}

// ServerNormalised is the class of a value that the server did not keep when git's was last sent, unless another client
// changed it since; and of one that the server did not remove (docs/design.md B8).
const ServerNormalised merge.ChangeKind = "server-normalised"

// tableOfClasses says what each class means: its cause, unless history or the ledger shows another one, whether another
// client made the change, and whether it needs no request.
var tableOfClasses = map[merge.ChangeKind]struct {
	cause         Cause
	drift, unsent bool
}{
	merge.Converged:       {cause: FromPending, unsent: true},
	merge.Changed:         {cause: FromPending},
	merge.DriftOverwrite:  {cause: FromDrift, drift: true},
	merge.TakeOver:        {cause: FromTakeOver},
	merge.Conflict:        {cause: FromBoth, drift: true},
	merge.Removed:         {cause: FromRemoval},
	merge.RemovedConflict: {cause: FromBoth, drift: true},
	merge.Unmanaged:       {cause: FromLiveOnly, unsent: true},
	merge.UnknownBase:     {cause: FromUnknown, drift: true},
	ServerNormalised:      {cause: FromRefusal, drift: true},
}

func causeOf(c merge.ChangeKind) Cause { return tableOfClasses[c].cause }

// IsShown reports whether every report shows a change of the class. The others need no request.
func IsShown(c merge.ChangeKind) bool { return !tableOfClasses[c].unsent }

// WeighRisks fills in the risk of each change and object, which follows from the table of risks.
func (p *Plan) WeighRisks() {
	for i := range p.Items {
		p.Items[i].weighRisk()
	}
}

func (it *Item) weighRisk() {
	k, ok := kind.FindKind(it.Kind)
	if !ok {
		return
	}
	spec := any(it.BodySpec())
	for c := range it.allChanges() {
		at, around := k.Spec().FindField(c.Path), enclosingObject(*c, spec)
		if c.At == nil { // the plan is from a file
			around = k.Spec().ObjectWith(c.Path, spec)
		}
		row := at.RiskRowOf(c.Live, c.Desired, around)
		switch {
		case c.Moved:
			row = kind.RiskRow{Risk: at.Risk, Reason: "the order decides which one applies"}
		case it.Happened:
			row = at.RiskRowOf(c.Desired, c.Live, around)
		}
		c.Risk, c.RiskReason = row.Risk, row.Reason
	}
	it.Risk = slices.Max(append(it.lineRisks(false), kind.NoRisk))
}

// enclosingObject returns the object with the field or element of a change in a spec that is sent, or nil.
func enclosingObject(c Change, spec any) any {
	for _, s := range c.At[:max(0, len(c.At)-1)] {
		switch v := spec.(type) {
		case map[string]any:
			spec = v[s.Field]
		case []any:
			if spec = nil; s.After >= 0 && s.After < len(v) {
				spec = v[s.After]
			}
		}
	}
	return spec
}

// lineRisks returns the risk of each line; sent leaves out those that the request leaves as they are. An
// object that is made is one line, as grave as the gravest field of its kind; one that is deleted, as its removal.
func (it *Item) lineRisks(sent bool) []kind.Risk {
	k, ok := kind.FindKind(it.Kind)
	if !ok {
		return nil
	}
	var risks []kind.Risk
	for _, l := range it.Lines() {
		if !sent || !l.Left {
			risks = append(risks, l.Risk)
		}
	}
	for _, l := range slices.Concat(it.linesOf(NotSent, it.Collateral), it.linesOf(Lost, it.FirstContact)) {
		risks = append(risks, l.Risk)
	}
	switch {
	case it.Op == Create:
		risks = append(risks, k.Spec().Risk)
	case it.Op == Delete:
		risks = append(risks, k.Spec().RiskOf(map[string]any{}, nil))
	case it.Purge != nil && it.Purge.Everything:
		risks = append(risks, k.Spec().FindField("paths").RiskOf(nil, []any{allPaths}))
	case it.Purge != nil:
		risks = append(risks, k.Spec().Risk)
	}
	return risks
}

// TakesEffect reports whether the lines of an item are sent, or happened.
func (it Item) TakesEffect() bool { return it.Happened || it.Op.sendsRequest() }

// sentRisks returns the risk of each line that is sent, or that happened.
func (it Item) sentRisks() []kind.Risk {
	if !it.TakesEffect() {
		return nil
	}
	return it.lineRisks(true)
}

// SentRisk returns the gravest risk of the lines that are sent, or that happened.
func (it Item) SentRisk() kind.Risk { return slices.Max(append(it.sentRisks(), kind.NoRisk)) }

// CountWithRisk counts the lines of that risk that are sent, or that happened.
func (it Item) CountWithRisk(risk kind.Risk) int {
	if it.Risk < risk {
		return 0
	}
	return len(slices.DeleteFunc(it.sentRisks(), func(r kind.Risk) bool { return r != risk }))
}
