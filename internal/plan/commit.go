package plan

import (
	"slices"
	"time"

	"trueup/internal/kind"
	"trueup/internal/manifest"
	"trueup/internal/merge"
)

// Commit is a commit of git. Its texts are its author's, and not to be trusted.
type Commit struct {
	ID      string    `json:"id"`
	Subject string    `json:"subject"`
	Author  string    `json:"author"`
	Time    time.Time `json:"time"`
}

// Trail has an object's manifest in the commits that changed it, HEAD's first, each before its parents.
type Trail []Version

// Version is the manifest of an object in a commit.
type Version struct {
	Commit Commit
	// Object is nil where the commit has no manifest of the object.
	Object *manifest.Object
	// Parents are the commits before this one, as indexes of the Trail.
	Parents []int
	// Open says that not all is known of what the commit changed.
	Open bool
}

// Unnamed returns the objects with lines whose commit only the history of git can tell.
func (p *Plan) Unnamed() []kind.Key {
	var keys []kind.Key
	for i := range p.Items {
		it := &p.Items[i]
		wanted := unnamed(it.Cause, it.By)
		for c := range it.all() {
			wanted = wanted || unnamed(c.Cause, c.By)
		}
		if wanted {
			keys = append(keys, it.Key)
		}
	}
	return keys
}

func unnamed(c Cause, by By) bool {
	return by == "" && (c == FromPending || c == FromTakeOver || c == FromBoth || c == FromRemoval)
}

// Name adds the commits to the lines of a plan that this planner explained. It decides nothing.
func (p *Planner) Name(out *Plan, trails map[kind.Key]Trail) {
	for i := range out.Items {
		if it := &out.Items[i]; len(trails[it.Key]) > 0 {
			p.name(it, trails[it.Key])
		}
	}
}

func (p *Planner) name(it *Item, trail Trail) {
	now := p.in.Set.Find(it.Key)
	if unnamed(it.Cause, it.By) {
		it.Commit = trail.setter(func(was *manifest.Object) bool { return !touchedWhole(it.Cause, was, now) })
	}
	if now == nil {
		return
	}
	differs := map[*manifest.Object]func(merge.Change) bool{}
	for c := range it.all() {
		if !unnamed(c.Cause, c.By) {
			continue
		}
		c.Commit = trail.setter(func(was *manifest.Object) bool {
			if differs[was] == nil {
				differs[was] = p.touched(was, now)
			}
			return !differs[was](c.Change)
		})
	}
}

// setter returns the newest commit that gave a place the value that it has now, or nil if nothing proves
// it. same reports whether a manifest has that value there; it gets nil for none.
func (t Trail) setter(same func(*manifest.Object) bool) *Commit {
	with := make([]bool, len(t))
	for i := range t {
		with[i] = same(t[i].Object)
	}
	origins, merges, proven := t.origins(with)
	if !proven {
		return nil
	}
	absent := same(nil)
	setters := slices.DeleteFunc(slices.Clone(origins), func(i int) bool { return absent && len(t[i].Parents) == 0 })
	// A merge set it if it undid what one side made of it.
	for _, m := range merges {
		if slices.ContainsFunc(t[m].Parents, func(side int) bool { return !with[side] && t.follows(side, origins) }) {
			setters = append(setters, m)
		}
	}
	if len(setters) == 0 {
		return nil
	}
	return &t[slices.Min(setters)].Commit
}

// origins returns the commits that the value of HEAD comes from, and the merges on the way that one side has
// another value in. proven is false if HEAD has another value, or not all is known. with has which versions have
// the value.
func (t Trail) origins(with []bool) (origins, merges []int, proven bool) {
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

// follows reports whether a commit comes after one of the others.
func (t Trail) follows(commit int, others []int) bool {
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
