// Package purge computes purge requests: which paths a request names, which of them another one covers,
// and how much of a hostname's limits it uses. It neither reads manifests nor sends anything.
package purge

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Spec is the spec of a purge (docs/platform.md 2.3).
type Spec struct {
	Hostname   string
	Subdomains []string
	Paths      []string
}

// ParseSpec reads the spec of a decoded manifest, ledger record or answer. A field of another type than the
// documented one is an error; a missing one is empty.
func ParseSpec(spec map[string]any) (s Spec, err error) {
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

func sortedUnique(list []string) []string { return slices.Compact(slices.Sorted(slices.Values(list))) }

// Tree returns the spec as decoded JSON. A missing list is an empty one, so that the digest of
// Canonical().Tree() is the same.
func (s Spec) Tree() map[string]any {
	return map[string]any{
		"hostname":   s.Hostname,
		"subdomains": toAny(s.Subdomains),
		"paths":      toAny(s.Paths),
	}
}

func toAny(list []string) []any {
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

// IsPrefix reports whether a path, valid or not, names everything below it, because it ends with "*"
// (docs/platform.md 2.3). Any other path names one file. Each kind has its own limit.
func IsPrefix(path string) bool { return strings.HasSuffix(path, "*") }

// CheckPath returns why the path is not valid (docs/platform.md 2.3), or nil.
func CheckPath(path string) error {
	if !strings.HasPrefix(path, "/") {
		return errors.New("does not start with /")
	}
	if i := strings.IndexByte(path, '*'); i >= 0 && i != len(path)-1 {
		return errors.New("has * before its last character")
	}
	return nil
}

func prefixStem(path string) string { return strings.TrimSuffix(path, "*") }

// The limits of all active purges of one hostname together (docs/platform.md 8).
const (
	MaxRequests = 100
	MaxPaths    = 20000
	MaxPrefixes = 1000
)

// Usage counts what the limits of a hostname apply to: requests, absolute paths and prefix paths.
type Usage struct {
	Requests int `json:"requests"`
	Paths    int `json:"paths"`
	Prefixes int `json:"prefixes"`
}

// HostLimits returns the limits of one hostname.
func HostLimits() Usage { return Usage{MaxRequests, MaxPaths, MaxPrefixes} }

// Add returns the sum of two usages.
func (u Usage) Add(v Usage) Usage {
	return Usage{u.Requests + v.Requests, u.Paths + v.Paths, u.Prefixes + v.Prefixes}
}

// PessimisticUsage returns the usage if the platform counts every path once for the hostname and once for each
// subdomain. Its document does not say.
func (u Usage) PessimisticUsage(subdomains int) Usage {
	return Usage{u.Requests, u.Paths * (1 + subdomains), u.Prefixes * (1 + subdomains)}
}

// Exceeds returns the exceeded limits in words, such as "1001 prefix paths (at most 1000)", or nil.
func (u Usage) Exceeds(limits Usage) []string {
	var over []string
	add := func(have, most int, noun string) {
		if have > most {
			over = append(over, fmt.Sprintf("%d %s (at most %d)", have, noun, most))
		}
	}
	add(u.Requests, limits.Requests, "purge requests")
	add(u.Paths, limits.Paths, "absolute paths")
	add(u.Prefixes, limits.Prefixes, "prefix paths")
	return over
}

// CountParts returns how many requests the paths need so that each keeps the limits, at least 1.
func (u Usage) CountParts(limits Usage) int {
	return max(1, (u.Paths+limits.Paths-1)/limits.Paths, (u.Prefixes+limits.Prefixes-1)/limits.Prefixes)
}
