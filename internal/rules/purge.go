package rules

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"trueup/internal/canon"
	"trueup/internal/diag"
	"trueup/internal/kind"
	"trueup/internal/purge"
)

func checkPurgeSubdomain(s *RuleSubject) {
	host := canon.TextAt(s.Tree, "hostname")
	unique := s.newDuplicateCheck("the subdomain", "remove one of them")
	for at, sub := range valuesAt[string]("spec", s.Tree, "subdomains[]") {
		unique(at, strings.ToLower(sub))
		if problem, fix := subdomainProblem(strings.ToLower(sub), strings.ToLower(host)); problem != "" {
			s.report(at, fmt.Sprintf("the subdomain %q %s", sub, problem), fix)
		}
	}
}

func subdomainProblem(sub, host string) (problem, fix string) {
	switch {
	case sub == "":
		return "", ""
	case sub == host:
		return "is the hostname, which is purged anyway", "remove it"
	case host != "" && strings.HasSuffix(sub, "."+host):
		return "contains the hostname", "write " + strings.TrimSuffix(sub, "."+host)
	case host != "" && strings.Contains(sub, host):
		return "contains the hostname", "write only the part before it"
	case len(hostnameOddities(sub)) > 0 || hostnameProblem(sub) != "":
		if trimmed := strings.Trim(sub, "."); trimmed != sub {
			return "has a dot at its start or end", "write " + trimmed
		}
		if ascii := toASCII(sub); ascii != "" {
			return "is not the start of a hostname", "write " + ascii + ", which is this name in ASCII"
		}
		return "is not the start of a hostname", "write letters, digits and hyphens, such as www"
	}
	return "", ""
}

func checkPurgeNameGeneric(s *RuleSubject) {
	if isGeneric(s.Name) {
		s.report("metadata.name", fmt.Sprintf("the purge name %q is unlikely to be unique, and a name works only once", s.Name),
			"name the release, ticket or date, such as rel-42 or 20261121-logo")
	}
}

const genericWords = " purge cache clear clean flush invalidate refresh test tmp temp new my all everything now today" + genericNouns

const genericNouns = " cdn web site static release deploy latest hotfix fix update example sample request foo bar "

// isGeneric reports whether a name has only generic words and at most one digit.
func isGeneric(name string) bool {
	digits := 0
	for _, r := range name {
		if unicode.IsDigit(r) {
			digits++
		}
	}
	if digits > 1 {
		return false
	}
	for _, word := range strings.FieldsFunc(strings.ToLower(name), func(r rune) bool { return !unicode.IsLetter(r) }) {
		if len(word) > 1 && !strings.Contains(genericWords, " "+word+" ") {
			return false
		}
	}
	return true
}

func checkPurgeHostnameCase(all []CheckedObject, report reportOn) {
	first, exact := map[string]CheckedObject{}, map[string]bool{}
	for _, o := range all {
		if key := kind.HostKey(o.Hostname()); o.Hostname() != "" && o.Key().Kind == cdn {
			first[key], exact[o.Hostname()] = cmp.Or(first[key], o), true
		}
	}
	for _, o := range all {
		host := o.Hostname()
		if of := first[kind.HostKey(host)]; o.Key().Kind == purging && !exact[host] && of != nil {
			report(o, hostnameField,
				fmt.Sprintf("the hostname %s must equal that of %s, %s (%s)", host, of.Key(), of.Hostname(), of.At(hostnameField)),
				"write "+of.Hostname())
		}
	}
}

func checkPurgeLimits(s *RuleSubject) {
	spec, err := purge.ParseSpec(s.Tree)
	if err != nil {
		return // a type that the schema reports
	}
	usage := spec.Usage()
	if over := usage.Exceeds(purge.HostLimits()); over != nil {
		s.report("spec.paths", "the purge has "+strings.Join(over, " and "),
			fmt.Sprintf("split it into %d purges, a day apart, or use wider prefix paths", usage.CountParts(purge.HostLimits())))
	}
}

// checkPurgeLimitsSet reports the first purge with which a hostname exceeds its limits. It ignores purges
// that are too large alone, which purge-limits reports.
func checkPurgeLimitsSet(all []CheckedObject, report reportOn) {
	limits := purge.HostLimits()
	total := map[string]purge.Usage{}
	over := map[string]CheckedObject{}
	var hosts []string
	for _, o := range all {
		if o.Key().Kind != purging || o.Hostname() == "" {
			continue
		}
		spec, err := purge.ParseSpec(o.Tree())
		if err != nil || spec.Usage().Exceeds(limits) != nil {
			continue
		}
		host := kind.HostKey(o.Hostname())
		total[host] = total[host].Add(spec.Usage())
		if over[host] == nil && total[host].Exceeds(limits) != nil {
			over[host], hosts = o, append(hosts, host)
		}
	}
	for _, host := range hosts {
		report(over[host], "spec.paths", fmt.Sprintf("together, the purges of %s have %s",
			host, strings.Join(total[host].Exceeds(limits), " and ")), "remove those that were posted; apply defers what does not fit")
	}
}

func checkPurgePath(s *RuleSubject) {
	for at, path := range valuesAt[string]("spec", s.Tree, "paths[]") {
		err := purge.CheckPath(path)
		if err == nil || path == "" {
			continue
		}
		s.report(at, fmt.Sprintf("the path %q %v", path, err), suggestPathFix(path))
	}
}

// suggestPathFix suggests a valid path that purges at least what was meant, and says if it purges more.
func suggestPathFix(path string) string {
	if _, rest, found := strings.Cut(path, "://"); found {
		_, rest, _ = strings.Cut(rest, "/")
		path = rest
	}
	path = "/" + strings.TrimLeft(path, "/")
	before, after, found := strings.Cut(path, "*")
	switch {
	case !found:
		return "write " + path
	case strings.Trim(after, "*") == "":
		return "write " + before + "*"
	case before == "/":
		return "write each path: /* would purge the whole hostname"
	}
	return "write " + before + "*, which purges more, or write each path"
}

func checkPurgePathOdd(s *RuleSubject) {
	for at, path := range valuesAt[string]("spec", s.Tree, "paths[]") {
		if odd := pathOddities(path); len(odd) > 0 && purge.CheckPath(path) == nil {
			s.report(at, oddPathMessage(path, odd), "write the path as clients request it: without these, or encoded as %XX")
		}
	}
}

// checkPurgePathCovered reports each path that covers others once.
func checkPurgePathCovered(s *RuleSubject) {
	var paths, places []string
	for at, path := range valuesAt[string]("spec", s.Tree, "paths[]") {
		paths, places = append(paths, path), append(places, at)
	}
	covered := make([][]int, len(paths))
	for _, r := range purge.FindRedundant(paths) {
		covered[r.By] = append(covered[r.By], r.Index)
	}
	for by, indices := range covered {
		if len(indices) == 0 {
			continue
		}
		drop := diag.MapList(indices, func(n int) string { return paths[n] })
		list := diag.JoinFirst(drop, shownNames)
		message, fix := fmt.Sprintf("%s purges this too: %s", paths[by], list), "drop "+list
		if !slices.ContainsFunc(drop, func(path string) bool { return path != paths[by] }) {
			message, fix = paths[by]+" is listed more than once", "keep one of them"
		}
		s.report(places[indices[0]], message, fix)
	}
}
