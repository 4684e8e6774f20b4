package cli

import (
	"errors"
	"fmt"
	"maps"
	"net/http"
	"regexp"
	"regexp/syntax"
	"slices"
	"time"

	"trueup/internal/api"
	"trueup/internal/ledger"
)

// purgeSettings are what trueup.yaml says of requests that are sent once.
type purgeSettings struct {
	Window        string           `json:"window"`
	Wait          string           `json:"wait"`
	Duplicate     duplicateSetting `json:"duplicate"`
	DeprecatedURL string           `json:"deprecatedURL"`
}

// duplicateSetting is how the platform refuses a name that exists already.
type duplicateSetting struct {
	Status    []int  `json:"status"`
	BodyRegex string `json:"bodyRegex"`
}

// usualWait holds where trueup.yaml is silent.
const usualWait = time.Minute

// window is how long after its first attempt an unanswered request may be sent
// again (docs/design.md A1).
func (s purgeSettings) window() time.Duration { return timeOf(s.Window, ledger.DefaultWindow) }

// wait is how long apply waits for requests that another run has claimed.
func (s purgeSettings) wait() time.Duration { return timeOf(s.Wait, usualWait) }

// timeOf reads a time that check has let pass.
func timeOf(text string, usual time.Duration) time.Duration {
	if d, err := time.ParseDuration(text); err == nil {
		return d
	}
	return usual
}

// duplicate is what tells of a duplicate, as the client wants to know it.
func (s purgeSettings) duplicate() api.Duplicate {
	d := api.Duplicate{Status: s.Duplicate.Status}
	if pattern := s.Duplicate.BodyRegex; pattern != "" {
		// A pattern that is wrong did not get past check.
		d.Body, _ = regexp.Compile(pattern)
	}
	return d
}

// said are the settings that are not the usual ones, by their names.
func (s purgeSettings) said() map[string]string {
	said := map[string]string{"window": s.Window, "wait": s.Wait, "deprecatedURL": s.DeprecatedURL}
	if d := s.Duplicate; len(d.Status) > 0 || d.BodyRegex != "" {
		said["duplicate"] = fmt.Sprintf("status %v, bodyRegex %q", d.Status, d.BodyRegex)
	}
	maps.DeleteFunc(said, func(_, v string) bool { return v == "" })
	return said
}

// check returns what is wrong, beginning with the name of the field.
func (s purgeSettings) check() error {
	for _, each := range []struct {
		field, text string
		least, most time.Duration
		between     string
	}{
		{"window", s.Window, time.Hour, 22 * time.Hour, "1h and 22h"},
		{"wait", s.Wait, 0, time.Hour, "0s and 1h"},
	} {
		d, err := time.ParseDuration(each.text)
		if each.text != "" && (err != nil || d < each.least || d > each.most) {
			return fmt.Errorf("%s is %q: write a time between %s", each.field, each.text, each.between)
		}
	}
	if err := s.Duplicate.check(); err != nil {
		return fmt.Errorf("duplicate.%w", err)
	}
	return nil
}

// check refuses what would take another refusal for a duplicate: after an
// unclear answer a duplicate is proof that the request was carried out.
func (d duplicateSetting) check() error {
	// These say something else, whatever their text.
	others := []int{
		http.StatusUnauthorized, http.StatusForbidden, http.StatusNotFound,
		http.StatusRequestTimeout, http.StatusTooManyRequests,
	}
	for i, code := range d.Status {
		switch {
		case code < http.StatusBadRequest || code >= http.StatusInternalServerError:
			return fmt.Errorf("status[%d] is %d: write codes between 400 and 499", i, code)
		case slices.Contains(others, code):
			return fmt.Errorf("status[%d] is %d, which has another meaning: remove it", i, code)
		case code != http.StatusConflict && d.BodyRegex == "":
			return fmt.Errorf("status[%d] is %d, which can mean anything: also write bodyRegex with words that only the answer to a duplicate has", i, code)
		}
	}
	pattern, err := regexp.Compile(d.BodyRegex)
	switch {
	case err != nil:
		return fmt.Errorf("bodyRegex: %w", patternError(err))
	case complexity(d.BodyRegex) > maxPattern:
		return fmt.Errorf("bodyRegex is too large (over %d steps): write only words that the answer to a duplicate has", maxPattern)
	case d.BodyRegex != "" && pattern.MatchString(""):
		return errors.New("bodyRegex matches any text: write words that only the answer to a duplicate has")
	}
	return nil
}

// maxPattern bounds the steps of a pattern: matching takes that many for each
// character of an answer.
const maxPattern = 1000

// complexity is how many steps a pattern that compiles comes to, when what it
// repeats is written out.
func complexity(pattern string) int {
	parsed, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return 0
	}
	program, err := syntax.Compile(parsed.Simplify())
	if err != nil {
		return 0
	}
	return len(program.Inst)
}

// patternError is what is wrong with a pattern, and which part of it.
func patternError(err error) error {
	var wrong *syntax.Error
	if errors.As(err, &wrong) {
		return fmt.Errorf("%s at %q", wrong.Code, wrong.Expr)
	}
	return err
}
