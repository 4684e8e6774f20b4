package accesslog

import (
	"math"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestAmount(t *testing.T) {
	for n, want := range map[int64]string{
		0: "0", 999: "999", 1000: "1,000", 12_345: "12,345", 999_999: "999,999", 1_000_000: "1 million", 12_449_999: "12.4 million",
		999_999_999: "999.9 million", 1_000_000_000: "1 billion", 25_050_000_000: "25 billion",
	} {
		if got := Amount(n); got != want {
			t.Errorf("%d is %q, want %q", n, got, want)
		}
	}
}

func TestShare(t *testing.T) {
	for want, n := range map[string][2]int64{
		"0%": {0, 5}, "100%": {5, 5}, "less than 0.1%": {1, 3000}, "0.1%": {1, 1000}, "0.3%": {29, 10_000}, "10%": {999, 10_000},
		"41%": {410, 1000}, "12.5%": {1, 8}, "99.2%": {9919, 10_000}, "99.9%": {999, 1000}, "more than 99.9%": {999_999, 1_000_000},
		"50%": {1, 2},
	} {
		if got := Share(n[0], n[1]); got != want {
			t.Errorf("%v is %q, want %q", n, got, want)
		}
	}
	if got := Share(0, 0); got != "0%" {
		t.Errorf("none of none is %q", got)
	}
}

// TestSharesAddUp reads back what is written.
func TestSharesAddUp(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		parts := rapid.SliceOfN(rapid.OneOf(rapid.Int64Range(0, 9), rapid.Int64Range(0, 1e12)), 1, 9).Draw(t, "parts")
		var whole int64
		for _, part := range parts {
			whole += part
		}
		sum, hidden := 0.0, false
		for i, text := range Shares(parts...) {
			percent := 100 * float64(parts[i]) / float64(max(1, whole))
			if (text == "0%") != (parts[i] == 0) || (text == "100%") != (parts[i] == whole && whole > 0) {
				t.Fatalf("%d of %d is %s", parts[i], whole, text)
			}
			text, less := strings.CutPrefix(text, "less than ")
			text, more := strings.CutPrefix(text, "more than ")
			shown, err := strconv.ParseFloat(strings.TrimSuffix(text, "%"), 64)
			if hidden = hidden || less || more; err != nil || less && percent >= shown || more && percent <= shown || math.Abs(shown-percent) > 0.1+1e-9 {
				t.Fatalf("%d of %d is %s", parts[i], whole, text)
			}
			sum += shown
		}
		if whole > 0 && !hidden && math.Abs(sum-100) > 1e-6 {
			t.Fatalf("%v: %q adds up to %v", parts, Shares(parts...), sum)
		}
	})
}
