package report

import (
	"cmp"
	"slices"

	"trueup/internal/accesslog"
	"trueup/internal/diag"
	"trueup/internal/plan"
	"trueup/internal/route"
	"trueup/internal/safetext"
)

// A brief plan lists the first classes of requests that an object answers in another way. A line names the
// first hosts and exceptions of a class, and so many columns of what differs.
const (
	maxClasses    = 5
	maxExceptions = 3
	maxChange     = 400
)

// answerNotes says what a change does to requests.
func answerNotes(item plan.Item, opts Options) []note {
	a := cmp.Or(item.Answers, &plan.Answers{})
	lines := safetext.Filled(requestsHead(item))
	all, rest := alikes(a.Groups), a.More
	if opts.Brief && len(all) > maxClasses+1 {
		for _, g := range slices.Concat(all[maxClasses:]...) {
			rest += max(1, len(g.Hosts))
		}
		all = all[:maxClasses]
	}
	plain := !slices.ContainsFunc(a.Groups, func(g plan.RequestGroup) bool { return !slices.Equal(g.Hosts, []string{a.Hostname}) })
	for _, groups := range all {
		hosts := groups[0].Hosts
		if plain { // no other host changes
			hosts = nil
		}
		lines = append(lines, answerLine(groups, hosts, item))
	}
	if rest > a.More {
		lines = append(lines, safetext.F("and %s; -v lists them", classCount(rest)))
	} else {
		lines = append(lines, unlisted(rest)...)
	}
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
	says := safetext.Filled(headOf(item), weightOf(item.Traffic))
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
		parts = append(parts, safetext.F("%s for all", differences(a.Site)))
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

// weightOf says what happens to the logged requests of an object.
func weightOf(w *plan.Weight) safe {
	if w == nil {
		return safe{}
	}
	return clean(w.Words())
}

// shareOf gives the share of a class in the requests of logs, and its most requested addresses.
func shareOf(g plan.RequestGroup, all *plan.Weight) safe {
	if g.Traffic == nil || all == nil {
		return safe{}
	}
	share := safetext.F("%s of the requests", clean(accesslog.Share(g.Traffic.Requests, all.Requests)))
	if len(g.Traffic.Addresses) == 0 {
		return share
	}
	return safetext.F("%s, top addresses: %s", share, clean(addressesOf(*g.Traffic)).Cut(2*maxPath))
}

func classCount(n int) safe { return clean(diag.Plural(n, "class", "classes")) }

// alikes joins the classes of the same hosts that are no longer served, or served for the first time.
func alikes(groups []plan.RequestGroup) (all [][]plan.RequestGroup) {
	for _, g := range groups {
		if n := len(all); n > 0 && g.Effect != plan.Answered && !g.Elsewhere && g.Unless == nil && g.Traffic == nil {
			if last := all[n-1][0]; last.Effect == g.Effect && !last.Elsewhere && last.Unless == nil && slices.Equal(last.Hosts, g.Hosts) {
				all[n-1] = append(all[n-1], g)
				continue
			}
		}
		all = append(all, []plan.RequestGroup{g})
	}
	return all
}

// answerLine says what happens to the requests of classes that are alike.
func answerLine(groups []plan.RequestGroup, hosts []string, item plan.Item) safe {
	g := groups[0]
	if g.Apart && g.Effect == plan.Unserved && g.Traffic == nil {
		return safetext.F("all of %s: %s", firstOf(g.Hosts), effectWords(g.Effect, item))
	}
	if len(groups) == 1 {
		effect := safetext.Join(safetext.Filled(effectOn(g, item), shareOf(g, item.Traffic)), "; ")
		return safetext.F("%s: %s", requestsOf(g, hosts), effect)
	}
	var patterns []string
	for _, g := range groups {
		patterns = append(patterns, g.Pattern)
	}
	return safetext.F("%s: %s", ofHosts(firstOf(patterns), hosts), effectWords(g.Effect, item))
}

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
	return ofHosts(clean(cmp.Or(g.Pattern, "everything else")).Cut(maxPath), hosts)
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
		texts[i] = safetext.F("if the %s wins, %s", safetext.Join(said[text], " or the "), text)
	}
	return safetext.F("depends on the platform: %s", safetext.Join(texts, "; "))
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
		return differences(a.Differences)
	case item.Happened:
		return clean("nothing differs")
	}
	return clean("nothing changes")
}

// differences says what differs, with values that are short.
func differences(list []route.Difference) safe {
	texts := make([]safe, len(list))
	for i, d := range list {
		texts[i] = clean(d.String()).Cut(maxChange)
	}
	return limited(texts, "; ")
}
