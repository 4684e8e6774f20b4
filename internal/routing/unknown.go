package routing

import (
	"fmt"
	"strings"
)

// maxHints limits the hosts that are compared with every hostname. So many unknown ones are not misspelt.
const maxHints = 100

// Unknown makes the errors for hosts that no CDN of the sides has.
type Unknown struct {
	sides   []Side
	known   []string
	hints   map[string]string
	suggest func(word string, known []string) string
}

// NewUnknown returns an Unknown for sides. suggest ends a message with the known word that was probably meant.
func NewUnknown(suggest func(word string, known []string) string, sides ...Side) *Unknown {
	return &Unknown{sides: sides, hints: map[string]string{}, suggest: suggest}
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
			for _, c := range s.CDNs() {
				u.known = append(u.known, c.Claims[0])
			}
		}
	}
	hint = u.suggest(host, u.known)
	u.hints[host] = hint
	return hint
}
