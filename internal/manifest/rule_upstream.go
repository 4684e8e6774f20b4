package manifest

import (
	"fmt"
)

func checkUpstreamUnknown(s *subject) {
	if _, listed := s.Tree["upstreams"].([]any); !listed {
		return
	}
	var known []string
	has := map[string]bool{}
	for _, upstream := range elements(s.Tree, "spec", "upstreams") {
		if name, ok := text(upstream, "name"); ok {
			known, has[name] = append(known, name), true
		}
	}
	for at, location := range elements(s.Tree, "spec", "locations") {
		name, ok := text(location, "upstream")
		if !ok || has[name] || s.full() {
			continue
		}
		fix := "add it to spec.upstreams, or use a name from there"
		if meant := Nearest(name, known); meant != "" {
			fix = fmt.Sprintf("did you mean %q?", meant)
		}
		s.report(child(at, "upstream"), fmt.Sprintf("spec.upstreams has no entry with the name %q", name), fix)
	}
}

func checkUpstreamUnused(s *subject) {
	if _, listed := s.Tree["locations"].([]any); !listed {
		return
	}
	used := map[string]bool{}
	for _, location := range elements(s.Tree, "spec", "locations") {
		name, _ := text(location, "upstream")
		used[name] = true
	}
	for at, upstream := range elements(s.Tree, "spec", "upstreams") {
		if name, ok := text(upstream, "name"); ok && !used[name] {
			s.report(child(at, "name"), fmt.Sprintf("no location uses the upstream %q", name),
				"remove it, or name it in a location")
		}
	}
}
