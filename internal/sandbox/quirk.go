package sandbox

import (
	"fmt"
	"slices"
	"strings"
)

// Quirk is one way in which a real server may differ from the simplest one.
type Quirk struct{ Name, Summary string }

// Quirks returns the table of all quirks.
func Quirks() []Quirk {
	return []Quirk{
		{"defaults", "missing fields get the server's default, also inside list elements; an array sent without such a member resets it"},
		{"typed-scalars", "answers numbers and booleans where text was sent: 443, true, 2"},
		{"status", "CDNs and purges are answered with a status"},
		{"normalises", "answers show hostnames in lower case, and edge TTLs with their unit: 3600s"},
		{"sorts-locations", "answers show locations sorted by path, in reverse"},
		{executesDuplicates, "a second purge of a name is accepted and executed"},
	}
}

const executesDuplicates = "executes-duplicates"

// quirkSet holds the names of the quirks that are on. It never changes.
type quirkSet map[string]bool

// SetQuirks turns on exactly these quirks. It changes nothing if a name is unknown.
func (s *Server) SetQuirks(names ...string) error {
	all, on := Quirks(), quirkSet{}
	for _, name := range names {
		if !slices.ContainsFunc(all, func(q Quirk) bool { return q.Name == name }) {
			return fmt.Errorf("quirk %q does not exist", name)
		}
		on[name] = true
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.on = on
	return nil
}

// applySpecQuirks applies to the spec of an answered CDN the quirks that change it.
func applySpecQuirks(spec map[string]any, on quirkSet) {
	if on["defaults"] {
		cdnFields().fillDefaults(spec, asText(spec["hostname"]))
	}
	if on["typed-scalars"] {
		cdnFields().toDocumentedType(spec)
	}
	locations := AsList(spec["locations"])
	if on["sorts-locations"] {
		slices.SortStableFunc(locations, func(a, b any) int {
			return strings.Compare(asText(AsMap(b)["path"]), asText(AsMap(a)["path"]))
		})
	}
	if on["normalises"] {
		spec["hostname"] = strings.ToLower(asText(spec["hostname"]))
		for _, v := range locations {
			if cache := AsMap(AsMap(v)["cache"]); cache["edgeTTL"] != nil {
				cache["edgeTTL"] = fmt.Sprint(cache["edgeTTL"], "s")
			}
		}
	}
}
