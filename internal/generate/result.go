package generate

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"trueup/internal/diag"
	"trueup/internal/files"
	"trueup/internal/kind"
	"trueup/internal/ledger"
	"trueup/internal/plan"
	"trueup/internal/purge"
)

// resultFormat is the version of the JSON form of a Result (schemas/new-purge.schema.json).
const resultFormat = "trueup.new-purge/v1"

// Clock is how people are shown a time, in UTC.
const Clock = "2006-01-02 15:04Z"

// WrittenPurges is what WritePurges wrote.
type WrittenPurges struct {
	Format    string          `json:"format"`
	Sandbox   bool            `json:"sandbox"`
	Manifests []PurgeManifest `json:"manifests"`
	Dropped   []droppedPath   `json:"dropped,omitempty"` // the paths that others cover
	Unplaced  []string        `json:"unplaced,omitempty"`
	Text      []byte          `json:"-"` // for standard output
}

// PurgeManifest is a purge in git.
type PurgeManifest struct {
	kind.Key
	Status string `json:"status"` // files.Written, files.Unchanged or "sent already"
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
	purge.DroppedPath
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
		hosts += ", " + diag.JoinFirst(s.Subdomains, 5)
	}
	return strings.Join(parts, " and ") + " on " + hosts
}

// ManifestLines returns what to print for each manifest in a file.
func (r WrittenPurges) ManifestLines() (lines []string) {
	for _, n := range r.Manifests {
		if n.Status != sentAlready {
			lines = append(lines, fmt.Sprintf("%s %s: %s purges %s", n.Status, diag.Place(n.File, n.Line), n.Key, n.SpecSummary))
		}
	}
	return lines
}

func (m *manifestMaker) finishResult() {
	for _, c := range m.composed {
		m.logOmitted(c)
	}
	m.warnOfLimits()
	m.warnOfSent()
	for _, r := range m.made {
		m.Manifests = append(m.Manifests, r.PurgeManifest)
		switch {
		case r.Status == "":
			if m.Text != nil {
				m.Text = append(m.Text, "---\n"...)
			}
			m.Text = append(m.Text, r.file.Content...)
		case r.Status != sentAlready && m.Dir == ToStdout:
			m.Inform("%s is %s: %s", r.Key, r.Status, diag.Place(r.File, r.Line))
		}
	}
	if m.Text == nil { // apply rejects an empty stream, because what should have written it may have failed
		m.Text = []byte("# nothing to purge\n")
	}
}

// logOmitted logs what the requests of a hostname leave out.
func (m *manifestMaker) logOmitted(c purge.ReducedPurge) {
	var prefixes []string
	covered := map[string][]string{}
	for _, d := range c.Dropped {
		m.Dropped = append(m.Dropped, droppedPath{c.Hostname, d})
		if covered[d.By] == nil {
			prefixes = append(prefixes, d.By)
		}
		covered[d.By] = append(covered[d.By], d.Path)
	}
	for _, prefix := range prefixes {
		m.Inform("left out, because %s covers it: %s", prefix, diag.JoinFirst(covered[prefix], 3))
	}
}

func (m *manifestMaker) warnOfLimits() {
	if m.unknown != "" || !slices.ContainsFunc(m.made, func(r *requestManifest) bool { return r.Status == files.Written || r.Status == "" }) {
		return
	}
	_, hosts := plan.ReadRequests(m.Set, m.view, m.at)
	for _, h := range hosts {
		text := ExceededLimits(h)
		if text != "" && slices.ContainsFunc(m.made, func(r *requestManifest) bool { return kind.HostKey(r.Hostname) == h.Hostname }) {
			m.Warn("%s", text)
		}
	}
}

// ExceededLimits says which limits the due purges of a hostname exceed, or nothing.
func ExceededLimits(h plan.HostUsage) string {
	if over := h.WithDue.Exceeds(purge.HostLimits()); over != nil {
		return fmt.Sprintf("%s would have %s active at once: later runs of apply send what does not fit", h.Hostname, strings.Join(over, " and "))
	}
	if over := h.AtMost.Exceeds(purge.HostLimits()); over != nil {
		return fmt.Sprintf("%s would have %s active at once if the platform counts each path per subdomain: it may reject some",
			h.Hostname, strings.Join(over, " and "))
	}
	return ""
}

// warnOfSent logs what the ledger has about requests with these names: the user may not expect that nothing is purged.
func (m *manifestMaker) warnOfSent() {
	for _, r := range m.made {
		switch {
		case r.sent.IsOpen():
			m.Warn("%s: apply says what to do", r.Says)
		case r.Status == files.Unchanged && r.sent.State != "":
			m.Warn("not sent again: %s; to purge it again, use another --name", r.Says)
		case r.Status == sentAlready:
			m.Warn("not written again: %s; to purge it again, use another --name", r.Says)
		}
	}
}

// listingFormat is the version of the JSON form of a Listing (schemas/status-purge.schema.json).
const listingFormat = "trueup.status-purge/v1"

// PurgeListing has the purges that git and the ledger have.
type PurgeListing struct {
	Format  string `json:"format"`
	Sandbox bool   `json:"sandbox"`
	// PartOfTree is true if only some manifests of the project were read: a purge without File may be in git.
	PartOfTree bool             `json:"partOfTree"`
	At         time.Time        `json:"at,omitzero"` // the time for which Active is true
	Ledger     string           `json:"ledger,omitempty"`
	Problem    string           `json:"ledgerProblem,omitempty"` // Problem says why the ledger can't be used
	Fix        string           `json:"ledgerFix,omitempty"`
	Purges     []PurgeListEntry `json:"purges"`
	Hosts      []HostUsage      `json:"hostnames"`
}

// PurgeListEntry is one purge of a Listing.
type PurgeListEntry struct {
	plan.RequestStatus
	SpecSummary
	// File and Line are where the manifest is, if git has one.
	File string `json:"file,omitempty"`
	Line int    `json:"line,omitempty"`
}

// HostUsage is what the purges of a hostname use of its limits.
type HostUsage struct {
	plan.HostUsage
	Limits plan.HostBudget `json:"limits"`
}

// ListPurges returns the purges in git and those that were sent lately, or all with those that are only in the ledger. The
// manifests are those of paths.
func ListPurges(ctx context.Context, env PurgeEnv, paths []string, all bool) PurgeListing {
	view, at, err := env.readRequests(ctx, nil, all)
	if err != nil {
		view = ledger.UnreadableView(err)
	}
	partOfTree := env.Project.ReadsPartly(env.Dir(), paths)
	l := PurgeListing{
		Format: listingFormat, Sandbox: env.Sandbox, PartOfTree: partOfTree, Ledger: view.ID, At: at,
		Problem: view.Problem, Fix: view.Fix, Purges: []PurgeListEntry{}, Hosts: []HostUsage{},
	}
	requests, hosts := plan.ReadRequests(env.Set, view, at)
	for _, r := range requests {
		p := PurgeListEntry{RequestStatus: r, SpecSummary: summaryOf(r.Spec)}
		if r.Manifest != nil {
			p.File, p.Line = r.Manifest.Path, r.Manifest.Line
		} else if rec := view.Records[p.Key]; !partOfTree && rec.IsOpen() {
			p.Says, p.Fix = ledger.ExplainOpenRemoved(rec)
		}
		l.Purges = append(l.Purges, p)
	}
	for _, h := range hosts {
		l.Hosts = append(l.Hosts, HostUsage{h, purge.HostLimits()})
	}
	return l
}
