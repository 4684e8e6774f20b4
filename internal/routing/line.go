package routing

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"trueup/internal/diag"
	"trueup/internal/kind"
)

// RequestEffect is what a change does to requests.
type RequestEffect uint8

// The effects, the worst first. Unclear is what no document says.
const (
	Dark RequestEffect = iota
	OtherOrigin
	OtherRules
	OtherCaching
	First
	Unclear
	Same
)

func effectNames() []string {
	return []string{"dark", "origin", "rules", "caching", "first", "unclear", "same"}
}

// String returns the name of the effect.
func (e RequestEffect) String() string { return effectNames()[e] }

// MarshalText implements encoding.TextMarshaler.
func (e RequestEffect) MarshalText() ([]byte, error) { return []byte(e.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (e *RequestEffect) UnmarshalText(text []byte) error {
	at := slices.Index(effectNames(), string(text))
	if at < 0 {
		return fmt.Errorf("unknown effect on requests %.40q", text)
	}
	*e = RequestEffect(at)
	return nil
}

// RequestChange says what happens to requests. What it says is so for all requests of the hosts and paths, and for no others.
type RequestChange struct {
	Effect RequestEffect `json:"effect"`
	// Hosts are who is meant; none are hosts that no CDN names.
	Hosts []HostSet `json:"hosts,omitempty"`
	RequestPart
	// As is the hostname that was replaced by the one of the line, which is answered as that was, with Exceptions. Still
	// says that the old one is answered, too, by StillBy, and Nothing that no location matches the new one.
	As         string        `json:"as,omitempty"`
	Exceptions []RequestPart `json:"exceptions,omitempty"`
	Still      bool          `json:"still,omitempty"`
	StillBy    []string      `json:"stillBy,omitempty"`
	Nothing    bool          `json:"nothing,omitempty"`
	// Objects are the CDNs whose change does it.
	Objects []kind.Key `json:"objects"`
	// Drift says that before is git, and after is live.
	Drift bool `json:"drift,omitempty"`
}

// RequestPart is what happens to a part of the requests of some hosts.
type RequestPart struct {
	// Paths are all if there are none.
	Paths []PathSet `json:"paths,omitempty"`
	// Answers has one element, or several if it depends on what the platform does not document.
	Answers []ConditionalAnswer `json:"answers,omitempty"`
	// Unless has paths of locations that may answer the requests: no document says what such a path matches.
	Unless []string `json:"unless,omitempty"`
}

// HostSet is a name, or *.NAME for the hosts below it except some.
type HostSet struct {
	Name   string   `json:"name"`
	Except []string `json:"except,omitempty"`
}

// PathSet are those of a pattern that are outside other patterns; no pattern is every path.
type PathSet struct {
	Pattern string   `json:"pattern"`
	Outside []string `json:"outside,omitempty"`
}

// ConditionalAnswer is how requests are answered if one of the conditions When is met. Without a condition it is so unless that of
// another one is met. Before and After are the CDN, or nothing. For what nothing answered before, After is the origin.
type ConditionalAnswer struct {
	When        []string             `json:"when,omitempty"`
	Before      string               `json:"before"`
	After       string               `json:"after"`
	Differences []PropertyDifference `json:"differences,omitempty"`
	// Else says that there are other differences under each condition, which are lines of their own.
	Else   bool `json:"else,omitempty"`
	effect RequestEffect
}

// nothing is what has no answer.
const nothing = "nothing"

// describe says what happens to requests.
func (a ConditionalAnswer) describe(isDrift bool) string {
	changes, stops, starts := "changes", "no longer answered; before, ", "answered for the first time: "
	if isDrift {
		changes, stops, starts = "differs", "not answered live; in git, ", "answered only live: "
	}
	switch {
	case len(a.Differences) > 0:
		parts := make([]string, len(a.Differences))
		for i, d := range a.Differences {
			if !isDrift && d.After == DescribeValue(nil) && d.isServerDefault() {
				d.After = "the server's default"
			}
			parts[i] = d.String()
		}
		return strings.Join(parts, "; ")
	case a.Else:
		return "nothing else " + changes
	case a.After == a.Before:
		return "nothing " + changes
	case a.After == nothing:
		return stops + a.Before
	}
	return starts + a.After
}

// String says what happens to requests.
func (a ConditionalAnswer) String() string { return a.describe(false) }

func describeAnswers(answers []ConditionalAnswer, isDrift bool) string {
	if len(answers) == 1 {
		return answers[0].describe(isDrift)
	}
	texts := make([]string, len(answers))
	for i, a := range answers {
		if texts[i] = a.describe(isDrift); len(a.When) > 0 {
			texts[i] = joinConditions(a.When) + ", " + texts[i]
		}
	}
	return "depends on the platform: " + strings.Join(texts, "; ")
}

// describe says what happens to the requests, and names so many locations at most on which it depends.
func (p RequestPart) describe(isDrift bool, most int) string {
	text := describeAnswers(p.Answers, isDrift)
	if len(p.Unless) > 0 {
		text += ", unless " + diag.JoinFirst(p.Unless, most) + " matches, which no document says"
	}
	return text
}

// All is how many names of a list are shown if all are.
const All = 1 << 30

// String returns the line as a sentence.
func (l RequestChange) String() string { return l.Sentence(All) }

// Sentence returns the line as a sentence, with so many hosts, paths and exceptions at most.
func (l RequestChange) Sentence(most int) string {
	return l.DescribeRequests(most) + ": " + l.DescribeEffect(most)
}

// DescribeRequests names the requests.
func (l RequestChange) DescribeRequests(most int) string {
	if len(l.Hosts) > 0 {
		return nameRequests(l.Hosts, l.Paths, most)
	}
	names := diag.MapList(l.Objects, kind.Key.String)
	unnamed := HostSet{"hosts that nothing names, if any reach " + strings.Join(names, " and "), []string{}}
	return nameRequests([]HostSet{unnamed}, l.Paths, most)
}

// nameRequests names requests of hosts, with so many hosts and paths at most.
func nameRequests(hosts []HostSet, paths []PathSet, most int) string {
	names := make([]string, len(hosts))
	for i, h := range hosts {
		if names[i] = h.Name; len(h.Except) > 0 {
			names[i] += " (except " + diag.JoinFirst(h.Except, most) + ")"
		}
	}
	text, isSingle := diag.JoinFirst(names, most), len(hosts) == 1 && hosts[0].Except == nil && len(paths) == 1
	switch {
	case coverAllPaths(paths):
		return text
	case isSingle && paths[0].Pattern == "":
		return text + " outside " + diag.JoinFirst(paths[0].Outside, most)
	case isSingle:
		return text + paths[0].describe(most)
	}
	return describePaths(paths, most) + " (on " + text + ")"
}

func coverAllPaths(paths []PathSet) bool {
	return len(paths) == 0 || len(paths) == 1 && paths[0].Outside == nil && (paths[0].Pattern == "" || paths[0].Pattern == "/*")
}

func (p PathSet) describe(most int) string {
	if len(p.Outside) == 0 {
		return cmp.Or(p.Pattern, "every path")
	}
	return cmp.Or(p.Pattern, "paths") + " outside " + diag.JoinFirst(p.Outside, most)
}

// describePaths names paths. Those that are outside others stand apart.
func describePaths(paths []PathSet, most int) string {
	if coverAllPaths(paths) {
		return "every path"
	}
	var whole, parts []string
	for _, p := range paths {
		if len(p.Outside) == 0 {
			whole = append(whole, p.describe(most))
		} else {
			parts = append(parts, p.describe(most))
		}
	}
	if more := len(parts) - most; more > 0 {
		parts = append(parts[:most], fmt.Sprintf("%d more", more))
	}
	if len(whole) > 0 {
		parts = slices.Insert(parts, 0, diag.JoinFirst(whole, most))
	}
	return strings.Join(parts, ", and ")
}

// DescribeEffect says what happens to the requests.
func (l RequestChange) DescribeEffect(most int) string {
	switch {
	case l.As != "":
		return l.describeRename(most)
	case len(l.Answers) == 0:
		return "no document says which requests such a path matches, so their answer may change"
	}
	return l.describe(l.Drift, most)
}

func (l RequestChange) describeRename(most int) string {
	text, exceptions := "answered as "+l.As+" was", l.Exceptions
	if l.Nothing {
		text, exceptions = "not answered: no location matches; it replaces "+l.As, nil
	}
	var everywhere, except []string
	for _, p := range exceptions {
		says := strings.ReplaceAll(p.describe(false, most), "for the first time", "only now")
		if coverAllPaths(p.Paths) {
			everywhere = append(everywhere, "a difference: "+says)
		} else {
			except = append(except, describePaths(p.Paths, most)+": "+says)
		}
	}
	if everywhere != nil {
		text += ", with " + strings.Join(everywhere, "; and ")
	}
	if except != nil {
		text += ", except " + strings.Join(except, "; and ")
	}
	if l.Still {
		text += ". " + l.As + " is still answered, by " + diag.JoinFirst(l.StillBy, most)
	}
	return text
}

// findCertain returns the differences of a line that depend on nothing.
func (l RequestChange) findCertain() (all []PropertyDifference) {
	for _, p := range append([]RequestPart{l.RequestPart}, l.Exceptions...) {
		if len(p.Answers) == 1 {
			all = append(all, p.Answers[0].Differences...)
		}
	}
	return all
}

// MergeLines sorts lines, the worst first, and makes one of those that say the same of other hosts: of the same objects, or
// of any.
func MergeLines(lines []RequestChange, ofAnyObject bool) (out []RequestChange) {
	whatIsSaid := func(l RequestChange) string {
		id := l.Effect.String() + describePaths(l.Paths, All) + l.DescribeEffect(All)
		if !ofAnyObject {
			id += fmt.Sprint(l.Objects)
		}
		return id
	}
	for _, same := range diag.GroupBy(lines, whatIsSaid) {
		all, causes := same[0], map[kind.Key]bool{}
		all.Hosts, all.Objects = nil, nil
		for _, l := range same {
			all.Hosts = append(all.Hosts, l.Hosts...)
			for _, key := range l.Objects {
				if !causes[key] {
					causes[key], all.Objects = true, append(all.Objects, key)
				}
			}
		}
		all.dropRepeatedHosts()
		out = append(out, all)
	}
	slices.SortStableFunc(out, func(a, b RequestChange) int { return int(a.Effect) - int(b.Effect) })
	return out
}

// dropRepeatedHosts removes exceptions from hosts that the line names, too.
func (l *RequestChange) dropRepeatedHosts() {
	named := map[string]bool{}
	for _, h := range l.Hosts {
		named[h.Name] = true
	}
	for i := range l.Hosts {
		except := slices.DeleteFunc(slices.Clone(l.Hosts[i].Except), func(name string) bool { return named[name] })
		if l.Hosts[i].Except = except; len(except) == 0 {
			l.Hosts[i].Except = nil
		}
	}
}
