package manifest

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/net/idna"

	"trueup/internal/diag"
)

// The limits of names in DNS, in bytes.
const (
	maxHostname = 253
	maxLabel    = 63
)

type host struct {
	// at is its field; noun is what the field is called in a message.
	at, noun, text string
	// server is whether the field may hold an address, too.
	server bool
}

// unusual returns the hostname of an object, and the hosts of a CDN's locations and servers, without
// names that are certainly valid.
func (s *subject) unusual() []host {
	if s.hosts != nil {
		return s.hosts
	}
	s.hosts = []host{}
	add := func(h host) {
		if h.text != "" && !plainHost(h.text) && (!h.server || !isAddress(h.text)) {
			s.hosts = append(s.hosts, h)
		}
	}
	add(host{child("spec", s.Kind.HostField), "hostname", s.Host, false})
	if s.Kind.Name == cdn {
		for _, place := range []string{"locations[]", "upstreams[].servers[]"} {
			for at, m := range s.each(place) {
				add(host{child(at, "host"), "host", text(m, "host"), place != "locations[]"})
			}
		}
	}
	return s.hosts
}

// plainHost reports whether a name is a lower-case one of RFC 1123 with several labels.
func plainHost(name string) bool {
	const letters = "abcdefghijklmnopqrstuvwxyz0123456789-."
	return strings.Trim(name, letters) == "" && strings.Contains(name, ".") && len(hostnameOddities(name)) == 0 && !endsInNumber(name)
}

func isAddress(text string) bool {
	addr, err := netip.ParseAddr(text)
	return err == nil && addr.Zone() == ""
}

// inBrackets reports whether a text is an IPv6 address as URLs have it.
func inBrackets(text string) bool {
	inner, cut := strings.CutPrefix(text, "[")
	inner, closed := strings.CutSuffix(inner, "]")
	return cut && closed && strings.Contains(inner, ":") && isAddress(inner)
}

// endsInNumber reports whether the last label is a number, so that programs may read the name as an IPv4
// address, such as 127.1 or 0x7f000001 (RFC 1123, 2.1).
func endsInNumber(name string) bool {
	name = strings.TrimSuffix(name, ".")
	last := name[strings.LastIndexByte(name, '.')+1:]
	if hex, is := strings.CutPrefix(strings.ToLower(last), "0x"); is {
		return strings.Trim(hex, "0123456789abcdef") == ""
	}
	return last != "" && strings.Trim(last, "0123456789") == ""
}

// problem returns what is wrong with a host and how to fix it, or "".
func (h host) problem() (problem, fix string) {
	fix = "write only the domain (shop.example.com, for example)"
	if h.server {
		fix = "write the name or address alone, such as origin.example.com or 192.0.2.7"
	}
	switch problem = hostnameProblem(h.text); {
	case h.server && inBrackets(h.text):
		return "", ""
	case h.server && problem == isIPv6:
		return "is neither a name nor an address", "write the address alone, such as 2001:db8::7"
	case problem == "" && endsInNumber(h.text) && !isAddress(h.text):
		return "ends in a number and is not an address, but some programs read it as one", fix
	}
	if ascii := inASCII(h.text); ascii != "" {
		fix = "write " + ascii + ", which is this name in ASCII"
	}
	return problem, fix
}

// inASCII returns the xn-- form of a name in other letters, or "". It ignores long names, which would
// take long to convert.
func inASCII(name string) string {
	if len(name) > utf8.UTFMax*maxHostname || !strings.ContainsFunc(name, func(r rune) bool { return r > unicode.MaxASCII }) {
		return ""
	}
	ascii, err := idna.Lookup.ToASCII(name)
	if err != nil || hostnameProblem(ascii) != "" {
		return ""
	}
	return ascii
}

const isIPv6 = "is an IPv6 address"

// hostnameProblem returns what makes a hostname invalid, or "". It allows underscores and stars.
func hostnameProblem(host string) string {
	at := strings.IndexFunc(host, func(r rune) bool { return !inHostname(r) && r != '_' && r != '*' })
	if at < 0 {
		return ""
	}
	for _, p := range []struct{ part, problem string }{
		{"://", "has a scheme"},
		{"/", "has a path"},
		{`\`, "has a path"},
		{"?", "has a query"},
		{"#", "has a fragment"},
		{"@", "has a user name"},
	} {
		if strings.Contains(host, p.part) {
			return p.problem
		}
	}
	r, _ := utf8.DecodeRuneInString(host[at:])
	switch {
	case strings.HasPrefix(host, "["), strings.Count(host, ":") > 1:
		return isIPv6
	case strings.Contains(host, ":"):
		return "has a port"
	case strings.ContainsFunc(host, unicode.IsSpace):
		return "has white space"
	case strings.ContainsFunc(host, diag.Unseen):
		return "has invisible characters"
	case r > unicode.MaxASCII:
		return fmt.Sprintf("has the character %q (U+%04X), which is not ASCII and may look like one that is", r, r)
	}
	return fmt.Sprintf("has the character %q", r)
}

// hostnameOddities lists what RFC 1123 does not allow in a name, and capitals.
func hostnameOddities(host string) []string {
	var odd []string
	add := func(found bool, what string) {
		if found && !slices.Contains(odd, what) {
			odd = append(odd, what)
		}
	}
	add(len(host) > maxHostname, "more than 253 characters")
	for label := range strings.SplitSeq(host, ".") {
		add(label == "", "an empty label")
		add(len(label) > maxLabel, "a label of more than 63 characters")
		add(len(label) <= maxLabel && strings.Trim(label, "-") != label, "a hyphen at the end of a label")
	}
	add(strings.ContainsFunc(host, func(r rune) bool { return r >= 'A' && r <= 'Z' }), "capitals")
	if at := strings.IndexFunc(host, func(r rune) bool { return !inHostname(r) }); at >= 0 {
		r, _ := utf8.DecodeRuneInString(host[at:])
		odd = append(odd, fmt.Sprintf("the character %q", r))
	}
	return odd
}

func inHostname(r rune) bool {
	return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' || r == '.'
}
