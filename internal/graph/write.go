package graph

import (
	"maps"
	"slices"

	"trueup/internal/safetext"
)

// Options are one of Formats and one of Directions.
type Options struct{ Format, Direction string }

// Formats returns the output formats, the default first.
func Formats() []string { return []string{"mermaid", "markdown", "dot"} }

// Directions returns left to right, the default, and top to bottom.
func Directions() []string { return []string{"LR", "TB"} }

// GitHub draws no diagram with more characters or edges.
const (
	maxDiagram = 50_000
	maxEdges   = 500
)

// Write returns a graph as text. A Mermaid diagram leaves out details until GitHub can draw
// it, unmarked hosts first, and says so. DOT leaves out nothing.
func Write(g Graph, opts Options) safetext.Text {
	if opts.Format == "dot" {
		return allLines(dot(sketched(g, make([]detail, len(g.Hosts))), opts.Direction))
	}
	s, diagram := fitted(g, opts.Direction)
	if opts.Format != "markdown" {
		return allLines(diagram)
	}
	page := safetext.Fence("mermaid", diagram)
	for _, n := range s.notes {
		page = safetext.M("%s\n%s\n", page, n.markdown())
	}
	return page.Text()
}

func allLines(lines []text) text { return safetext.F("%s\n", safetext.Join(lines, "\n")) }

// detail says how much of a host to draw.
type detail uint8

const (
	everything detail = iota
	noServers
	noPaths
	nameOnly
	nothing
)

// minNamed is the fewest characters of a host with only its name.
const minNamed = 40

// fitted draws as much as fits. It leaves out marked hosts last.
func fitted(g Graph, direction string) (s sketch, diagram []text) {
	details := make([]detail, len(g.Hosts))
	left := len(g.Hosts)
	fits := func() bool {
		if left*minNamed > maxDiagram {
			return false // don't spend time on drawing
		}
		s = sketched(g, details)
		diagram = mermaid(s, direction)
		return len(s.arrows) <= maxEdges && len(allLines(diagram).String()) <= maxDiagram
	}
	for _, hosts := range byMark(g) {
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
			hosts, left = hosts[leave:], left-leave
		}
	}
	return s, diagram
}

// byMark returns the indices of hosts without a mark, and with one, last host first.
func byMark(g Graph) (hosts [2][]int) {
	for i, h := range slices.Backward(g.Hosts) {
		marked := 0
		if h.Blocked || len(h.marks()) > 0 {
			marked = 1
		}
		hosts[marked] = append(hosts[marked], i)
	}
	return hosts
}

// notDrawn says what a diagram leaves out; empty for nothing.
func notDrawn(details []detail) text {
	var n [nothing + 1]int
	for _, d := range details {
		n[d]++
	}
	var parts []text
	for _, part := range []struct {
		n    int
		what string
	}{{n[noServers] + n[noPaths], "the servers of"}, {n[noPaths], "the paths of"}, {n[nameOnly], "everything except the name of"}} {
		if part.n > 0 {
			parts = append(parts, safetext.F("%s %s", part.what, safetext.Count(part.n, "hostname")))
		}
	}
	if n[nothing] > 0 {
		parts = append(parts, safetext.F("all of %s", safetext.Count(n[nothing], "hostname")))
	}
	return safetext.Join(parts, ", ")
}

// note is a constant sentence, then names from outside.
type note struct {
	text  text
	names []text
}

// line returns the note for a comment. open starts an entity in that format.
func (n note) line(open string) text {
	names := make([]text, len(n.names))
	for i, name := range n.names {
		names[i] = entities(name, open)
	}
	return safetext.Join(safetext.Filled(n.text, safetext.Join(names, ", ")), " ")
}

func (n note) markdown() safetext.Markdown {
	names := make([]safetext.Markdown, len(n.names))
	for i, name := range n.names {
		names[i] = safetext.Code(name)
	}
	if len(names) == 0 {
		return safetext.M("%s.", safetext.Constant(n.text))
	}
	return safetext.M("%s %s.", safetext.Constant(n.text), safetext.JoinMarkdown(names, ", "))
}

// maxNames is the most names in a note.
const maxNames = 10

func notesOf(g Graph, details []detail) []note {
	var notes []note
	if left := notDrawn(details); !left.Empty() {
		notes = append(notes, note{text: safetext.F("Left out, because GitHub would not draw it: %s. To see it: --target KIND/NAME, or --format dot", left)})
	}
	if g.Sandbox {
		notes = append(notes, note{text: clean(safetext.SandboxBanner)})
	}
	if g.Offline {
		notes = append(notes, note{text: clean("The marks come from a plan that compared git with git, so they do not show drift")})
	}
	if g.Partial {
		notes = append(notes, note{text: clean("The plan covers only part of the project (--target): objects without a mark may differ too")})
	}
	if n := len(g.Unmanaged); n > 0 {
		unmanaged := note{text: safetext.F("Live but not in git, so not drawn: %d", n)}
		for _, key := range g.Unmanaged[:min(n, maxNames)] {
			unmanaged.names = append(unmanaged.names, safetext.F("%s/%s", key.Kind, key.Name).Cut(maxLabel))
		}
		notes = append(notes, unmanaged)
	}
	if len(g.Undrawn) > 0 {
		var counts []text
		for _, name := range slices.Sorted(maps.Keys(g.Undrawn)) {
			counts = append(counts, safetext.Count(g.Undrawn[name], name))
		}
		notes = append(notes, note{text: safetext.F("Not drawn, because they serve nothing: %s", safetext.Join(counts, ", "))})
	}
	return notes
}
