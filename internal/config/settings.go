package config

import (
	"cmp"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"golang.org/x/net/http/httpproxy"

	"trueup/internal/files"
	"trueup/internal/kind"
)

// Setting is a value and who chose it.
type Setting struct {
	Value, Origin string
}

// Settings are what a run uses of flags, environment and profile, in this order.
type Settings struct {
	Profile     Profile
	ProfileFrom string // the flag or the variable that chose the profile
	URLs        map[kind.Area]Setting
	Tokens      map[kind.Area]TokenSetting
	CAFile      Setting
	Proxy       Setting // Proxy is without its password. ProxyFor returns the proxy of a request.
	ProxyFor    func(*http.Request) (*url.URL, error)
}

func first(settings ...Setting) Setting {
	for _, s := range settings {
		if s.Value != "" {
			return s
		}
	}
	return Setting{}
}

// Settings resolves them, also those beside what is wrong. It reads no token.
func (o Options) Settings() (Settings, error) {
	s, err := o.networkSettings()
	wrong := []error{err}
	s.URLs, s.Tokens = map[kind.Area]Setting{}, map[kind.Area]TokenSetting{}
	for _, area := range kind.Areas() {
		url := Variable(area, "URL")
		s.URLs[area] = first(Setting{o.Getenv(url), url}, Setting{s.Profile.area(area).URL, s.Profile.origin(string(area) + ".url")})
		token := o.tokenSetting(s.Profile, area)
		token.refused = s.ownToken(area, token) // doctor continues, and must not send it
		s.Tokens[area] = token
		wrong = append(wrong, token.refused)
	}
	if compute, delivery := s.Tokens[kind.Compute], s.Tokens[kind.Delivery]; compute.File == stdin && delivery.File == stdin {
		wrong = append(wrong, onlyOne(compute.setting, delivery.setting))
	}
	return s, errors.Join(wrong...)
}

func (o Options) networkSettings() (Settings, error) {
	var s Settings
	var err error
	s.Profile, s.ProfileFrom, err = o.profile()
	s.CAFile = first(Setting{absolute(o.Cwd, o.CAFile), "--ca-file"}, Setting{absolute(o.Cwd, o.Getenv("TRUEUP_CA_FILE")), "TRUEUP_CA_FILE"},
		Setting{s.Profile.path(s.Profile.CAFile), s.Profile.origin("caFile")})
	// Requests to loopback use no proxy, so only https goes through one: plain http is for loopback.
	chosen := first(Setting{o.Getenv("https_proxy"), "https_proxy"}, Setting{o.Getenv("HTTPS_PROXY"), "HTTPS_PROXY"},
		Setting{s.Profile.Proxy, s.Profile.origin("proxy")})
	if chosen.Value == "" {
		return s, err
	}
	proxy, wrong := parseProxy(chosen.Value)
	if wrong != nil {
		return s, errors.Join(err, fmt.Errorf("%s: %w", chosen.Origin, wrong))
	}
	shown := proxy.Scheme + "://" + proxy.Host
	if proxy.User != nil {
		shown = proxy.Scheme + "://***@" + proxy.Host
	}
	s.Proxy = Setting{shown, chosen.Origin}
	cfg := httpproxy.Config{HTTPSProxy: proxy.String(), NoProxy: cmp.Or(o.Getenv("no_proxy"), o.Getenv("NO_PROXY"))}
	choose := cfg.ProxyFunc()
	s.ProxyFor = func(r *http.Request) (*url.URL, error) { return choose(r.URL) }
	return s, err
}

// parseProxy reads the address of a proxy; without a scheme it is http. Errors never quote it, because
// it may have a password.
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

// Transport returns the transport of requests to a code host, with the proxy and the certificates of the settings.
func (o Options) Transport() (*http.Transport, error) {
	s, err := o.networkSettings()
	if err != nil {
		return nil, err
	}
	roots, err := s.RootCAs()
	trust := &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: roots}
	return &http.Transport{Proxy: s.ProxyFor, TLSClientConfig: trust}, err
}

func (o Options) tokenSetting(p Profile, area kind.Area) TokenSetting {
	name, file := Variable(area, "TOKEN"), Variable(area, "TOKEN_FILE")
	switch {
	case o.Getenv(name) != "":
		return TokenSetting{TokenSource: TokenSource{Env: name}, Origin: name, setting: name}
	case o.Getenv(file) != "":
		return TokenSetting{TokenSource: TokenSource{File: absolute(o.Cwd, o.Getenv(file))}, Origin: file, setting: file}
	}
	t := TokenSetting{TokenSource: p.area(area).Token}
	if !t.IsZero() {
		field := string(area) + ".token"
		t.File, t.Origin, t.ofProfile = p.path(t.File), p.origin(field), true
		t.setting = field + " of " + t.Origin
	}
	return t
}

// ownToken refuses to send a profile's token to another address than the profile's, which a
// leftover variable may name.
func (s Settings) ownToken(area kind.Area, token TokenSetting) error {
	own := s.Profile.area(area).URL
	if own == "" || !token.ofProfile {
		return nil
	}
	here, err := url.Parse(s.URLs[area].Value)
	there, wrong := url.Parse(own)
	if err == nil && wrong == nil && here.Scheme == there.Scheme && strings.EqualFold(here.Host, there.Host) {
		return nil // url.Parse makes schemes lower case
	}
	return fmt.Errorf("%s overrides the address in profile %s and would get its token: unset it, or set %s as well",
		s.URLs[area].Origin, s.Profile.Name, Variable(area, "TOKEN"))
}

// TokenFromInput refuses to read manifests from standard input if a token comes from there, because
// messages would quote it. It ignores other mistakes.
func (o Options) TokenFromInput() error {
	if o.Sandbox {
		return nil
	}
	s, _ := o.Settings()
	for _, area := range kind.Areas() {
		if t := s.Tokens[area]; t.File == stdin {
			return onlyOne("manifests", t.setting)
		}
	}
	return nil
}

func onlyOne(first, second string) error {
	return fmt.Errorf("standard input can't be both %s and %s", first, second)
}

// RootCAs returns the system's certificates and those of the user's file; nil if there is no file.
func (s Settings) RootCAs() (*x509.CertPool, error) {
	if s.CAFile.Value == "" {
		return nil, nil
	}
	pem, _, err := files.Read(s.CAFile.Value, maxFile)
	if err != nil {
		return nil, fmt.Errorf("%s: %s: %w", s.CAFile.Origin, s.CAFile.Value, err)
	}
	pool, err := x509.SystemCertPool()
	if err != nil {
		pool = x509.NewCertPool()
	}
	if !pool.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("%s: %s has no PEM certificate", s.CAFile.Origin, s.CAFile.Value)
	}
	return pool, nil
}

// Overridden says which variables override the profile of --profile.
func (s Settings) Overridden() []string {
	var list []string
	if s.ProfileFrom != "--profile" {
		return nil
	}
	for _, area := range kind.Areas() {
		own := s.Profile.area(area)
		if url := s.URLs[area]; own.URL != "" && url.Value != own.URL {
			list = append(list, fmt.Sprintf("%s overrides the address in profile %s", url.Origin, s.Profile.Name))
		}
		if token := s.Tokens[area]; !own.Token.IsZero() && !token.ofProfile {
			list = append(list, fmt.Sprintf("%s overrides the token in profile %s", token.Origin, s.Profile.Name))
		}
	}
	return list
}
