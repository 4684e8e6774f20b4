package plan

import (
	"fmt"

	"trueup/internal/effect"
)

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
