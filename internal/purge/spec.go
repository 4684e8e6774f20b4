package purge

import (
	"fmt"
	"slices"
)

// Spec is the spec of a purge request (docs/platform.md 2.3).
type Spec struct {
	Hostname   string
	Subdomains []string
	Paths      []string
}

// Parse reads the spec of a decoded manifest, ledger record or answer; a field
// of another type than the documented one is an error, an absent one is empty.
func Parse(spec map[string]any) (Spec, error) {
	var s Spec
	var err error
	if v, ok := spec["hostname"]; ok {
		if s.Hostname, ok = v.(string); !ok {
			return Spec{}, fmt.Errorf("hostname is %T, not text", v)
		}
	}
	if s.Subdomains, err = texts(spec, "subdomains"); err != nil {
		return Spec{}, err
	}
	if s.Paths, err = texts(spec, "paths"); err != nil {
		return Spec{}, err
	}
	return s, nil
}

func texts(spec map[string]any, field string) ([]string, error) {
	v, ok := spec[field]
	if !ok || v == nil {
		return nil, nil
	}
	list, ok := v.([]any)
	if !ok {
		return nil, fmt.Errorf("%s is %T, not a list", field, v)
	}
	out := make([]string, len(list))
	for i, e := range list {
		if out[i], ok = e.(string); !ok {
			return nil, fmt.Errorf("%s[%d] is %T, not text", field, i, e)
		}
	}
	return out, nil
}

// Canonical returns the spec with its subdomains and paths sorted and each
// named once, so that a reordered purge is the same purge. It does not change
// the receiver.
func (s Spec) Canonical() Spec {
	return Spec{Hostname: s.Hostname, Subdomains: sortedUnique(s.Subdomains), Paths: sortedUnique(s.Paths)}
}

func sortedUnique(list []string) []string {
	sorted := slices.Clone(list)
	slices.Sort(sorted)
	return slices.Compact(sorted)
}

// Tree returns the spec as decoded JSON; absent lists are empty ones, so that
// the digest of Canonical().Tree() does not depend on them.
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
		if FormOf(p) == Prefix {
			u.Prefixes++
		} else {
			u.Paths++
		}
	}
	return u
}
