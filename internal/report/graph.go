package report

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"trueup/internal/plan"
)

// GraphOptions say how a graph is written.
type GraphOptions struct {
	// Format is one of GraphFormats, Direction one of GraphDirections.
	Format, Direction string
}

// GraphFormats returns the ways to write a graph, the default first.
func GraphFormats() []string { return []string{"mermaid", "markdown", "dot"} }

// GraphDirections returns the ways that a graph may run, the default first: from
// left to right, and from the top to the bottom.
func GraphDirections() []string { return []string{"LR", "TB"} }

// What GitHub draws of one diagram: so many characters, so many edges.
const (
	maxDiagram = 50_000
	maxEdges   = 500
)

// maxLabel is how many columns of a label a text from outside may take.
const maxLabel = 60

// Graph writes which hostname serves which path from which servers. A diagram in
// Mermaid is one that GitHub draws: what does not fit is left out by steps, what
// the plan has nothing to say of first, and that is said. DOT has all of it.
func (l Lines) Graph(g plan.Graph, opts GraphOptions) error {
	if opts.Format == "dot" {
		return l.write(allLines(dot(sketched(g, make([]detail, len(g.Hosts))), opts.Direction)))
	}
	s, diagram := fitted(g, opts.Direction)
	if opts.Format == "markdown" {
		return l.write(safe(markdownGraph(s, diagram)))
	}
	return l.write(allLines(diagram))
}

// markdownGraph is a diagram in a fence, and below it what is to be said.
func markdownGraph(s sketch, diagram []safe) markup {
	text := fence("mermaid", diagram)
	for _, n := range s.notes {
		text += "\n" + n.markup() + "\n"
	}
	return text
}

// detail is how much of a host is drawn.
type detail uint8

const (
	everything detail = iota
	noServers
	noPaths
	nameOnly
	nothing
)

// fitted draws as much as fits: the last hosts are left out first, and those of
// which the plan says something after all others.
func fitted(g plan.Graph, direction string) (s sketch, diagram []safe) {
	details := make([]detail, len(g.Hosts))
	fits := func() bool {
		if !mayFit(g, details) {
			return false
		}
		s = sketched(g, details)
		diagram = mermaid(s, direction)
		return len(s.arrows) <= maxEdges && len(allLines(diagram)) <= maxDiagram
	}
	for _, marked := range []bool{false, true} {
		var hosts []int
		for i := range slices.Backward(g.Hosts) {
			if isMarked(g.Hosts[i]) == marked {
				hosts = append(hosts, i)
			}
		}
		for step := noServers; step <= nameOnly && !fits(); step++ {
			for _, i := range hosts {
				details[i] = step
			}
		}
		for !fits() && len(hosts) > 0 {
			leave := len(hosts)/8 + 1
			for _, i := range hosts[:leave] {
				details[i] = nothing
			}
			hosts = hosts[leave:]
		}
	}
	return s, diagram
}

// minNamed is the fewest characters of a host of which all but the name is left
// out: it says what is.
const minNamed = 40

// mayFit reports whether a diagram is worth drawing to see whether it fits: of
// thousands of hosts it is not.
func mayFit(g plan.Graph, details []detail) bool {
	edges, named := 0, 0
	for i, h := range g.Hosts {
		edges += edgesOf(h, details[i])
		if details[i] == nameOnly {
			named++
		}
	}
	return edges <= maxEdges && named*minNamed <= maxDiagram
}

// edgesOf counts the arrows of a host.
func edgesOf(h plan.GraphHost, d detail) int {
	if d >= nameOnly {
		return 0
	}
	n, to := 0, map[int]bool{}
	for _, p := range h.Paths {
		to[p.Upstream] = true
		if n++; p.Upstream >= 0 {
			n++
		}
	}
	if d == noPaths {
		return len(to)
	}
	for _, u := range h.Upstreams {
		if d == everything {
			n += len(u.Servers)
		}
	}
	return n
}

// isMarked reports whether the plan has something to say of a host.
func isMarked(h plan.GraphHost) bool {
	return h.Blocked || len(marksOf(h)) > 0
}

// marksOf are the marks of a host and of its parts.
func marksOf(h plan.GraphHost) []plan.Mark {
	marks := []plan.Mark{h.Mark}
	for _, p := range h.Paths {
		marks = append(marks, p.Mark)
	}
	for _, u := range h.Upstreams {
		marks = append(append(marks, u.Mark), serverMarks(u)...)
	}
	return slices.DeleteFunc(marks, func(m plan.Mark) bool { return m == plan.Unmarked })
}

func serverMarks(u plan.GraphUpstream) []plan.Mark {
	marks := make([]plan.Mark, len(u.Servers))
	for i, s := range u.Servers {
		marks[i] = s.Mark
	}
	return marks
}

// tableOfMarks has them, in the order in which they are counted: the words
// with the signs that a terminal has for them, and the look.
var tableOfMarks = []struct {
	mark        plan.Mark
	label, word safe
	look        look
}{
	{plan.MarkNew, "+ new", "new", lookNew},
	{plan.MarkRemoved, "- removed", "removed", lookRemoved},
	{plan.MarkChanged, "~ changed", "changed", lookChanged},
	{plan.MarkDrifted, "!~ drifted", "drifted", lookDrifted},
	{plan.MarkConflict, "!! changed and drifted", "changed and drifted", lookDrifted},
	{plan.MarkLost, "!- drifted, not in git", "drifted, not in git", lookRemoved},
}

// markWords are the words of a mark, and its look.
func markWords(m plan.Mark) (safe, look) {
	for _, row := range tableOfMarks {
		if row.mark == m {
			return row.label, row.look
		}
	}
	return "", lookPlain
}

// tallied counts marks: 1 new, 2 changed.
func tallied(all []plan.Mark) safe {
	var parts []safe
	for _, row := range tableOfMarks {
		if n := len(slices.DeleteFunc(slices.Clone(all), func(m plan.Mark) bool { return m != row.mark })); n > 0 {
			parts = append(parts, number(n)+" "+row.word)
		}
	}
	return join(parts, ", ")
}

// graphNote is what is said beside a diagram: a sentence of this program, and
// names from outside behind it.
type graphNote struct {
	text  safe
	names []safe
}

// markup is the note in Markdown.
func (n graphNote) markup() markup {
	text := constant(n.text)
	for i, name := range n.names {
		if i > 0 {
			text += ","
		}
		text += " " + code(name)
	}
	return text + "."
}

// line is the note as a comment of a language in which an entity begins so.
func (n graphNote) line(open string) safe {
	text := n.text
	for i, name := range n.names {
		if i > 0 {
			text += ","
		}
		text += " " + entities(name, open)
	}
	return text
}

// graphNames is how many names a note has.
const graphNames = 10

func graphNotes(g plan.Graph, details []detail) []graphNote {
	var notes []graphNote
	if left := notDrawn(details); left != "" {
		notes = append(notes, graphNote{text: "Left out, because GitHub would not draw it: " + left + ". To see it: --target KIND/NAME, or --format dot"})
	}
	if g.Sandbox {
		notes = append(notes, graphNote{text: banner})
	}
	if g.Offline {
		notes = append(notes, graphNote{text: "The marks come from a plan that compared git with git, so they do not show drift"})
	}
	if g.Partial {
		notes = append(notes, graphNote{text: "The plan covers only part of the project (--target): objects without a mark may differ too"})
	}
	if n := len(g.Unmanaged); n > 0 {
		note := graphNote{text: "Live but not in git, so not drawn: " + number(n)}
		for _, key := range g.Unmanaged[:min(n, graphNames)] {
			note.names = append(note.names, cut(named(key), maxLabel))
		}
		notes = append(notes, note)
	}
	if len(g.Undrawn) > 0 {
		notes = append(notes, graphNote{text: "Not drawn, because they serve nothing: " + undrawn(g.Undrawn)})
	}
	return notes
}

// undrawn counts manifests of kinds that serve nothing.
func undrawn(kinds map[string]int) safe {
	var parts []safe
	for _, name := range slices.Sorted(maps.Keys(kinds)) {
		parts = append(parts, count(kinds[name], clean(name)))
	}
	return join(parts, ", ")
}

// notDrawn says what a diagram lacks, or nothing.
func notDrawn(details []detail) safe {
	var of [nothing + 1]int
	for _, d := range details {
		of[d]++
	}
	var parts []safe
	for _, part := range []struct {
		what safe
		n    int
	}{
		{"the servers of ", of[noServers] + of[noPaths]},
		{"the paths of ", of[noPaths]},
		{"all but the name of ", of[nameOnly]},
	} {
		if part.n > 0 {
			parts = append(parts, part.what+count(part.n, "hostname"))
		}
	}
	if n := of[nothing]; n > 0 {
		parts = append(parts, count(n, "hostname")+" altogether")
	}
	return join(parts, ", ")
}

func allLines(text []safe) safe { return join(text, "\n") + "\n" }

// ttl is how long the edges keep an answer, in words.
func ttl(p plan.GraphPath) safe {
	var seconds int
	if p.EdgeTTL == "" {
		return ""
	}
	if n, err := fmt.Sscanf(p.EdgeTTL, "%d", &seconds); n != 1 || err != nil || fmt.Sprint(seconds) != p.EdgeTTL || p.TTLUnit != "second" && p.TTLUnit != "" {
		return cut(clean(strings.TrimSpace(p.EdgeTTL+" "+p.TTLUnit)), maxLabel)
	}
	for _, unit := range []struct {
		seconds int
		name    safe
	}{{86400, "d"}, {3600, "h"}, {60, "min"}} {
		if seconds != 0 && seconds%unit.seconds == 0 {
			return number(seconds/unit.seconds) + " " + unit.name
		}
	}
	return number(seconds) + " s"
}
