package routing

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/net/idna"

	"trueup/internal/kind"
)

// URL is the address of a request.
type URL struct {
	// Host is a kind.HostKey, and Path a Normal path: they select a location.
	Host, Path string
	// Text is the URL as it was written, and Rewritten is true if it has another path.
	Text      string
	Rewritten bool
}

// ParseURL reads an absolute http or https URL.
func ParseURL(text string) (URL, error) {
	toFragment, _, _ := strings.Cut(strings.ReplaceAll(text, `\`, "/"), "#")
	u, err := url.Parse(toFragment)
	switch {
	case err != nil:
		return URL{}, explainParseError(text, err)
	case !slices.Contains([]string{"", "http", "https"}, u.Scheme) && !strings.Contains(u.Scheme, "."): // host:port has a dot
		return URL{}, errors.New("the URL is neither http nor https: write https://HOSTNAME/PATH")
	case u.Scheme == "" || u.Hostname() == "":
		return URL{}, errors.New("the URL is not absolute: write https://HOSTNAME/PATH")
	case u.User != nil:
		return URL{}, errors.New("the URL has a user or password: remove them")
	case u.Port() != "" && u.Port() != map[string]string{"http": "80", "https": "443"}[u.Scheme]:
		return URL{}, errors.New("the URL has a port, and no location selects by port: remove it")
	}
	host := kind.HostKey(u.Hostname())
	if strings.Contains("."+host+".", "..") {
		return URL{}, errors.New("the URL has a host with an empty label: remove a dot")
	}
	if ascii, err := idna.Lookup.ToASCII(host); err == nil { // else no CDN has it
		host = ascii
	}
	written := pathAndQuery(text)
	path := NormalizePath(written)
	return URL{Host: host, Path: path, Text: text, Rewritten: written != path && written != ""}, nil
}

// explainParseError says why a URL can't be parsed. It shows no part of one that may have a password.
func explainParseError(text string, err error) error {
	wrong, _ := errors.AsType[*url.Error](err)
	escape, isEscape := errors.AsType[url.EscapeError](err)
	switch {
	case strings.Contains(text, "@"):
		return errors.New("the URL can't be read, and may have a password: write https://HOSTNAME/PATH")
	case isEscape && strings.Contains(pathAndQuery(text), string(escape)):
		return fmt.Errorf("%q in the URL is no escape: write %% as %%25", string(escape))
	}
	return fmt.Errorf("the URL can't be read, %s: write https://HOSTNAME/PATH", strings.TrimPrefix(wrong.Err.Error(), "net/url: "))
}

// pathAndQuery returns what stands behind the host of an absolute URL, as it is written.
func pathAndQuery(url string) string {
	rest := url[strings.IndexByte(url, ':')+1:]
	rest = rest[min(2, len(rest)):]
	return rest[strings.IndexAny(rest+"/", `/\?#`):]
}

// quoteURL returns a text for a message. One with an @ may have a password.
func quoteURL(text string) string {
	if strings.Contains(text, "@") {
		return "a URL with an @"
	}
	return fmt.Sprintf("%.200q", text)
}

// NormalizePath returns the path of a request as locations are compared with it (RFC 3986, 6.2.2): without query and
// fragment, without the segments "." and "..", and with every character escaped that a path can't have, in
// capitals. It decodes the escapes of letters, digits and -._~ but keeps all others, so %2F is no slash. Like
// browsers, it takes a backslash for a slash. No path is "/". The result is its own Normal.
func NormalizePath(path string) string {
	if i := strings.IndexAny(path, "?#"); i >= 0 {
		path = path[:i]
	}
	path = strings.ReplaceAll(path, `\`, "/")
	var b strings.Builder
	for i := 0; i < len(path); i++ {
		c, escaped := path[i], false
		if c == '%' && i+2 < len(path) {
			if n, err := strconv.ParseUint(path[i+1:i+3], 16, 8); err == nil {
				c, escaped = byte(n), true
				i += 2
			}
		}
		if isUnreserved(c) || !escaped && strings.IndexByte(inPath, c) >= 0 {
			b.WriteByte(c)
		} else {
			fmt.Fprintf(&b, "%%%02X", c)
		}
	}
	return removeDots(b.String())
}

// inPath are the characters that a path can have besides unreserved ones.
const inPath = "/!$&'()*+,;=:@"

func isUnreserved(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' ||
		c == '-' || c == '.' || c == '_' || c == '~'
}

// removeDots removes the segments "." and ".." (RFC 3986, 5.2.4).
func removeDots(path string) string {
	var kept []string
	segments := strings.Split(strings.TrimPrefix(path, "/"), "/")
	for i, segment := range segments {
		dots := segment == "." || segment == ".."
		if segment == ".." && len(kept) > 0 {
			kept = kept[:len(kept)-1]
		}
		switch {
		case !dots:
			kept = append(kept, segment)
		case i == len(segments)-1:
			kept = append(kept, "")
		}
	}
	return "/" + strings.Join(kept, "/")
}
