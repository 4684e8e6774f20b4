package purge

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/net/idna"
)

// Address is what a person, a list or a sitemap names to be purged.
type Address struct {
	// Host is a hostKey, empty for a path without a host.
	Host string
	Path string
}

// The reasons why a text names nothing that can be purged.
var (
	errNoAddress = errors.New("is neither a path (/...) nor an address (https://...)")
	errScheme    = errors.New("is not an http or https address")
	errLogin     = errors.New("has a user name or a password, which a purge can't have")
	errPort      = errors.New("has a port, which a purge can't have")
	errHost      = errors.New("has no hostname")
	errSeveral   = errors.New("has several paths or addresses: write one entry a line, and %20 for a space inside one")
	errRemark    = errors.New("has a space before its #, which would be part of the path: write comments on their own line")
)

// ParseAddress reads a path, or an http or https address. The path becomes what browsers
// request: other characters are encoded, escapes stay, and a fragment is cut off, which
// is never sent. No path means "/". CheckPath may reject it.
func ParseAddress(text string) (Address, error) {
	if !utf8.ValidString(text) {
		return Address{}, errors.New("is not UTF-8")
	}
	text, _, cut := strings.Cut(text, "#")
	if cut && strings.TrimRightFunc(text, unicode.IsSpace) != text {
		return Address{}, errRemark
	}
	if fields := strings.Fields(text); len(fields) > 1 && slices.ContainsFunc(fields[1:], beginsEntry) {
		return Address{}, errSeveral
	}
	if strings.HasPrefix(text, "/") {
		a := Address{Path: asAsked(text)}
		return a, CheckPath(a.Path)
	}
	scheme, rest, ok := strings.Cut(text, "://")
	if !ok {
		return Address{}, errNoAddress
	}
	at := strings.IndexAny(rest, `/?\`)
	if at < 0 {
		at = len(rest)
	}
	host, err := hostOf(strings.ToLower(scheme), rest[:at])
	if err != nil {
		return Address{}, err
	}
	path := rest[at:]
	if path == "" || path[0] == '?' {
		path = "/" + path
	}
	a := Address{Host: host, Path: asAsked(path)}
	return a, CheckPath(a.Path)
}

func beginsEntry(text string) bool { return text[0] == '/' || strings.Contains(text, "://") }

// asAsked is a path, perhaps with a query, as browsers request it.
func asAsked(text string) string {
	path, query, asks := strings.Cut(text, "?")
	path = encode(strings.ReplaceAll(path, `\`, "/"), inPath)
	if asks {
		path += "?" + encode(query, inQuery)
	}
	return path
}

// hostOf reads the part between the scheme and the path of an address.
func hostOf(scheme, authority string) (string, error) {
	usual, ok := map[string]string{"http": "80", "https": "443"}[scheme]
	switch {
	case !ok:
		return "", errScheme
	case strings.Contains(authority, "@"):
		return "", errLogin
	}
	u, err := url.Parse("//" + authority)
	if err != nil || u.Hostname() == "" {
		return "", errHost
	}
	if port := u.Port(); port != "" && port != usual {
		return "", errPort
	}
	return hostKey(u.Hostname()), nil
}

// hostKey is the form in which hostnames are compared: case and a final dot mean
// nothing (RFC 4343), and letters beyond ASCII become Punycode. A text that is no
// hostname stays as it is, and so matches no CDN.
func hostKey(host string) string {
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	if ascii, err := idna.Lookup.ToASCII(host); err == nil {
		return ascii
	}
	return host
}

// namePath is the path of a file of that name, which may have folders: special characters are
// encoded as %XX, byte by byte. A name can't have a star: to platforms, it means everything.
func namePath(name string) (string, error) {
	if strings.Contains(name, "*") {
		return "", errors.New("has a * in its name, which a path of a purge can't have")
	}
	return encode(name, inName), nil
}

// The characters to encode besides bytes that are not printable ASCII: in an address, the
// percent-encode sets of the URL standard, as browsers do; in the name of a file also
// those that have a meaning in an address.
const (
	inPath  = "\"<>^`{}"
	inQuery = "\"<>'"
	inName  = inPath + `%?#\`
)

func encode(text, set string) string {
	var b strings.Builder
	for i := range len(text) {
		if c := text[i]; c <= ' ' || c > '~' || strings.IndexByte(set, c) >= 0 {
			fmt.Fprintf(&b, "%%%02X", c)
		} else {
			b.WriteByte(c)
		}
	}
	return b.String()
}

// Hosts are the hostnames that a purge may name (docs/platform.md 2.3).
type Hosts map[string]string

// NewHosts returns the Hosts of hostnames as purges write them.
func NewHosts(hostnames []string) Hosts {
	h := make(Hosts, len(hostnames))
	for _, name := range hostnames {
		h[hostKey(name)] = name
	}
	return h
}

// Place finds the longest hostname that a host equals or ends with, and the subdomain
// that a purge must name beside it.
func (h Hosts) Place(host string) (hostname, subdomain string, ok bool) {
	host = hostKey(host)
	for at := 0; ; {
		if name, found := h[host[at:]]; found {
			return name, strings.TrimSuffix(host[:at], "."), true
		}
		next := strings.IndexByte(host[at:], '.')
		if next < 0 {
			return "", "", false
		}
		at += next + 1
	}
}

func (h Hosts) has(host string) bool {
	_, _, ok := h.Place(host)
	return ok
}
