package project

import (
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"regexp/syntax"
	"slices"
	"time"

	"trueup/internal/api"
	"trueup/internal/ledger"
	"trueup/internal/plan"
)

const usualWait = time.Minute

// Window returns how long after its first attempt a request without an answer may be sent again (docs/design.md A1).
func (p Project) Window() time.Duration { return Duration(p.Purge.Window, ledger.DefaultWindow) }

// Wait returns how long apply waits for requests that another run has claimed.
func (p Project) Wait() time.Duration { return Duration(p.Purge.Wait, usualWait) }

// Duration reads a duration that was checked. It returns usual if the text has none.
func Duration(text string, usual time.Duration) time.Duration {
	if d, err := time.ParseDuration(text); err == nil {
		return d
	}
	return usual
}

// Duplicate returns how to recognise the platform's answer to a name that exists.
func (p Project) Duplicate() api.Duplicate {
	d := api.Duplicate{Status: p.Purge.Duplicate.Status}
	if pattern := p.Purge.Duplicate.BodyRegex; pattern != "" {
		d.Body, _ = regexp.Compile(pattern) // Check refuses a wrong one
	}
	return d
}

// checkPurge returns an error that starts with the name of the field.
func checkPurge(s plan.PurgeSettings) error {
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
	return checkDuplicate(s.Duplicate)
}

// checkDuplicate rejects settings that match other answers than that to a duplicate. After an unclear
// answer, a duplicate proves that the platform carried out the request.
func checkDuplicate(d plan.DuplicateSettings) error {
	others := []int{
		http.StatusUnauthorized, http.StatusForbidden, http.StatusNotFound,
		http.StatusRequestTimeout, http.StatusTooManyRequests,
	}
	for i, code := range d.Status {
		switch {
		case code < http.StatusBadRequest || code >= http.StatusInternalServerError:
			return fmt.Errorf("duplicate.status[%d] is %d: write codes between 400 and 499", i, code)
		case slices.Contains(others, code):
			return fmt.Errorf("duplicate.status[%d] is %d, which has another meaning: remove it", i, code)
		case code != http.StatusConflict && d.BodyRegex == "":
			return fmt.Errorf("duplicate.status[%d] is %d, which can mean anything: also write bodyRegex with words that only the answer to a duplicate has", i, code)
		}
	}
	parsed, err := syntax.Parse(d.BodyRegex, syntax.Perl)
	if wrong, ok := errors.AsType[*syntax.Error](err); ok {
		return fmt.Errorf("duplicate.bodyRegex: %s at %q", wrong.Code, wrong.Expr)
	}
	program, err := syntax.Compile(parsed.Simplify()) // with repetitions written out
	switch {
	case err != nil:
		return err
	case len(program.Inst) > maxPattern:
		return fmt.Errorf("duplicate.bodyRegex is too large (over %d steps): write only words that the answer to a duplicate has", maxPattern)
	case d.BodyRegex != "" && regexp.MustCompile(d.BodyRegex).MatchString(""):
		return errors.New("duplicate.bodyRegex matches any text: write words that only the answer to a duplicate has")
	}
	return nil
}

// maxPattern limits the steps of a pattern: matching takes that many for each character of an answer.
const maxPattern = 1000
