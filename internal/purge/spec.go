package purge

import (
	"fmt"
	"slices"
)

// Spec is the spec of a purge (docs/platform.md 2.3).
type Spec struct {
	Hostname   string
	Subdomains []string
	Paths      []string
}

// Parse reads the spec of a decoded manifest, ledger record or answer. A field of another type than the
// documented one is an error; a missing one is empty.
func Parse(spec map[string]any) (s Spec, err error) {
	host, ok := spec["hostname"].(string)
	if v, has := spec["hostname"]; has && !ok {
		return Spec{}, fmt.Errorf("hostname is %T, not text", v)
	}
	s.Hostname = host
	for i, into := range []*[]string{&s.Subdomains, &s.Paths} {
		field := [...]string{"subdomains", "paths"}[i]
		list, ok := spec[field].([]any)
		if v := spec[field]; v != nil && !ok {
			return Spec{}, fmt.Errorf("%s is %T, not a list", field, v)
		}
		for i, v := range list {
			text, ok := v.(string)
			if !ok {
				return Spec{}, fmt.Errorf("%s[%d] is %T, not text", field, i, v)
			}
			*into = append(*into, text)
		}
	}
	return s, nil
}

// Canonical returns the spec with subdomains and paths sorted and without duplicates, so that a reordered
// purge is the same purge. It does not change s.
func (s Spec) Canonical() Spec {
	return Spec{Hostname: s.Hostname, Subdomains: sortedUnique(s.Subdomains), Paths: sortedUnique(s.Paths)}
}

func sortedUnique(list []string) []string {
	sorted := slices.Clone(list)
	slices.Sort(sorted)
	return slices.Compact(sorted)
}

// Tree returns the spec as decoded JSON. A missing list is an empty one, so that the digest of
// Canonical().Tree() is the same.
func (s Spec) Tree() map[string]any {
	return map[string]any{
		"hostname":   s.Hostname,
		"subdomains": anys(s.Subdomains),
		"paths":      anys(s.Paths),
	}
}

func anys(list []string) []any {
	out := make([]any, len(list))
	for i, e := range list {
		out[i] = e
	}
	return out
}

// Usage counts the request and each distinct path once.
func (s Spec) Usage() Usage {
	u := Usage{Requests: 1}
	for _, p := range sortedUnique(s.Paths) {
		if IsPrefix(p) {
			u.Prefixes++
		} else {
			u.Paths++
		}
	}
	return u
}
