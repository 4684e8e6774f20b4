package accesslog

import "testing"

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
		"0%": {0, 5}, "100%": {5, 5}, "less than 0.1%": {1, 1001}, "0.1%": {1, 1000}, "0.2%": {29, 10_000}, "9.9%": {999, 10_000},
		"10%": {100, 1000}, "41%": {410, 1000}, "99.1%": {9919, 10_000}, "more than 99.9%": {999_999, 1_000_000},
	} {
		if got := Share(n[0], n[1]); got != want {
			t.Errorf("%v is %q, want %q", n, got, want)
		}
	}
	if got := Share(0, 0); got != "0%" {
		t.Errorf("none of none is %q", got)
	}
}
