package command

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"trueup/internal/config"
)

// The variables of the settings.
const (
	parallelismVar    = "TRUEUP_PARALLELISM"
	timeoutVar        = "TRUEUP_TIMEOUT"
	requestTimeoutVar = "TRUEUP_REQUEST_TIMEOUT"
)

// ReadSettings reads the settings of the environment. No command runs if one is wrong.
func (run *Run) ReadSettings() {
	getenv := run.Getenv
	run.API.Parallelism, run.API.RequestTimeout = 4, 30*time.Second
	kept := cmp.Or(getenv("TRUEUP_DISK_IS_KEPT"), "false")
	run.settingsErr = errors.Join(
		readVariable(getenv, parallelismVar, "a whole number above 0", &run.API.Parallelism, func(text string) (int, bool) {
			n, err := strconv.Atoi(text)
			return n, err == nil && n > 0
		}),
		readVariable(getenv, "TRUEUP_WRITES_PER_SECOND", "a number above 0", &run.API.WritesPerSecond, func(text string) (float64, bool) {
			n, err := strconv.ParseFloat(text, 64)
			return n, err == nil && n > 0 && n <= math.MaxInt32
		}),
		readVariable(getenv, timeoutVar, timeForm, &run.timeout, parsePositive),
		readVariable(getenv, requestTimeoutVar, timeForm, &run.API.RequestTimeout, parsePositive),
		checkOneOf("TRUEUP_DISK_IS_KEPT", kept, []string{"true", "false"}),
	)
	run.DiskIsKept = kept == "true"
	if rules := getenv("TRUEUP_SANDBOX_FAULTS"); rules != "" {
		run.SandboxFaults = strings.Split(rules, ";")
	}
	run.ReadOnly = config.IsReadOnly(getenv)
}

// readVariable sets a value to that of a variable, if it has one.
func readVariable[T any](getenv func(string) string, name, form string, value *T, parse func(string) (T, bool)) error {
	text := getenv(name)
	if text == "" {
		return nil
	}
	parsed, ok := parse(text)
	if !ok {
		return fmt.Errorf("%s is %q: write %s", name, text, form)
	}
	*value = parsed
	return nil
}

const timeForm = "a time above 0, such as 10m"

func parsePositive(text string) (time.Duration, bool) {
	d, err := time.ParseDuration(text)
	return d, err == nil && d > 0
}
