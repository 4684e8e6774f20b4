package cli

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// settings are what a run reads of the environment instead of flags.
type settings struct {
	parallelism             int
	writesPerSecond         float64 // 0 means the default
	timeout, requestTimeout time.Duration
	logsJSON, diskIsKept    bool
	sandboxFaults           []string
}

// The variables of the settings.
const (
	parallelismVar    = "TRUEUP_PARALLELISM"
	timeoutVar        = "TRUEUP_TIMEOUT"
	requestTimeoutVar = "TRUEUP_REQUEST_TIMEOUT"
)

// readSettings returns the settings, those that are wrong with their defaults.
func readSettings(getenv func(string) string) (s settings, err error) {
	s = settings{parallelism: 4, requestTimeout: 30 * time.Second}
	err = errors.Join(
		readVariable(getenv, parallelismVar, "a whole number above 0", &s.parallelism, func(text string) (int, bool) {
			n, err := strconv.Atoi(text)
			return n, err == nil && n > 0
		}),
		readVariable(getenv, "TRUEUP_WRITES_PER_SECOND", "a number above 0", &s.writesPerSecond, func(text string) (float64, bool) {
			n, err := strconv.ParseFloat(text, 64)
			return n, err == nil && n > 0 && n <= math.MaxInt32
		}),
		readVariable(getenv, timeoutVar, timeForm, &s.timeout, parseTime),
		readVariable(getenv, requestTimeoutVar, timeForm, &s.requestTimeout, parseTime),
		readVariable(getenv, "TRUEUP_LOG_FORMAT", "text or json", &s.logsJSON, func(text string) (bool, bool) {
			return text == "json", text == "json" || text == "text"
		}),
		readVariable(getenv, "TRUEUP_DISK_IS_KEPT", "true or false", &s.diskIsKept, func(text string) (bool, bool) {
			return text == "true", text == "true" || text == "false"
		}),
	)
	if rules := getenv("TRUEUP_SANDBOX_FAULTS"); rules != "" {
		s.sandboxFaults = strings.Split(rules, ";")
	}
	return s, err
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

func parseTime(text string) (time.Duration, bool) {
	d, err := time.ParseDuration(text)
	return d, err == nil && d > 0
}
