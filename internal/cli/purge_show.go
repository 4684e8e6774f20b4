package cli

import (
	"fmt"
	"log/slog"
	"slices"
	"strings"

	"trueup/internal/files"
	"trueup/internal/kind"
	"trueup/internal/plan"
	"trueup/internal/purge"
)

// purgeNotes are what the requests leave out, and what they purge besides.
type purgeNotes struct {
	Dropped   []droppedPath `json:"dropped,omitempty"`
	Collapsed []widerPath   `json:"collapsed,omitempty"`
}

type droppedPath struct {
	Hostname string `json:"hostname"`
	Path     string `json:"path"`
	By       string `json:"coveredBy"`
}

type widerPath struct {
	Hostname string `json:"hostname"`
	Prefix   string `json:"prefix"`
	Paths    int    `json:"inPlaceOf"`
	// Others are the files of the commit that are purged besides; nil where it is
	// not known what there is.
	Others *int `json:"others,omitempty"`
}

func (n *purgeNotes) add(c purge.Composed, served []purge.Wanted) {
	for _, d := range c.Dropped {
		n.Dropped = append(n.Dropped, droppedPath{c.Hostname, d.Path, d.By})
	}
	for _, each := range c.Collapsed {
		wider := widerPath{Hostname: c.Hostname, Prefix: each.Prefix, Paths: len(each.Paths)}
		if served != nil {
			others := besides(c.Hostname, each, served)
			wider.Others = &others
		}
		n.Collapsed = append(n.Collapsed, wider)
	}
}

// besides counts what is served below a prefix path and was not wanted.
func besides(hostname string, c purge.Collapsed, served []purge.Wanted) int {
	inside, named := purge.NewCover([]string{c.Prefix}), purge.NewCover(c.Paths)
	wanted := map[string]bool{}
	for _, path := range c.Paths {
		wanted[path] = true
	}
	others := map[string]bool{}
	all := func(int, string) bool { return true }
	for _, w := range served {
		_, _, below := inside.By(w.Path, all)
		_, _, covered := named.By(w.Path, all)
		if w.Hostname == hostname && below && !covered && !wanted[w.Path] {
			others[w.Path] = true
		}
	}
	return len(others)
}

// log says on standard error what is left out, and what is purged besides.
func (n *purgeNotes) log(a *app) {
	var order []string
	by := map[string][]string{}
	for _, d := range n.Dropped {
		at := d.Hostname + " " + d.By
		if by[at] == nil {
			order = append(order, at)
		}
		by[at] = append(by[at], d.Path)
	}
	for _, at := range order {
		_, prefix, _ := strings.Cut(at, " ")
		a.log(slog.LevelInfo, fmt.Sprintf("left out, because %s covers it: %s", prefix, some(by[at], 3)))
	}
	for _, c := range n.Collapsed {
		besides := "and everything else below it, which trueup can't list"
		if c.Others != nil {
			besides = "and " + counted(*c.Others, "other file of the commit", "other files of the commit") + ", and everything else below it"
		}
		a.log(slog.LevelWarn, fmt.Sprintf("%s replaces %d paths on %s: it purges them %s", c.Prefix, c.Paths, c.Hostname, besides))
	}
}

// purgeNewFormat is the version of what purge new writes as JSON
// (schemas/purge-new.schema.json).
const purgeNewFormat = "trueup.purge-new/v1"

// purgeNewResult is the JSON form of what was written.
type purgeNewResult struct {
	Format    string          `json:"format"`
	Sandbox   bool            `json:"sandbox"`
	Manifests []shownManifest `json:"manifests"`
	purgeNotes
	Unplaced []string `json:"unplaced,omitempty"`
}

type shownManifest struct {
	kind.Key
	// Status is written, there already or sent already.
	Status string `json:"status"`
	// File and Line are where the manifest stands, Says what became of one that was
	// sent.
	File string `json:"file,omitempty"`
	Line int    `json:"line,omitempty"`
	Says string `json:"says,omitempty"`
	shownSpec
}

// shownSpec is what a request invalidates.
type shownSpec struct {
	Hostname   string   `json:"hostname"`
	Subdomains []string `json:"subdomains,omitempty"`
	Paths      int      `json:"paths"`
	Prefixes   int      `json:"prefixes"`
}

func shownOf(spec purge.Spec) shownSpec {
	u := spec.Usage()
	return shownSpec{spec.Hostname, spec.Subdomains, u.Paths, u.Prefixes}
}

// words say it in short.
func (s shownSpec) words() string {
	parts := []string{}
	if s.Paths > 0 || s.Prefixes == 0 {
		parts = append(parts, counted(s.Paths, "path", "paths"))
	}
	if s.Prefixes > 0 {
		parts = append(parts, counted(s.Prefixes, "prefix", "prefixes"))
	}
	hosts := s.Hostname
	if len(s.Subdomains) > 0 {
		hosts += ", " + some(s.Subdomains, 5)
	}
	return strings.Join(parts, " and ") + " on " + hosts
}

// show says what was written, or writes it to standard output.
func (m *purgeMaker) show() error {
	m.notes.log(m.app)
	var requests []plan.RequestStatus
	var hosts []plan.HostUsage
	if m.unknown == "" {
		requests, hosts = plan.Requests(m.loaded.set, m.known.view, m.known.at)
	}
	m.warnOfLimits(hosts)
	m.warnOfSent()
	m.warnOfNeedless(requests)
	switch {
	case m.app.global.output == "json":
		return m.app.out.JSON(m.result())
	case len(m.made) == 0:
		m.app.log(slog.LevelInfo, "nothing to purge, and nothing was written")
		return nil
	}
	var text []byte
	for _, n := range m.made {
		what := shownOf(n.Spec).words()
		var err error
		switch {
		case n.status == sentAlready:
		case n.status == "":
			if text != nil {
				text = append(text, "---\n"...)
			}
			text = append(text, n.file.Content...)
		case m.opts.dir == onStdout:
			m.app.log(slog.LevelInfo, fmt.Sprintf("%s is %s: %s", n.key, n.status, n.at()))
		default:
			err = m.app.out.Printf("%s %s: %s purges %s\n", n.status, n.at(), n.key, what)
		}
		if err != nil {
			return err
		}
	}
	if text != nil {
		return m.app.out.Source(text)
	}
	return nil
}

// warnOfSent says what the ledger knows of requests of these names. That nothing is
// purged is no surprise only where the name is that of a commit.
func (m *purgeMaker) warnOfSent() {
	level := slog.LevelWarn
	if m.opts.name == "" && m.source.commits.Head != "" {
		level = slog.LevelInfo
	}
	for _, n := range m.made {
		switch {
		case n.sent.Open():
			m.app.log(slog.LevelWarn, n.says()+": apply says what to do")
		case n.status == files.Unchanged && n.sent.State != "":
			m.app.log(level, fmt.Sprintf("not sent again: %s; to purge it again, use another --name", n.says()))
		case n.status == sentAlready:
			m.app.log(level, fmt.Sprintf("not written again: %s; to purge it again, use another --name", n.says()))
		}
	}
}

// warnOfNeedless names what waits for the next apply and purges nothing that a new
// manifest does not.
func (m *purgeMaker) warnOfNeedless(requests []plan.RequestStatus) {
	for _, n := range m.made {
		for _, r := range requests {
			if n.status == files.Written && r.Key != n.key && r.Waits() && n.Covers(r.Spec) {
				m.app.log(slog.LevelWarn, fmt.Sprintf("%s:%d: %s is waiting too, and %s covers all of it: remove it",
					r.Manifest.Path, r.Manifest.Line, r.Key, n.key))
			}
		}
	}
}

// at is where the manifest stands, for people.
func (n newManifest) at() string {
	if n.line == 0 {
		return n.where
	}
	return fmt.Sprintf("%s:%d", n.where, n.line)
}

func (m *purgeMaker) result() purgeNewResult {
	r := purgeNewResult{
		Format: purgeNewFormat, Sandbox: m.app.global.sandbox, Manifests: []shownManifest{},
		purgeNotes: m.notes, Unplaced: m.source.unplaced,
	}
	for _, n := range m.made {
		r.Manifests = append(r.Manifests, shownManifest{Key: n.key, Status: n.status, File: n.where, Line: n.line, Says: n.says(), shownSpec: shownOf(n.Spec)})
	}
	return r
}

// warnOfLimits says which hostnames have no room for all that is due.
func (m *purgeMaker) warnOfLimits(hosts []plan.HostUsage) {
	if !slices.ContainsFunc(m.made, func(n newManifest) bool { return n.status == files.Written || n.status == "" }) {
		return
	}
	for _, h := range hosts {
		if !slices.ContainsFunc(m.made, func(n newManifest) bool { return kind.HostKey(n.Hostname) == h.Hostname }) {
			continue
		}
		if text := overLimits(h); text != "" {
			m.app.log(slog.LevelWarn, text)
		}
	}
}

// overLimits says what there is no room for, or nothing.
func overLimits(h plan.HostUsage) string {
	if over := h.WithDue.Exceeds(purge.Limits()); over != nil {
		return fmt.Sprintf("%s would have %s active at once: later runs of apply send what does not fit",
			h.Hostname, strings.Join(over, " and "))
	}
	if over := h.AtMost.Exceeds(purge.Limits()); over != nil {
		return fmt.Sprintf("%s would have %s active at once if the platform counts each path per subdomain: it may refuse some",
			h.Hostname, strings.Join(over, " and "))
	}
	return ""
}
