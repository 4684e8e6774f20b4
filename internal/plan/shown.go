package plan

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"trueup/internal/effect"
	"trueup/internal/merge"
)

// Within reports whether an item that was planned again changes, keeps and loses nothing that the
// shown one did not show with the same values (docs/design.md 0.23).
func Within(now, shown Item) bool {
	if now.Op == None || now.Op == Kept {
		return true
	}
	if now.Op != shown.Op || now.Request == nil || shown.Request == nil {
		return false
	}
	// What is left is no difference, and a list may have got more elements.
	changes := func(it Item) []Change {
		return slices.DeleteFunc(slices.Clone(it.Changes), func(c Change) bool { return c.Left })
	}
	return subset(changes(now), changes(shown), func(c Change) any { return c.Change }) &&
		subset(now.Preserved, shown.Preserved, func(v merge.Value) any { return v }) &&
		subset(now.Collateral, shown.Collateral, func(v merge.Value) any { return v }) &&
		subset(now.Lists, shown.Lists, func(l merge.SentList) any { return l.Path })
}

// subset compares by the JSON of what was shown of each element.
func subset[T any](some, all []T, of func(T) any) bool {
	shown := make(map[string]bool, len(all))
	for _, e := range all {
		shown[mustEncode(of(e))] = true
	}
	return !slices.ContainsFunc(some, func(e T) bool { return !shown[mustEncode(of(e))] })
}

func mustEncode(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic("plan: " + err.Error())
	}
	return string(b)
}

// Unshown returns what the body would change in the live spec although no line of the item shows it, or
// nothing. Reports read creations and purges from the request itself.
func (it Item) Unshown(body []byte, live any) string {
	if it.Op != Patch {
		return ""
	}
	var lines []effect.Line
	for _, c := range it.Changes {
		if !c.Left && IsShown(c.Class) {
			lines = append(lines, effect.Line{Path: c.Path, At: c.At, Live: c.Live, After: c.Desired, Moved: c.Moved})
		}
	}
	for _, v := range it.Collateral {
		lines = append(lines, effect.Line{Path: v.Path, At: v.At, Live: v.Value})
	}
	found := effect.Unshown(body, live, lines)
	if len(found) > 1 {
		return fmt.Sprintf("%s; and %d more", found[0], len(found)-1)
	}
	return strings.Join(found, "")
}

// UnshownFix is what a person can do about a request that does more than the plan shows.
const UnshownFix = "this is a bug in trueup: report it with the manifest and the output of plan -o json. Do not send the change by other means"

// Touches reports whether the item changes what a finding at a field of its manifest is about, such as
// spec.locations[2].path. Of a list, that is the whole element. An item that was read from JSON does not know the places
// of its changes, so it touches all of its manifest.
func (it Item) Touches(field string) bool {
	switch {
	case len(it.Changes) == 0:
		return it.Op != None && it.Op != Kept
	case !strings.HasPrefix(field, "spec"):
		return true
	}
	toElement := func(place string) string {
		before, _, _ := strings.Cut(place, "]")
		return before
	}
	return slices.ContainsFunc(it.Changes, func(c Change) bool {
		onlyInLive := slices.ContainsFunc(c.At, merge.Step.OnlyLive)
		return len(c.At) == 0 || !onlyInLive && related(toElement(field), toElement("spec."+merge.Place(c.At)))
	})
}

// related reports whether one place is the other, or lies in it.
func related(a, b string) bool {
	if len(a) > len(b) {
		a, b = b, a
	}
	rest, in := strings.CutPrefix(b, a)
	return in && (rest == "" || rest[0] == '.' || rest[0] == '[')
}
