package plan

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"trueup/internal/effect"
	"trueup/internal/merge"
)

// Within reports whether an item that was planned again does nothing that the
// shown one did not show: the same request, or one whose every change, kept
// value and loss was shown with the same values (docs/design.md 0.23).
func Within(now, shown Item) bool {
	if now.Op == None || now.Op == Kept {
		return true
	}
	if now.Op != shown.Op || now.Request == nil || shown.Request == nil {
		return false
	}
	return subset(differences(now.Changes), differences(shown.Changes)) &&
		subset(now.Preserved, shown.Preserved) &&
		subset(now.Collateral, shown.Collateral) &&
		subset(listPaths(now.Lists), listPaths(shown.Lists))
}

// differences are the changes that a request makes, without what only explains
// them.
func differences(changes []Change) []merge.Change {
	var plain []merge.Change
	for _, c := range changes {
		if !c.Left {
			plain = append(plain, c.Change)
		}
	}
	return plain
}

func listPaths(lists []merge.SentList) []string {
	paths := make([]string, len(lists))
	for i, l := range lists {
		paths[i] = l.Path
	}
	return paths
}

// subset compares by JSON, the form in which values were shown.
func subset[T any](some, all []T) bool {
	shown := make(map[string]bool, len(all))
	for _, e := range all {
		shown[mustEncode(e)] = true
	}
	for _, e := range some {
		if !shown[mustEncode(e)] {
			return false
		}
	}
	return true
}

func mustEncode(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic("plan: " + err.Error())
	}
	return string(b)
}

// Unshown returns why the body must not be sent for the item: what it would make of
// the live spec although no line of the item shows it. It is empty where all of it is
// shown. What reports show of a creation or of a purge they read from the request
// itself.
func (it Item) Unshown(body []byte, live any) string {
	if it.Op != Patch {
		return ""
	}
	found := effect.Unshown(body, live, it.lines())
	switch len(found) {
	case 0:
		return ""
	case 1:
		return found[0]
	}
	return fmt.Sprintf("%s; and %d more", found[0], len(found)-1)
}

// UnshownFix is what a person can do about a request that does more than it shows.
const UnshownFix = "do not apply it by other means: report this with the manifest and the output of plan -o json"

// lines are the changes that every report shows of an item that is patched. What is
// left as live has it is no change.
func (it Item) lines() []effect.Line {
	lines := make([]effect.Line, 0, len(it.Changes)+len(it.Collateral))
	for _, c := range it.Changes {
		if !c.Left && IsShown(c.Class) {
			lines = append(lines, c.Change.Line())
		}
	}
	for _, v := range it.Collateral {
		lines = append(lines, v.Line())
	}
	return lines
}

// Touches reports whether the item changes what a finding at a field of its manifest
// is about, such as spec.locations[2].path. Of a list, that is the whole element.
func (it Item) Touches(field string) bool {
	switch {
	case len(it.Changes) == 0:
		return it.Op != None && it.Op != Kept
	case !strings.HasPrefix(field, "spec"):
		return true
	}
	return slices.ContainsFunc(it.Changes, func(c Change) bool {
		return !onlyInLive(c) && related(toElement(field), toElement("spec."+merge.Place(c.At)))
	})
}

// onlyInLive reports whether a change is of a list element that git does not have,
// so that no finding can be at it.
func onlyInLive(c Change) bool {
	return slices.ContainsFunc(c.At, func(s merge.Step) bool { return s.Element && s.Index == merge.Nowhere })
}

// toElement cuts a place behind its first list element.
func toElement(place string) string {
	if i := strings.IndexByte(place, ']'); i >= 0 {
		return place[:i+1]
	}
	return place
}

// related reports whether one place is the other, or lies in it.
func related(a, b string) bool {
	if len(a) > len(b) {
		a, b = b, a
	}
	rest, in := strings.CutPrefix(b, a)
	return in && (rest == "" || rest[0] == '.' || rest[0] == '[')
}
