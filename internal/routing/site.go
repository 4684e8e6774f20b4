package routing

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"trueup/internal/canon"
	"trueup/internal/kind"
)

// CDN is an object that answers requests.
type CDN struct {
	kind.Key
	// Claims are a kind.HostKey each: all hosts that the CDN may answer, and perhaps others.
	Claims []string
	// Config returns how the CDN answers requests.
	Config func() *CDNConfig
	// Path and Line are the place of the manifest, and Lines returns the line of each location; without a manifest they are
	// empty. Note says what else is to know.
	Path  string
	Line  int
	Lines func() []int
	Note  string
}

// NewCDN returns the CDN of a spec, which is canonical JSON. It reads the spec when it is needed.
func NewCDN(key kind.Key, spec []byte) *CDN {
	c := &CDN{Key: key}
	c.SetSpec(spec)
	return c
}

// SetSpec gives the CDN another spec, before it is asked for its config.
func (c *CDN) SetSpec(spec []byte) {
	c.Claims, c.Config = ClaimsOf(spec), sync.OnceValue(func() *CDNConfig { return ReadConfigJSON(spec) })
}

// ReadConfigJSON returns the config of a spec, which is canonical JSON.
func ReadConfigJSON(spec []byte) *CDNConfig {
	return ReadConfig(canon.Object(canon.DecodeTrusted(spec)))
}

// NewCDNFromConfig returns the CDN of a config.
func NewCDNFromConfig(key kind.Key, config *CDNConfig) *CDN {
	c := &CDN{Key: key, Claims: []string{config.Hostname}, Config: func() *CDNConfig { return config }}
	for _, host := range slices.Sorted(maps.Keys(config.hosts)) {
		if host != "" && host != config.Hostname {
			c.Claims = append(c.Claims, host)
		}
	}
	return c
}

// ClaimsOf returns the hosts in a spec, which is canonical JSON, without reading the rest of it: that of the CDN, those of
// locations, and perhaps some of other fields.
func ClaimsOf(spec []byte) []string {
	return AppendHosts(appendTexts(nil, spec, `"hostname":"`), spec)
}

// AppendHosts appends the hosts of locations in a spec, and perhaps some of other fields.
func AppendHosts(claims []string, spec []byte) []string {
	upstreams := []byte(`"upstreams":[`) // their servers have hosts, too
	if end := bytes.Index(spec, upstreams); end >= 0 && !bytes.Contains(spec[end+1:], upstreams) {
		spec = spec[:end]
	}
	return appendTexts(claims, spec, `"host":"`)
}

func appendTexts(texts []string, spec []byte, name string) []string {
	for {
		_, after, found := bytes.Cut(spec, []byte(name))
		end := bytes.IndexByte(after, '"')
		if !found || end < 0 {
			return texts
		}
		texts, spec = append(texts, kind.HostKey(string(after[:end]))), after[end:]
	}
}

// isClear reports whether it is known which requests a location matches: its path is a Normal path, or the beginning of
// one and a star, and its host is a name, or a star and a domain.
func (l *Location) isClear() bool {
	stem, prefix := strings.CutSuffix(l.Path, "*")
	if prefix {
		stem += "x"
	}
	domain := strings.TrimPrefix(l.Host, "*.")
	return !strings.Contains(stem+domain, "*") && (l.Path == "*" || NormalizePath(stem) == stem)
}

// HasHost reports whether a location has the host.
func (c *CDNConfig) HasHost(host string) bool { return c.hosts[host] != nil }

// MayServe reports whether the location is for requests of a host, or whether that is not documented.
func (l *Location) MayServe(host string) bool {
	domain, below := strings.CutPrefix(l.Host, "*")
	return l.Host == "" || l.Host == host || below && strings.HasSuffix(host, domain) || strings.Contains(domain, "*")
}

// PurgePath returns the path of a purge that covers everything that the location answers.
func (l *Location) PurgePath() string {
	path, _, isPrefix := strings.Cut(l.Path, "*")
	switch {
	case !strings.HasPrefix(path, "/"):
		return "/*"
	case isPrefix:
		path += "*"
	}
	return path
}

// widerHosts returns "*.NAME" for each NAME that a host is below, the longest first.
func widerHosts(host string) (patterns []string) {
	name := strings.TrimPrefix(host, "*.")
	for i := range len(name) {
		if name[i] == '.' && len(host) <= maxHost {
			patterns = append(patterns, "*"+name[i:])
		}
	}
	return patterns
}

// maxHost is the greatest length of a host that requests can have, and of "*." above it.
const maxHost = 255

// The strengths of a claim on a host; those of a wildcard are below exactClaim.
const (
	exactClaim = 1 << 10 << iota
	hostnameClaim
	exceptionalClaim
)

// claimStrength returns how strong the claim of the CDN on a host is: 0 is none.
func (c *CDN) claimStrength(host string, without Assumption) (most int) {
	config := c.Config()
	if host != "" && config.Hostname == host {
		most = hostnameClaim
	}
	for _, pattern := range append([]string{host}, widerHosts(host)...) {
		isLiteral := without == Wildcards && pattern != host
		if pattern != "" && config.hosts[pattern] != nil && !isLiteral {
			most = max(most, hostClaimStrength(pattern, without))
		}
	}
	return most
}

// describeClaim says what gives the CDN a host: the name of the CDN for its hostname, else one of its locations.
func (c *CDN) describeClaim(host string) string {
	config := c.Config()
	for _, pattern := range append([]string{host}, widerHosts(host)...) {
		if found := config.hosts[pattern]; found != nil && config.Hostname != host {
			return "location " + found[0].Path + " of " + c.String()
		}
	}
	return c.String()
}

// hostClaimStrength returns how strong a claim by the host of a location is.
func hostClaimStrength(host string, without Assumption) int {
	isWild := strings.HasPrefix(host, "*") && without != Wildcards
	switch {
	case isWild && without == ExactHostFirst:
		return exactClaim + len(host)
	case isWild:
		return len(host)
	case without == HostnameFirst:
		return exceptionalClaim
	}
	return exactClaim
}

// Site has the CDNs of git, of live or of a base, by the hosts that they claim.
type Site struct {
	cdns  []*CDN
	hosts map[string][]*CDN
	// shared are the CDNs that claim a host which another one may claim, too.
	shared map[kind.Key]bool
	// hasWild says that some claim is a wildcard.
	hasWild bool
}

// NewSite returns the site of CDNs. It skips nil.
func NewSite(cdns ...*CDN) *Site {
	cdns = slices.DeleteFunc(cdns, func(c *CDN) bool { return c == nil })
	s := &Site{cdns: cdns, hosts: make(map[string][]*CDN, len(cdns)), shared: map[kind.Key]bool{}}
	for _, c := range cdns {
		for _, host := range c.Claims {
			s.hasWild = s.hasWild || strings.HasPrefix(host, "*")
			if at := s.hosts[host]; len(at) == 0 || at[len(at)-1] != c {
				s.hosts[host] = append(at, c)
			}
		}
	}
	for host, cdns := range s.hosts {
		if len(cdns) > 1 || s.hasWild && (strings.HasPrefix(host, "*") || len(s.Claimants(host)) > 1) {
			for _, c := range cdns {
				s.shared[c.Key] = true
			}
		}
	}
	return s
}

// Claimants returns the CDNs that may claim a host, by name.
func (s *Site) Claimants(host string) (cdns []*CDN) {
	cdns = slices.Clone(s.hosts[host])
	if s.hasWild {
		for _, pattern := range widerHosts(host) {
			cdns = append(cdns, s.hosts[pattern]...)
		}
	}
	slices.SortFunc(cdns, compareKeys)
	return slices.Compact(cdns)
}

// SharesHosts reports whether another CDN may claim a host of the CDN of a key, or a host that a wildcard of one of them
// matches.
func (s *Site) SharesHosts(key kind.Key) bool { return s.shared[key] }

func compareKeys(a, b *CDN) int { return strings.Compare(a.String(), b.String()) }

// findOwners returns the CDNs that answer a host: one, none, or several that claim it alike.
func findOwners(host string, claimants []*CDN, without Assumption) (cdns []*CDN) {
	most := 1
	for _, c := range claimants {
		switch is := c.claimStrength(host, without); {
		case is > most:
			cdns, most = []*CDN{c}, is
		case is == most:
			cdns = append(cdns, c)
		}
	}
	return cdns
}

// Owner returns the CDN that answers a host, or nil. Several are an error.
func (s *Site) Owner(host string) (*CDN, error) {
	found := findOwners(host, s.Claimants(host), Nothing)
	switch len(found) {
	case 0:
		return nil, nil
	case 1:
		return found[0], nil
	}
	names := make([]string, len(found))
	for i, c := range found {
		if names[i] = c.String(); c.Path != "" {
			names[i] += fmt.Sprintf(" (%s:%d)", c.Path, c.Line)
		}
	}
	return nil, fmt.Errorf("%d CDNs have the host %s: %s", len(found), host, strings.Join(names, ", "))
}
