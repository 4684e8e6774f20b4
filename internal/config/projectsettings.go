package config

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"path"
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"
	"time"

	"trueup/internal/api"
	"trueup/internal/diag"
	"trueup/internal/kind"
	"trueup/internal/ledger"
	"trueup/internal/plan"
	"trueup/internal/routing"
)

// SendWindow returns how long after its first attempt a request without an answer may be sent again (docs/design.md A1).
func (p Project) SendWindow() time.Duration {
	return ParseDuration(p.Purge.Window, ledger.DefaultWindow)
}

// ParseDuration reads a duration that was checked. It returns usual if the text has none.
func ParseDuration(text string, usual time.Duration) time.Duration {
	if d, err := time.ParseDuration(text); err == nil {
		return d
	}
	return usual
}

// DuplicateAnswer returns how to recognise the platform's answer to a name that exists.
func (p Project) DuplicateAnswer() api.DuplicateAnswer {
	d := api.DuplicateAnswer{Status: p.Purge.Duplicate.Status}
	if pattern := p.Purge.Duplicate.BodyRegex; pattern != "" {
		d.Body, _ = regexp.Compile(pattern) // Check refuses a wrong one
	}
	return d
}

func checkPrecedence(name string) error {
	if known := routing.PrecedenceNames(); name != "" && !slices.Contains(known, name) {
		return fmt.Errorf("platform.precedence is %.60q: write %s", name, strings.Join(known, ", or "))
	}
	return nil
}

// checkPurge returns an error that starts with the name of the field.
func checkPurge(s plan.PurgeSettings) error {
	d, err := time.ParseDuration(s.Window)
	if s.Window != "" && (err != nil || d < time.Hour || d > 22*time.Hour) {
		return fmt.Errorf("window is %q: write a time between 1h and 22h", s.Window)
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
	pattern, err := regexp.Compile(d.BodyRegex)
	if wrong, ok := errors.AsType[*syntax.Error](err); ok {
		return fmt.Errorf("duplicate.bodyRegex: %s at %q", wrong.Code, wrong.Expr)
	}
	if d.BodyRegex != "" && pattern.MatchString("") {
		return errors.New("duplicate.bodyRegex matches any text: write words that only the answer to a duplicate has")
	}
	return nil
}

// CheckAllowedOverrides rejects an override that hides a documented field, unless the comma-separated list from
// the environment has it: a pull request must not decide what its own plan hides.
func (p Project) CheckAllowedOverrides(list string) error {
	allowed := strings.Split(list, ",")
	for i := range allowed {
		allowed[i] = strings.Join(strings.Fields(allowed[i]), " ")
	}
	for i, o := range p.Overrides {
		if place := o.Place(); o.HidesDocumented() && !slices.Contains(allowed, place) {
			return diag.WithExit(diag.ExitInvalid, fmt.Errorf("%s: overrides[%d] hides the documented field %s: trueup would neither show nor send its differences. Remove the override, or allow it in this run's environment: TRUEUP_ALLOW_OVERRIDES=%q", ProjectFile, i, place, place))
		}
	}
	return nil
}

func checkOverride(o plan.Override) error {
	k, known := kind.FindKind(o.Kind)
	switch {
	case !known:
		return fmt.Errorf("unknown kind %.60q", o.Kind)
	case len(o.Undocumented) > 0:
		return checkUndocumented(k, o)
	case !strings.HasPrefix(o.Path, "spec."):
		return fmt.Errorf("path is %.60q; write a field below spec, for example spec.locations", o.Path)
	case !slices.Contains([]string{"", "set", "ordered"}, o.Order):
		return fmt.Errorf("order is %.60q; write set or ordered", o.Order)
	case !slices.Contains([]string{"", "text", "boolean", "number"}, o.Type):
		return fmt.Errorf("type is %.60q; write text, boolean or number", o.Type)
	case o.Order == "set" && o.Key != nil && len(o.Key) == 0:
		return errors.New("key: [] matches elements by position, but order: set says that position does not matter: remove one of them")
	}
	return nil
}

// checkUndocumented requires a documented path, because trueup reports misspellings only there.
func checkUndocumented(k *kind.Kind, o plan.Override) error {
	if o.Ignore || o.ReadOnly || o.Order != "" || o.Key != nil || o.Type != "" {
		return errors.New("undocumented does not change how a path is compared: write a separate override for that")
	}
	steps := strings.Split(o.Path, ".")
	holder := k.Spec()
	for _, name := range steps[1:] {
		holder = cmp.Or(holder.Fields[name], &kind.Field{})
		for holder.Type == kind.ListType {
			holder = cmp.Or(holder.Item, &kind.Field{})
		}
	}
	if steps[0] != "spec" || len(holder.Fields)+len(holder.Seen) == 0 {
		return fmt.Errorf("path is %.60q; undocumented needs a documented object or value, without indices, for example spec.locations.cache", o.Path)
	}
	return nil
}

func (p Project) undocumentedFields() map[string]map[string][]string {
	all := map[string]map[string][]string{}
	for _, o := range p.Overrides {
		k, _ := kind.FindKind(o.Kind) // Check refuses another
		if len(o.Undocumented) == 0 {
			continue
		}
		if all[k.Name] == nil {
			all[k.Name] = map[string][]string{}
		}
		all[k.Name][o.Path] = append(all[k.Name][o.Path], o.Undocumented...)
	}
	return all
}

// MatchesPath reports whether a pattern of path.Match, which must be valid, matches the path of a project or a folder
// above it.
func MatchesPath(pattern, name string) bool {
	pattern = path.Clean(pattern)
	for ; ; name = path.Dir(name) {
		if ok, _ := path.Match(pattern, name); ok {
			return true
		}
		if name == "." {
			return false
		}
	}
}
