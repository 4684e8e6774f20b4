package merge

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"trueup/internal/e2e/long"
)

// stepDown follows one step in a decoded value.
func stepDown(v any, s PathStep) any {
	if !s.Element {
		return fieldOf(v, s.Field)
	}
	list := withoutNulls(v)
	if s.Index < 0 || s.Index >= len(list) {
		return nil
	}
	return list[s.Index]
}

// TestPlaces: following the steps of a change from desired ends at what the
// change says that git has there.
func TestPlaces(t *testing.T) {
	long.SetChecks(t, 200)
	rapid.Check(t, func(t *rapid.T) {
		in := triples(t)
		res := Compare(in)
		for _, c := range slices.Concat(res.Changes, res.Notes) {
			v, rules := in.Desired, in.Rules
			for _, s := range c.At {
				v = stepDown(v, s)
				if s.Element {
					rules = rules.elementRules()
				} else {
					rules = rules.fieldRules(s.Field)
				}
			}
			if want := SendableValue(rules, v); !c.Moved && encode(c.Desired) != encode(want) && !isSame(rules, c.Desired, want) {
				t.Fatalf("%s: %s stands at %s, the change says %s\n%s", c.Path, encode(v), FormatPlace(c.At), encode(c.Desired), in)
			}
			if c.Moved && v == nil {
				t.Fatalf("%s: nothing moved stands at %s\n%s", c.Path, FormatPlace(c.At), in)
			}
		}
	})
}

// named reports whether every element on the way is found by its key.
func named(rules *Rules, at []PathStep) bool {
	for _, s := range at {
		if s.Element && len(rules.keyFields()) == 0 {
			return false
		}
		if s.Element {
			rules = rules.elementRules()
		} else {
			rules = rules.fieldRules(s.Field)
		}
	}
	return true
}

// TestHistoryOfTheRecord: held against what was applied last, what Compare calls
// git's change is one, and what it calls drift is none.
func TestHistoryOfTheRecord(t *testing.T) {
	long.SetChecks(t, 200)
	rapid.Check(t, func(t *rapid.T) {
		in := triples(t)
		in.Pending = nil
		if in.Applied == nil {
			return
		}
		history := NewManifestDiff(in.Rules, in.Applied, in.Desired)
		for _, c := range Compare(in).Changes {
			if !named(in.Rules, c.At) || c.Moved && c.Class == DriftOverwrite {
				continue // which element it was is a guess on either side, or it is new
			}
			want := c.Class != DriftOverwrite
			if got := history.TouchedByGit(c); got != want {
				t.Fatalf("%s %s %v: touched %v\n%s", c.Path, c.Class, c.Moved, got, in)
			}
		}
	})
}

// TestHistoryOfNothing: where git says what it said before nothing was touched,
// and where it said nothing everything was that it says.
func TestHistoryOfNothing(t *testing.T) {
	long.SetChecks(t, 200)
	rapid.Check(t, func(t *rapid.T) {
		in := triples(t)
		still, fresh := NewManifestDiff(in.Rules, in.Desired, in.Desired), NewManifestDiff(in.Rules, nil, in.Desired)
		for _, c := range Compare(in).Changes {
			if still.TouchedByGit(c) {
				t.Fatalf("%s %s: nothing changed in git\n%s", c.Path, c.Class, in)
			}
			if c.Desired != nil && !fresh.TouchedByGit(c) {
				t.Fatalf("%s %s: it is new in git\n%s", c.Path, c.Class, in)
			}
		}
	})
}

// TestLeftAlone: what is left alone is live's, stays after the patch, and is
// nothing that git has or had.
func TestLeftAlone(t *testing.T) {
	long.SetChecks(t, 200)
	rapid.Check(t, func(t *rapid.T) {
		in := triples(t)
		res := Compare(in)
		for _, c := range LiveOnlyFields(in) {
			if c.Desired != nil || c.Live == nil || c.Class != Unmanaged {
				t.Fatalf("%+v\n%s", c, in)
			}
			for _, other := range res.Changes {
				if other.Path == c.Path || strings.HasPrefix(c.Path, other.Path+".") && other.Desired == nil && !other.Moved {
					t.Fatalf("%s is left alone, and %s %s\n%s", c.Path, other.Path, other.Class, in)
				}
			}
		}
	})
}

// TestHistoryOfAnOrder: of two moves in one list each is whose it is.
func TestHistoryOfAnOrder(t *testing.T) {
	list := func(names string) any {
		var elements []string
		for _, name := range strings.Split(names, "") {
			elements = append(elements, `{"name":"`+name+`"}`)
		}
		return decode(t, `{"rules":[`+strings.Join(elements, ",")+`]}`)
	}
	for name, c := range map[string]struct{ applied, was, desired, live, touched string }{
		"the rest moved before":   {"abcd", "bacd", "badc", "abcd", "rules[d]"},
		"all of it moved before":  {"abcd", "badc", "badc", "abcd", ""},
		"all of it moves now":     {"abcd", "abcd", "badc", "abcd", "rules[b] rules[d]"},
		"past the one that moved": {"abcd", "bacd", "dbac", "abcd", "rules[d]"},
		"moved back":              {"abcd", "bacd", "abcd", "bacd", "rules[a]"},
		"an element came between": {"abcd", "bacd", "bacxd", "abcd", "rules[x]"},
		"what it passes is new":   {"bx", "b", "xb", "bx", "rules[x]"},
		"another moves in live":   {"abcd", "abcd", "abdc", "bacd", "rules[a] rules[d]"},
	} {
		in := Input{Rules: specRules(), Applied: list(c.applied), Desired: list(c.desired), Live: list(c.live)}
		history := NewManifestDiff(in.Rules, list(c.was), in.Desired)
		var touched []string
		for _, change := range Compare(in).Changes {
			if history.TouchedByGit(change) {
				touched = append(touched, change.Path)
			}
		}
		if got := strings.Join(touched, " "); got != c.touched {
			t.Errorf("%s: touched are %q, want %q", name, got, c.touched)
		}
	}
}

// TestHistoryOfPlaces: what has no key is where it is, and one that comes or goes
// moves those behind it.
func TestHistoryOfPlaces(t *testing.T) {
	list := func(names string) any {
		return decode(t, `{"plain":["`+strings.Join(strings.Split(names, ""), `","`)+`"]}`)
	}
	for name, c := range map[string]struct{ applied, was, desired, live, touched string }{
		"one comes first, another was changed before": {"abc", "abx", "nabx", "abc", "+n -a +a -b +b +x"},
		"the first goes, another was changed before":  {"abc", "abx", "bx", "abc", "+b -a +x -b"},
		"one is changed, the first went before":       {"abc", "bc", "nc", "abc", "+n -b"},
		"one is changed, and one before":              {"abc", "xbc", "xyc", "abc", "y"},
		"one comes first, and no others was changed":  {"abc", "abc", "nabc", "abc", "+n"},
		"all of it was said before":                   {"abc", "nabx", "nabx", "abc", ""},
	} {
		in := Input{Rules: specRules(), Applied: list(c.applied), Desired: list(c.desired), Live: list(c.live)}
		history := NewManifestDiff(in.Rules, list(c.was), in.Desired)
		var touched []string
		for _, change := range Compare(in).Changes {
			if !history.TouchedByGit(change) {
				continue
			}
			switch {
			case change.Live == nil:
				touched = append(touched, "+"+change.Desired.(string))
			case change.Desired == nil:
				touched = append(touched, "-"+change.Live.(string))
			default:
				touched = append(touched, change.Desired.(string))
			}
		}
		if got := strings.Join(touched, " "); got != c.touched {
			t.Errorf("%s: touched are %q, want %q", name, got, c.touched)
		}
	}
}
