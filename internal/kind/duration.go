package kind

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// tableOfUnits has the units of time, the longest first.
var tableOfUnits = []struct {
	name, short string
	is          time.Duration
}{{"day", "d", 24 * time.Hour}, {"hour", "h", time.Hour}, {"minute", "min", time.Minute}, {"second", "s", time.Second}}

// DurationOf returns a number of units of time, such as "90" and "second". ok is false unless both
// are plain.
func DurationOf(number, unit string) (d time.Duration, ok bool) {
	n, err := strconv.ParseInt(number, 10, 64)
	if err != nil || n < 0 || strconv.FormatInt(n, 10) != number {
		return 0, false
	}
	for _, u := range tableOfUnits {
		if u.name == unit && n <= math.MaxInt64/int64(u.is) {
			return time.Duration(n) * u.is, true
		}
	}
	return 0, false
}

// ParseDuration reads a duration of whole units, such as "90s", "1h30m", "5 min" or "7d".
func ParseDuration(text string) (d time.Duration, ok bool) {
	rest := strings.ReplaceAll(text, " ", "")
	for _, u := range tableOfUnits {
		number := rest[:len(rest)-len(strings.TrimLeft(rest, "0123456789"))]
		unit := rest[len(number):]
		for _, short := range []string{u.short, u.short[:1]} {
			after, has := strings.CutPrefix(unit, short)
			if is, known := DurationOf(number, u.name); has && known && d+is >= d {
				rest, d, ok = after, d+is, true
				break
			}
		}
	}
	return d, ok && rest == ""
}

// FormatDuration returns a duration of whole seconds in words, such as "2 h 55 min".
func FormatDuration(d time.Duration) string {
	var parts []string
	for _, u := range tableOfUnits {
		if n := d / u.is; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, u.short))
			d -= n * u.is
		}
	}
	if parts == nil {
		return "0 s"
	}
	return strings.Join(parts, " ")
}
