package purge

import "fmt"

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

// Limits returns the limits of one hostname.
func Limits() Usage { return Usage{MaxRequests, MaxPaths, MaxPrefixes} }

// Add returns the sum of two usages.
func (u Usage) Add(v Usage) Usage {
	return Usage{u.Requests + v.Requests, u.Paths + v.Paths, u.Prefixes + v.Prefixes}
}

// Pessimistic returns the usage if the platform counts every path once for the hostname and once for each
// subdomain. Its document does not say.
func (u Usage) Pessimistic(subdomains int) Usage {
	return Usage{u.Requests, u.Paths * (1 + subdomains), u.Prefixes * (1 + subdomains)}
}

// Exceeds returns the exceeded limits in words, such as "1001 prefix paths (at most 1000)", or nil.
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

// Parts returns how many requests the paths need so that each keeps the limits, at least 1.
func (u Usage) Parts(limits Usage) int {
	return max(1, (u.Paths+limits.Paths-1)/limits.Paths, (u.Prefixes+limits.Prefixes-1)/limits.Prefixes)
}
