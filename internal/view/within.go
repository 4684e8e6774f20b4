package view

import (
	"bytes"
	"fmt"
	"maps"
	"strings"

	"trueup/internal/canon"
	"trueup/internal/plan"
	"trueup/internal/safetext"
)

// liveChange is a value that live has otherwise than the last apply, somewhere below a value that git removes.
type liveChange struct {
	path       string
	base, live any
}

// changesWithin returns what live changed in a value that git removes; none unless both are objects or lists.
func changesWithin(c plan.Change) []liveChange {
	if c.Desired != nil || c.Moved || c.Base == nil || c.Live == nil {
		return nil
	}
	all := appendLiveChanges(nil, "", c.Base, c.Live)
	if len(all) == 1 && all[0].path == "" {
		return nil
	}
	return all
}

func appendLiveChanges(all []liveChange, path string, base, live any) []liveChange {
	was, isObject := base.(map[string]any)
	is, isToo := live.(map[string]any)
	if isObject && isToo {
		names := maps.Clone(was)
		maps.Copy(names, is)
		for _, name := range canon.SortedKeys(names) {
			all = appendLiveChanges(all, strings.TrimPrefix(path+"."+name, "."), was[name], is[name])
		}
		return all
	}
	before, isList := base.([]any)
	now, isToo := live.([]any)
	if isList && isToo && len(before) == len(now) {
		for i := range before {
			all = appendLiveChanges(all, fmt.Sprintf("%s[%d]", path, i), before[i], now[i])
		}
		return all
	}
	if !bytes.Equal(canon.Encode(base), canon.Encode(live)) {
		all = append(all, liveChange{path, base, live})
	}
	return all
}

// describeBefore says what live changed in a value that git removes, or what the last apply had.
func describeBefore(c plan.Change) safetext.Text {
	const most = 3
	changes := changesWithin(c)
	if len(changes) == 0 {
		return quoteBeginning(" (was ", c.Base, ")")
	}
	var parts []safetext.Text
	for _, d := range changes[:min(most, len(changes))] {
		parts = append(parts, safetext.F("%s %s → %s", clean(d.path).TruncateLeft(MaxPath), shortValue(d.base), shortValue(d.live)))
	}
	if more := len(changes) - most; more > 0 {
		parts = append(parts, safetext.F("%s more", safetext.Number(more)))
	}
	return safetext.F(" (%s)", safetext.Join(parts, ", "))
}

func shortValue(v any) safetext.Text {
	if v == nil {
		return clean("not set")
	}
	return FormatLiteral(v).Truncate(40)
}

// splitLiveChanges replaces a line of a value that git removes by one for each value that live changed in it.
func splitLiveChanges(lines []plan.ChangeLine) []plan.ChangeLine {
	var all []plan.ChangeLine
	for _, l := range lines {
		changes := changesWithin(l.Change)
		if len(changes) == 0 {
			all = append(all, l)
		}
		for _, d := range changes {
			part := l
			part.Path += "." + d.path
			part.Base, part.Live, part.Desired = d.base, d.live, d.base
			all = append(all, part)
		}
	}
	return all
}
