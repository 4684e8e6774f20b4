package cli

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"golang.org/x/net/http/httpproxy"
)

// chooseProxy takes the proxy from the environment or the profile. What is on
// loopback is never proxied.
func (a *app) chooseProxy(s *settings) error {
	// Only https goes through a proxy: plain http is for loopback.
	address, from := "", ""
	for _, name := range []string{"HTTPS_PROXY", "https_proxy"} {
		if v := a.env.Getenv(name); v != "" {
			address, from = v, name
		}
	}
	if address == "" && s.profile.Proxy != "" {
		address, from = s.profile.Proxy, s.profile.origin("proxy")
	}
	if address == "" {
		return nil
	}
	proxy, err := parseProxy(address)
	if err != nil {
		return fmt.Errorf("%s: %w", from, err)
	}
	s.proxy = setting{Value: shownProxy(proxy), Origin: from}
	cfg := httpproxy.Config{HTTPSProxy: proxy.String(), NoProxy: a.env.Getenv("NO_PROXY")}
	if lower := a.env.Getenv("no_proxy"); lower != "" {
		cfg.NoProxy = lower
	}
	choose := cfg.ProxyFunc()
	s.through = func(r *http.Request) (*url.URL, error) { return choose(r.URL) }
	return nil
}

// parseProxy reads the address of a proxy; without a scheme it is http. Errors
// never quote it, for it may hold a password.
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

// shownProxy is its address without user and password.
func shownProxy(u *url.URL) string {
	if u.User == nil {
		return u.Scheme + "://" + u.Host
	}
	return u.Scheme + "://***@" + u.Host
}
