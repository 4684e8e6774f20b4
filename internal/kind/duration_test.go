package kind_test

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"trueup/internal/kind"
)

func TestDuration(t *testing.T) {
	for in, want := range map[string]string{
		"0 second": "0 s", "59 second": "59 s", "60 second": "1 min", "10530 second": "2 h 55 min 30 s", "10500 second": "2 h 55 min",
		"3600 second": "1 h", "86400 second": "1 d", "90001 second": "1 d 1 h 1 s", "90 minute": "1 h 30 min", "36 hour": "1 d 12 h", "400 day": "400 d",
		"9223372036 second": "106751 d 23 h 47 min 16 s",
		"9223372037 second": "", "9223372036 day": "", "-1 second": "", "+1 second": "", "007 second": "", "1.5 hour": "", "1e3 second": "", " second": "", "60 ": "", "60 seconds": "", "60 fortnight": "",
	} {
		number, unit, _ := strings.Cut(in, " ")
		d, ok := kind.DurationOf(number, unit)
		got := ""
		if ok {
			got = kind.FormatDuration(d)
		}
		if got != want {
			t.Errorf("%s: %q, want %q", in, got, want)
		}
	}
}

// TestDurationTextIsExact: the parts of the text add up to the duration.
func TestDurationTextIsExact(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := time.Duration(rapid.Int64Range(0, 9223372036).Draw(t, "seconds")) * time.Second
		var sum time.Duration
		words := strings.Fields(kind.FormatDuration(d))
		for i := 0; i+1 < len(words); i += 2 {
			n, _ := strconv.Atoi(words[i])
			sum += time.Duration(n) * map[string]time.Duration{"d": 24 * time.Hour, "h": time.Hour, "min": time.Minute, "s": time.Second}[words[i+1]]
		}
		if sum != d {
			t.Fatalf("%v became %q", d, words)
		}
	})
}

func TestParseDuration(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"90s": 90 * time.Second, "0s": 0, "5m": 5 * time.Minute, "5 min": 5 * time.Minute, "1h30m": 90 * time.Minute, "7d": 7 * 24 * time.Hour,
		"1 d 2 h 3 min 4 s": 26*time.Hour + 3*time.Minute + 4*time.Second,
	} {
		if got, ok := kind.ParseDuration(text); !ok || got != want {
			t.Errorf("%q: %v, %v", text, got, ok)
		}
	}
	for _, text := range []string{"", "5", "m", "5 minutes", "1m1h", "1h1h", "-1s", "1.5h", "05m", "none", "106752d", "106751d86400s", "5ms"} {
		if got, ok := kind.ParseDuration(text); ok {
			t.Errorf("%q is %v", text, got)
		}
	}
	for d := range time.Duration(90_000) {
		if got, ok := kind.ParseDuration(kind.FormatDuration(d * time.Second)); !ok || got != d*time.Second {
			t.Fatalf("%s is %v", kind.FormatDuration(d*time.Second), got)
		}
	}
}
