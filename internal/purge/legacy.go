package purge

import (
	"cmp"
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// Legacy converts lists of the older purge service (docs/platform.md 9).
type Legacy struct {
	// Hosts are the hostnames that a purge may name.
	Hosts Hosts
	// Service is the address of the older service, or empty if unknown. The query of a request to it
	// names what to purge.
	Service string
	// Host is that of entries without one. If it is empty, they are unplaced.
	Host string
	// Query says what to do with the query of an address.
	Query QueryPolicy
}

// QueryPolicy says what to do with the query of an address: no document says whether the path of a purge has
// one (docs/platform.md 2.3).
type QueryPolicy uint8

// QueryRefused leaves the address unplaced, QueryDropped purges the path alone, QueryPrefix everything that
// begins with the path, and QueryKept the path with its query.
const (
	QueryRefused QueryPolicy = iota
	QueryDropped
	QueryPrefix
	QueryKept
)

// Unplaced is an entry that trueup can't purge.
type Unplaced struct {
	Line
	// Reason says what is wrong, and Fix what to do.
	Reason, Fix string
}

type errUnplaced struct{ reason, fix string }

func (e errUnplaced) Error() string { return e.reason }

// Place returns what the entries of a list ask to purge. It guesses nothing, because a purge is sent once: it
// returns the other entries with the reason.
func (l Legacy) Place(list []Line) (wanted []Wanted, unplaced []Unplaced) {
	for _, entry := range list {
		found, err := l.entry(entry.Text)
		if err == nil {
			wanted = append(wanted, found...)
			continue
		}
		fix := "write https://HOST/PATH"
		if known, ok := errors.AsType[errUnplaced](err); ok {
			fix = known.fix
		}
		unplaced = append(unplaced, Unplaced{Line: entry, Reason: err.Error(), Fix: fix})
	}
	return wanted, unplaced
}

// notAlone matches text beside an address in a line, which must not become part of its path: a comment,
// another column, another address.
var notAlone = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?i)\t|\s#|[\s,;]https?://`) })

// entry places an address, or all that a request to the older service names.
func (l Legacy) entry(text string) (wanted []Wanted, err error) {
	if notAlone().MatchString(text) {
		return nil, errUnplaced{"has more than one address", "write one address a line, and comments on their own line"}
	}
	named, isRequest := l.named(text)
	switch {
	case !isRequest:
		w, err := l.address(text)
		return []Wanted{w}, err
	case len(named) == 0:
		return nil, errUnplaced{"is a request to the older service without an address in its query", "write the address that it purges: https://HOST/PATH"}
	}
	for _, each := range named {
		w, err := l.address(each)
		if err != nil {
			return nil, fmt.Errorf("names %q, which %w", each, err)
		}
		wanted = append(wanted, w)
	}
	return wanted, nil
}

// named returns the addresses in the query of a request to the older service. If that service is unknown, a
// request is any address with such a query on another host than Hosts.
func (l Legacy) named(text string) (named []string, isRequest bool) {
	u, err := url.Parse(text)
	if err != nil || u.Host == "" {
		return nil, false
	}
	isRequest = l.isRequest(text)
	if !isRequest && (l.Service != "" || l.Hosts.has(u.Hostname())) {
		return nil, false
	}
	for part := range strings.SplitSeq(u.RawQuery, "&") {
		_, value, _ := strings.Cut(part, "=")
		if value, err := url.QueryUnescape(value); err == nil && isAddress(value) {
			named = append(named, value)
		}
	}
	return named, isRequest || len(named) > 0
}

// isRequest reports whether an address is one of the older service, if known.
func (l Legacy) isRequest(text string) bool {
	service := strings.ToLower(strings.TrimRight(l.Service, "/"))
	rest, found := strings.CutPrefix(strings.ToLower(text), service)
	return service != "" && found && (rest == "" || strings.ContainsAny(rest[:1], "/?#"))
}

// isAddress reports whether a text begins like the address of a page.
func isAddress(text string) bool {
	scheme, _, ok := strings.Cut(strings.ToLower(text), "//")
	return ok && (scheme == "" || scheme == "http:" || scheme == "https:")
}

// address places one address.
func (l Legacy) address(text string) (w Wanted, err error) {
	text, _, _ = strings.Cut(text, "#")
	text, query, asks := strings.Cut(text, "?")
	if strings.HasSuffix(text, "**") {
		text = strings.TrimRight(text, "*") + "*"
	}
	if host, _, _ := strings.Cut(text, "/"); l.Hosts.has(host) {
		text = "//" + text
	}
	if strings.HasPrefix(text, "//") {
		text = "https:" + text
	}
	a, err := ParseAddress(text)
	switch {
	case errors.Is(err, errInnerStar):
		return w, errUnplaced{err.Error(), fixStar(a.Path)}
	case err != nil:
		return w, err
	case hasDots(a.Path):
		return w, errUnplaced{"has the segment . or .., which browsers resolve before a request", "write the path that they request"}
	}
	if w, err = l.on(a); err == nil && asks {
		w.Path, err = l.asked(a.Path, query)
	}
	return w, err
}

// on returns what to purge for a path with its host.
func (l Legacy) on(a Address) (Wanted, error) {
	host := cmp.Or(a.Host, l.Host)
	hostname, subdomain, ok := l.Hosts.Place(host)
	switch {
	case host == "":
		return Wanted{}, errUnplaced{"names no host", "write https://HOST/PATH, or name the host with --hostname HOST"}
	case strings.Contains(host, "*"):
		return Wanted{}, errUnplaced{"has a * in its host, but a purge must name each subdomain", "write one address for each subdomain"}
	case !ok:
		return Wanted{}, errUnplaced{"has the host " + host + ", which no known CDN serves", "check the host, or name the hostname of its CDN: --cdn HOSTNAME"}
	case !isSubdomain(subdomain, hostname):
		return Wanted{}, errUnplaced{"has the host " + host + ", and the part before " + hostname + " is not a subdomain", "check the host"}
	}
	return Wanted{Hostname: hostname, Subdomain: subdomain, Path: a.Path}, nil
}

// asked returns the path to purge for one with a query.
func (l Legacy) asked(path, query string) (string, error) {
	switch {
	case l.Query == QueryDropped:
		return path, nil
	case l.Query == QueryPrefix && path == "/":
		return "", errUnplaced{"has a query and no path, so --query prefix would purge everything", "write each path"}
	case l.Query == QueryPrefix:
		return strings.TrimSuffix(path, "*") + "*", nil
	case l.Query == QueryKept && strings.Contains(path+query, "*"):
		return "", errUnplaced{"has a query and a *", "write each address"}
	case l.Query == QueryKept:
		return path + "?" + encode(query, inQuery), nil
	}
	return "", errUnplaced{"has a query, and the platform does not document how a purge treats queries", "choose with --query: drop, prefix or keep"}
}

// fixStar suggests a prefix path that covers what was meant.
func fixStar(path string) string {
	before, _, _ := strings.Cut(path, "*")
	if before == "/" {
		return "write each path: /* would purge the whole hostname"
	}
	return "write " + before + "*, which purges more, or write each path"
}

func hasDots(path string) bool {
	path, _, _ = strings.Cut(path, "?")
	return slices.ContainsFunc(strings.Split(path, "/"), func(s string) bool {
		s = strings.ReplaceAll(strings.ToLower(s), "%2e", ".")
		return s == "." || s == ".."
	})
}

// labels matches a host (RFC 1123).
var labels = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?(\.[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?)*$`)
})

// isSubdomain reports whether a text may precede a hostname, which it must not contain (docs/platform.md 2.3).
// Empty is the hostname itself.
func isSubdomain(subdomain, hostname string) bool {
	return subdomain == "" || labels().MatchString(subdomain) && !strings.Contains(subdomain, hostKey(hostname))
}
