package compose

import (
	"fmt"
	"log/slog"
	"maps"
	"slices"

	"trueup/internal/manifest"
	"trueup/internal/purge"
)

// FromLists reads lists of addresses to purge, of the older purge service or of a program. It
// tells which entries have no place, and returns the number of entries.
func FromLists(legacy purge.Legacy, lists []manifest.Text) (src Source, total int, err error) {
	src.head = []string{"from lists of addresses"}
	beside := map[string]bool{}
	for _, t := range lists {
		lines, odd, err := purge.ReadLegacyList(t.Data)
		if err != nil {
			return src, 0, fmt.Errorf("%s: %w", t.Path, err)
		}
		wanted, unplaced := legacy.Place(lines)
		unplaced = append(unplaced, odd...)
		slices.SortStableFunc(unplaced, func(a, b purge.Unplaced) int { return a.Line.Line - b.Line.Line })
		for _, u := range unplaced {
			src.Unplaced = append(src.Unplaced, fmt.Sprintf("%s:%d: %s %s: %s", t.Path, u.Line.Line, shownEntry("%.200s", u.Text), u.Reason, u.Fix))
		}
		for _, w := range wanted {
			beside[w.Hostname] = beside[w.Hostname] || w.Subdomain != ""
		}
		src.Wanted = append(src.Wanted, wanted...)
		total += len(lines) + len(odd)
	}
	for _, host := range slices.Sorted(maps.Keys(beside)) {
		if beside[host] {
			src.Messages.add(slog.LevelInfo, "%s is purged together with its subdomains, because a purge names them with their hostname", host)
		}
	}
	for _, u := range src.Unplaced {
		src.Messages.add(slog.LevelWarn, "%s", u)
	}
	return src, total, nil
}
