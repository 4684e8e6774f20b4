package report

import (
	"slices"

	"trueup/internal/plan"
	"trueup/internal/safetext"
)

// htmlMap has the classes of requests of a hostname. Class names the sides, as in htmlDiff.
type htmlMap struct {
	Head   safe
	Tables []htmlClasses
	// Rest says what the tables do not have.
	Rest []safe
}

// htmlClasses are classes that change, or that stay as they are.
type htmlClasses struct {
	Class         string
	Caption, Head safe
	Open          bool
	Rows          []htmlClass
}

// htmlClass is a class of requests, and how it is answered.
type htmlClass struct {
	Mark                         mark
	Name, Except, Effect safe
	Answers []htmlAnswer
}

// htmlAnswer is what the sides have, under a reading or under all.
type htmlAnswer struct {
	If            safe
	Before, After []safe
}

// maxOpen is how many classes that stay as they are the page shows unfolded.
const maxOpen = 8

// mapOf returns nil if the plan says nothing of the requests for an object.
func mapOf(item plan.Item, class string) *htmlMap {
	a := item.Answers
	if a == nil {
		return nil
	}
	tables := []htmlClasses{
		{Class: class, Caption: safetext.F("Requests of %s that change", titled(item.Key)), Rows: classViews(a.Groups, item)},
		{
			Class: class, Caption: safetext.F("Other requests of %s", titled(item.Key)), Rows: classViews(a.Unchanged, item),
			Head: safetext.F("%s %s", classCount(a.Classes-a.Changed), effectWords(plan.AsBefore, item)), Open: len(a.Unchanged) <= maxOpen,
		},
	}
	return &htmlMap{
		Head: requestsHead(item), Rest: slices.Concat(unlisted(a.More), unclear(a), asBefore(item)),
		Tables: slices.DeleteFunc(tables, func(t htmlClasses) bool { return t.Rows == nil }),
	}
}

// asBefore counts the classes that stay as they are, if the plan does not list them, and says how to see them.
func asBefore(item plan.Item) []safe {
	a := item.Answers
	if a.Unchanged != nil || a.Classes == a.Changed {
		return nil
	}
	item.Project = ""
	return []safe{safetext.F("%s %s: --target %s lists them", classCount(a.Classes-a.Changed), effectWords(plan.AsBefore, item), clean(item.Key.String()).Cut(maxPath))}
}

func classViews(groups []plan.RequestGroup, item plan.Item) (views []htmlClass) {
	for _, g := range groups {
		views = append(views, classView(g, item))
	}
	return views
}

func classView(g plan.RequestGroup, item plan.Item) htmlClass {
	c := htmlClass{Mark: markChange, Name: className(g, g.Hosts), Except: exceptions(g), Effect: effectWords(g.Effect, item)}
	switch g.Effect {
	case plan.Unserved:
		c.Mark = markRemove
	case plan.ServedFirst:
		c.Mark = markAdd
	case plan.AsBefore:
		c.Mark = markSame
	case plan.Answered:
		if len(g.Answers) > 1 {
			c.Effect = clean("depends on the platform")
		}
	}
	for _, answer := range g.Answers {
		c.Answers = append(c.Answers, answerView(answer))
	}
	return c
}

func answerView(a plan.Answer) (v htmlAnswer) {
	if len(a.Readings) > 0 {
		v.If = ifWins(messages(a.Readings))
	}
	for _, d := range a.Differences {
		what := clean(d.What).Cut(maxPath)
		v.Before = append(v.Before, safetext.F("%s %s", what, shorten(clean(d.Before), maxHTMLText)))
		v.After = append(v.After, safetext.F("%s %s", what, shorten(clean(d.After), maxHTMLText)))
	}
	if v.Before == nil {
		v.Before, v.After = []safe{shorten(clean(a.Before), maxHTMLText)}, []safe{shorten(clean(a.After), maxHTMLText)}
	}
	if a.Differences == nil && a.Before == a.After {
		v.After = []safe{clean("the same")}
	}
	return v
}
