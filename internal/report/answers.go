package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"trueup/internal/diag"
	"trueup/internal/plan"
	"trueup/internal/route"
	"trueup/internal/safetext"
)

// A brief plan lists the first changes of requests. A line names the first hosts and exceptions of a class, and has
// so many columns of what differs.
const (
	maxEvents     = 5
	maxExceptions = 3
	maxChange     = 400
)

// answerNotes says what a change does to requests.
func answerNotes(item plan.Item, opts Options) []note {
	a := cmp.Or(item.Answers, &plan.Answers{})
	lines := safetext.Filled(requestsHead(item))
	all, more := eventsOf(a.Groups, item), 0
	if opts.Brief && len(all) > maxEvents+1 {
		all, more = all[:maxEvents], len(all)-maxEvents
	}
	plain := !slices.ContainsFunc(a.Groups, func(g plan.RequestGroup) bool { return !slices.Equal(g.Hosts, []string{a.Hostname}) })
	for _, e := range all {
		hosts := e.groups[0].Hosts
		if plain { // no other host changes
			hosts = nil
		}
		lines = append(lines, e.line(hosts, item, opts))
	}
	if more > 0 {
		lines = append(lines, safetext.F("and %d more changes; -v lists them", more))
	}
	lines = append(lines, unlisted(a.More)...)
	lines = append(lines, unclear(a)...)
	notes := make([]note, len(lines))
	for i, line := range lines {
		notes[i].Text = safetext.F("%s%s", safetext.Spaces(2*oneIf(i > 0)), line)
	}
	return notes
}

func unlisted(n int) []safe {
	if n == 0 {
		return nil
	}
	return []safe{safetext.F("and %s, too many to list", classCount(n))}
}

func unclear(a *plan.Answers) []safe {
	if len(a.Unclear) == 0 {
		return nil
	}
	return []safe{safetext.F("unclear: which requests match %s", limited(cleanAll(a.Unclear), ", "))}
}

// requestsHead says what a change does to the requests for an object, or nothing if that is unknown.
func requestsHead(item plan.Item) safe {
	says := safetext.Filled(headOf(item))
	if len(says) == 0 {
		return safe{}
	}
	return safetext.F("requests: %s", safetext.Join(says, "; "))
}

// headOf counts the classes that change, and says what does for all requests.
func headOf(item plan.Item) safe {
	a := item.Answers
	if a == nil {
		return safe{}
	}
	var parts []safe
	if a.Changed+len(a.Unclear) > 0 {
		parts = append(parts, countOf(item))
	}
	if len(a.Site) > 0 {
		parts = append(parts, safetext.F("%s for all", limited(differences(a.Site), "; ")))
	}
	if parts == nil {
		return clean("none is answered in another way")
	}
	return safetext.Join(parts, ", and ")
}

func countOf(item plan.Item) safe {
	a := item.Answers
	switch {
	case item.Happened:
		return safetext.F("live answers %d of %s otherwise than git", a.Changed, classCount(a.Classes))
	case item.Op == plan.Create:
		verb, when := [...]string{"are", "is"}[oneIf(a.Changed == 1)], [...]string{"for the first time", "again"}[oneIf(item.Deleted || item.Recreate)]
		return safetext.F("%s %s served %s", classCount(a.Changed), verb, when)
	}
	return safetext.F("%d of %s %s", a.Changed, classCount(a.Classes), [...]string{"change", "changes"}[oneIf(a.Changed == 1)])
}

func classCount(n int) safe { return clean(diag.Plural(n, "class", "classes")) }

// event is what happens to classes of the same hosts.
type event struct {
	groups  []plan.RequestGroup
	effects []safe
}

// eventsOf returns what happens to classes. What several of the same hosts have in common is one event.
func eventsOf(groups []plan.RequestGroup, item plan.Item) (events []*event) {
	type effect struct {
		text  safe
		hosts string
	}
	var effects []effect
	classes, known := map[effect][]int{}, map[string]*event{}
	for i, g := range groups {
		hosts := strings.Join(g.Hosts, " ")
		if g.Elsewhere || g.Unless != nil {
			hosts = fmt.Sprint("class ", i) // its line says more
		}
		for _, text := range effectsOn(g, item) {
			e := effect{text, hosts}
			if classes[e] == nil {
				effects = append(effects, e)
			}
			classes[e] = append(classes[e], i)
		}
	}
	for _, e := range effects {
		id := fmt.Sprint(classes[e])
		if known[id] == nil {
			known[id] = &event{}
			for _, i := range classes[e] {
				known[id].groups = append(known[id].groups, groups[i])
			}
			events = append(events, known[id])
		}
		known[id].effects = append(known[id].effects, e.text)
	}
	return events
}

// effectsOn returns what happens to a class and may happen to others: each difference for itself, if it is certain.
func effectsOn(g plan.RequestGroup, item plan.Item) []safe {
	switch {
	case g.Effect != plan.Answered:
		return []safe{effectWords(g.Effect, item)}
	case len(g.Answers) > 1:
		return []safe{effectOn(g, item)}
	}
	return differences(g.Answers[0].Differences)
}

// line says what happens to the requests of the classes.
func (e event) line(hosts []string, item plan.Item, opts Options) safe {
	g, effect := e.groups[0], limited(e.effects, "; ")
	switch {
	case g.Apart && g.Effect == plan.Unserved:
		return safetext.F("all of %s: %s", firstOf(g.Hosts), effect)
	case len(e.groups) > 1:
		return safetext.F("%s: %s", allOf(e.groups, hosts, opts), effect)
	case g.Effect != plan.Answered:
		effect = effectOn(g, item)
	}
	return safetext.F("%s: %s", requestsOf(g, hosts), effect)
}

// allOf names several classes, and the patterns below them that are not among them.
func allOf(groups []plan.RequestGroup, hosts []string, opts Options) safe {
	var patterns, except []string
	named := map[string]bool{}
	for _, g := range groups {
		patterns, named[g.Pattern] = append(patterns, cmp.Or(g.Pattern, everythingElse)), true
	}
	for _, g := range groups {
		for _, pattern := range g.Except {
			if g.Pattern != "" && !named[pattern] {
				except = append(except, pattern)
			}
		}
	}
	list := firstOf
	if !opts.Brief {
		list = func(names []string) safe { return safetext.Join(cleanAll(names), ", ") }
	}
	names := ofHosts(list(patterns), hosts)
	if except == nil {
		return names
	}
	return safetext.F("%s except %s", names, list(except))
}

// everythingElse is what no location matches.
const everythingElse = "everything else"

// requestsOf names a class: its hosts, its pattern without the exceptions, and an example if it has any.
func requestsOf(g plan.RequestGroup, hosts []string) safe {
	return safetext.Join(safetext.Filled(className(g, hosts), exceptions(g)), " ")
}

func className(g plan.RequestGroup, hosts []string) safe {
	if g.Elsewhere {
		return safetext.F("for other hosts, %s", clean(g.Pattern).Cut(maxPath))
	}
	if len(hosts) == 1 {
		return safetext.F("%s%s", clean(hosts[0]).Cut(maxName), clean(g.Pattern).Cut(maxPath))
	}
	return ofHosts(clean(cmp.Or(g.Pattern, everythingElse)).Cut(maxPath), hosts)
}

func exceptions(g plan.RequestGroup) safe {
	if len(g.Except) == 0 || g.Pattern == "" {
		return safe{}
	}
	return safetext.F("except %s, such as %s", firstOf(g.Except), clean(g.Example).Cut(maxPath))
}

func ofHosts(patterns safe, hosts []string) safe {
	if len(hosts) == 0 {
		return patterns
	}
	return safetext.F("%s of %s", patterns, firstOf(hosts))
}

func firstOf(names []string) safe {
	shown := safetext.Join(cleanAll(names[:min(len(names), maxExceptions)]), ", ")
	if more := len(names) - maxExceptions; more > 0 {
		return safetext.F("%s and %d more", shown, more)
	}
	return shown
}

// effectOn says what happens to a class, for each reading if they differ.
func effectOn(g plan.RequestGroup, item plan.Item) safe {
	var texts []safe
	said := map[safe][]safe{}
	for _, answer := range g.Answers {
		text := change(g, answer, item)
		if said[text] == nil {
			texts = append(texts, text)
		}
		said[text] = append(said[text], messages(answer.Readings)...)
	}
	if len(texts) == 1 {
		return texts[0]
	}
	for i, text := range texts {
		texts[i] = safetext.F("%s, %s", ifWins(said[text]), text)
	}
	return safetext.F("depends on the platform: %s", safetext.Join(texts, "; "))
}

// ifWins names the rules under which something is so.
func ifWins(readings []safe) safe {
	return safetext.F("if the %s wins", safetext.Join(readings, " or the "))
}

// tableOfEffects has the words of a plan, and of drift, which goes from git to live.
var tableOfEffects = map[plan.AnswerEffect][2]safe{
	plan.Unserved:    {clean("no longer served"), clean("not served live")},
	plan.ServedFirst: {clean("served for the first time"), clean("served only live")},
	plan.Answered:    {clean("changes"), clean("differs")},
	plan.AsBefore:    {clean("as before"), clean("as in git")},
}

func effectWords(effect plan.AnswerEffect, item plan.Item) safe {
	words := tableOfEffects[effect][oneIf(item.Happened)]
	if effect == plan.AsBefore && len(item.Answers.Site) > 0 {
		return safetext.F("otherwise %s", words)
	}
	return words
}

func change(g plan.RequestGroup, a plan.Answer, item plan.Item) safe {
	words, before, after := effectWords(g.Effect, item), clean(a.Before).Cut(maxPath), clean(a.After).Cut(maxPath)
	if g.Unless != nil {
		words = safetext.F("%s, unless %s matches", words, firstOf(g.Unless))
	}
	switch {
	case g.Effect == plan.Unserved && item.Happened:
		return safetext.F("%s; in git, %s", words, before)
	case g.Effect == plan.Unserved:
		return safetext.F("%s; before, %s", words, before)
	case g.Effect == plan.ServedFirst:
		return safetext.F("%s: %s", words, after)
	case len(a.Differences) > 0:
		return limited(differences(a.Differences), "; ")
	case item.Happened:
		return clean("nothing differs")
	}
	return clean("nothing changes")
}

// differences says what differs.
func differences(list []route.Difference) []safe {
	texts := make([]safe, len(list))
	for i, d := range list {
		texts[i] = clean(d.String()).Cut(maxChange)
	}
	return texts
}
