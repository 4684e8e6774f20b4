package plan

import (
	"slices"
	"strings"
	"sync"

	"trueup/internal/canon"
	"trueup/internal/effect"
	"trueup/internal/kind"
	"trueup/internal/manifest"
	"trueup/internal/merge"
)

// Past is what git said before this change. It explains a finished plan, and has no part in making it
// (docs/design.md 0.3).
type Past struct {
	Blame Blame
	// Project is trueup.yaml of the base, nil where the base has none. It counts
	// only where Blame names a base.
	Project *Project
	// Set are the manifests of the base, but for files that are now as they were;
	// nil where no base could be read.
	Set *manifest.Set
	// Same are those files, by the paths of their objects.
	Same map[string]bool
	// Unclear says that not all manifests of the base could be read.
	Unclear bool
	// Partial says that not all manifests of now were read.
	Partial bool
}

// find returns the object as the base has it, or nil; known is false if that could not be read.
func (p Past) find(key kind.Key, now *manifest.Object) (was *manifest.Object, known bool) {
	if was := p.Set.Find(key); was != nil {
		return was, true
	}
	if now != nil && p.Same[now.Path] {
		return now, true
	}
	return nil, !p.Unclear
}

// explained adds to changes of a live spec the causes of their classes, their units, and their places in the manifest.
func (d *decision) explained(found []merge.Change, live any) []Change {
	changes := make([]Change, len(found))
	fields := make([]string, len(found))
	byPath := sync.OnceValue(func() map[string]merge.Change { // few plans need it
		paths := make(map[string]merge.Change, len(found))
		for _, c := range slices.Backward(found) {
			paths[c.Path] = c
		}
		return paths
	})
	for i, c := range found {
		changes[i] = Change{Change: c, Cause: causeOf(c.Class), Position: positionOf(c), Units: d.units(c, byPath, live)}
		fields[i] = "spec." + merge.Place(c.At)
	}
	for i, place := range d.manifest.Places(fields) {
		changes[i].Line, changes[i].Column = place[0], place[1]
	}
	return changes
}

// units returns the units of the two values of a change. If no change is of the field that has the unit, live has both.
func (d *decision) units(c merge.Change, byPath func() map[string]merge.Change, live any) Units {
	field, known := d.manifest.Kind.Spec().At(kind.PathParts(c.Path))
	if !known || field.Unit == "" {
		return Units{}
	}
	if unit, changed := byPath()[strings.TrimSuffix(c.Path, field.Name)+field.Unit]; changed {
		if unit.Left && !c.Left {
			unit.Desired = unit.Live
		}
		return Units{text(unit.Live), text(unit.Desired)}
	}
	at := append(slices.Clone(c.At[:len(c.At)-1]), merge.Step{Field: field.Unit})
	unit := text(effect.InLive(live, at))
	return Units{unit, unit}
}

// leftAlone notes the live fields that git does not mention and the request leaves.
func (d *decision) leftAlone(in merge.Input) {
	if !d.in.Options.ShowUnmanaged {
		return
	}
	shown := map[string]bool{}
	for _, v := range slices.Concat(d.item.Preserved, d.item.Collateral) {
		shown[v.Path] = true
	}
	for _, c := range d.item.Notes {
		shown[c.Path] = true
	}
	found := slices.DeleteFunc(merge.LeftAlone(in), func(c merge.Change) bool { return shown[c.Path] })
	d.item.Notes = append(d.item.Notes, d.explained(found, in.Live)...)
}

// reasonOf returns why the object as a whole is created or posted, or nothing.
func (d *decision) reasonOf() Cause {
	switch {
	case d.item.Op == None:
		return ""
	case d.item.Deleted:
		return FromDrift
	case !d.manifest.Kind.RequestOnly() && d.item.Live.Exists:
		return "" // its changes have theirs
	case d.in.Ledger.Problem != "":
		return FromUnknown // it may have been there before
	}
	return FromPending
}

// AsksGit reports whether what git said before may explain any line of a plan.
func (p *Plan) AsksGit() bool {
	return p.any(func(c Cause, _ By) bool { return c == FromDrift || ofGit(c) })
}

// isExplained reports whether any line of a plan is, or may be, a change of git.
func (p *Plan) isExplained() bool {
	return p.any(func(c Cause, by By) bool { return by != "" || ofGit(c) })
}

// any reports whether the predicate holds for any cause in a plan.
func (p *Plan) any(holds func(Cause, By) bool) bool {
	for i := range p.Items {
		it := &p.Items[i]
		if holds(it.Cause, it.By) {
			return true
		}
		for c := range it.all() {
			if holds(c.Cause, c.By) {
				return true
			}
		}
	}
	return false
}

// ofGit reports whether a cause is a change of git, or may be one.
func ofGit(c Cause) bool {
	return c != "" && c != FromDrift && c != FromLiveOnly && c != FromRefusal
}

// Explain adds to a plan of this planner the settings that differ from the base, and to each line
// whose change of git it is.
func (p *Planner) Explain(out *Plan, past Past) {
	if past.Blame.Base != "" {
		out.Settings = p.compareSettings(past.Project)
	}
	if past.Set != nil {
		out.Settings = append(out.Settings, p.newSilences(out, past)...)
		p.explainItems(out, past)
	}
	if out.isExplained() || len(out.Settings) > 0 {
		out.Blame = &past.Blame
	}
}

func (p *Planner) explainItems(out *Plan, past Past) {
	for i := range out.Items {
		it := &out.Items[i]
		now := p.in.Set.Find(it.Key)
		was, known := past.find(it.Key, now)
		if !known || now == nil && past.Partial {
			continue
		}
		it.Cause, it.By = blame(it.Cause, it.Cause != FromDrift && touchedWhole(it.Cause, was, now))
		if now == nil || len(it.Changes)+len(it.Notes) == 0 {
			continue
		}
		touched := p.touched(was, now)
		for c := range it.all() {
			c.Cause, c.By = blame(c.Cause, touched(c.Change))
		}
	}
}

// touchedWhole reports whether this change is why an object is made, posted, or gone from git.
func touchedWhole(c Cause, was, now *manifest.Object) bool {
	switch {
	case c == FromRemoval:
		return was != nil
	case was == nil || now == nil:
		return true
	case now.Kind.CanPatch():
		return false // the base has it
	}
	return SpecDigest(now.Kind, was.Spec) != SpecDigest(now.Kind, now.Spec)
}

// touched returns a function that reports whether git changed the place of a change since the base.
func (p *Planner) touched(was, now *manifest.Object) func(merge.Change) bool {
	if was != nil && was.Digest == now.Digest {
		return func(merge.Change) bool { return false }
	}
	var before any
	if was != nil {
		before = canon.MustDecode(was.Spec)
	}
	return merge.NewHistory(p.rules[now.Kind.Name], before, canon.MustDecode(now.Spec)).Touched
}

// blame adds to a cause whether this change of git has a part in it.
func blame(c Cause, touched bool) (Cause, By) {
	switch {
	case !touched || c == "" || c == FromLiveOnly || c == FromRefusal:
		return c, ""
	case c == FromPending:
		return FromThisChange, ByThisChange
	}
	return c, ByThisChange
}
