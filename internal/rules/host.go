package rules

import (
	"fmt"
	"slices"
	"strings"

	"trueup/internal/canon"
	"trueup/internal/diag"
	"trueup/internal/kind"
	"trueup/internal/routing"
)

// checkLocationHost reports a CDN whose locations are all for other hosts than its own, and hosts that are probably misspelt.
func checkLocationHost(s *RuleSubject) {
	hostname, uses := kind.HostKey(s.Host), map[string]int{}
	isServed := hostname == ""
	var hosts, fields []string
	for at, location := range s.eachMapping("locations[]") {
		host := kind.HostKey(canon.TextAt(location, "host"))
		isServed = isServed || host == hostname || !isPlainHost(host)
		if uses[host]++; uses[host] == 1 && host != "" {
			hosts, fields = append(hosts, host), append(fields, kind.JoinField(at, "host"))
		}
	}
	const most = 10 // hosts that others are compared with
	often := append([]string{hostname}, slices.DeleteFunc(slices.Clone(hosts), func(host string) bool { return uses[host] == 1 })...)
	often = often[:min(len(often), most)]
	for i, host := range hosts {
		if uses[host] > 1 || host == hostname {
			continue
		}
		if at := slices.IndexFunc(often, func(other string) bool { return isMisspeltHost(host, other) }); at >= 0 {
			s.report(fields[i], fmt.Sprintf("host is %s, which no other location has", host), fmt.Sprintf("did you mean %s?", often[at]))
			isServed = true // once it is corrected
		}
	}
	if !isServed && len(hosts) > 0 {
		s.report(hostnameField, fmt.Sprintf("no location is for %s: each has another host", s.Host), fmt.Sprintf("write host: %s in its locations, or remove host", s.Host))
	}
}

// isMisspeltHost reports whether a host is another one with a misspelt label that is not the last. A label with one other letter is
// probably meant.
func isMisspeltHost(host, other string) bool {
	a, b := strings.Split(host, "."), strings.Split(other, ".")
	if len(a) != len(b) {
		return false
	}
	at := 0
	for at < len(a)-1 && a[at] == b[at] {
		at++
	}
	if at == len(a)-1 || !slices.Equal(a[at+1:], b[at+1:]) || diag.Corrections(a[at], b[at:at+1]) == nil {
		return false
	}
	differ := 0
	for i := range min(len(a[at]), len(b[at])) {
		if a[at][i] != b[at][i] {
			differ++
		}
	}
	return differ > 1 || len(a[at]) != len(b[at])
}

// checkHostnameTaken reports each host that two CDNs have, as hostname or as host of a location.
func checkHostnameTaken(all []CheckedObject, report reportOn) {
	h := hostHolders{make(map[string]CheckedObject, len(all)), make(map[string]CheckedObject, len(all))}
	for _, o := range all {
		if o.Key().Kind == cdn {
			h.addHostname(o, report)
			h.addLocations(o, report)
		}
	}
}

// hostHolders are the first CDNs that have a host as hostname, and the last ones that have a location for it.
type hostHolders struct{ named, located map[string]CheckedObject }

func (h hostHolders) addHostname(o CheckedObject, report reportOn) {
	host := kind.HostKey(o.Hostname())
	if host == "" {
		return
	}
	if before := h.named[host]; before != nil {
		report(o, hostnameField, fmt.Sprintf("%s has the hostname %s too (%s)", before.Key(), o.Hostname(), before.At(hostnameField)),
			"give one of them another hostname")
		return
	}
	h.named[host] = o
	if before := h.located[host]; before != nil && locationOf(before, host) != "" {
		report(o, hostnameField, SharedHostMessage(before.Key().String(), o.Hostname()), fmt.Sprintf("remove the locations of this host from %s, or use another hostname", before.Key()))
	}
}

func (h hostHolders) addLocations(o CheckedObject, report reportOn) {
	for _, host := range o.LocationHosts() {
		before, other := h.named[host], h.located[host]
		if other == o {
			continue
		}
		if before == nil && other != nil && locationOf(other, host) != "" {
			before = other
		}
		if before != nil && before != o {
			if field := locationOf(o, host); field != "" {
				report(o, field+".host", SharedHostMessage(before.Key().String(), host), FixSharedHost)
			}
		}
		h.located[host] = o
	}
}

// FixSharedHost says what to do where locations of two CDNs have one host.
const FixSharedHost = "keep the locations of a host in one CDN"

// SharedHostMessage says that another CDN has a host, too.
func SharedHostMessage(other, host string) string {
	return fmt.Sprintf("%s has the host %s, too, and no document says which of the two CDNs answers it", other, host)
}

// locationOf returns the field of the first location with the host, or "". Those of a wildcard may be shared.
func locationOf(o CheckedObject, host string) string {
	for _, l := range routing.ReadConfig(o.Tree()).Locations {
		if l.Host == host && !strings.Contains(host, "*") {
			return l.FieldPath()
		}
	}
	return ""
}
