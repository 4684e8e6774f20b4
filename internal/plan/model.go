// Package plan compares manifests, live state and ledger and returns what differs,
// why, and which requests would fix it; it does no I/O and has no clock.
package plan

import (
	"encoding/json"
	"reflect"
	"slices"
	"time"

	"trueup/internal/canon"
	"trueup/internal/diag"
	"trueup/internal/kind"
	"trueup/internal/ledger"
	"trueup/internal/merge"
	"trueup/internal/purge"
	"trueup/internal/routing"
)

// Format is the version of the plan's JSON form.
const Format = "trueup.plan/v1"

// Op is what apply would do with an item.
type Op string

// The operations. Only Create, Patch, Post and Delete send a request.
const (
	None   Op = "none"
	Create Op = "create"
	Patch  Op = "patch"
	Post   Op = "post"
	// Delete removes an object that left git and that trueup provably created.
	Delete  Op = "delete"
	Blocked Op = "blocked"
	// InFlight means that another run has claimed the item's request.
	InFlight Op = "in-flight"
	Kept     Op = "kept"
	// Deferred is a request that exceeds the limits of its hostname today.
	Deferred Op = "deferred"
)

// Plan is data: reports print it, apply computes it again and compares.
type Plan struct {
	Format string `json:"format"`
	Tool   string `json:"tool"`
	// Digest is the digest of what the plan asserts, or empty.
	Digest string `json:"digest,omitempty"`
	// CreatedAt is when the plan of a file was made; else it is zero.
	CreatedAt time.Time `json:"createdAt,omitzero"`
	Sandbox   bool      `json:"sandbox"`
	// Offline says that git was compared with git, and live was not looked at.
	Offline bool `json:"offline,omitempty"`
	// Commit is the one that was checked out, or empty.
	Commit string      `json:"commit,omitempty"`
	Target Destination `json:"target"`
	// Ledger is the id of the ledger, or empty, and LedgerStore where it is kept;
	// LedgerProblem says why it could not be used.
	Ledger        string `json:"ledger,omitempty"`
	LedgerStore   string `json:"ledgerStore,omitempty"`
	LedgerProblem string `json:"ledgerProblem,omitempty"`
	// Settings are the settings of the project that differ from the base.
	Settings []ChangedSetting `json:"settings,omitempty"`
	// Manifests is the digest of all objects that were read. Options are what was chosen by options
	// and by the project; both are asserted.
	Manifests *canon.Sum     `json:"manifests,omitempty"`
	Options   map[string]any `json:"options,omitempty"`
	Items     []Item         `json:"items"`
	// Requests is what the plan does to requests, the worst first.
	Requests []routing.RequestChange `json:"requests,omitempty"`
	// HidesRequests says that Requests is left out, because it may have sensitive values.
	HidesRequests bool `json:"hidesRequests,omitempty"`
	// Unmanaged are live objects that are not in git.
	Unmanaged []kind.Key `json:"unmanaged,omitempty"`
	Notes     []string   `json:"notes,omitempty"`
	// OrderNote is the one of Notes that compares the commit with the one that was applied, or empty. Older reports
	// whether the commit is the older one.
	OrderNote string `json:"-"`
	Older     bool   `json:"-"`
	// Advice are findings that never stop a run, Silenced those that a comment in a
	// manifest hides.
	Advice   diag.List `json:"advice,omitempty"`
	Silenced diag.List `json:"silenced,omitempty"`
	// Blame is nil where nothing was compared with git's past.
	Blame   *ComparedCommits `json:"blame,omitempty"`
	Summary Summary          `json:"summary"`
}

// Destination is where the plan's requests would go.
type Destination struct {
	Origins   map[kind.Area]string `json:"origins"`
	Workspace kind.Workspace       `json:"workspace"`
}

// Item is one object of git, live or the ledger.
type Item struct {
	kind.Key
	// Path and Line are where the manifest is; empty where there is none.
	Path string `json:"path,omitempty"`
	Line int    `json:"line,omitempty"`
	Op   Op     `json:"op"`
	// Cause and By are why the object as a whole is made, posted, deleted or kept.
	Cause Cause        `json:"cause,omitempty"`
	By    ChangeOrigin `json:"by,omitempty"`
	// Commit is the newest that gave it its manifest, or removed it, as in a Change.
	Commit *Commit `json:"commit,omitempty"`
	// Risk is the gravest of all lines.
	Risk kind.Risk `json:"risk,omitempty"`
	// Request is what apply sends; nil unless Op sends.
	Request *Request `json:"request,omitempty"`
	// Spec is what an item of an offline plan would create or post.
	Spec json.RawMessage `json:"spec,omitempty"`
	// After are the items that must have succeeded, and been verified, first.
	After   []kind.Key `json:"after,omitempty"`
	Changes []Change   `json:"changes,omitempty"`
	// Notes are changes that live has already, and unmanaged fields: nothing is sent for
	// them.
	Notes []Change `json:"already,omitempty"`
	// Preserved, Collateral and Lists are the side effects of sending a list whole.
	Preserved  []merge.PathValue `json:"preserved,omitempty"`
	Collateral []merge.PathValue `json:"collateral,omitempty"`
	Lists      []merge.SentList  `json:"lists,omitempty"`
	// Stops is what the object no longer answers, and no other one does.
	Stops []routing.UnansweredRequests `json:"stops,omitempty"`
	// FirstContact are live list elements that only a take-over may drop.
	FirstContact []merge.PathValue `json:"firstContact,omitempty"`
	// Purge is what a request invalidates, Disk the source of a snapshot.
	Purge *PurgeInfo `json:"purge,omitempty"`
	Disk  string     `json:"disk,omitempty"`
	// Made is the creation time of an object that left git, as the server writes it, and Hostname what it still serves.
	Made     string `json:"made,omitempty"`
	Hostname string `json:"hostname,omitempty"`
	// Reason says why an item is blocked, in flight elsewhere, deferred or kept,
	// and Fix what a person can do.
	Reason string `json:"reason,omitempty"`
	Fix    string `json:"fix,omitempty"`
	// Happened says that the item is what happened outside git, from git to live, and not
	// what apply does about it, from live to git.
	Happened bool `json:"happened,omitempty"`
	// Waits says that a report of drift shows what git has and live does not.
	Waits bool `json:"waits,omitempty"`
	// Deleted says that live lacks an object that the ledger knows: drift.
	Deleted bool `json:"deleted,omitempty"`
	// Unserved is the hostname that no live object has since then; empty if another one serves it.
	Unserved string `json:"unserved,omitempty"`
	// Recreate says that a person allowed to create it again.
	Recreate bool `json:"recreate,omitempty"`
	// Resend says that a run which is gone may have sent the request: apply sends it
	// again under the same name, and the platform rejects a duplicate.
	Resend bool `json:"resend,omitempty"`
	// Lost says that the request of a run which is gone can't be sent again
	// safely: apply records that a person must decide.
	Lost bool `json:"lost,omitempty"`
	// Found says that the object of a request without an outcome is live: apply
	// records that it was executed.
	Found bool `json:"found,omitempty"`
	// Elsewhere says, in the merged plan of many projects, that this change changes nothing in the project.
	Elsewhere bool `json:"elsewhere,omitempty"`
	// RemoteName is the server's name of the object, if it differs.
	RemoteName string `json:"remoteName,omitempty"`
	// Record says that the ledger is to learn that live is in sync.
	Record bool `json:"record,omitempty"`
	// Failed marks a blocked item that the platform reports as failed.
	Failed bool `json:"failed,omitempty"`
	// NeedsPerson marks a blocked item that ends apply with exit code 6.
	NeedsPerson bool `json:"needsPerson,omitempty"`
	// Hints are advice lines about the item.
	Hints []string `json:"hints,omitempty"`
	// Live is the fingerprint of what was compared.
	Live Fingerprint `json:"live"`
	// Before is what the ledger keeps of live with the write; nil unless a request converges the object, and in a plan
	// that nothing is sent of.
	Before *ledger.LiveBefore `json:"-"`
	// DesiredDigest is the digest of the manifest's spec.
	DesiredDigest *canon.Sum `json:"desiredDigest,omitempty"`
	// Recorded is how far the ledger's record of the object was; nil where there
	// was none.
	Recorded *RecordVersion `json:"recorded,omitempty"`
}

// RecordVersion names a transition of a record of the ledger.
type RecordVersion struct {
	// Seq counts the transitions of the record from 1.
	Seq   int                 `json:"seq"`
	State ledger.RequestState `json:"state,omitempty"`
}

// Request is one call of the platform's API.
type Request struct {
	Method string `json:"method"`
	// Path is relative to the area's base address, without the workspace.
	Path        string          `json:"path"`
	ContentType string          `json:"contentType"`
	Body        json.RawMessage `json:"body"`
}

// Fingerprint identifies the live object of an item.
type Fingerprint struct {
	Exists bool       `json:"exists"`
	UID    string     `json:"uid,omitempty"`
	Digest *canon.Sum `json:"digest,omitempty"`
	// Replaced is the digest of what the request overwrites, with what git does not
	// mention in lists (docs/design.md 0.17).
	Replaced *canon.Sum `json:"replaced,omitempty"`
}

// PurgeInfo counts what a purge invalidates and its hostname's budget (docs/platform.md 8).
type PurgeInfo struct {
	Hostname   string   `json:"hostname"`
	Subdomains []string `json:"subdomains,omitempty"`
	// Paths counts absolute paths, Prefixes those that end in *. Sample has the first.
	Paths    int      `json:"paths"`
	Prefixes int      `json:"prefixes"`
	Sample   []string `json:"sample,omitempty"`
	// Everything says that /* is one of them.
	Everything bool `json:"everything,omitempty"`
	// Active is what counts against the limits of the hostname before this plan. Budget
	// adds what the plan posts up to this request, or all of it if this is deferred.
	Active HostBudget `json:"active"`
	Budget HostBudget `json:"budget"`
	Limits HostBudget `json:"limits"`
	// Earliest is when a deferred request fits, if nothing else is posted.
	Earliest time.Time `json:"earliest,omitzero"`
}

// HostBudget counts against the limits of one hostname (docs/platform.md 8).
type HostBudget = purge.Usage

// newPurgeInfo returns what a request of the spec invalidates, without its budget.
func newPurgeInfo(spec purge.Spec) *PurgeInfo {
	usage := spec.Usage()
	return &PurgeInfo{
		Hostname: spec.Hostname, Subdomains: spec.Subdomains, Paths: usage.Paths, Prefixes: usage.Prefixes,
		Sample: slices.Clone(spec.Paths[:min(len(spec.Paths), sampleSize)]), Everything: slices.Contains(spec.Paths, allPaths),
		Limits: purge.HostLimits(),
	}
}

// Summary counts the items of a plan.
type Summary struct {
	Create    int `json:"create"`
	Change    int `json:"change"`
	Purge     int `json:"purge"`
	Delete    int `json:"delete"`
	Deferred  int `json:"deferred"`
	InFlight  int `json:"inFlight"`
	Blocked   int `json:"blocked"`
	Kept      int `json:"kept"`
	Unchanged int `json:"unchanged"`
	// Removed counts the fields and list elements that patches take out of live, also those of an object that goes as a whole.
	Removed   int `json:"removed"`
	Drifted   int `json:"drifted"`
	Unmanaged int `json:"unmanaged"`
	// Security, Serves, Availability and Cost count the lines of that risk that are sent; an object that is created is one.
	Security     int `json:"security"`
	Serves       int `json:"serves"`
	Availability int `json:"availability"`
	Cost         int `json:"cost"`
	// Risk is what Gravest returns.
	Risk kind.Risk `json:"risk,omitempty"`
}

// Add adds the counts of another plan.
func (s *Summary) Add(o Summary) {
	to, from := reflect.ValueOf(s).Elem(), reflect.ValueOf(o)
	for i := range to.NumField() {
		if to.Field(i).CanInt() {
			to.Field(i).SetInt(to.Field(i).Int() + from.Field(i).Int())
		}
	}
	s.Risk = s.Gravest()
}

// Gravest returns the gravest risk that is counted.
func (s Summary) Gravest() kind.Risk {
	switch {
	case s.Security > 0:
		return kind.RiskSecurity
	case s.Serves > 0:
		return kind.RiskServes
	case s.Availability > 0:
		return kind.RiskAvailability
	case s.Cost > 0:
		return kind.RiskCost
	}
	return kind.NoRisk
}
