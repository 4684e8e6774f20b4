package project

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"trueup/internal/exit"
	"trueup/internal/kind"
	"trueup/internal/plan"
)

// AllowOverrides rejects an override that hides a documented field, unless the comma-separated list from
// the environment has it: a pull request must not decide what its own plan hides.
func (p Project) AllowOverrides(list string) error {
	allowed := strings.Split(list, ",")
	for i := range allowed {
		allowed[i] = strings.Join(strings.Fields(allowed[i]), " ")
	}
	for i, o := range p.Overrides {
		if place := o.Place(); o.HidesDocumented() && !slices.Contains(allowed, place) {
			return exit.With(exit.Invalid, fmt.Errorf("%s: overrides[%d] hides the documented field %s: trueup would neither show nor send its differences. Remove the override, or allow it in this run's environment: TRUEUP_ALLOW_OVERRIDES=%q", File, i, place, place))
		}
	}
	return nil
}

func checkOverride(o plan.Override) error {
	k, known := kind.Named(o.Kind)
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

// undocumented returns the names that the platform has and its document does not, by kind and path.
func (p Project) undocumented() map[string]map[string][]string {
	all := map[string]map[string][]string{}
	for _, o := range p.Overrides {
		k, _ := kind.Named(o.Kind) // Check refuses another
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
