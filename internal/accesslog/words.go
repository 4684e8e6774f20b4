package accesslog

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Amount writes a number as "9,999" or "12.4 million".
func Amount(n int64) string {
	for _, unit := range []struct {
		size int64
		name string
	}{{1e9, "billion"}, {1e6, "million"}} {
		if n >= unit.size {
			return tenths(n, unit.size) + " " + unit.name
		}
	}
	text := strconv.FormatInt(n, 10)
	if n >= 1000 {
		text = text[:len(text)-3] + "," + text[len(text)-3:]
	}
	return text
}

// Count writes an Amount of something.
func Count(n int64, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return Amount(n) + " " + many
}

// Share writes a part of a number in percent, as Shares does.
func Share(part, of int64) string { return Shares(part, of-part)[0] }

// Shares writes the parts of a whole in percent. It rounds to tenths so that they add up to 100%, but writes 0% only
// for nothing, and 100% only for all.
func Shares(parts ...int64) []string {
	const all = 1000
	var whole int64
	for _, part := range parts {
		whole += part
	}
	whole = max(1, whole)
	order, units, left := make([]int, len(parts)), make([]int64, len(parts)), int64(all)
	for i, part := range parts {
		order[i], units[i] = i, all*part/whole
		left -= units[i]
	}
	slices.SortStableFunc(order, func(a, b int) int {
		return cmp.Or(cmp.Compare(all*parts[b]%whole, all*parts[a]%whole), cmp.Compare(parts[b], parts[a]))
	})
	for _, i := range order[:min(int(left), len(order))] {
		units[i]++ // of those that the division cut most
	}
	texts := make([]string, len(parts))
	for i, part := range parts {
		switch {
		case part == 0:
			texts[i] = "0%"
		case part == whole:
			texts[i] = "100%"
		case units[i] == 0:
			texts[i] = "less than 0.1%"
		case units[i] == all:
			texts[i] = "more than 99.9%"
		default:
			texts[i] = tenths(units[i], 10) + "%"
		}
	}
	return texts
}

// tenths divides and cuts what is after the first decimal.
func tenths(n, by int64) string {
	return strings.TrimSuffix(fmt.Sprintf("%d.%d", n/by, n%by*10/by), ".0")
}

// Notes returns sentences about the lines of logs that were not counted. Of the requests with a host, a number was, and
// several CDNs may answer another.
func Notes(logs []Log, counted, several int64) (notes []string) {
	other := -counted - several
	for _, log := range logs {
		other += log.Requests
		if n := log.Unread; n.Count > 0 {
			notes = append(notes, fmt.Sprintf("%s: lines without a request: %s, the first is line %d", log.Name, Amount(n.Count), n.First))
		}
		if n := log.NoHost; n.Count > 0 {
			notes = append(notes, fmt.Sprintf("%s: requests without a hostname, which are not counted: %s, the first is line %d", log.Name, Amount(n.Count), n.First))
		}
	}
	shares := Shares(counted, several, other)
	if several > 0 {
		notes = append(notes, shares[1]+" of the requests in the logs are for hostnames that several CDNs have: which of them answers is unknown")
	}
	if other > 0 {
		notes = append(notes, shares[2]+" of the requests in the logs are for hostnames that no CDN here has")
	}
	return notes
}
