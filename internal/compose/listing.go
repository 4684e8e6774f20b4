package compose

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"trueup/internal/ledger"
	"trueup/internal/manifest"
	"trueup/internal/plan"
	"trueup/internal/purge"
)

// listingFormat is the version of the JSON form of a Listing (schemas/purge-ls.schema.json).
const listingFormat = "trueup.purge-ls/v1"

// Listing has the purges that git and the ledger have.
type Listing struct {
	Format  string `json:"format"`
	Sandbox bool   `json:"sandbox"`
	// PartOfTree is true if only some manifests of the project were read: a purge without File may be in git.
	PartOfTree bool `json:"partOfTree"`
	// At is the time for which Active is true.
	At     time.Time `json:"at,omitzero"`
	Ledger string    `json:"ledger,omitempty"`
	// Problem says why the ledger can't be used.
	Problem string        `json:"ledgerProblem,omitempty"`
	Fix     string        `json:"ledgerFix,omitempty"`
	Purges  []ListedPurge `json:"purges"`
	Hosts   []ListedHost  `json:"hostnames"`
}

// ListedPurge is one purge of a Listing.
type ListedPurge struct {
	plan.RequestStatus
	SpecSummary
	// File and Line are where the manifest is, if git has one.
	File string `json:"file,omitempty"`
	Line int    `json:"line,omitempty"`
}

// ListedHost is what the purges of a hostname use of its limits.
type ListedHost struct {
	plan.HostUsage
	Limits plan.Budget `json:"limits"`
}

// active is the status that people see of an accepted request that counts against limits.
const active = "active"

// Statuses are the values that List selects by.
func Statuses() []string {
	list := []string{active}
	for _, s := range []plan.Status{
		plan.Due, plan.Refused, plan.Begun, plan.Again, plan.Unclear, plan.Accepted, plan.Done, plan.GivenUp, plan.NotKnown,
	} {
		list = append(list, string(s))
	}
	return list
}

// List returns the purges with one of the statuses, or all of them.
func List(set *manifest.Set, known Known, partOfTree bool, statuses []string) Listing {
	l := Listing{
		Format: listingFormat, PartOfTree: partOfTree, Ledger: known.View.ID, At: known.At,
		Problem: known.View.Problem, Fix: known.View.Fix, Purges: []ListedPurge{}, Hosts: []ListedHost{},
	}
	requests, hosts := plan.Requests(set, known.View, known.At)
	for _, r := range requests {
		p := ListedPurge{RequestStatus: r, SpecSummary: summaryOf(r.Spec)}
		if r.Manifest != nil {
			p.File, p.Line = r.Manifest.Path, r.Manifest.Line
		} else if rec := known.View.Records[p.Key]; !partOfTree && rec.Open() {
			p.Says, p.Fix = ledger.ExplainLeft(rec)
		}
		if len(statuses) == 0 || slices.Contains(statuses, string(p.Status)) || slices.Contains(statuses, p.Shown()) {
			l.Purges = append(l.Purges, p)
		}
	}
	for _, h := range hosts {
		l.Hosts = append(l.Hosts, ListedHost{h, purge.Limits()})
	}
	return l
}

// Shown is the status that people are shown.
func (p ListedPurge) Shown() string {
	if p.Active && p.Status == plan.Accepted {
		return active
	}
	return string(p.Status)
}

// When says when it was sent, and until when it counts.
func (p ListedPurge) When() string {
	var parts []string
	if !p.AcceptedAt.IsZero() {
		parts = append(parts, "accepted "+p.AcceptedAt.UTC().Format(Clock))
	}
	if p.Active {
		parts = append(parts, "counts until "+p.Until.UTC().Format(Clock))
	}
	return strings.Join(parts, ", ")
}

// Where says where the manifest of a purge is.
func (l Listing) Where(p ListedPurge) string {
	switch {
	case p.File == "" && l.PartOfTree:
		return "(not in the manifests that were read)"
	case p.File == "":
		return "(not in git)"
	case p.Edited:
		return fmt.Sprintf("%s:%d (edited since)", p.File, p.Line)
	}
	return fmt.Sprintf("%s:%d", p.File, p.Line)
}

// OverLimits says which limits the due purges of a hostname exceed, or nothing.
func (h ListedHost) OverLimits() string { return overLimits(h.HostUsage) }
