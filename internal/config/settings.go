package config

import (
	"cmp"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/net/http/httpproxy"

	"trueup/internal/api"
	"trueup/internal/diag"
	"trueup/internal/files"
	"trueup/internal/kind"
)

// Setting is a value and who chose it.
type Setting struct {
	Value, Origin string
}

// Settings are what a run uses of flags, environment and profile, in this order.
type Settings struct {
	Pin         ProjectPin // what the environment holds, unless pinErr says why that is unknown
	pinErr      error
	Profile     Profile
	ProfileFrom string // the flag or the variable that chose the profile
	URLs        map[kind.Area]Setting
	Tokens      map[kind.Area]TokenSetting
	CAFile      Setting
	Proxy       Setting // Proxy is without its password. ProxyFor returns the proxy of a request.
	ProxyFor    func(*http.Request) (*url.URL, error)
}

func firstSetting(settings ...Setting) Setting {
	for _, s := range settings {
		if s.Value != "" {
			return s
		}
	}
	return Setting{}
}

// ResolveSettings resolves those of a project, also those beside what is wrong. It reads no token.
func (o Options) ResolveSettings(p Project) (Settings, error) {
	pin, pinErr := o.FindPin(p)
	s, err := o.networkSettings(pin.Profile)
	s.Pin, s.pinErr = pin, pinErr
	wrong := []error{pinErr, err}
	s.URLs, s.Tokens = map[kind.Area]Setting{}, map[kind.Area]TokenSetting{}
	for _, area := range kind.Areas() {
		url := api.VariableName(area, "URL")
		s.URLs[area] = firstSetting(Setting{o.Getenv(url), url}, Setting{s.Profile.areaSettings(area).URL, s.Profile.origin()})
		token := o.tokenSetting(s.Profile, area)
		token.refused = s.refuseForeignToken(area, token) // doctor continues, and must not send it
		s.Tokens[area] = token
		wrong = append(wrong, token.refused)
	}
	return s, errors.Join(wrong...)
}

func (o Options) networkSettings(pinnedProfile string) (s Settings, err error) {
	s.Profile, s.ProfileFrom, err = o.readProfile(pinnedProfile)
	s.CAFile = firstSetting(Setting{absolutePath(o.Cwd, o.Getenv("TRUEUP_CA_FILE")), "TRUEUP_CA_FILE"},
		Setting{s.Profile.filePath(s.Profile.CAFile), s.Profile.origin()})
	// Requests to loopback use no proxy, so only https goes through one: plain http is for loopback.
	chosen := firstSetting(Setting{o.Getenv("https_proxy"), "https_proxy"}, Setting{o.Getenv("HTTPS_PROXY"), "HTTPS_PROXY"},
		Setting{s.Profile.Proxy, s.Profile.origin()})
	if chosen.Value == "" {
		return s, err
	}
	proxy, wrong := parseProxy(chosen.Value)
	if wrong != nil {
		return s, errors.Join(err, fmt.Errorf("%s: %w", chosen.Origin, wrong))
	}
	shown := proxy.Scheme + "://" + proxy.Host
	if proxy.User != nil {
		password, _ := proxy.User.Password()
		diag.RegisterSecret(password)
		shown = proxy.Scheme + "://***@" + proxy.Host
	}
	s.Proxy = Setting{shown, chosen.Origin}
	cfg := httpproxy.Config{HTTPSProxy: proxy.String(), NoProxy: cmp.Or(o.Getenv("no_proxy"), o.Getenv("NO_PROXY"))}
	choose := cfg.ProxyFunc()
	s.ProxyFor = func(r *http.Request) (*url.URL, error) {
		if api.IsLoopback(r.URL) {
			return nil, nil
		}
		return choose(r.URL)
	}
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

// CodeHostTransport returns the transport of requests to a code host, with the proxy and the certificates of the settings.
func (o Options) CodeHostTransport() (*http.Transport, error) {
	s, err := o.networkSettings("")
	roots, wrong := s.RootCAs()
	trust := &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: roots}
	return &http.Transport{Proxy: s.ProxyFor, DialContext: api.Dial, TLSClientConfig: trust}, errors.Join(err, wrong)
}

func (o Options) tokenSetting(p Profile, area kind.Area) TokenSetting {
	name, file := api.VariableName(area, "TOKEN"), api.VariableName(area, "TOKEN_FILE")
	switch {
	case o.Getenv(name) != "":
		return TokenSetting{TokenSource: TokenSource{Env: name}, Origin: name, setting: name}
	case o.Getenv(file) != "":
		return TokenSetting{TokenSource: TokenSource{File: absolutePath(o.Cwd, o.Getenv(file))}, Origin: file, setting: file}
	}
	t := TokenSetting{TokenSource: p.areaSettings(area).Token}
	if !t.IsZero() {
		t.File, t.Origin, t.ofProfile = p.filePath(t.File), p.origin(), true
		t.setting = string(area) + ".token of " + t.Origin
	}
	return t
}

// refuseForeignToken refuses to send a profile's token to another address than the profile's, which a
// leftover variable may name.
func (s Settings) refuseForeignToken(area kind.Area, token TokenSetting) error {
	own := s.Profile.areaSettings(area).URL
	if own == "" || !token.ofProfile {
		return nil
	}
	here, err := url.Parse(s.URLs[area].Value)
	there, wrong := url.Parse(own)
	if err == nil && wrong == nil && here.Scheme == there.Scheme && strings.EqualFold(here.Host, there.Host) {
		return nil // url.Parse makes schemes lower case
	}
	return fmt.Errorf("%s overrides the address in profile %s and would get its token: unset it, or set %s as well",
		s.URLs[area].Origin, s.Profile.Name, api.VariableName(area, "TOKEN"))
}

// RootCAs returns the system's certificates and those of the user's file; nil if there is no file.
func (s Settings) RootCAs() (*x509.CertPool, error) {
	file := s.CAFile
	if file.Value == "" {
		return nil, nil
	}
	pem, _, err := files.Read(file.Value, maxFile)
	if err != nil {
		return nil, fmt.Errorf("%s: %s: %w", file.Origin, file.Value, err)
	}
	pool, err := x509.SystemCertPool()
	if err != nil {
		pool = x509.NewCertPool()
	}
	if !pool.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("%s: %s has no PEM certificate", file.Origin, file.Value)
	}
	return pool, nil
}

// OverriddenVariables says which variables override the profile of --profile.
func (s Settings) OverriddenVariables() []string {
	var list []string
	if s.ProfileFrom != "--profile" {
		return nil
	}
	for _, area := range kind.Areas() {
		own := s.Profile.areaSettings(area)
		if url := s.URLs[area]; own.URL != "" && url.Value != own.URL {
			list = append(list, fmt.Sprintf("%s overrides the address in profile %s", url.Origin, s.Profile.Name))
		}
		if token := s.Tokens[area]; !own.Token.IsZero() && !token.ofProfile {
			list = append(list, fmt.Sprintf("%s overrides the token in profile %s", token.Origin, s.Profile.Name))
		}
	}
	return list
}

// maxFile limits a file of settings, in bytes.
const maxFile = 1 << 20

// Profiles is the user's profiles file. Nothing in a repository changes it (schemas/config.schema.json).
type Profiles struct {
	APIVersion string             `json:"apiVersion"`
	Kind       string             `json:"kind"`
	Profiles   map[string]Profile `json:"profiles"`
}

// Profile is one set of addresses and tokens.
type Profile struct {
	Delivery AreaSettings `json:"delivery"`
	Compute  AreaSettings `json:"compute"`
	CAFile   string       `json:"caFile"`
	Proxy    string       `json:"proxy"`

	Name string `json:"-"` // Name is empty if no profile was chosen. File is the profiles file.
	File string `json:"-"`
}

// AreaSettings are an area's address, and where its token comes from.
type AreaSettings struct {
	URL   string      `json:"url"`
	Token TokenSource `json:"token"`
}

func (p Profile) areaSettings(area kind.Area) AreaSettings {
	if area == kind.Compute {
		return p.Compute
	}
	return p.Delivery
}

// origin names the profile in messages.
func (p Profile) origin() string { return "profile " + p.Name + " at " + p.File }

// filePath returns the whole path of a file in the profile. A relative one starts from the folder of
// the profiles file, never from the one that trueup runs in.
func (p Profile) filePath(name string) string { return absolutePath(filepath.Dir(p.File), name) }

func absolutePath(dir, name string) string {
	if name == "" {
		return name
	}
	return files.AbsolutePath(dir, name)
}

// profilesFile returns the path of the profiles file, empty if the environment names no folder.
func (o Options) profilesFile() string {
	if dir := o.xdgFolder("XDG_CONFIG_HOME", ".config"); dir != "" {
		return filepath.Join(dir, "config.yaml")
	}
	return ""
}

// ProfileNames returns the names of the user's profiles, sorted; none if the file can't be used.
func (o Options) ProfileNames() []string {
	if cfg, err := readProfiles(o.profilesFile()); err == nil {
		return slices.Sorted(maps.Keys(cfg.Profiles))
	}
	return nil
}

// readProfile returns the profile that --profile, a pin or TRUEUP_PROFILE names, and which of them it was. Without one the
// profile is empty.
func (o Options) readProfile(pinned string) (p Profile, from string, err error) {
	chosen, file := firstSetting(Setting{o.Profile, "--profile"}, Setting{pinned, ProjectsPin}, Setting{o.Getenv("TRUEUP_PROFILE"), "TRUEUP_PROFILE"}), o.profilesFile()
	name, from := chosen.Value, chosen.Origin
	if name == "" {
		return p, from, nil
	}
	if file == "" {
		return p, from, fmt.Errorf("%s is %s, but trueup can't find your profiles file: set HOME or XDG_CONFIG_HOME", from, name)
	}
	cfg, err := readProfiles(file)
	p, ok := cfg.Profiles[name]
	switch names := slices.Sorted(maps.Keys(cfg.Profiles)); {
	case errors.Is(err, fs.ErrNotExist):
		err = fmt.Errorf("%s is %s, but the file %s does not exist: create it; trueup explain --schema config describes it", from, name, file)
	case err != nil:
		err = fmt.Errorf("%s: %w", file, err)
	case !ok:
		err = fmt.Errorf("%s is %s, but %s has no such profile; it has: %s%s",
			from, name, file, cmp.Or(strings.Join(names, ", "), "none"), diag.DidYouMean(name, names))
	default:
		p.File = file
		return p, from, nil
	}
	return Profile{}, from, err
}

// readProfiles reads the file that chooses where tokens go: only the user and root may be able to write it.
func readProfiles(file string) (Profiles, error) {
	data, info, err := files.Read(file, maxFile)
	if err != nil {
		return Profiles{}, err
	}
	if uid, known := ownerOf(info); known && uid != 0 && uid != os.Geteuid() {
		return Profiles{}, fmt.Errorf("it belongs to user %d, who could redirect your tokens: make yourself its owner", uid)
	}
	if mode := info.Mode().Perm(); mode&0o022 != 0 {
		return Profiles{}, fmt.Errorf("other users can write to it (mode %04o) and redirect your tokens: chmod go-w %s", mode, file)
	}
	return ParseProfiles(data)
}

// ParseProfiles reads the text of a profiles file strictly, and checks all of its profiles.
func ParseProfiles(data []byte) (Profiles, error) {
	var cfg Profiles
	if m, found := diag.FindMisread(data); found {
		return cfg, m
	}
	if err := UnmarshalYAML(data, "config", &cfg); err != nil {
		return cfg, err
	}
	if cfg.APIVersion != "trueup/v1" || cfg.Kind != "Config" {
		return cfg, errors.New("not a profiles file: write apiVersion: trueup/v1 and kind: Config")
	}
	for _, name := range slices.Sorted(maps.Keys(cfg.Profiles)) {
		p := cfg.Profiles[name]
		if err := p.checkProfile(); err != nil {
			return cfg, fmt.Errorf("profiles.%s.%w", name, err)
		}
		p.Name = name
		cfg.Profiles[name] = p
	}
	return cfg, nil
}

// checkProfile returns what is wrong, beginning with the name of the field.
func (p Profile) checkProfile() error {
	for _, area := range kind.Areas() {
		s := p.areaSettings(area)
		if s.URL != "" {
			if _, err := api.ParseBaseURL(s.URL); err != nil {
				return fmt.Errorf("%s.url: %w", area, err)
			}
		}
		if err := s.Token.checkSource(); err != nil {
			return fmt.Errorf("%s.token%w", area, err)
		}
	}
	if strings.HasPrefix(p.CAFile, "~") {
		return fmt.Errorf("caFile is %q: write the whole path, because ~ has no meaning here", p.CAFile)
	}
	if p.Proxy != "" {
		if _, err := parseProxy(p.Proxy); err != nil {
			return fmt.Errorf("proxy: %w", err)
		}
	}
	return nil
}
