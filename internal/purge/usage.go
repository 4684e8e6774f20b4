package purge

import "fmt"

// The limits of all active purges of one hostname, taken together (docs/platform.md 8).
const (
	MaxRequests = 100
	MaxPaths    = 20000
	MaxPrefixes = 1000
)

// Usage counts against the limits of a hostname: purge requests, absolute paths and prefix paths.
type Usage struct {
	Requests int `json:"requests"`
	Paths    int `json:"paths"`
	Prefixes int `json:"prefixes"`
}

// Limits returns the documented limits of one hostname (docs/platform.md 8).
func Limits() Usage { return Usage{MaxRequests, MaxPaths, MaxPrefixes} }

// Add returns the sum of two usages.
func (u Usage) Add(v Usage) Usage {
	return Usage{u.Requests + v.Requests, u.Paths + v.Paths, u.Prefixes + v.Prefixes}
}

// Pessimistic returns what is used if the platform counts every path once for the hostname and once
// more for each subdomain, which its document leaves open.
func (u Usage) Pessimistic(subdomains int) Usage {
	return Usage{u.Requests, u.Paths * (1 + subdomains), u.Prefixes * (1 + subdomains)}
}

// Exceeds says in words which limits are passed, such as "1001 prefix paths
// (at most 1000)"; nil where all are kept.
func (u Usage) Exceeds(limits Usage) []string {
	var over []string
	for _, c := range []struct {
		have, most int
		noun       string
	}{
		{u.Requests, limits.Requests, "purge requests"},
		{u.Paths, limits.Paths, "absolute paths"},
		{u.Prefixes, limits.Prefixes, "prefix paths"},
	} {
		if c.have > c.most {
			over = append(over, fmt.Sprintf("%d %s (at most %d)", c.have, c.noun, c.most))
		}
	}
	return over
}

// Parts returns into how many requests the paths must be split so that each
// keeps the limits; 1 where they fit.
func (u Usage) Parts(limits Usage) int {
	return max(1, ceilDiv(u.Paths, limits.Paths), ceilDiv(u.Prefixes, limits.Prefixes))
}

func ceilDiv(n, by int) int { return (n + by - 1) / by }
