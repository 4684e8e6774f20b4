package report

import "trueup/internal/plan"

// sketch is a graph as boxes and arrows, whatever language it is written in.
type sketch struct {
	frames []frame
	boxes  []box
	arrows []graphEdge
	notes  []graphNote
	// servers are the boxes of servers by their addresses: one that several
	// upstreams have is drawn once.
	servers map[string]int
	next    int
}

// frame is what belongs to one object.
type frame struct {
	title safe
	boxes []box
}

// box is a node; its number is its name.
type box struct {
	number int
	shape  shape
	lines  []safe
	look   look
}

// graphEdge is an arrow between the boxes of these numbers.
type graphEdge struct {
	from, to int
	label    safe
	look     look
}

// shape tells what a box stands for.
type shape uint8

const (
	shapeHost shape = iota
	shapePath
	shapeUpstream
	shapeServer
	shapeNote
)

// look is what tells marks apart for the eye: a line's strength and dashes, and a
// colour besides.
type look uint8

const (
	lookPlain look = iota
	lookNew
	lookChanged
	lookDrifted
	lookRemoved
	lookOdd
)

// sketched draws the hosts with so much detail each.
func sketched(g plan.Graph, details []detail) sketch {
	s := sketch{servers: map[string]int{}, notes: graphNotes(g, details)}
	if g.Sandbox {
		s.note(banner)
	}
	switch {
	case len(g.Hosts) == 0:
		s.note("no manifest serves a hostname")
	case notDrawn(details) != "":
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
		f := frame{cut(titled(h.Key), maxLabel), []box{root}}
		upstreams := s.upstreams(&f, h, details[i])
		s.paths(&f, h, root.number, upstreams, details[i])
		s.frames = append(s.frames, f)
	}
	return s
}

// graphLabel is a text from outside, or what is said where there is none: Mermaid
// draws no box without a label, nor anything beside it.
func graphLabel(text string, none safe) safe {
	if text == "" {
		return none
	}
	return cut(clean(text), maxLabel)
}

// note draws a sentence of this program.
func (s *sketch) note(text safe) {
	s.boxes = append(s.boxes, box{number: s.number(), shape: shapeNote, lines: []safe{text}, look: lookOdd})
}

func (s *sketch) number() int {
	s.next++
	return s.next
}

// host draws the hostname, and counts what is not drawn of it.
func (s *sketch) host(h plan.GraphHost, d detail) box {
	words, look := markWords(h.Mark)
	b := box{number: s.number(), shape: shapeHost, look: look, lines: []safe{graphLabel(h.Hostname, "without a hostname")}}
	left := h.Hostname == "" && h.Mark == plan.MarkRemoved
	switch {
	case left && h.Blocked:
		b.lines[0], words = "removed from git, stays live", ""
	case left:
		b.lines[0] = "removed from git"
	case h.Blocked:
		b.lines = append(b.lines, "x blocked")
	}
	b.lines = append(b.lines, words)
	if d == nameOnly {
		servers := 0
		for _, u := range h.Upstreams {
			servers += len(u.Servers)
		}
		b.lines = append(b.lines, cut(titled(h.Key), maxLabel), tallied(marksOf(h)),
			count(len(h.Paths), "path")+", "+count(len(h.Upstreams), "upstream")+", "+count(servers, "server"))
	}
	return b
}

// upstreams draws them with their servers, and returns their numbers.
func (s *sketch) upstreams(f *frame, h plan.GraphHost, d detail) []int {
	numbers := make([]int, len(h.Upstreams))
	for i, u := range h.Upstreams {
		words, look := markWords(u.Mark)
		odd := oddity(u.State)
		if odd != "" && look == lookPlain {
			look = lookOdd
		}
		b := box{number: s.number(), shape: shapeUpstream, look: look, lines: []safe{graphLabel(u.Name, "without a name"), graphLabel(u.Scheme, ""), odd, words}}
		if d > everything && odd != missingUpstream && odd != unlistedUpstream {
			b.lines = append(b.lines, count(len(u.Servers), "server"), tallied(serverMarks(u)))
		}
		numbers[i] = b.number
		f.boxes = append(f.boxes, b)
		if d == everything {
			s.serversOf(b.number, u)
		}
	}
	return numbers
}

const (
	missingUpstream  safe = "no such upstream"
	unlistedUpstream safe = "not in this manifest"
)

func oddity(state plan.UpstreamState) safe {
	switch state {
	case plan.Unused:
		return "not used by any path"
	case plan.Missing:
		return missingUpstream
	case plan.Unlisted:
		return unlistedUpstream
	case plan.Used:
	}
	return ""
}

// serversOf draws what an upstream has. A mark is of a server in this upstream,
// so the arrow has it.
func (s *sketch) serversOf(upstream int, u plan.GraphUpstream) {
	for _, server := range u.Servers {
		to, drawn := s.servers[server.Address]
		if !drawn {
			to = s.number()
			s.servers[server.Address] = to
			s.boxes = append(s.boxes, box{number: to, shape: shapeServer, lines: []safe{graphLabel(server.Address, "without an address")}})
		}
		words, look := markWords(server.Mark)
		if words == "" {
			_, look = markWords(u.Mark)
		}
		s.arrows = append(s.arrows, graphEdge{from: upstream, to: to, label: words, look: look})
	}
}

// paths draws locations and what they lead to, or as many arrows to the upstreams
// as there are upstreams.
func (s *sketch) paths(f *frame, h plan.GraphHost, root int, upstreams []int, d detail) {
	if d >= noPaths {
		s.bundles(f, h, root, upstreams)
		return
	}
	for _, p := range h.Paths {
		words, look := markWords(p.Mark)
		b := box{number: s.number(), shape: shapePath, look: look, lines: []safe{graphLabel(p.Host+p.Path, "without a path")}}
		if text := ttl(p); text != "" {
			b.lines = append(b.lines, "cache "+text)
		}
		if p.Upstream < 0 && p.Action != "" {
			b.lines = append(b.lines, "action "+graphLabel(p.Action, ""))
		}
		b.lines = append(b.lines, words)
		f.boxes = append(f.boxes, b)
		s.arrows = append(s.arrows, graphEdge{from: root, to: b.number, look: look})
		if p.Upstream >= 0 {
			s.arrows = append(s.arrows, graphEdge{from: b.number, to: upstreams[p.Upstream], look: look})
		}
	}
}

// bundles draws one arrow for all paths to an upstream.
func (s *sketch) bundles(f *frame, h plan.GraphHost, root int, upstreams []int) {
	to := map[int][]plan.Mark{}
	for _, p := range h.Paths {
		to[p.Upstream] = append(to[p.Upstream], p.Mark)
	}
	for i, number := range upstreams {
		if len(to[i]) > 0 {
			s.arrows = append(s.arrows, graphEdge{from: root, to: number, label: bundle(to[i])})
		}
	}
	if rest := to[-1]; len(rest) > 0 {
		b := box{number: s.number(), shape: shapePath, lines: []safe{bundle(rest), "without an upstream"}}
		f.boxes = append(f.boxes, b)
		s.arrows = append(s.arrows, graphEdge{from: root, to: b.number})
	}
}

// bundle counts paths: 12 paths (1 new).
func bundle(of []plan.Mark) safe {
	text := count(len(of), "path")
	if marked := tallied(of); marked != "" {
		text += " (" + marked + ")"
	}
	return text
}
