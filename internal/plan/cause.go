package plan

import (
	"slices"
	"strings"
	"time"

	"trueup/internal/canon"
	"trueup/internal/effect"
	"trueup/internal/kind"
	"trueup/internal/manifest"
	"trueup/internal/merge"
)

// BaseState is what git said before this change. It explains a finished plan, and has no part in making it
// (docs/design.md 0.3).
type BaseState struct {
	Blame ComparedCommits
	// Project is trueup.yaml of the base, nil where the base has none. It counts
	// only where Blame names a base.
	Project *ProjectSettings
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

// findBefore returns the object as the base has it, or nil; known is false if that could not be read.
func (p BaseState) findBefore(key kind.Key, now *manifest.Object) (was *manifest.Object, known bool) {
	if was := p.Set.Find(key); was != nil {
		return was, true
	}
	if now != nil && p.Same[now.Path] {
		return now, true
	}
	return nil, !p.Unclear
}

// explainChanges adds to changes of a live spec the causes of their classes, their units, and their places in the manifest.
func (d *objectPlanner) explainChanges(found []merge.Difference, live any) []Change {
	changes := make([]Change, len(found))
	fields := make([]string, len(found))
	for i, c := range found {
		changes[i] = Change{Difference: c, Cause: causeOf(c.Class), Position: positionOf(c), Units: d.timeUnitsOf(c, found, live)}
		fields[i] = "spec." + merge.FormatPlace(c.At)
	}
	for i, place := range d.manifest.Positions(fields) {
		changes[i].Line, changes[i].Column = place[0], place[1]
	}
	return changes
}

// timeUnitsOf returns the units of time of the two values of a change. If no change is of the field that has the unit, live has both.
func (d *objectPlanner) timeUnitsOf(c merge.Difference, found []merge.Difference, live any) Units {
	field, known := d.manifest.Kind.Spec().FieldAt(kind.SplitAtDots(c.Path))
	if !known || field.Unit == "" {
		return Units{}
	}
	path := strings.TrimSuffix(c.Path, field.Name) + field.Unit
	if i := slices.IndexFunc(found, func(o merge.Difference) bool { return o.Path == path }); i >= 0 {
		unit := found[i]
		if unit.Left && !c.Left {
			unit.Desired = unit.Live
		}
		return Units{canon.TextAt(unit.Live), canon.TextAt(unit.Desired)}
	}
	at := append(slices.Clone(c.At[:len(c.At)-1]), merge.PathStep{Field: field.Unit})
	unit := canon.TextAt(effect.LiveValueAt(live, at))
	return Units{unit, unit}
}

// noteLiveOnly notes the live fields that git does not mention and the request leaves.
func (d *objectPlanner) noteLiveOnly(in merge.Input) {
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
	found := slices.DeleteFunc(merge.LiveOnlyFields(in), func(c merge.Difference) bool { return shown[c.Path] })
	d.item.Notes = append(d.item.Notes, d.explainChanges(found, in.Live)...)
}

// objectCause returns why the object as a whole is created or posted, or nothing.
func (d *objectPlanner) objectCause() Cause {
	switch {
	case d.item.Op == None:
		return ""
	case d.item.Deleted:
		return FromDrift
	case !d.manifest.Kind.IsRequestOnly() && d.item.Live.Exists:
		return "" // its changes have theirs
	case d.in.Ledger.Problem != "":
		return FromUnknown // it may have been there before
	}
	return FromPending
}

// NeedsGitHistory reports whether what git said before may explain any line of a plan.
func (p *Plan) NeedsGitHistory() bool {
	return p.hasCause(func(c Cause, _ ChangeOrigin) bool { return c == FromDrift || isGitCause(c) })
}

// hasGitCause reports whether any line of a plan is, or may be, a change of git.
func (p *Plan) hasGitCause() bool {
	return p.hasCause(func(c Cause, by ChangeOrigin) bool { return by != "" || isGitCause(c) })
}

// hasCause reports whether the predicate holds for any cause in a plan.
func (p *Plan) hasCause(holds func(Cause, ChangeOrigin) bool) bool {
	return slices.ContainsFunc(p.Items, func(it Item) bool { return it.hasCause(holds) })
}

// hasCause reports whether the predicate holds for the cause of the object or of any change in it.
func (it *Item) hasCause(holds func(Cause, ChangeOrigin) bool) bool {
	for c := range it.allChanges() {
		if holds(c.Cause, c.By) {
			return true
		}
	}
	return holds(it.Cause, it.By)
}

// isGitCause reports whether a cause is a change of git, or may be one.
func isGitCause(c Cause) bool {
	return c != "" && c != FromDrift && c != FromLiveOnly && c != FromRefusal
}

// ExplainPlan adds to a plan of this planner the settings that differ from the base, and to each line
// whose change of git it is.
func (p *Planner) ExplainPlan(out *Plan, past BaseState) {
	if past.Blame.Base != "" {
		out.Settings = p.compareSettings(past.Project)
	}
	if past.Set != nil {
		out.Settings = append(out.Settings, p.addedSilences(out, past)...)
		p.explainItems(out, past)
	}
	if out.hasGitCause() || len(out.Settings) > 0 {
		out.Blame = &past.Blame
	}
}

func (p *Planner) explainItems(out *Plan, past BaseState) {
	for i := range out.Items {
		it := &out.Items[i]
		now := p.in.Set.Find(it.Key)
		was, known := past.findBefore(it.Key, now)
		if !known || now == nil && past.Partial {
			continue
		}
		it.Cause, it.By = blameCause(it.Cause, it.Cause != FromDrift && isCausedByThisChange(it.Cause, was, now))
		if now == nil || len(it.Changes)+len(it.Notes) == 0 {
			continue
		}
		touched := p.touchedByGit(was, now)
		for c := range it.allChanges() {
			c.Cause, c.By = blameCause(c.Cause, touched(c.Difference))
		}
	}
}

// isCausedByThisChange reports whether this change is why an object is made, posted, or gone from git.
func isCausedByThisChange(c Cause, was, now *manifest.Object) bool {
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

// touchedByGit returns a function that reports whether git changed the place of a change since the base.
func (p *Planner) touchedByGit(was, now *manifest.Object) func(merge.Difference) bool {
	if was != nil && was.Digest == now.Digest {
		return func(merge.Difference) bool { return false }
	}
	var before any
	if was != nil {
		before = canon.MustDecode(was.Spec)
	}
	return merge.NewManifestDiff(p.rules[now.Kind.Name], before, canon.MustDecode(now.Spec)).TouchedByGit
}

// blameCause adds to a cause whether this change of git has a part in it. What git changed, removed or took over is then its own.
func blameCause(c Cause, touched bool) (Cause, ChangeOrigin) {
	switch {
	case !touched || c == "" || c == FromLiveOnly || c == FromRefusal:
		return c, ""
	case c == FromPending || c == FromRemoval || c == FromTakeOver:
		return FromThisChange, ByThisChange
	}
	return c, ByThisChange
}

// Commit is a commit of git. Its texts are its author's, and not to be trusted.
type Commit struct {
	ID      string    `json:"id"`
	Subject string    `json:"subject"`
	Author  string    `json:"author"`
	Time    time.Time `json:"time"`
}

// ManifestHistory has an object's manifest in the commits that changed it, HEAD's first, each before its parents.
type ManifestHistory []ManifestVersion

// ManifestVersion is the manifest of an object in a commit.
type ManifestVersion struct {
	Commit Commit
	// Object is nil where the commit has no manifest of the object.
	Object *manifest.Object
	// Parents are the commits before this one, as indexes of the Trail.
	Parents []int
	// Open says that not all is known of what the commit changed.
	Open bool
}

// ObjectsWithoutCommit returns the objects with lines whose commit only the history of git can tell.
func (p *Plan) ObjectsWithoutCommit() []kind.Key {
	var keys []kind.Key
	for i := range p.Items {
		if it := &p.Items[i]; it.hasCause(lacksCommit) {
			keys = append(keys, it.Key)
		}
	}
	return keys
}

func lacksCommit(c Cause, by ChangeOrigin) bool {
	return by == "" && (c == FromPending || c == FromTakeOver || c == FromBoth || c == FromRemoval)
}

// AddCommits adds the commits to the lines of a plan that this planner explained. It decides nothing.
func (p *Planner) AddCommits(out *Plan, trails map[kind.Key]ManifestHistory) {
	for i := range out.Items {
		if it := &out.Items[i]; len(trails[it.Key]) > 0 {
			p.addItemCommits(it, trails[it.Key], p.in.Set.Find(it.Key))
		}
	}
}

func (p *Planner) addItemCommits(it *Item, trail ManifestHistory, now *manifest.Object) {
	if lacksCommit(it.Cause, it.By) {
		it.Commit = trail.findSetter(func(was *manifest.Object) bool { return !isCausedByThisChange(it.Cause, was, now) })
	}
	if now == nil {
		return
	}
	differs := map[*manifest.Object]func(merge.Difference) bool{}
	for c := range it.allChanges() {
		if !lacksCommit(c.Cause, c.By) {
			continue
		}
		c.Commit = trail.findSetter(func(was *manifest.Object) bool {
			if differs[was] == nil {
				differs[was] = p.touchedByGit(was, now)
			}
			return !differs[was](c.Difference)
		})
	}
}

// findSetter returns the newest commit that gave a place the value that it has now, or nil if nothing proves
// it. same reports whether a manifest has that value there; it gets nil for none.
func (t ManifestHistory) findSetter(same func(*manifest.Object) bool) *Commit {
	with := make([]bool, len(t))
	for i := range t {
		with[i] = same(t[i].Object)
	}
	origins, merges, proven := t.findOrigins(with)
	if !proven {
		return nil
	}
	absent := same(nil)
	setters := slices.DeleteFunc(slices.Clone(origins), func(i int) bool { return absent && len(t[i].Parents) == 0 })
	// A merge set it if it undid what one side made of it.
	for _, m := range merges {
		if slices.ContainsFunc(t[m].Parents, func(side int) bool { return !with[side] && t.comesAfter(side, origins) }) {
			setters = append(setters, m)
		}
	}
	if len(setters) == 0 {
		return nil
	}
	return &t[slices.Min(setters)].Commit
}

// findOrigins returns the commits that the value of HEAD comes from, and the merges on the way that one side has
// another value in. proven is false if HEAD has another value, or not all is known. with has which versions have
// the value.
func (t ManifestHistory) findOrigins(with []bool) (origins, merges []int, proven bool) {
	reached := make([]bool, len(t))
	reached[0] = true
	for i, v := range t {
		if !reached[i] {
			continue
		}
		if !with[i] || v.Open {
			return nil, nil, false
		}
		kept := 0
		for _, parent := range v.Parents {
			if with[parent] {
				reached[parent] = true
				kept++
			}
		}
		switch {
		case kept == 0:
			origins = append(origins, i)
		case kept < len(v.Parents):
			merges = append(merges, i)
		}
	}
	return origins, merges, true
}

// comesAfter reports whether a commit comes after one of the others.
func (t ManifestHistory) comesAfter(commit int, others []int) bool {
	before := make([]bool, len(t))
	before[commit] = true
	for i := commit; i < len(t); i++ {
		if !before[i] {
			continue
		}
		if slices.Contains(others, i) {
			return true
		}
		for _, parent := range t[i].Parents {
			before[parent] = true
		}
	}
	return false
}
