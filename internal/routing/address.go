package routing

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"golang.org/x/net/idna"

	"trueup/internal/kind"
)

// Request is what selects a location: a kind.HostKey and a Normal path.
type Request struct{ Host, Path string }

// ParseRequest reads a URL. Locations ignore its scheme, query and fragment.
func ParseRequest(text string) (Request, error) {
	toFragment, _, _ := strings.Cut(strings.ReplaceAll(text, `\`, "/"), "#")
	u, err := url.Parse(toFragment)
	switch {
	case err != nil:
		return Request{}, unreadable(text, err)
	case !slices.Contains([]string{"", "http", "https"}, u.Scheme) && !strings.Contains(u.Scheme, "."): // host:port has a dot
		return Request{}, errors.New("the URL is neither http nor https: write https://HOSTNAME/PATH")
	case u.Scheme == "" || u.Hostname() == "":
		return Request{}, errors.New("the URL is not absolute: write https://HOSTNAME/PATH")
	case u.User != nil:
		return Request{}, errors.New("the URL has a user or password: remove them")
	case u.Port() != "" && u.Port() != map[string]string{"http": "80", "https": "443"}[u.Scheme]:
		return Request{}, errors.New("the URL has a port, and no location selects by port: remove it")
	}
	host := kind.HostKey(u.Hostname())
	if strings.Contains("."+host+".", "..") {
		return Request{}, errors.New("the URL has a host with an empty label: remove a dot")
	}
	if ascii, err := idna.Lookup.ToASCII(host); err == nil { // else no CDN has it
		host = ascii
	}
	return Request{host, Normal(AfterHost(text))}, nil
}

// unreadable says why a URL can't be parsed. It shows no part of one that may have a password.
func unreadable(text string, err error) error {
	wrong, _ := errors.AsType[*url.Error](err)
	escape, isEscape := errors.AsType[url.EscapeError](err)
	switch {
	case strings.Contains(text, "@"):
		return errors.New("the URL can't be read, and may have a password: write https://HOSTNAME/PATH")
	case isEscape && strings.Contains(AfterHost(text), string(escape)):
		return fmt.Errorf("%q in the URL is no escape: write %% as %%25", string(escape))
	}
	return fmt.Errorf("the URL can't be read, %s: write https://HOSTNAME/PATH", strings.TrimPrefix(wrong.Err.Error(), "net/url: "))
}

// AfterHost returns what stands behind the host of an absolute URL, as it is written.
func AfterHost(url string) string {
	rest := url[strings.IndexByte(url, ':')+1:]
	rest = rest[min(2, len(rest)):]
	return rest[strings.IndexAny(rest+"/", `/\?#`):]
}
