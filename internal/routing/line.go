package routing

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"trueup/internal/kind"
)

// Effect is what a change does to requests.
type Effect uint8

// The effects, the worst first. Unclear is what no document says.
const (
	Dark Effect = iota
	OtherOrigin
	OtherRules
	OtherCaching
	First
	Unclear
	Same
)

// String returns the name of the effect.
func (e Effect) String() string {
	return [...]string{"dark", "origin", "rules", "caching", "first", "unclear", "same"}[e]
}

// MarshalText implements encoding.TextMarshaler.
func (e Effect) MarshalText() ([]byte, error) { return []byte(e.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (e *Effect) UnmarshalText(text []byte) error {
	for is := range Same + 1 {
		if is.String() == string(text) {
			*e = is
			return nil
		}
	}
	return fmt.Errorf("unknown effect on requests %.40q", text)
}

// Line says what happens to requests. What it says is so for all requests of the hosts and paths, and for no others.
type Line struct {
	Effect Effect `json:"effect"`
	// Hosts are who is meant; none are hosts that no CDN names. Paths are all if there are none.
	Hosts []Host  `json:"hosts,omitempty"`
	Paths []Paths `json:"paths,omitempty"`
	// Answers has one element, or several if it depends on what the platform does not document.
	Answers []Alternative `json:"answers,omitempty"`
	// Unless has paths of locations that may answer the requests: no document says what such a path matches.
	Unless []string `json:"unless,omitempty"`
	// As is the hostname that was replaced by the one of the line, which is answered as that was, with Exceptions. Still
	// says that the old one is answered, too, and Nothing that no location matches the new one.
	As         string      `json:"as,omitempty"`
	Exceptions []Exception `json:"exceptions,omitempty"`
	Still      bool        `json:"still,omitempty"`
	Nothing    bool        `json:"nothing,omitempty"`
	// IgnoringCase says that Exceptions hold instead of the other lines of the hosts if the case of paths plays no part.
	IgnoringCase bool `json:"ignoringCase,omitempty"`
	// Objects are the CDNs whose change does it.
	Objects []kind.Key `json:"objects"`
	// Drift says that before is git, and after is live.
	Drift bool `json:"drift,omitempty"`
}

// Host is a name, or *.NAME for the hosts below it except some.
type Host struct {
	Name   string   `json:"name"`
	Except []string `json:"except,omitempty"`
}

// Paths are those of a pattern that are outside other patterns; no pattern is every path.
type Paths struct {
	Pattern string   `json:"pattern"`
	Outside []string `json:"outside,omitempty"`
}

// Exception is what is answered otherwise than the rest.
type Exception struct {
	Paths   []Paths       `json:"paths"`
	Answers []Alternative `json:"answers"`
	Unless  []string      `json:"unless,omitempty"`
}

// Alternative is how requests are answered before and after, if one of the conditions When is met. Without a condition it
// is so unless that of another one is met.
type Alternative struct {
	When        []string     `json:"when,omitempty"`
	Before      string       `json:"before"`
	After       string       `json:"after"`
	Differences []Difference `json:"differences,omitempty"`
	// Else says that there are other differences under each condition, which are lines of their own.
	Else   bool `json:"else,omitempty"`
	effect Effect
}

// by returns an alternative whose answers are those of a CDN.
func (a Alternative) by(c *CDN) Alternative {
	if a.effect == Dark {
		a.Before = c.String()
	} else {
		a.After = c.String()
	}
	return a
}

// nothing is what has no answer.
const nothing = "nothing"

// words says what happens to requests.
func (a Alternative) words(isDrift bool) string {
	texts := [...]string{"changes", "no longer answered; before, ", "answered for the first time: "}
	if isDrift {
		texts = [...]string{"differs", "not answered live; in git, ", "answered only live: "}
	}
	switch {
	case len(a.Differences) > 0:
		parts := make([]string, len(a.Differences))
		for i, d := range a.Differences {
			parts[i] = d.String()
		}
		return strings.Join(parts, "; ")
	case a.Else:
		return "nothing else " + texts[0]
	case a.After == a.Before:
		return "nothing " + texts[0]
	case a.After == nothing:
		return texts[1] + a.Before
	}
	return texts[2] + a.After
}

// String says what happens to requests.
func (a Alternative) String() string { return a.words(false) }

func answersText(answers []Alternative, isDrift bool) string {
	if len(answers) == 1 {
		return answers[0].words(isDrift)
	}
	texts := make([]string, len(answers))
	for i, a := range answers {
		if texts[i] = a.words(isDrift); len(a.When) > 0 {
			texts[i] = "if " + strings.Join(a.When, " or if ") + ", " + texts[i]
		}
	}
	return "depends on the platform: " + strings.Join(texts, "; ")
}

// All is how many names of a list are shown if all are.
const All = 1 << 30

// String returns the line as a sentence.
func (l Line) String() string { return l.Sentence(All) }

// Sentence returns the line as a sentence, with so many hosts, paths and exceptions at most.
func (l Line) Sentence(most int) string { return l.Who(most) + ": " + l.What(most) }

// Who names the requests.
func (l Line) Who(most int) string {
	hosts := hostsText(l.Hosts, most)
	if len(l.Hosts) == 0 {
		hosts = "hosts that nothing names, if any reach " + keysText(l.Objects)
	}
	return requestsText(hosts, len(l.Hosts) == 1 && l.Hosts[0].Except == nil, l.Paths, most)
}

func keysText(keys []kind.Key) string {
	names := make([]string, len(keys))
	for i, key := range keys {
		names[i] = key.String()
	}
	return strings.Join(names, " and ")
}

// requestsText names requests of hosts; isSingle says that hosts are one name.
func requestsText(hosts string, isSingle bool, paths []Paths, most int) string {
	switch {
	case isEvery(paths):
		return hosts
	case isSingle && len(paths) == 1:
		if paths[0].Pattern == "" {
			return hosts + " outside " + limited(paths[0].Outside, most)
		}
		return hosts + paths[0].text(most)
	}
	return pathsText(paths, most) + " (on " + hosts + ")"
}

func isEvery(paths []Paths) bool {
	if len(paths) != 1 || paths[0].Outside != nil {
		return len(paths) == 0
	}
	return paths[0].Pattern == "" || paths[0].Pattern == "/*"
}

func (p Paths) text(most int) string {
	pattern := cmp.Or(p.Pattern, "every path")
	if len(p.Outside) == 0 {
		return pattern
	}
	return pattern + " outside " + limited(p.Outside, most)
}

// pathsText names paths. Those with exceptions stand apart.
func pathsText(paths []Paths, most int) string {
	if isEvery(paths) {
		return "every path"
	}
	var whole []string
	parts := []string{""}
	for _, p := range paths {
		if len(p.Outside) == 0 {
			whole = append(whole, p.text(most))
		} else {
			parts = append(parts, p.text(most))
		}
	}
	if len(parts) > most+1 {
		parts = append(parts[:most+1], fmt.Sprintf("%d more", len(parts)-1-most))
	}
	if len(whole) == 0 {
		parts = parts[1:]
	} else {
		parts[0] = limited(whole, most)
	}
	return strings.Join(parts, ", and ")
}

func hostsText(hosts []Host, most int) string {
	names := make([]string, len(hosts))
	for i, h := range hosts {
		if names[i] = h.Name; len(h.Except) > 0 {
			names[i] += " (except " + limited(h.Except, most) + ")"
		}
	}
	return limited(names, most)
}

// limited lists the first names, and counts the others.
func limited(names []string, most int) string {
	if more := len(names) - most; more > 1 {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), more)
	}
	return strings.Join(names, ", ")
}

// What says what happens to the requests.
func (l Line) What(most int) string {
	switch {
	case l.As != "":
		return l.renameText(most)
	case l.IgnoringCase && len(l.Exceptions) == 0:
		return "if paths ignore case, nothing changes"
	case l.IgnoringCase:
		return "if paths ignore case, only this changes: " + exceptionsText(l.Exceptions, most)
	case len(l.Answers) == 0:
		return "no document says which requests such a path matches, so their answer may change"
	}
	return answersText(l.Answers, l.Drift) + unlessText(l.Unless, most)
}

func unlessText(paths []string, most int) string {
	if len(paths) == 0 {
		return ""
	}
	return ", unless " + limited(paths, most) + " matches, which no document says"
}

func (l Line) renameText(most int) string {
	text := "answered as " + l.As + " was"
	switch {
	case l.Nothing:
		text = "not answered: no location matches; it replaces " + l.As
	case len(l.Exceptions) > 0:
		text += ", except " + strings.ReplaceAll(exceptionsText(l.Exceptions, most), "for the first time", "only now")
	}
	if l.Still {
		text += "; " + l.As + " is still answered: a location names it"
	}
	return text
}

func exceptionsText(list []Exception, most int) string {
	parts := make([]string, len(list))
	for i, x := range list {
		parts[i] = pathsText(x.Paths, most) + ": " + answersText(x.Answers, false) + unlessText(x.Unless, most)
	}
	return strings.Join(parts, "; and ")
}

// lineSet collects lines. It makes one of lines that differ in their hosts alone.
type lineSet struct {
	lines []*Line
	known map[string]*Line
	// told has what lines say of an object.
	told map[string]bool
}

func (s *lineSet) add(l Line) {
	if s.known == nil {
		s.known, s.told = map[string]*Line{}, map[string]bool{}
	}
	for _, key := range l.Objects {
		s.told[key.String()+" "+l.What(All)] = true
		for _, d := range l.certain() {
			s.told[key.String()+" "+d.String()] = true
		}
	}
	id := fmt.Sprint(l.Effect, l.Paths, l.What(All), l.As, l.Objects, len(l.Hosts))
	if same := s.known[id]; same != nil && l.As == "" {
		same.Hosts = append(same.Hosts, l.Hosts...)
		return
	}
	s.lines, s.known[id] = append(s.lines, &l), &l
}

// certain returns the differences of a line that depend on nothing.
func (l Line) certain() (all []Difference) {
	if len(l.Answers) == 1 {
		all = l.Answers[0].Differences
	}
	for _, x := range l.Exceptions {
		all = append(slices.Clip(all), Line{Answers: x.Answers}.certain()...)
	}
	return all
}

// says reports whether lines say the same of other requests for the object.
func (s *lineSet) says(l Line) bool {
	object, differences := l.Objects[0].String()+" ", l.certain()
	isNew := func(d Difference) bool { return !s.told[object+d.String()] }
	return s.told[object+l.What(All)] || len(differences) > 0 && !slices.ContainsFunc(differences, isNew)
}

// sorted returns the lines, the worst first.
func (s *lineSet) sorted() []Line {
	out := make([]Line, len(s.lines))
	for i, l := range s.lines {
		l.Hosts = tidied(l.Hosts)
		out[i] = *l
	}
	Sort(out)
	return out
}

// Sort sorts lines by their effect.
func Sort(lines []Line) {
	slices.SortStableFunc(lines, func(a, b Line) int { return int(a.Effect) - int(b.Effect) })
}

// tidied returns hosts, of which none is an exception from another one.
func tidied(hosts []Host) []Host {
	named := map[string]bool{}
	for _, h := range hosts {
		named[h.Name] = true
	}
	for i, h := range hosts {
		except := slices.DeleteFunc(slices.Clone(h.Except), func(name string) bool { return named[name] })
		hosts[i].Except = except
		if len(except) == 0 {
			hosts[i].Except = nil
		}
	}
	return hosts
}
