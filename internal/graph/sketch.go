package graph

import (
	"cmp"
	"slices"
	"strings"

	"trueup/internal/kind"
	"trueup/internal/plan"
	"trueup/internal/safetext"
)

type text = safetext.Text

func clean(s string) text { return safetext.Clean(s) }

// maxLabel is the most columns of a text from outside in a label.
const maxLabel = 60

// sketch is a graph as boxes and arrows, for every format.
type sketch struct {
	frames []frame
	// boxes are outside of all frames.
	boxes  []box
	arrows []arrow
	notes  []note
	// servers are boxes by address, because upstreams share servers.
	servers map[string]int
	next    int
}

type frame struct {
	title text
	boxes []box
}

type box struct {
	number int
	shape  shape
	lines  []text
	look   look
}

type arrow struct {
	from, to int
	label    text
	look     look
}

// shape depends on what a box represents.
type shape uint8

const (
	shapeHost shape = iota
	shapePath
	shapeUpstream
	shapeServer
	shapeNote
)

// tableOfShapes has what surrounds a label in Mermaid, and the name in DOT.
var tableOfShapes = [...]struct{ open, end, dot string }{
	shapeHost:     {"([", "])", "oval"},
	shapePath:     {"[", "]", "box"},
	shapeUpstream: {"{{", "}}", "hexagon"},
	shapeServer:   {"[(", ")]", "cylinder"},
	shapeNote:     {"[[", "]]", "note"},
}

type look uint8

const (
	lookPlain look = iota
	lookNew
	lookChanged
	lookDrifted
	lookRemoved
	lookOdd
)

// tableOfLooks has the class, arrow and style in Mermaid, and the style in DOT. It sets no
// fill colours, so that light and dark themes work.
var tableOfLooks = [...]struct{ class, arrow, mermaid, dot string }{
	lookPlain:   {"", "-->", "", `style=solid`},
	lookNew:     {"new", "==>", "stroke:#2da44e,stroke-width:4px", `style=bold, penwidth=4, color="#2da44e"`},
	lookChanged: {"changed", "-->", "stroke:#bf8700,stroke-width:4px,stroke-dasharray:12 4", `style=dashed, penwidth=3, color="#bf8700"`},
	lookDrifted: {"drifted", "-->", "stroke:#a475f9,stroke-width:4px,stroke-dasharray:4 4", `style=dotted, penwidth=4, color="#a475f9"`},
	lookRemoved: {"removed", "-.->", "stroke:#cf222e,stroke-width:3px,stroke-dasharray:2 6", `style=dotted, penwidth=2, color="#cf222e"`},
	lookOdd:     {"odd", "-.->", "stroke:#d4722f,stroke-width:2px,stroke-dasharray:8 3 2 3", `style=dashed, penwidth=1, color="#d4722f"`},
}

// tableOfMarks has the label, the word in counts, and the look of each mark.
var tableOfMarks = [...]struct {
	label, word string
	look        look
}{
	Unmarked: {"", "", lookPlain},
	Changed:  {"~ changed", "changed", lookChanged},
	Drifted:  {"~ drifted", "drifted", lookDrifted},
	Conflict: {"~ changed and drifted", "changed and drifted", lookDrifted},
	New:      {"+ new", "new", lookNew},
	Removed:  {"- removed", "removed", lookRemoved},
	Lost:     {"- drifted, not in git", "drifted, not in git", lookRemoved},
}

func (m Mark) words() text { return clean(tableOfMarks[m].label) }

func (m Mark) look() look { return tableOfMarks[m].look }

// tally counts marks: 1 new, 2 changed.
func tally(marks []Mark) text {
	var parts []text
	for _, mark := range []Mark{New, Removed, Changed, Drifted, Conflict, Lost} {
		n := 0
		for _, m := range marks {
			if m == mark {
				n++
			}
		}
		if n > 0 {
			parts = append(parts, safetext.F("%d %s", n, tableOfMarks[mark].word))
		}
	}
	return safetext.Join(parts, ", ")
}

func (h Host) marks() []Mark {
	marks := []Mark{h.Mark}
	for _, p := range h.Paths {
		marks = append(marks, p.Mark)
	}
	for _, u := range h.Upstreams {
		marks = append(append(marks, u.Mark), u.serverMarks()...)
	}
	return slices.DeleteFunc(marks, func(m Mark) bool { return m == Unmarked })
}

func (u Upstream) serverMarks() []Mark {
	marks := make([]Mark, len(u.Servers))
	for i, s := range u.Servers {
		marks[i] = s.Mark
	}
	return marks
}

// label returns s, or none if s is empty: Mermaid draws nothing if a box has no label.
func label(s, none string) text {
	if s == "" {
		s = none
	}
	return clean(s).Cut(maxLabel)
}

func sketched(g Graph, details []detail) sketch {
	s := sketch{servers: map[string]int{}, notes: notesOf(g, details)}
	if g.Sandbox {
		s.note(clean(safetext.SandboxBanner))
	}
	switch {
	case len(g.Hosts) == 0:
		s.note(clean("no manifest serves a hostname"))
	case !notDrawn(details).Empty():
		s.note(s.notes[0].text)
	}
	for i, h := range g.Hosts {
		if details[i] == nothing {
			continue
		}
		root := s.host(h, details[i])
		if details[i] == nameOnly {
			s.boxes = append(s.boxes, root)
			continue
		}
		f := frame{title(h), []box{root}}
		upstreams := s.upstreams(&f, h, details[i])
		if details[i] >= noPaths {
			s.bundles(&f, h, root.number, upstreams)
		} else {
			s.paths(&f, h, root.number, upstreams)
		}
		s.frames = append(s.frames, f)
	}
	return s
}

func title(h Host) text { return safetext.F("%s %s", h.Kind, h.Name).Cut(maxLabel) }

func (s *sketch) note(sentence text) {
	s.boxes = append(s.boxes, box{number: s.number(), shape: shapeNote, lines: []text{sentence}, look: lookOdd})
}

func (s *sketch) number() int {
	s.next++
	return s.next
}

func (s *sketch) arrow(from, to int, label text, look look) {
	s.arrows = append(s.arrows, arrow{from, to, label, look})
}

func (s *sketch) host(h Host, d detail) box {
	b := box{number: s.number(), shape: shapeHost, look: h.Mark.look()}
	if h.Hostname == "" && h.Mark == Removed {
		if b.lines = h.departure(); d == nameOnly {
			b.lines = append(b.lines, title(h))
		}
		return b
	}
	b.lines = []text{label(h.Hostname, "without a hostname")}
	if h.Blocked {
		b.lines = append(b.lines, clean("x blocked"))
	}
	if b.lines = append(b.lines, h.Mark.words()); d == nameOnly {
		servers := 0
		for _, u := range h.Upstreams {
			servers += len(u.Servers)
		}
		counts := []text{safetext.Count(len(h.Paths), "path"), safetext.Count(len(h.Upstreams), "upstream"), safetext.Count(servers, "server")}
		b.lines = append(b.lines, title(h), tally(h.marks()), safetext.Join(counts, ", "))
	}
	return b
}

// departure describes an object that git does not have now: what removed it, and whether it stays live.
func (h Host) departure() []text {
	lines := []text{clean(string(plan.LeftGit))}
	switch {
	case h.By != "":
		lines = append(lines, clean("removed by this change"))
	case h.Commit != nil:
		lines = append(lines, safetext.F("removed in %s", clean(h.Commit.ID[:min(7, len(h.Commit.ID))])))
	}
	if h.Blocked {
		return append(lines, clean("stays live"))
	}
	return append(lines, h.Mark.words())
}

func (s *sketch) upstreams(f *frame, h Host, d detail) []int {
	numbers := make([]int, len(h.Upstreams))
	for i, u := range h.Upstreams {
		odd := [...]string{Used: "", Unused: "not used by any path", Missing: "no such upstream", Unlisted: "not in this manifest"}[u.State]
		b := box{
			number: s.number(), shape: shapeUpstream, look: u.Mark.look(),
			lines: []text{label(u.Name, "without a name"), label(u.Scheme, ""), clean(odd), u.Mark.words()},
		}
		if u.State != Used && b.look == lookPlain {
			b.look = lookOdd
		}
		if d > everything && u.State != Missing && u.State != Unlisted {
			b.lines = append(b.lines, safetext.Count(len(u.Servers), "server"), tally(u.serverMarks()))
		}
		numbers[i] = b.number
		f.boxes = append(f.boxes, b)
		if d == everything {
			s.serversOf(b.number, u)
		}
	}
	return numbers
}

// serversOf draws the servers of an upstream; the arrow has the mark of a server in it.
func (s *sketch) serversOf(upstream int, u Upstream) {
	for _, server := range u.Servers {
		to, drawn := s.servers[server.Address]
		if !drawn {
			to = s.number()
			s.servers[server.Address] = to
			s.boxes = append(s.boxes, box{number: to, shape: shapeServer, lines: []text{label(server.Address, "without an address")}})
		}
		look := server.Mark.look()
		if server.Mark == Unmarked {
			look = u.Mark.look()
		}
		s.arrow(upstream, to, server.Mark.words(), look)
	}
}

func (s *sketch) paths(f *frame, h Host, root int, upstreams []int) {
	for _, p := range h.Paths {
		b := box{number: s.number(), shape: shapePath, look: p.Mark.look(), lines: []text{label(p.Host+p.Path, "without a path")}}
		if ttl := p.ttl(); !ttl.Empty() {
			b.lines = append(b.lines, safetext.F("cache %s", ttl))
		}
		if p.Upstream < 0 && p.Action != "" {
			b.lines = append(b.lines, safetext.F("action %s", label(p.Action, "")))
		}
		b.lines = append(b.lines, p.Mark.words())
		f.boxes = append(f.boxes, b)
		s.arrow(root, b.number, text{}, b.look)
		if p.Upstream >= 0 {
			s.arrow(b.number, upstreams[p.Upstream], text{}, b.look)
		}
	}
}

// bundles draws one arrow for all paths to an upstream.
func (s *sketch) bundles(f *frame, h Host, root int, upstreams []int) {
	to := map[int][]Mark{}
	for _, p := range h.Paths {
		to[p.Upstream] = append(to[p.Upstream], p.Mark)
	}
	for i, number := range upstreams {
		if len(to[i]) > 0 {
			s.arrow(root, number, bundle(to[i]), lookPlain)
		}
	}
	if rest := to[-1]; len(rest) > 0 {
		b := box{number: s.number(), shape: shapePath, lines: []text{bundle(rest), clean("without an upstream")}}
		f.boxes = append(f.boxes, b)
		s.arrow(root, b.number, text{}, lookPlain)
	}
}

// bundle counts paths: 12 paths (1 new).
func bundle(marks []Mark) text {
	paths, marked := safetext.Count(len(marks), "path"), tally(marks)
	if marked.Empty() {
		return paths
	}
	return safetext.F("%s (%s)", paths, marked)
}

// ttl returns EdgeTTL in words.
func (p Path) ttl() text {
	if p.EdgeTTL == "" {
		return text{}
	}
	if d, ok := kind.Duration(p.EdgeTTL, cmp.Or(p.TTLUnit, "second")); ok {
		return label(kind.DurationText(d), "")
	}
	return label(strings.TrimSpace(p.EdgeTTL+" "+p.TTLUnit), "")
}
