package accesslog

import (
	"fmt"
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
			return strings.TrimSuffix(tenths(n, unit.size), ".0") + " " + unit.name
		}
	}
	text := strconv.FormatInt(n, 10)
	if n >= 1000 {
		text = text[:len(text)-3] + "," + text[len(text)-3:]
	}
	return text
}

// Share writes a part of a number in percent. It writes 0% only for nothing, and 100% only for all.
func Share(part, of int64) string {
	percent := 100 * float64(part) / float64(max(1, of))
	switch {
	case part == 0:
		return "0%"
	case part == of:
		return "100%"
	case percent < 0.1:
		return "less than 0.1%"
	case percent >= 99.9:
		return "more than 99.9%"
	case percent < 10 || percent > 99:
		return tenths(int64(10*percent), 10) + "%"
	}
	return fmt.Sprintf("%.0f%%", percent)
}

// tenths divides and cuts what is after the first decimal.
func tenths(n, by int64) string { return fmt.Sprintf("%d.%d", n/by, n%by*10/by) }

// Notes returns sentences about the lines of logs that were not counted. Of the requests with a host, a number was.
func Notes(logs []Log, counted int64) (notes []string) {
	var requests int64
	for _, log := range logs {
		requests += log.Requests
		if n := log.Unread; n.Count > 0 {
			notes = append(notes, fmt.Sprintf("%s: lines without a request: %s, the first is line %d", log.Name, Amount(n.Count), n.First))
		}
		if n := log.NoHost; n.Count > 0 {
			notes = append(notes, fmt.Sprintf("%s: requests without a hostname, which are not counted: %s, the first is line %d", log.Name, Amount(n.Count), n.First))
		}
	}
	if other := requests - counted; other > 0 {
		notes = append(notes, fmt.Sprintf("%s of the requests in the logs are for hostnames that no CDN here has", Share(other, requests)))
	}
	return notes
}
