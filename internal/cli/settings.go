package cli

import (
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"path/filepath"
	"strings"

	"trueup/internal/api"
	"trueup/internal/files"
	"trueup/internal/kind"
)

// setting is a value and who chose it.
type setting struct {
	Value, Origin string
}

// settings are what a run uses of flags, environment and profile, in this order.
// No repository has a say in them.
type settings struct {
	profile profile
	// profileFrom is the flag or the variable that chose the profile.
	profileFrom string
	urls        map[kind.Area]setting
	tokens      map[kind.Area]tokenSetting
	caFile      setting
	// proxy is without its password.
	proxy   setting
	through func(*http.Request) (*url.URL, error)
}

// settings resolves them, also those beside what is wrong. It reads no token.
func (a *app) settings() (settings, error) {
	s := settings{urls: map[kind.Area]setting{}, tokens: map[kind.Area]tokenSetting{}}
	var err error
	s.profile, s.profileFrom, err = a.profile()
	wrong := []error{err}
	for _, area := range areas() {
		s.urls[area], s.tokens[area] = a.urlSetting(s.profile, area), a.tokenSetting(s.profile, area)
		if err := s.ownToken(area); err != nil {
			// Doctor looks on after what is wrong: it must not send it either.
			t := s.tokens[area]
			t.refused = err
			s.tokens[area] = t
			wrong = append(wrong, err)
		}
	}
	s.caFile = a.caSetting(s.profile)
	wrong = append(wrong, s.oneInput(), a.chooseProxy(&s))
	return s, errors.Join(wrong...)
}

// areaVariable is a variable of an area.
func areaVariable(area kind.Area, part string) string {
	return "TRUEUP_" + strings.ToUpper(string(area)) + "_" + part
}

func (a *app) urlSetting(p profile, area kind.Area) setting {
	if name := areaVariable(area, "URL"); a.env.Getenv(name) != "" {
		return setting{Value: a.env.Getenv(name), Origin: name}
	}
	if s := p.area(area); s.URL != "" {
		return setting{Value: s.URL, Origin: p.origin(string(area) + ".url")}
	}
	return setting{}
}

func (a *app) tokenSetting(p profile, area kind.Area) tokenSetting {
	if name := areaVariable(area, "TOKEN"); a.env.Getenv(name) != "" {
		return tokenSetting{tokenSource: tokenSource{Env: name}, origin: name, setting: name, profile: p}
	}
	if name := areaVariable(area, "TOKEN_FILE"); a.env.Getenv(name) != "" {
		file := a.env.Getenv(name)
		if file != "-" && !filepath.IsAbs(file) {
			file = filepath.Join(a.env.Dir, file)
		}
		return tokenSetting{tokenSource: tokenSource{File: file}, origin: name, setting: name, profile: p}
	}
	field := string(area) + ".token"
	t := tokenSetting{tokenSource: p.area(area).Token, profile: p}
	if t.isZero() {
		return t
	}
	if t.File != "-" {
		t.File = p.path(t.File)
	}
	t.origin = p.origin(field)
	t.setting = field + " of " + t.origin
	return t
}

// ownToken refuses to send a profile's token to another address than the
// profile's, because a variable that was left over says so.
func (s settings) ownToken(area kind.Area) error {
	its := s.profile.area(area).URL
	if its == "" || s.urls[area].Value == its || s.tokens[area].isZero() || s.tokens[area].origin != s.profile.origin(string(area)+".token") {
		return nil
	}
	here, err := url.Parse(s.urls[area].Value)
	there, perr := url.Parse(its)
	if err == nil && perr == nil && strings.EqualFold(here.Scheme, there.Scheme) && strings.EqualFold(here.Host, there.Host) {
		return nil
	}
	return fmt.Errorf("%s differs from the address in profile %s, whose token would go there: unset it, or set %s as well",
		s.urls[area].Origin, s.profile.name, areaVariable(area, "TOKEN"))
}

// oneInput refuses to read both tokens from standard input.
func (s settings) oneInput() error {
	compute, delivery := s.tokens[kind.Compute], s.tokens[kind.Delivery]
	if compute.File == "-" && delivery.File == "-" {
		return onlyOne(compute.setting, delivery.setting)
	}
	return nil
}

// inputIsManifests refuses to take for manifests what is a token: it would be
// shown in what is said of them. What else is wrong is told to who needs it.
func (a *app) inputIsManifests() error {
	if a.global.sandbox {
		return nil
	}
	s, _ := a.settings()
	for _, area := range areas() {
		if t := s.tokens[area]; t.File == "-" {
			return onlyOne("manifests", t.setting)
		}
	}
	return nil
}

func onlyOne(first, second string) error {
	return fmt.Errorf("standard input can't be both %s and %s", first, second)
}

func (a *app) caSetting(p profile) setting {
	own := func(name string) string {
		if name == "" || filepath.IsAbs(name) {
			return name
		}
		return filepath.Join(a.env.Dir, name)
	}
	switch {
	case a.global.caFile != "":
		return setting{Value: own(a.global.caFile), Origin: "--ca-file"}
	case a.env.Getenv("TRUEUP_CA_FILE") != "":
		return setting{Value: own(a.env.Getenv("TRUEUP_CA_FILE")), Origin: "TRUEUP_CA_FILE"}
	case p.CAFile != "":
		return setting{Value: p.path(p.CAFile), Origin: p.origin("caFile")}
	}
	return setting{}
}

// trusted reads the certificates that are trusted beside the system's; nil is
// the system's pool.
func (s settings) trusted() (*x509.CertPool, error) {
	if s.caFile.Value == "" {
		return nil, nil
	}
	pem, _, err := files.Read(s.caFile.Value, maxOwnFile)
	if err != nil {
		return nil, fmt.Errorf("%s: %s: %w", s.caFile.Origin, s.caFile.Value, err)
	}
	pool, err := x509.SystemCertPool()
	if err != nil {
		pool = x509.NewCertPool()
	}
	if !pool.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("%s: %s has no PEM certificate", s.caFile.Origin, s.caFile.Value)
	}
	return pool, nil
}

// endpoint is where an area is; ask gives its token.
func (s settings) endpoint(area kind.Area, ask askFunc, deprecated string) (api.Endpoint, error) {
	url := s.urls[area]
	e := api.Endpoint{BaseFrom: url.Origin, TokenFrom: s.tokens[area].setting, Ask: ask}
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

// above says which variables a profile that was asked for by hand does not
// replace.
func (s settings) above() []string {
	var above []string
	if s.profileFrom != "--profile" {
		return nil
	}
	for _, area := range areas() {
		own := s.profile.area(area)
		if url := s.urls[area]; own.URL != "" && url.Value != own.URL {
			above = append(above, fmt.Sprintf("%s overrides the address in profile %s", url.Origin, s.profile.name))
		}
		if token := s.tokens[area]; !own.Token.isZero() && token.origin != s.profile.origin(string(area)+".token") {
			above = append(above, fmt.Sprintf("%s overrides the token in profile %s", token.origin, s.profile.name))
		}
	}
	return above
}
