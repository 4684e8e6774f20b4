package routing

import (
	"slices"
	"strings"

	"trueup/internal/diag"
)

// Precedence is a rule by which the platform may select one of several locations that match a request: it documents
// none. Of locations that are equal under a rule, the first in the list answers.
type Precedence uint8

// The precedences. LongestPath prefers the longest path, and then the longest host; LongestHost the other way round.
const (
	FirstInList Precedence = iota
	LongestPath
	LongestHost
)

// PrecedenceNames returns the names of the precedences in trueup.yaml.
func PrecedenceNames() []string { return []string{"first-in-list", "longest-path", "longest-host"} }

// PrecedencesOf returns the precedence of a name, or all.
func PrecedencesOf(name string) []Precedence {
	if at := slices.Index(PrecedenceNames(), name); at >= 0 {
		return []Precedence{Precedence(at)}
	}
	return []Precedence{FirstInList, LongestPath, LongestHost}
}

// String returns the rule in words.
func (p Precedence) String() string {
	return [...]string{"first in the list", "longest path", "longest host"}[p]
}

// Assumption is something that trueup takes for granted and that the platform does not document (docs/platform.md 11).
type Assumption uint8

// The assumptions; Nothing is none of them.
const (
	Nothing        Assumption = iota
	HostnameFirst             // a CDN's hostname goes before a host that a location of another CDN has
	ExactHostFirst            // a host that a location has goes before "*.NAME" of another CDN
	FirstClaimant             // of CDNs that have a host alike, the first by name answers
	Wildcards                 // the host *.NAME is for all hosts below NAME
	AnyHost                   // the host * is for all hosts
	AnyPath                   // the path * is for all paths
	Units                     // minute, hour and day are units of time
	ExactPathFirst            // of two paths of one length, the one without a star is longer
	OneCDN                    // one CDN answers a host, and the locations of others that have it play no part
	assumptions
)

// DescribeBroken says in words that the assumption does not hold.
func (a Assumption) DescribeBroken() string {
	return [...]string{
		"", "a location's host goes before a hostname", "*.NAME goes before a location's host", "another CDN with the same host answers",
		"*.NAME is no wildcard", "the host * is no wildcard", "the path * is no wildcard", "second is the only unit",
		"an exact path goes after one with a star", "all CDNs with the host compete",
	}[a]
}

// Interpretation is one way to read what the platform does not document: a precedence, and an assumption that does not hold.
type Interpretation struct {
	Precedence Precedence
	Without    Assumption
}

// String returns the reading in words.
func (r Interpretation) String() string {
	if r.Without == Nothing {
		return r.Precedence.String()
	}
	return r.Precedence.String() + ", and " + r.Without.DescribeBroken()
}

// joinConditions joins what describeReadings returns.
func joinConditions(when []string) string {
	if len(when) == 0 {
		return ""
	}
	return "if " + strings.Join(when, " or if ")
}

// describeReadings returns in words when each reading of a group is so. It leaves out a reading whose precedence is in the group
// too, and is empty if all precedences are: the group then has what is so unless another one has an exception.
func describeReadings(group []Interpretation, precedences int) (words []string) {
	isRepeated := func(r Interpretation) bool {
		return r.Without != Nothing && slices.Contains(group, Interpretation{Precedence: r.Precedence})
	}
	kept := slices.DeleteFunc(slices.Clone(group), isRepeated)
	for _, same := range diag.GroupBy(kept, func(r Interpretation) Assumption { return r.Without }) {
		without := same[0].Without
		names := diag.MapList(same, func(r Interpretation) string { return "the " + r.Precedence.String() })
		word := strings.Join(names, " or ") + " wins"
		switch {
		case len(same) == precedences && without == Nothing:
			return nil
		case len(same) == precedences:
			word = without.DescribeBroken()
		case without != Nothing:
			word += " and " + without.DescribeBroken()
		}
		words = append(words, word)
	}
	return words
}
