package kind

import (
	"fmt"
	"slices"
	"strconv"
)

// Safer says which change of a field only protects more. Empty is not known.
type Safer string

// The directions; SaferTrue and SaferFalse are values.
const (
	SaferTrue    Safer = "true"
	SaferFalse   Safer = "false"
	SaferHigher  Safer = "higher"
	SaferLower   Safer = "lower"
	SaferPresent Safer = "present"
	SaferAbsent  Safer = "absent"
)

// RiskOf returns the highest risk of a change. One that only protects more exposes nothing, but may make
// something unreachable.
func (p Places) RiskOf(before, after any) Risk {
	risk := max(p.RiskIn(before), p.RiskIn(after))
	if risk == RiskSecurity && !slices.ContainsFunc(p, func(f *Field) bool { return !f.protects(before, after) }) {
		return RiskAvailability
	}
	return risk
}

// protects reports whether a change certainly takes no protection away.
func (f *Field) protects(before, after any) bool {
	switch f.Safer {
	case SaferTrue, SaferFalse:
		return fmt.Sprint(after) == string(f.Safer)
	case SaferHigher, SaferLower:
		was, err1 := strconv.ParseFloat(fmt.Sprint(before), 64)
		is, err2 := strconv.ParseFloat(fmt.Sprint(after), 64)
		return err1 == nil && err2 == nil && was != is && was < is == (f.Safer == SaferHigher)
	case SaferPresent:
		return before == nil && f.documents(after)
	case SaferAbsent:
		return after == nil
	}
	fields, isObject := after.(map[string]any)
	for name, value := range fields {
		if !f.below(name).protects(nil, value) {
			return false
		}
	}
	return before == nil && isObject
}

// documents reports whether the platform documents all fields and values of v.
func (f *Field) documents(v any) bool {
	switch v := v.(type) {
	case map[string]any:
		for name, value := range v {
			if known := f.Fields[name]; known == nil || !known.documents(value) {
				return false
			}
		}
		return true
	case []any:
		return f.Item != nil && !slices.ContainsFunc(v, func(e any) bool { return !f.Item.documents(e) })
	}
	return len(f.Seen) == 0 || slices.Contains(f.Seen, fmt.Sprint(v))
}
