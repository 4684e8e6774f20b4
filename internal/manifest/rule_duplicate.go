package manifest

import (
	"strings"
)

func checkDuplicateUpstream(s *subject) {
	unique := s.unique("the upstream", "rename one of them, or remove it")
	for at, upstream := range elements(s.Tree, "spec", "upstreams") {
		name, _ := text(upstream, "name")
		unique(at, name)
	}
}

func checkDuplicateRule(s *subject) {
	unique := s.unique("the firewall rule", "rename one of them, or remove it")
	for at, rule := range elements(mapping(s.Tree, "firewall"), "spec.firewall", "rules") {
		name, _ := text(rule, "name")
		unique(at, name)
	}
}

func checkDuplicateLocation(s *subject) {
	unique := s.unique("the location", "merge the two, or change the path or host of one")
	for at, location := range elements(s.Tree, "spec", "locations") {
		key, _ := text(location, "path")
		if host, _ := text(location, "host"); host != "" {
			key += " of the host " + strings.ToLower(host)
		}
		unique(at, key)
	}
}

func checkDuplicateServer(s *subject) {
	for at, upstream := range elements(s.Tree, "spec", "upstreams") {
		unique := s.unique("the server", "remove one, and raise the weight of the other")
		for at, server := range elements(upstream, at, "servers") {
			port, _ := text(server, "port")
			if host, _ := text(server, "host"); host != "" {
				unique(at, strings.TrimSuffix(strings.ToLower(host)+":"+port, ":"))
			}
		}
	}
}
