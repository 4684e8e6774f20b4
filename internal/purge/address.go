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

	"trueup/internal/diag"
)

// Address is a path, perhaps with a host, that a person or a list wants to purge.
type Address struct {
	Host string // a hostKey, or empty
	Path string
}

// ParseAddress reads a path, or an http or https address. It converts the path to what browsers request:
// it encodes other characters, keeps escapes, and cuts off a fragment. No path means "/". It also
// returns the error of CheckPath.
func ParseAddress(text string) (Address, error) {
	text, err := oneEntry(text)
	if err != nil {
		return Address{}, err
	}
	if strings.Contains(text, `"`) || strings.HasSuffix(text, ",") || strings.HasSuffix(text, ";") {
		return Address{}, errors.New("has a quote, or ends with a comma: name each address alone, and write %22, %2C and %3B where they belong to it")
	}
	if strings.HasPrefix(text, "/") {
		return parsePathAddress("", text)
	}
	scheme, rest, ok := strings.Cut(text, "://")
	if !ok {
		return Address{}, errors.New("is neither a path (/...) nor an address (https://...)")
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
	return parsePathAddress(host, path)
}

// oneEntry returns a path or an address without its fragment, and refuses what has more in it.
func oneEntry(text string) (string, error) {
	if !utf8.ValidString(text) {
		return "", errors.New("is not UTF-8")
	}
	text, _, cut := strings.Cut(text, "#")
	if cut && strings.TrimRightFunc(text, unicode.IsSpace) != text {
		return "", errors.New("has a space before its #, which would be part of the path: write comments on their own line")
	}
	if strings.ContainsFunc(text, unicode.IsControl) {
		return "", errors.New("has a tab, a line break or another control character: write one entry a line, and nothing beside it")
	}
	words := strings.FieldsFunc(strings.ReplaceAll(text, `\`, "/"), func(r rune) bool { return r == ',' || unicode.IsSpace(r) })
	if len(words) > 1 && slices.ContainsFunc(words[1:], beginsEntry) {
		return "", errors.New("has several paths or addresses: write one entry a line, and %20 for a space inside one")
	}
	return text, nil
}

func parsePathAddress(host, path string) (Address, error) {
	a := Address{Host: host, Path: browserPath(path)}
	switch {
	case host == "" && strings.HasPrefix(a.Path, "//"):
		return a, errors.New("begins with //, which browsers take for a host: write https://HOST/PATH, or a path with one slash")
	case findPlaceholder(path) != "":
		return a, fmt.Errorf("has the placeholder %q: fill it in first", findPlaceholder(path))
	case hasDots(a.Path):
		return a, errors.New("has the segment . or .., which browsers resolve before a request: write the path that they request")
	}
	return a, CheckPath(a.Path)
}

func hasDots(path string) bool {
	path, _, _ = strings.Cut(path, "?")
	return slices.ContainsFunc(strings.Split(path, "/"), func(s string) bool {
		s = strings.ReplaceAll(strings.ToLower(s), "%2e", ".")
		return s == "." || s == ".."
	})
}

// findPlaceholder returns the first placeholder of a path, perhaps an encoded one.
func findPlaceholder(path string) string { return diag.FindPlaceholder(diag.UnescapePercent(path)) }

func beginsEntry(text string) bool { return text[0] == '/' || strings.Contains(text, "://") }

// browserPath returns a path, perhaps with a query, as browsers request it.
func browserPath(text string) string {
	path, query, asks := strings.Cut(text, "?")
	path = encodeText(strings.ReplaceAll(path, `\`, "/"), inPath)
	if asks {
		path += "?" + encodeText(query, inQuery)
	}
	return path
}

// hostOf returns the host of an address; authority is between the scheme and the path.
func hostOf(scheme, authority string) (string, error) {
	usual, ok := map[string]string{"http": "80", "https": "443"}[scheme]
	switch {
	case !ok:
		return "", errors.New("is not an http or https address")
	case strings.Contains(authority, "@"):
		return "", errors.New("has a user name or a password, which a purge can't have")
	}
	u, err := url.Parse("//" + authority)
	if err != nil || u.Hostname() == "" {
		return "", errors.New("has no hostname")
	}
	if port := u.Port(); port != "" && port != usual {
		return "", errors.New("has a port, which a purge can't have")
	}
	return hostKey(u.Hostname()), nil
}

// hostKey returns a hostname in the form that compares: in lower case, without a final dot (RFC 4343), in
// Punycode. An invalid one stays as it is, and so matches no CDN.
func hostKey(host string) string {
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	if ascii, err := idna.Lookup.ToASCII(host); err == nil {
		return ascii
	}
	return host
}

// The characters to encode besides non-printable and non-ASCII bytes: in an address, the percent-encode
// sets of the URL standard, like browsers; in a file name also those with a meaning in an address.
const (
	inPath  = "\"<>^`{}"
	inQuery = "\"<>'"
	inName  = inPath + `%?#\`
)

func encodeText(text, set string) string {
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

// Hosts maps the hostKey of each hostname that a purge may name to the hostname (docs/platform.md 2.3).
type Hosts map[string]string

// NewHosts returns the Hosts of hostnames.
func NewHosts(hostnames []string) Hosts {
	h := make(Hosts, len(hostnames))
	for _, name := range hostnames {
		h[hostKey(name)] = name
	}
	return h
}

// FindHostname finds the longest hostname that host equals or ends with, and the subdomain that a purge must name.
func (h Hosts) FindHostname(host string) (hostname, subdomain string, ok bool) {
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
