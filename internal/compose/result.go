package compose

import (
	"fmt"
	"slices"
	"strings"

	"trueup/internal/diag"
	"trueup/internal/files"
	"trueup/internal/kind"
	"trueup/internal/plan"
	"trueup/internal/purge"
)

// resultFormat is the version of the JSON form of a Result (schemas/purge-new.schema.json).
const resultFormat = "trueup.purge-new/v1"

// Clock is how people are shown a time, in UTC.
const Clock = "2006-01-02 15:04Z"

// Result is what Write wrote.
type Result struct {
	Format    string     `json:"format"`
	Sandbox   bool       `json:"sandbox"`
	Manifests []Manifest `json:"manifests"`
	// Dropped are the paths that others cover, and Collapsed the folders that replace paths.
	Dropped   []droppedPath `json:"dropped,omitempty"`
	Collapsed []widerPath   `json:"collapsed,omitempty"`
	Unplaced  []string      `json:"unplaced,omitempty"`
	// Text is for standard output.
	Text []byte `json:"-"`
}

// Manifest is a purge in git.
type Manifest struct {
	kind.Key
	// Status is files.Written, files.Unchanged or "sent already".
	Status string `json:"status"`
	// File and Line are where the manifest is, Says is what the ledger has about it.
	File string `json:"file,omitempty"`
	Line int    `json:"line,omitempty"`
	Says string `json:"says,omitempty"`
	SpecSummary
}

// SpecSummary is what a purge invalidates.
type SpecSummary struct {
	Hostname   string   `json:"hostname"`
	Subdomains []string `json:"subdomains,omitempty"`
	Paths      int      `json:"paths"`
	Prefixes   int      `json:"prefixes"`
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
	// Others are the other files of the commit that are purged, nil if they are not known.
	Others *int `json:"others,omitempty"`
}

func summaryOf(spec purge.Spec) SpecSummary {
	u := spec.Usage()
	return SpecSummary{spec.Hostname, spec.Subdomains, u.Paths, u.Prefixes}
}

// String returns it in words, such as "2 paths on shop.example.com".
func (s SpecSummary) String() string {
	parts := []string{}
	if s.Paths > 0 || s.Prefixes == 0 {
		parts = append(parts, diag.Plural(s.Paths, "path", "paths"))
	}
	if s.Prefixes > 0 {
		parts = append(parts, diag.Plural(s.Prefixes, "prefix", "prefixes"))
	}
	hosts := s.Hostname
	if len(s.Subdomains) > 0 {
		hosts += ", " + diag.First(s.Subdomains, 5)
	}
	return strings.Join(parts, " and ") + " on " + hosts
}

// Lines returns what to print for each manifest in a file.
func (r Result) Lines() (lines []string) {
	for _, n := range r.Manifests {
		if n.Status != sentAlready {
			lines = append(lines, fmt.Sprintf("%s %s: %s purges %s", n.Status, n.at(), n.Key, n.SpecSummary))
		}
	}
	return lines
}

func (n Manifest) at() string {
	if n.Line == 0 {
		return n.File
	}
	return fmt.Sprintf("%s:%d", n.File, n.Line)
}

func (r *Result) addNotes(c purge.Composed, served []purge.Wanted) {
	for _, d := range c.Dropped {
		r.Dropped = append(r.Dropped, droppedPath{c.Hostname, d.Path, d.By})
	}
	for _, each := range c.Collapsed {
		wider := widerPath{Hostname: c.Hostname, Prefix: each.Prefix, Paths: len(each.Paths)}
		if served != nil {
			others := countOthers(c.Hostname, each, served)
			wider.Others = &others
		}
		r.Collapsed = append(r.Collapsed, wider)
	}
}

// countOthers counts the paths below a prefix path that are served and were not wanted.
func countOthers(hostname string, c purge.Collapsed, served []purge.Wanted) int {
	inside, named := purge.NewCover([]string{c.Prefix}), purge.NewCover(c.Paths)
	wanted, others := map[string]bool{}, map[string]bool{}
	for _, path := range c.Paths {
		wanted[path] = true
	}
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

func (m *maker) finish() {
	m.tellNotes()
	var requests []plan.RequestStatus
	var hosts []plan.HostUsage
	if m.unknown == "" {
		requests, hosts = plan.Requests(m.Set, m.known.View, m.known.At)
	}
	m.warnOfLimits(hosts)
	m.warnOfSent()
	m.warnOfNeedless(requests)
	for _, r := range m.made {
		m.result.Manifests = append(m.result.Manifests, r.Manifest)
		switch {
		case r.Status == "":
			if m.result.Text != nil {
				m.result.Text = append(m.result.Text, "---\n"...)
			}
			m.result.Text = append(m.result.Text, r.file.Content...)
		case r.Status != sentAlready && m.Dir == ToStdout:
			m.info("%s is %s: %s", r.Key, r.Status, r.at())
		}
	}
}

func (m *maker) tellNotes() {
	var order []string
	by := map[string][]string{}
	for _, d := range m.result.Dropped {
		at := d.Hostname + " " + d.By
		if by[at] == nil {
			order = append(order, at)
		}
		by[at] = append(by[at], d.Path)
	}
	for _, at := range order {
		_, prefix, _ := strings.Cut(at, " ")
		m.info("left out, because %s covers it: %s", prefix, diag.First(by[at], 3))
	}
	for _, c := range m.result.Collapsed {
		besides := "and everything else below it, which trueup can't list"
		if c.Others != nil {
			besides = "and " + diag.Plural(*c.Others, "other file of the commit", "other files of the commit") + ", and everything else below it"
		}
		m.warn("%s replaces %d paths on %s: it purges them %s", c.Prefix, c.Paths, c.Hostname, besides)
	}
}

// warnOfLimits names the hostnames that can't have all due purges at once.
func (m *maker) warnOfLimits(hosts []plan.HostUsage) {
	if !slices.ContainsFunc(m.made, func(r request) bool { return r.Status == files.Written || r.Status == "" }) {
		return
	}
	for _, h := range hosts {
		text := overLimits(h)
		if text != "" && slices.ContainsFunc(m.made, func(r request) bool { return kind.HostKey(r.Hostname) == h.Hostname }) {
			m.warn("%s", text)
		}
	}
}

func overLimits(h plan.HostUsage) string {
	if over := h.WithDue.Exceeds(purge.Limits()); over != nil {
		return fmt.Sprintf("%s would have %s active at once: later runs of apply send what does not fit", h.Hostname, strings.Join(over, " and "))
	}
	if over := h.AtMost.Exceeds(purge.Limits()); over != nil {
		return fmt.Sprintf("%s would have %s active at once if the platform counts each path per subdomain: it may refuse some",
			h.Hostname, strings.Join(over, " and "))
	}
	return ""
}

// warnOfSent tells what the ledger has about requests with these names. That nothing is purged is
// expected only if the name is that of a commit.
func (m *maker) warnOfSent() {
	tell := m.warn
	if m.Name == "" && m.commits.Head != "" {
		tell = m.info
	}
	for _, r := range m.made {
		switch {
		case r.sent.Open():
			m.warn("%s: apply says what to do", r.Says)
		case r.Status == files.Unchanged && r.sent.State != "":
			tell("not sent again: %s; to purge it again, use another --name", r.Says)
		case r.Status == sentAlready:
			tell("not written again: %s; to purge it again, use another --name", r.Says)
		}
	}
}

// warnOfNeedless names purges that wait for the next apply and that a new manifest covers.
func (m *maker) warnOfNeedless(requests []plan.RequestStatus) {
	for _, r := range m.made {
		for _, w := range requests {
			if r.Status == files.Written && w.Key != r.Key && w.Waits() && r.Covers(w.Spec) {
				m.warn("%s:%d: %s is waiting too, and %s covers all of it: remove it", w.Manifest.Path, w.Manifest.Line, w.Key, r.Key)
			}
		}
	}
}
