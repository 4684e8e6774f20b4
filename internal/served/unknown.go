package served

import (
	"fmt"
	"strings"

	"trueup/internal/manifest"
)

// maxHints limits the hosts that are compared with every hostname. So many unknown ones are not misspelt.
const maxHints = 100

// Unknown makes the errors for hosts that no CDN of the sides has.
type Unknown struct {
	sides []Side
	known []string
	hints map[string]string
}

// NewUnknown returns an Unknown for sides.
func NewUnknown(sides ...Side) *Unknown {
	return &Unknown{sides: sides, hints: map[string]string{}}
}

// Host returns the error for a host. It names the nearest hostname, for the first hosts that it is asked for.
func (u *Unknown) Host(host string) error {
	names := make([]string, len(u.sides))
	for i, s := range u.sides {
		names[i] = s.Name
	}
	return fmt.Errorf("no CDN in %s has the host %s%s", strings.Join(names, " or "), host, u.hint(host))
}

func (u *Unknown) hint(host string) string {
	hint, isFound := u.hints[host]
	if isFound || len(u.hints) == maxHints {
		return hint
	}
	if u.known == nil {
		for _, s := range u.sides {
			u.known = append(u.known, s.Hostnames()...)
		}
	}
	hint = manifest.DidYouMean(host, u.known)
	u.hints[host] = hint
	return hint
}
