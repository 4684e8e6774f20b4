package plan

import (
	"encoding/json"

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
