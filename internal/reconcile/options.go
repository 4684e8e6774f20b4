package reconcile

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"

	"trueup/internal/kind"
	"trueup/internal/manifest"
	"trueup/internal/plan"
)

// Options choose what to plan. Most are flags.
type Options struct {
	// Options are those that need no manifests; Prepare adds the rest.
	plan.Options
	ReadOnly      bool // set by commands that change nothing
	TakeOver      []string
	AllowRecreate []string
	BaseRef       string
}

// Check returns an error for a value that no manifest could match.
func (o Options) Check() error {
	_, err := o.plan()
	return err
}

func (o Options) plan() (all plan.Options, err error) {
	var wrong [3]error
	all = o.Options
	all.Targets, wrong[0] = Filter(o.Patterns)
	all.TakeOver, wrong[1] = Keys("--take-over", o.TakeOver)
	all.AllowRecreate, wrong[2] = Keys("--allow-recreate", o.AllowRecreate)
	if err := cmp.Or(wrong[:]...); err != nil {
		return all, err
	}
	for flag, n := range map[string]int{"--max-creates": o.MaxCreates, "--max-deletes": o.MaxDeletes} {
		if n < 0 {
			return all, fmt.Errorf("%s is %d: write 0 or more", flag, n)
		}
	}
	return all, nil
}

// Match rejects an option that names no manifest: with a typing error, trueup must not report that
// there is nothing to do.
func (o Options) Match(set *manifest.Set) error {
	names := make([]string, len(set.Objects))
	for i, obj := range set.Objects {
		names[i] = obj.Key().String()
	}
	for _, pattern := range o.Patterns {
		filter, _ := Filter([]string{pattern}) // Check has read it
		if !slices.ContainsFunc(set.Objects, func(obj *manifest.Object) bool { return filter(obj.Key()) }) {
			return fmt.Errorf("--target %s matches no manifest%s", pattern, manifest.DidYouMean(pattern, names))
		}
	}
	for flag, values := range map[string][]string{"--take-over": o.TakeOver, "--allow-recreate": o.AllowRecreate} {
		for _, value := range values {
			if key, ok := kind.ParseKey(value); !ok || set.Find(key) == nil {
				return fmt.Errorf("%s %s names no manifest%s", flag, value, manifest.DidYouMean(value, names))
			}
		}
	}
	return nil
}

// Filter returns the filter of --target KIND/NAME, with the wildcards of path.Match in both parts; nil
// without patterns.
func Filter(patterns []string) (func(kind.Key) bool, error) {
	if len(patterns) == 0 {
		return nil, nil
	}
	for _, p := range patterns {
		if _, err := path.Match(p, ""); err != nil || strings.Count(p, "/") != 1 {
			return nil, fmt.Errorf("--target is %q: write KIND/NAME, such as cdn/shop or */web-*", p)
		}
	}
	return func(k kind.Key) bool {
		return slices.ContainsFunc(patterns, func(p string) bool {
			kindPart, namePart, _ := strings.Cut(p, "/")
			byKind, _ := path.Match(strings.ToLower(kindPart), strings.ToLower(k.Kind))
			byName, _ := path.Match(namePart, k.Name)
			return byKind && byName
		})
	}, nil
}

// Keys returns the objects that a flag names.
func Keys(flag string, values []string) (map[kind.Key]bool, error) {
	named := map[kind.Key]bool{}
	for _, v := range values {
		key, ok := kind.ParseKey(v)
		if !ok {
			return nil, fmt.Errorf("%s is %q: write KIND/NAME, such as cdn/shop", flag, v)
		}
		named[key] = true
	}
	return named, nil
}
