// Package long says how much tests try: a little by default, and as many times as much as TRUEUP_LONG says.
package long

import (
	"flag"
	"fmt"
	"os"
	"strconv"
	"testing"
)

const variable = "TRUEUP_LONG"

// IsSet reports whether TRUEUP_LONG is set.
func IsSet() bool { return os.Getenv(variable) != "" }

// SkipUnlessSet skips a test that takes minutes unless TRUEUP_LONG is set.
func SkipUnlessSet(t testing.TB) {
	t.Helper()
	if !IsSet() {
		t.Skip("it takes minutes: " + variable + "=1 runs it")
	}
}

// Choose returns a size of what is tried: quick, or full if TRUEUP_LONG is set.
func Choose(quick, full int) int {
	if IsSet() {
		return full
	}
	return quick
}

// Times returns n, multiplied by TRUEUP_LONG.
func Times(n int) int {
	if !IsSet() {
		return n
	}
	factor, err := strconv.Atoi(os.Getenv(variable))
	if err != nil || factor < 1 {
		panic(fmt.Sprintf("%s=%q: want a number from 1", variable, os.Getenv(variable)))
	}
	return factor * n
}

// Stride returns n, divided by TRUEUP_LONG: of n cases a test tries one. At least it is 1, with which a test tries all.
func Stride(n int) int { return max(1, n/Times(1)) }

// SetChecks makes rapid check n cases of the property, multiplied by TRUEUP_LONG, unless the command line says how many.
func SetChecks(t testing.TB, n int) {
	t.Helper()
	checks := flag.Lookup("rapid.checks")
	if checks.Value.String() != checks.DefValue {
		return
	}
	if err := checks.Value.Set(strconv.Itoa(Times(n))); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = checks.Value.Set(checks.DefValue) })
}
