package config

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"trueup/internal/api"
	"trueup/internal/files"
	"trueup/internal/kind"
)

// Setting is a value and who chose it.
type Setting struct {
	Value, Origin string
}

// Settings are what a run uses of flags, environment and profile, in this order.
type Settings struct {
	Profile Profile
	// ProfileFrom is the flag or the variable that chose the profile.
	ProfileFrom string
	URLs        map[kind.Area]Setting
	Tokens      map[kind.Area]TokenSetting
	CAFile      Setting
	// Proxy is without its password. ProxyFor returns the proxy of a request.
	Proxy    Setting
	ProxyFor func(*http.Request) (*url.URL, error)
}

// Settings resolves them, also those beside what is wrong. It reads no token.
func (o Options) Settings() (Settings, error) {
	s, err := o.networkSettings()
	wrong := []error{err}
	s.URLs, s.Tokens = map[kind.Area]Setting{}, map[kind.Area]TokenSetting{}
	for _, area := range kind.Areas() {
		token := o.tokenSetting(s.Profile, area)
		s.URLs[area] = o.urlSetting(s.Profile, area)
		token.refused = s.ownToken(area, token) // doctor continues, and must not send it
		s.Tokens[area] = token
		wrong = append(wrong, token.refused)
	}
	if compute, delivery := s.Tokens[kind.Compute], s.Tokens[kind.Delivery]; compute.File == "-" && delivery.File == "-" {
		wrong = append(wrong, onlyOne(compute.setting, delivery.setting))
	}
	return s, errors.Join(wrong...)
}

// networkSettings resolves the profile, the certificates and the proxy.
func (o Options) networkSettings() (Settings, error) {
	var s Settings
	var err error
	s.Profile, s.ProfileFrom, err = o.profile()
	s.CAFile = o.caSetting(s.Profile)
	return s, errors.Join(err, o.chooseProxy(&s))
}

// Transport returns the transport of requests to a code host, with the proxy and the certificates of
// the settings.
func (o Options) Transport() (*http.Transport, error) {
	s, err := o.networkSettings()
	if err != nil {
		return nil, err
	}
	roots, err := s.RootCAs()
	trust := &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: roots}
	return &http.Transport{Proxy: s.ProxyFor, TLSClientConfig: trust}, err
}

func (o Options) urlSetting(p Profile, area kind.Area) Setting {
	if name := Variable(area, "URL"); o.Getenv(name) != "" {
		return Setting{Value: o.Getenv(name), Origin: name}
	}
	if s := p.area(area); s.URL != "" {
		return Setting{Value: s.URL, Origin: p.origin(string(area) + ".url")}
	}
	return Setting{}
}

func (o Options) tokenSetting(p Profile, area kind.Area) TokenSetting {
	if name := Variable(area, "TOKEN"); o.Getenv(name) != "" {
		return TokenSetting{TokenSource: TokenSource{Env: name}, Origin: name, setting: name}
	}
	if name := Variable(area, "TOKEN_FILE"); o.Getenv(name) != "" {
		file := o.Getenv(name)
		if file != "-" {
			file = absolute(o.Cwd, file)
		}
		return TokenSetting{TokenSource: TokenSource{File: file}, Origin: name, setting: name}
	}
	field := string(area) + ".token"
	t := TokenSetting{TokenSource: p.area(area).Token}
	if t.IsZero() {
		return t
	}
	if t.File != "-" {
		t.File = p.path(t.File)
	}
	t.Origin = p.origin(field)
	t.setting = field + " of " + t.Origin
	return t
}

// ownToken refuses to send a profile's token to another address than the profile's, which a
// leftover variable may name.
func (s Settings) ownToken(area kind.Area, token TokenSetting) error {
	own := s.Profile.area(area)
	if own.URL == "" || own.Token.IsZero() || token.Origin != s.Profile.origin(string(area)+".token") {
		return nil
	}
	here, err := url.Parse(s.URLs[area].Value)
	there, wrong := url.Parse(own.URL)
	if err == nil && wrong == nil && here.Scheme == there.Scheme && strings.EqualFold(here.Host, there.Host) {
		return nil // url.Parse makes schemes lower case
	}
	return fmt.Errorf("%s differs from the address in profile %s, whose token would go there: unset it, or set %s as well",
		s.URLs[area].Origin, s.Profile.Name, Variable(area, "TOKEN"))
}

// TokenFromInput refuses to read manifests from standard input if a token comes from there, because
// messages would quote it. Other mistakes are not its matter.
func (o Options) TokenFromInput() error {
	if o.Sandbox {
		return nil
	}
	s, _ := o.Settings()
	for _, area := range kind.Areas() {
		if t := s.Tokens[area]; t.File == "-" {
			return onlyOne("manifests", t.setting)
		}
	}
	return nil
}

func onlyOne(first, second string) error {
	return fmt.Errorf("standard input can't be both %s and %s", first, second)
}

func (o Options) caSetting(p Profile) Setting {
	switch env := o.Getenv("TRUEUP_CA_FILE"); {
	case o.CAFile != "":
		return Setting{absolute(o.Cwd, o.CAFile), "--ca-file"}
	case env != "":
		return Setting{absolute(o.Cwd, env), "TRUEUP_CA_FILE"}
	case p.CAFile != "":
		return Setting{p.path(p.CAFile), p.origin("caFile")}
	}
	return Setting{}
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

// endpoint returns the address of an area; ask returns its token.
func (s Settings) endpoint(area kind.Area, ask askFunc, deprecated string) (api.Endpoint, error) {
	url := s.URLs[area]
	e := api.Endpoint{BaseFrom: url.Origin, TokenFrom: s.Tokens[area].setting, Ask: ask}
	if url.Value == "" {
		return e, nil
	}
	base, err := api.ParseBase(url.Value, deprecated)
	if err != nil {
		return e, fmt.Errorf("%s: %w", url.Origin, err)
	}
	e.Base = base
	return e, nil
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
		if token := s.Tokens[area]; !own.Token.IsZero() && token.Origin != s.Profile.origin(string(area)+".token") {
			list = append(list, fmt.Sprintf("%s overrides the token in profile %s", token.Origin, s.Profile.Name))
		}
	}
	return list
}
