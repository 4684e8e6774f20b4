package rules

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/net/idna"

	"trueup/internal/canon"
	"trueup/internal/diag"
	"trueup/internal/kind"
)

const maxName = 253 // of a Kubernetes-style resource

func checkNameShape(s *RuleSubject) {
	name := canon.TextAt(s.Doc, "metadata", "name") // without one, the schema reports it
	if problem := nameProblem(name); name != "" && problem != "" {
		s.report("metadata.name", fmt.Sprintf("the name %+q %s", diag.Shorten(name), problem), "use lower-case letters, digits, hyphens and dots")
	}
	for _, n := range s.specNames() {
		if strings.ContainsFunc(n.text, diag.IsInvisible) {
			s.report(kind.JoinField(n.owner, n.field), fmt.Sprintf("the name %+q has invisible characters", diag.Shorten(n.text)), "remove them")
		}
	}
}

// specName is a name inside a spec, with its field and the path of the mapping that has it.
type specName struct{ owner, field, text string }

// specNames returns the names that parts of the object have, and by which other parts refer to them.
func (s *RuleSubject) specNames() (names []specName) {
	if s.Kind.Name != cdn {
		return nil
	}
	for _, field := range [][2]string{
		{"firewall.rules[]", "name"},
		{"locations[]", "path"},
		{"locations[]", "upstream"},
		{"upstreams[]", "name"},
		{"secureLink", "tokenName"},
		{"secureLink", "expireName"},
	} {
		for at, m := range s.eachMapping(field[0]) {
			names = append(names, specName{at, field[1], canon.TextAt(m, field[1])})
		}
	}
	return names
}

// confusable are characters that look like dots and slashes, or become such when a program normalises
// text (Unicode NFKC).
const confusable = "\u2024\u2025\u2026\u3002\ufe52\uff0e\uff61\u2044\u2215\u29f8\uff0f\u29f5\ufe68\uff3c"

func nameProblem(name string) string {
	switch {
	case len(name) > maxName:
		return fmt.Sprintf("is longer than %d bytes", maxName)
	case strings.ContainsAny(name, `/\`):
		return "has a slash"
	case name == "." || strings.Contains(name, "..") || strings.ContainsAny(name, "?#%;"+confusable):
		return "would change the path of the request"
	case strings.ContainsFunc(name, diag.IsInvisible), !utf8.ValidString(name):
		return "has invisible characters"
	}
	return ""
}

func checkNameOdd(s *RuleSubject) {
	name := canon.TextAt(s.Doc, "metadata", "name")
	plain := strings.Trim(name, "-.") == name && strings.ToLower(name) == name && !strings.ContainsFunc(name, func(r rune) bool { return !isHostnameRune(r) })
	if !plain && nameProblem(name) == "" && diag.FindPlaceholder(name) == "" {
		s.report("metadata.name", fmt.Sprintf("the platform may reject the name %q", name),
			"use lower-case letters, digits, hyphens and dots, and start and end with a letter or digit")
	}
	names := s.specNames()
	hasLatin := func(n specName) bool {
		return strings.ContainsFunc(n.text, func(r rune) bool { return unicode.Is(unicode.Latin, r) })
	}
	if !slices.ContainsFunc(names, hasLatin) {
		return
	}
	for _, n := range names { // a path is what visitors ask for
		if script := lookalikeScript(n.text); script != "" && !strings.HasPrefix(n.text, "/") {
			s.report(kind.JoinField(n.owner, n.field), fmt.Sprintf("the name %+q has %s letters, which can look like the Latin ones of this object's names", diag.Shorten(n.text), script),
				"write the names of an object in one script")
		}
	}
}

// lookalikeScript returns a script with letters that can be taken for Latin ones, if a name has such letters.
func lookalikeScript(name string) string {
	isASCII := func(r rune) bool { return r < utf8.RuneSelf }
	for _, r := range strings.TrimLeftFunc(name, isASCII) {
		for _, script := range []string{"Armenian", "Cherokee", "Coptic", "Cyrillic", "Georgian", "Greek", "Lisu"} {
			if !isASCII(r) && unicode.Is(unicode.Scripts[script], r) {
				return script
			}
		}
	}
	return ""
}

const hostnameField = "spec.hostname"

func checkNamespace(s *RuleSubject) {
	namespace := canon.TextAt(s.Doc, "metadata", "namespace")
	workspace := s.Options.Workspace
	switch {
	case namespace == "" && workspace == "" && s.Kind.Name == snapshot:
		s.report("metadata.namespace", "the snapshot has no workspace",
			"write metadata.namespace, or let trueup.yaml name the workspace")
	case namespace != "" && workspace != "" && namespace != workspace:
		s.report("metadata.namespace", fmt.Sprintf("the workspace is %q here and %q in trueup.yaml", namespace, workspace),
			fmt.Sprintf("write %s, or remove metadata.namespace", workspace))
	}
}

func checkHostnameShape(s *RuleSubject) {
	for _, h := range s.unusualHosts() {
		if problem, fix := h.problem(); problem != "" {
			s.report(h.at, fmt.Sprintf("the %s %q %s", h.noun, h.text, problem), fix)
		}
	}
}

func checkHostnameOdd(s *RuleSubject) {
	for _, h := range s.unusualHosts() {
		if problem, _ := h.problem(); problem != "" {
			continue
		}
		if odd := h.oddities(); len(odd) > 0 {
			s.report(h.at, fmt.Sprintf("the %s %q has %s", h.noun, h.text, strings.Join(odd, " and ")),
				"write a domain of lower-case letters, digits and hyphens")
		}
	}
}

// oddities names what is unusual in a valid host.
func (h hostField) oddities() []string {
	if h.server && isBracketedIPv6(h.text) {
		return []string{"brackets around its address"}
	}
	odd := hostnameOddities(h.text)
	if endsInNumber(h.text) {
		odd = append(odd, "a number as its last label")
	}
	if h.noun == "hostname" && !strings.Contains(h.text, ".") {
		odd = append(odd, "only one label")
	}
	return odd
}

func checkServerOwned(s *RuleSubject) {
	check := func(owner map[string]any, path string, names ...string) {
		for _, name := range names {
			if _, has := owner[name]; has {
				s.report(path+name, path+name+" is a field that the server owns", "remove it: it was copied from an answer of the platform")
			}
		}
	}
	check(s.Doc, "", "status")
	check(canon.Object(s.Doc["metadata"]), "metadata.", "uid", "resourceVersion", "generation", "creationTimestamp", "managedFields",
		"selfLink", "deletionTimestamp", "deletionGracePeriodSeconds", "ownerReferences")
}

const (
	classField        = "spec.volumeSnapshotClassName"
	onlySnapshotClass = "general-purpose"
)

func checkSnapshotClass(s *RuleSubject) {
	const fix = "write volumeSnapshotClassName: " + onlySnapshotClass
	class, present := s.Tree["volumeSnapshotClassName"]
	if !present {
		s.report(classField, "the snapshot names no class", fix)
		return
	}
	if name, ok := class.(string); ok && name != onlySnapshotClass {
		s.report(classField, fmt.Sprintf("the platform has no snapshot class %q", name), fix)
	}
}

func checkSnapshotSource(s *RuleSubject) {
	const claim = "persistentVolumeClaimName"
	source := canon.Object(s.Tree["source"])
	if s.Tree[claim] != nil {
		s.report("spec."+claim, "the disk belongs below spec.source, not below spec", "move it below spec.source")
	}
	if source["volumeSnapshotContentName"] != nil {
		s.report("spec.source.volumeSnapshotContentName", "a snapshot is taken from a disk; it can't be imported",
			"remove it: persistentVolumeClaimName is the only source")
	}
	if _, present := source[claim]; present {
		return
	}
	field := "spec.source"
	if source != nil {
		field += "." + claim
	}
	s.report(field, "the snapshot does not name its disk", "write spec.source.persistentVolumeClaimName with the name of the disk")
}

// The limits of names in DNS, in bytes.
const (
	maxHostname = 253
	maxLabel    = 63
)

type hostField struct {
	// at is its field; noun is what the field is called in a message.
	at, noun, text string
	// server is whether the field may hold an address, too.
	server bool
}

// unusualHosts returns the hostname of an object, and the hosts of a CDN's locations and servers, without
// names that are certainly valid.
func (s *RuleSubject) unusualHosts() (hosts []hostField) {
	add := func(at, field, noun, text string, server bool) {
		if text != "" && !isPlainHost(text) && diag.FindPlaceholder(text) == "" && (!server || !isIPAddress(text)) {
			hosts = append(hosts, hostField{kind.JoinField(at, field), noun, text, server})
		}
	}
	add("spec", s.Kind.HostField, "hostname", s.Host, false)
	if s.Kind.Name == cdn {
		for _, place := range []string{"locations[]", "upstreams[].servers[]"} {
			for at, m := range s.eachMapping(place) {
				add(at, "host", "host", canon.TextAt(m, "host"), place != "locations[]")
			}
		}
	}
	return hosts
}

// isPlainHost reports whether a name is a lower-case one of RFC 1123 with several labels.
func isPlainHost(name string) bool {
	const letters = "abcdefghijklmnopqrstuvwxyz0123456789-."
	return strings.Trim(name, letters) == "" && strings.Contains(name, ".") && len(hostnameOddities(name)) == 0 && !endsInNumber(name)
}

func isIPAddress(text string) bool {
	addr, err := netip.ParseAddr(text)
	return err == nil && addr.Zone() == ""
}

// isBracketedIPv6 reports whether a text is an IPv6 address as URLs have it.
func isBracketedIPv6(text string) bool {
	inner, cut := strings.CutPrefix(text, "[")
	inner, closed := strings.CutSuffix(inner, "]")
	return cut && closed && strings.Contains(inner, ":") && isIPAddress(inner)
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
func (h hostField) problem() (problem, fix string) {
	fix = "write only the domain (shop.example.com, for example)"
	if h.server {
		fix = "write the name or address alone, such as origin.example.com or 192.0.2.7"
	}
	switch problem = hostnameProblem(h.text); {
	case h.server && isBracketedIPv6(h.text):
		return "", ""
	case h.server && problem != "" && strings.Count(h.text, ":") > 1 && !strings.Contains(h.text, "/"):
		return "is neither a name nor an address", "write the address alone, such as 2001:db8::7"
	case problem == "" && endsInNumber(h.text) && !isIPAddress(h.text):
		return "ends in a number and is not an address, but some programs read it as one", fix
	}
	if ascii := toASCII(h.text); ascii != "" {
		fix = "write " + ascii + ", which is this name in ASCII"
	}
	return problem, fix
}

// toASCII returns the xn-- form of a name in other letters, or "". It ignores long names, which would
// take long to convert.
func toASCII(name string) string {
	if len(name) > utf8.UTFMax*maxHostname || !strings.ContainsFunc(name, func(r rune) bool { return r > unicode.MaxASCII }) {
		return ""
	}
	ascii, err := idna.Lookup.ToASCII(name)
	if err != nil || hostnameProblem(ascii) != "" {
		return ""
	}
	return ascii
}

// hostnameProblem returns what makes a hostname invalid, or "". It allows underscores and stars.
func hostnameProblem(host string) string {
	at := strings.IndexFunc(host, func(r rune) bool { return !isHostnameRune(r) && r != '_' && r != '*' })
	if at < 0 {
		return ""
	}
	r, _ := utf8.DecodeRuneInString(host[at:])
	if r > unicode.MaxASCII && !diag.IsInvisible(r) && !unicode.IsSpace(r) {
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
	if at := strings.IndexFunc(host, func(r rune) bool { return !isHostnameRune(r) }); at >= 0 {
		r, _ := utf8.DecodeRuneInString(host[at:])
		odd = append(odd, fmt.Sprintf("the character %q", r))
	}
	return odd
}

func isHostnameRune(r rune) bool {
	return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' || r == '.'
}
