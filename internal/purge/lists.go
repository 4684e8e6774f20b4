package purge

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// ListEntry is an entry of a list, and its line number from 1.
type ListEntry struct {
	Text string
	Line int
}

// maxLine limits a line of a list, in bytes: no server accepts a longer address.
const maxLine = 64 << 10

// ReadLines reads a list with one entry a line. It skips blank lines and those that start with #, and trims entries.
func ReadLines(r io.Reader) ([]ListEntry, error) {
	s := bufio.NewScanner(r)
	s.Buffer(make([]byte, 0, 4096), maxLine)
	var list []ListEntry
	for n := 1; s.Scan(); n++ {
		line := s.Bytes()
		if n == 1 {
			line = bytes.TrimPrefix(line, []byte("\uFEFF"))
		}
		if text := strings.TrimSpace(string(line)); text != "" && text[0] != '#' {
			list = append(list, ListEntry{text, n})
		}
	}
	err := s.Err()
	if errors.Is(err, bufio.ErrTooLong) {
		err = fmt.Errorf("it has a line of more than %d bytes: write one entry a line", maxLine)
	}
	return list, err
}

// LegacyListParser converts lists of the older purge service (docs/platform.md 9).
type LegacyListParser struct {
	Hosts Hosts // the hostnames that a purge may name
	// Service is the address of the older service, or empty if unknown. The query of a request to it
	// names what to purge.
	Service string
	Host    string // Host is that of entries without one. If it is empty, they are unplaced.
	// Query says what to do with the query of an address: no document says whether the path of a purge has
	// one (docs/platform.md 2.3). QueryDropped purges the path alone, QueryPrefix everything that begins with
	// the path, and QueryKept the path with its query. Place refuses a query if it is empty.
	Query string
}

// The values of Legacy.Query.
const (
	QueryDropped = "drop"
	QueryPrefix  = "prefix"
	QueryKept    = "keep"
)

// notAlone matches text beside an address in a line, which must not become part of its path: a comment,
// another column, another address.
var notAlone = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?i)\t|\s#|[\s,;]https?://`) })

// ParseEntry returns what an entry of a list asks to purge: an address, or all that a request to the older service
// names. It guesses nothing, because a purge is sent once. Its errors say what to write instead.
func (l LegacyListParser) ParseEntry(text string) (wanted []WantedPath, err error) {
	if notAlone().MatchString(text) {
		return nil, errors.New("has more than one address: write one address a line, and comments on their own line")
	}
	named, isRequest := l.namedAddresses(text)
	switch {
	case !isRequest:
		w, err := l.parseAddress(text)
		return []WantedPath{w}, err
	case len(named) == 0:
		return nil, errors.New("is a request to the older service without an address in its query: write the address that it purges: https://HOST/PATH")
	}
	for _, each := range named {
		w, err := l.parseAddress(each)
		if err != nil {
			return nil, fmt.Errorf("names %q, which %w", each, err)
		}
		wanted = append(wanted, w)
	}
	return wanted, nil
}

// namedAddresses returns the addresses in the query of a request to the older service. If that service is unknown, a
// request is any address with such a query on another host than Hosts.
func (l LegacyListParser) namedAddresses(text string) (named []string, isRequest bool) {
	u, err := url.Parse(text)
	if err != nil || u.Host == "" {
		return nil, false
	}
	service := strings.ToLower(strings.TrimRight(l.Service, "/"))
	rest, found := strings.CutPrefix(strings.ToLower(text), service)
	isRequest = service != "" && found && strings.IndexAny(rest+"/", "/?#") == 0
	if !isRequest && (l.Service != "" || l.Hosts.hasHost(u.Hostname())) {
		return nil, false
	}
	for part := range strings.SplitSeq(u.RawQuery, "&") {
		_, value, _ := strings.Cut(part, "=")
		if value, err := url.QueryUnescape(value); err == nil && isPageAddress(value) {
			named = append(named, value)
		}
	}
	return named, isRequest || len(named) > 0
}

// isPageAddress reports whether a text begins like the address of a page.
func isPageAddress(text string) bool {
	scheme, _, ok := strings.Cut(strings.ToLower(text), "//")
	return ok && (scheme == "" || scheme == "http:" || scheme == "https:")
}

func (l LegacyListParser) parseAddress(text string) (w WantedPath, err error) {
	text, _, _ = strings.Cut(text, "#")
	text, query, asks := strings.Cut(text, "?")
	if strings.HasSuffix(text, "**") {
		text = strings.TrimRight(text, "*") + "*"
	}
	if host, _, _ := strings.Cut(text, "/"); l.Hosts.hasHost(host) {
		text = "//" + text
	}
	if strings.HasPrefix(text, "//") {
		text = "https:" + text
	}
	a, err := ParseAddress(text)
	switch {
	case errors.Is(err, errInnerStar):
		fix := "write each path: /* would purge the whole hostname"
		if before, _, _ := strings.Cut(a.Path, "*"); before != "/" {
			fix = "write " + before + "*, which purges more, or write each path"
		}
		return w, fmt.Errorf("%w: %s", err, fix)
	case err != nil && !hasDots(a.Path):
		return w, fmt.Errorf("%w: write https://HOST/PATH", err)
	case err != nil:
		return w, err
	}
	if w, err = l.wantedOn(cmp.Or(a.Host, l.Host)); err != nil {
		return w, err
	}
	if w.Path = a.Path; asks {
		w.Path, err = l.askedPath(a.Path, query)
	}
	return w, err
}

func (l LegacyListParser) wantedOn(host string) (WantedPath, error) {
	hostname, subdomain, ok := l.Hosts.FindHostname(host)
	switch {
	case host == "":
		return WantedPath{}, errors.New("names no host: write https://HOST/PATH, or name the host with --hostname HOST")
	case strings.Contains(host, "*"):
		return WantedPath{}, errors.New("has a * in its host, but a purge must name each subdomain: write one address for each subdomain")
	case !ok:
		return WantedPath{}, fmt.Errorf("has the host %s, which no known CDN serves: check the host, or pull the manifest of its CDN", host)
	case !isSubdomain(subdomain, hostname):
		return WantedPath{}, fmt.Errorf("has the host %s, and the part before %s is not a subdomain: check the host", host, hostname)
	}
	return WantedPath{Hostname: hostname, Subdomain: subdomain}, nil
}

func (l LegacyListParser) askedPath(path, query string) (string, error) {
	switch {
	case l.Query == QueryDropped:
		return path, nil
	case l.Query == QueryPrefix && path == "/":
		return "", errors.New("has a query and no path, so --query prefix would purge everything: write each path")
	case l.Query == QueryPrefix:
		return strings.TrimSuffix(path, "*") + "*", nil
	case l.Query == QueryKept && strings.Contains(path+query, "*"):
		return "", errors.New("has a query and a *: write each address")
	case l.Query == QueryKept:
		return path + "?" + encodeText(query, inQuery), nil
	}
	return "", errors.New("has a query, and the platform does not document how a purge treats queries: choose with --query: drop, prefix or keep")
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

// ReadLegacyList reads a list of addresses, one a line or as a JSON list of texts.
func ReadLegacyList(data []byte) (entries []ListEntry, err error) {
	data = bytes.TrimPrefix(data, []byte("\uFEFF"))
	if first := bytes.TrimLeft(data, " \t\r\n"); len(first) == 0 || first[0] != '[' && first[0] != '{' {
		return ReadLines(bytes.NewReader(data))
	}
	var texts []string
	if json.Unmarshal(data, &texts) != nil {
		return nil, errors.New(`it is not a JSON list of texts, such as ["https://HOST/PATH"]`)
	}
	tokens, line, at := json.NewDecoder(bytes.NewReader(data)), 1, int64(0)
	_, _ = tokens.Token() // the list begins
	for _, text := range texts {
		_, _ = tokens.Token() // it was read before
		line += bytes.Count(data[at:tokens.InputOffset()], []byte("\n"))
		at = tokens.InputOffset()
		entries = append(entries, ListEntry{strings.TrimSpace(text), line})
	}
	return entries, nil
}
