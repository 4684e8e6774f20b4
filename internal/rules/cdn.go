package rules

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"

	"trueup/internal/canon"
	"trueup/internal/diag"
	"trueup/internal/kind"
	"trueup/internal/routing"
)

const shownNames = 5 // in a message

// checkLocationUnreachable reports each location that hides others once.
func checkLocationUnreachable(s *RuleSubject) {
	precedences := routing.PrecedencesOf(s.Options.Precedence)
	if !slices.Contains(precedences, routing.FirstInList) {
		return
	}
	for _, h := range routing.FindHidden(s.Tree) {
		hidden := diag.MapList(h.Locations, func(l *routing.Location) string { return l.Host + l.Path })
		name, list := h.By.Host+h.By.Path, diag.JoinFirst(hidden, shownNames)
		message := fmt.Sprintf("%s takes all requests of %s below it", name, list)
		fix := fmt.Sprintf("move %s below them", name)
		if len(precedences) > 1 {
			message += " if the first match wins; the platform does not document which match wins"
			fix += ": this order works whichever match wins"
		}
		s.report(kind.JoinField(kind.JoinIndex("spec.locations", h.By.Index), "path"), message, fix)
	}
}

func checkLocationPathOdd(s *RuleSubject) {
	for at, location := range s.eachMapping("locations[]") {
		path := canon.TextAt(location, "path")
		if path == "" {
			continue
		}
		odd := pathOddities(path)
		if !strings.HasPrefix(path, "/") {
			odd = append(odd, "no / at its start")
		}
		if strings.Contains(strings.TrimSuffix(path, "*"), "*") {
			odd = append(odd, "a * before its end")
		}
		if len(odd) > 0 {
			s.report(kind.JoinField(at, "path"), oddPathMessage(path, odd), "write the path as clients ask for it: / first, * only at the end, other characters encoded as %XX")
		}
	}
}

func checkCORSCredentials(s *RuleSubject) {
	for at, location := range s.eachMapping("locations[]") {
		cors := canon.Object(location["cors"])
		everyOrigin := slices.ContainsFunc(strings.Fields(strings.ReplaceAll(canon.TextAt(cors, "allowOrigins"), ",", " ")), func(origin string) bool {
			return origin == "*" || origin == "http://*" || origin == "https://*"
		})
		if everyOrigin && canon.TextAt(cors, "enabled") != "false" && canon.TextAt(cors, "allowCredentials") == "true" {
			s.report(at+".cors.allowOrigins", canon.TextAt(location, "path")+" allows credentials to pages of every origin",
				`name the origins that need credentials, or write allowCredentials: "false"`)
		}
	}
}

func checkTLSForcedOff(s *RuleSubject) {
	if tls := canon.Object(s.Tree["tls"]); canon.TextAt(tls, "enabled") == "false" && canon.TextAt(tls, "forced") == "true" {
		s.report("spec.tls.forced", "plain HTTP is redirected to TLS, and TLS is off", `write enabled: "true", or forced: "false"`)
	}
}

func checkTLSNotForced(s *RuleSubject) {
	tls := canon.Object(s.Tree["tls"])
	forced, written := tls["forced"].(string)
	const fix = `write forced: "true" below tls`
	switch enabled := canon.TextAt(tls, "enabled"); {
	case enabled == "false" || forced == "true":
	case written:
		s.report("spec.tls.forced", "plain HTTP is not redirected to TLS", fix)
	case enabled == "true":
		s.report("spec.tls.forced", "the manifest does not redirect plain HTTP to TLS", fix)
	}
}

func checkUpstreamUnknown(s *RuleSubject) {
	if _, listed := s.Tree["upstreams"].([]any); !listed {
		return
	}
	var known []string
	has := map[string]bool{}
	for _, upstream := range s.eachMapping("upstreams[]") {
		if name, ok := upstream["name"].(string); ok {
			known, has[name] = append(known, name), true
		}
	}
	for at, location := range s.eachMapping("locations[]") {
		name, ok := location["upstream"].(string)
		if !ok || has[name] || s.isFull() {
			continue
		}
		fix := diag.Suggest(name, known, "did you mean %q?", "add it to spec.upstreams, or use a name from there")
		s.report(kind.JoinField(at, "upstream"), fmt.Sprintf("spec.upstreams has no entry with the name %q", name), fix)
	}
}

func checkUpstreamUnused(s *RuleSubject) {
	if _, listed := s.Tree["locations"].([]any); !listed {
		return
	}
	used := map[string]bool{}
	for _, location := range s.eachMapping("locations[]") {
		used[canon.TextAt(location, "upstream")] = true
	}
	for at, upstream := range s.eachMapping("upstreams[]") {
		if name, ok := upstream["name"].(string); ok && !used[name] {
			s.report(kind.JoinField(at, "name"), fmt.Sprintf("no location uses the upstream %q", name),
				"remove it, or name it in a location")
		}
	}
}

// The places of rules and of their rate limits in the spec of a CDN.
const (
	firewallRules = "firewall.rules[]"
	ratelimits    = firewallRules + ".action.ratelimit"
)

func checkRatelimitOdd(s *RuleSubject) {
	for at, limit := range s.eachMapping(ratelimits) {
		for _, field := range []string{"rate", "period", "penalty_period"} {
			if value, ok := numberField(limit, field); ok && (value < 0 || value != math.Trunc(value)) {
				s.report(kind.JoinField(at, field), fmt.Sprintf("%s is %s: it must be a whole number, and not negative", field, diag.Shorten(fmt.Sprint(limit[field]))),
					"write a whole number without quotes, such as "+field+": 60")
			}
		}
	}
}

// sharedIdentifiers are the platform's constraints for which many visitors have the same value.
const sharedIdentifiers = " asn country host http_version method path tls uri "

// lowRate is the rate below which a few visitors can use up a shared limit, in requests per unit of the period.
const lowRate = 10

func checkRatelimitLocksOut(s *RuleSubject) {
	if canon.Object(s.Tree["firewall"])["enabled"] == false {
		return
	}
	for at, rule := range s.eachMapping(firewallRules) {
		limit := canon.Object(canon.At(rule, "action", "ratelimit"))
		rate, known := numberField(limit, "rate")
		if rule["enabled"] == false || !known || !matchesPeople(rule) {
			continue
		}
		at += ".action.ratelimit"
		identifier := canon.TextAt(limit, "identifier", "type")
		period, _ := numberField(limit, "period")
		switch {
		case rate == 0:
			s.report(at+".rate", "the rule allows no requests at all", "write a higher rate, or enabled: false")
		case strings.Contains(sharedIdentifiers, " "+identifier+" ") && period > 0 && rate/period < lowRate:
			s.report(at+".identifier.type",
				fmt.Sprintf("all visitors with the same %s share %v requests in %v", identifier, limit["rate"], limit["period"]),
				"count by ip, or allow more requests")
		}
	}
}

func numberField(parent map[string]any, field string) (float64, bool) {
	n, ok := parent[field].(json.Number)
	value, err := n.Float64()
	return value, ok && err == nil
}

// matchesPeople reports whether a rule matches all visitors, or all but known bots. A request matches
// if it fulfils all constraints of any group.
func matchesPeople(rule map[string]any) bool {
	groups, _ := rule["constraints"].([]any)
	return len(groups) == 0 || slices.ContainsFunc(groups, func(group any) bool {
		constraints, ok := group.([]any)
		return ok && !slices.ContainsFunc(constraints, func(c any) bool { return !excludesKnownBots(c) })
	})
}

// excludesKnownBots reports whether a constraint matches everybody but known bots.
func excludesKnownBots(constraint any) bool {
	m, _ := constraint.(map[string]any)
	test := canon.Object(m["known_bots"])
	return m["type"] == "known_bots" && test["expected"] == "false" && test["operator"] == "equals" && len(m) == 2 && len(test) == 2
}

func checkRuleUnnamed(s *RuleSubject) {
	for at, rule := range s.eachMapping(firewallRules) {
		if rule["name"] == nil || rule["name"] == "" {
			s.report(at, "this firewall rule has no name, so all rules of the list are compared by position", "add name: NAME")
		}
	}
}

func checkTypeSettings(s *RuleSubject) {
	types := s.Kind.Spec().Fields["firewall"].Fields["rules"].Item.Fields["action"].Fields["type"].Seen
	for at, rule := range s.eachMapping(firewallRules) {
		for at, constraint := range valuesAt[map[string]any](at, rule, "constraints[][]") {
			s.checkSettings(at, constraint, "constraint")
		}
		action := canon.Object(rule["action"])
		if name := canon.TextAt(action, "type"); slices.Contains(types, name) {
			s.checkSettings(at+".action", action, "action")
		}
	}
}

func (s *RuleSubject) checkSettings(at string, object map[string]any, noun string) {
	name := canon.TextAt(object, "type")
	if name == "" || hasSettings(object, name) {
		return
	}
	message := fmt.Sprintf("this %s is of the type %s and has no object %s", noun, diag.Quote(name), diag.Quote(name))
	fix := fmt.Sprintf("add %s: with its settings", name)
	others := slices.DeleteFunc(canon.SortedKeys(object), func(member string) bool { return canon.Object(object[member]) == nil })
	if len(others) == 1 {
		other := others[0]
		message += fmt.Sprintf(", but %s", diag.Quote(other))
		fix = fmt.Sprintf("rename %s to %s, or write type: %s", other, name, other)
	}
	s.report(kind.JoinField(at, "type"), message, fix)
}

// hasSettings reports whether an object has a member with the name of its type, or one that resembles
// it: that is another spelling, or misspelt-field reports it.
func hasSettings(object map[string]any, name string) bool {
	for member, v := range object {
		if v != nil && (member == name || diag.Corrections(member, []string{name}) != nil || diag.Corrections(name, []string{member}) != nil) {
			return true
		}
	}
	return false
}
