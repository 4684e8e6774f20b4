package config

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"golang.org/x/net/http/httpproxy"
)

// chooseProxy takes the proxy from the environment or the profile. Requests to loopback use none.
func (o Options) chooseProxy(s *Settings) error {
	// Only https goes through a proxy: plain http is for loopback.
	address, from := "", ""
	for _, name := range []string{"HTTPS_PROXY", "https_proxy"} {
		if v := o.Getenv(name); v != "" {
			address, from = v, name
		}
	}
	if address == "" && s.Profile.Proxy != "" {
		address, from = s.Profile.Proxy, s.Profile.origin("proxy")
	}
	if address == "" {
		return nil
	}
	proxy, err := parseProxy(address)
	if err != nil {
		return fmt.Errorf("%s: %w", from, err)
	}
	s.Proxy = Setting{Value: shownProxy(proxy), Origin: from}
	cfg := httpproxy.Config{HTTPSProxy: proxy.String(), NoProxy: o.Getenv("NO_PROXY")}
	if lower := o.Getenv("no_proxy"); lower != "" {
		cfg.NoProxy = lower
	}
	choose := cfg.ProxyFunc()
	s.ProxyFor = func(r *http.Request) (*url.URL, error) { return choose(r.URL) }
	return nil
}

// parseProxy reads the address of a proxy; without a scheme it is http. Errors never quote it,
// because it may have a password.
func parseProxy(address string) (*url.URL, error) {
	if !strings.Contains(address, "://") {
		address = "http://" + address
	}
	u, err := url.Parse(address)
	switch {
	case err != nil || u.Hostname() == "":
		return nil, errors.New("it is not the address of a proxy: write http://HOST:PORT")
	case !slices.Contains([]string{"http", "https", "socks5", "socks5h"}, u.Scheme):
		return nil, errors.New("the scheme of a proxy must be http, https, socks5 or socks5h")
	}
	return u, nil
}

// shownProxy returns the address without user and password.
func shownProxy(u *url.URL) string {
	if u.User == nil {
		return u.Scheme + "://" + u.Host
	}
	return u.Scheme + "://***@" + u.Host
}
