package ledger

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"trueup/internal/canon"
	"trueup/internal/diag"
	"trueup/internal/kind"
)

// RequestState is the state of a request that is sent at most once.
type RequestState string

// The states of a request. Records of objects that converge have none.
const (
	Claimed   RequestState = "claimed"
	Posted    RequestState = "posted"
	Rejected  RequestState = "rejected"
	Unknown   RequestState = "unknown"
	Adopted   RequestState = "adopted"
	Abandoned RequestState = "abandoned"
)

// Record is what trueup did to one object. Records are never deleted: a manifest that comes back to git must not be
// sent again.
type Record struct {
	Schema    string `json:"schema"`
	Workspace string `json:"workspace"`
	kind.Key
	Seq     int       `json:"seq"`   // counts the transitions from 1
	Nonce   string    `json:"nonce"` // identifies the last step of History
	History []LogStep `json:"history,omitempty"`

	// Folded means that only the name, the digest and the end of a request are left.
	Folded bool `json:"folded,omitempty"`

	// The claim of a request, and its outcome.
	State        RequestState  `json:"state,omitempty"`
	SpecDigest   *canon.Sum    `json:"specDigest,omitempty"`
	Spec         CanonicalJSON `json:"spec,omitempty"`
	FirstClaimAt *time.Time    `json:"firstClaimAt,omitempty"`
	ClaimedAt    *time.Time    `json:"claimedAt,omitempty"`
	AcceptedAt   *time.Time    `json:"acceptedAt,omitempty"`
	Claim        *Claim        `json:"claim,omitempty"`
	// Before has the live objects, right before the first claim, that look like the new one. trueup made none of them.
	// Nil means unknown.
	Before *Listing `json:"before,omitempty"`
	// EarlierUnknown means that an earlier send of this request may have reached the platform. Left means that the run with
	// the claim ended and recorded no outcome.
	EarlierUnknown bool     `json:"uncertain,omitempty"`
	Left           bool     `json:"left,omitempty"`
	Outcome        *Outcome `json:"outcome,omitempty"`
	// RepostedFrom is the first claim of an earlier send that a person answered with --repost. If the platform has the
	// name, that send was executed.
	RepostedFrom *time.Time `json:"repostedFrom,omitempty"`

	// The specs of an object that converges: the last-applied one, and those that were sent later and not confirmed,
	// oldest first.
	Applied      CanonicalJSON   `json:"applied,omitempty"`
	Pending      []CanonicalJSON `json:"pending,omitempty"`
	NotConverged bool            `json:"notConverged,omitempty"` // the platform did not keep what was sent
	// Live is what live had before the last of Pending was sent. An outcome has it only if that was another one by then.
	Live *LiveBefore `json:"liveBefore,omitempty"`
	// Owed is Applied with the values that git removed and the platform kept. Nil means that it removed all.
	Owed CanonicalJSON `json:"owed,omitempty"`
	// Altered are the paths in which a write changed something grave that was not sent. A person decides about them.
	Altered []string `json:"altered,omitempty"`
	// AppliedAt is when a run, which Claim names, recorded Applied.
	AppliedAt *time.Time `json:"appliedAt,omitempty"`
	// OwedAt is when the platform last kept them.
	OwedAt *time.Time `json:"owedAt,omitempty"`

	// These come from the platform.
	RemoteName        string `json:"remoteName,omitempty"`
	UID               string `json:"uid,omitempty"`
	CreationTimestamp string `json:"creationTimestamp,omitempty"`
}

// Listing has live objects of a kind.
type Listing struct {
	At      time.Time  `json:"at"`
	Objects []ObjectID `json:"objects,omitempty"`
}

// ObjectID is how the platform names an object.
type ObjectID struct {
	Name string `json:"name"`
	UID  string `json:"uid,omitempty"`
}

// Has reports whether the listing has an object with the name or the uid.
func (l *Listing) Has(name, uid string) bool {
	return slices.ContainsFunc(l.Objects, func(o ObjectID) bool { return o.Name == name || uid != "" && o.UID == uid })
}

// LogStep is one transition of a record.
type LogStep struct {
	Seq   int       `json:"seq"`
	Nonce string    `json:"nonce"`
	At    time.Time `json:"at"`
	// Event is what happened, By who did it, Detail a message of at most 200 bytes.
	Event  string `json:"event"`
	By     string `json:"by,omitempty"`
	Detail string `json:"detail,omitempty"`
}

// Claim identifies the run that is about to send, or has applied an object.
type Claim struct {
	RunID  string `json:"runId,omitempty"`
	RunURL string `json:"runUrl,omitempty"`
	Actor  string `json:"actor,omitempty"`
	Commit string `json:"commit,omitempty"`
	// Dirty means that the project's files were not those of Commit.
	Dirty bool   `json:"dirty,omitempty"`
	Host  string `json:"host,omitempty"`
	Tool  string `json:"tool,omitempty"`
}

// nameOfPerson names the person, with the page of the run or else the machine.
func (c Claim) nameOfPerson() string {
	switch {
	case c.RunURL != "":
		return fmt.Sprintf("%s (%s)", cmp.Or(c.Actor, "a run"), c.RunURL)
	case c.Host != "":
		return cmp.Or(c.Actor, "somebody") + "@" + c.Host
	}
	return cmp.Or(c.Actor, "somebody")
}

// LastApply says which run applied an object last, and when.
type LastApply struct {
	Claim
	At time.Time `json:"at"`
}

// LastApplied returns nil if the ledger does not know.
func (r Record) LastApplied() *LastApply {
	at := r.AppliedAt
	if r.State == Posted {
		at = r.AcceptedAt
	}
	if r.Claim == nil || at == nil {
		return nil
	}
	return &LastApply{Claim: *r.Claim, At: *at}
}

// String says from which commit, by whom and when.
func (a *LastApply) String() string {
	commit := ""
	if a.Commit != "" {
		commit = fmt.Sprintf("from commit %.12s", a.Commit)
		if a.Dirty {
			commit += " and files that were changed"
		}
		commit += ", "
	}
	return fmt.Sprintf("%sby %s, at %s", commit, a.nameOfPerson(), a.At.UTC().Format(time.RFC3339))
}

// OutcomeStatus is how a request ended.
type OutcomeStatus string

// The ways in which a request ends.
const (
	Created            OutcomeStatus = "created"   // a 2xx answer
	RejectedByPlatform OutcomeStatus = "rejected"  // a 4xx that proves that nothing was done
	Duplicate          OutcomeStatus = "duplicate" // the platform rejects the name: an earlier send without an answer has arrived
	Found              OutcomeStatus = "found"     // the object is live
	Released           OutcomeStatus = "released"  // nothing was sent
	OutcomeUnknown     OutcomeStatus = "unknown"   // the request may have been executed
	NotOurs            OutcomeStatus = "not-ours"  // the name belongs to an object that this ledger did not make
	Operator           OutcomeStatus = "operator"  // a person's answer
	AdoptedByOperator  OutcomeStatus = "adopted"   // a person recorded the request as done
	Removed            OutcomeStatus = "deleted"   // trueup deleted the object
	Forgotten          OutcomeStatus = "forgotten" // trueup ledger forget: a person removed the object from the ledger's care
)

// Outcome says how a request ended.
type Outcome struct {
	How     OutcomeStatus  `json:"how"`
	HTTP    int            `json:"http,omitempty"`
	Message diag.Quotation `json:"message,omitzero"` // from the platform or the network, at most 2000 bytes
	// Reason and By are from a person's ledger resolve.
	Reason string `json:"reason,omitempty"`
	By     string `json:"by,omitempty"`
}

// Genesis identifies a ledger, and binds it to one workspace and the platform's addresses: its records are useless for
// another platform.
type Genesis struct {
	Schema    string               `json:"schema"`
	LedgerID  string               `json:"ledgerId"`
	Seq       int                  `json:"seq"` // counts the changes from 1
	CreatedAt time.Time            `json:"createdAt"`
	Origins   map[kind.Area]string `json:"origins"` // the platform's addresses
	// Workspace is the UUID in addresses, WorkspaceName the name in those of the compute area; older ledgers have none.
	Workspace     string                       `json:"workspace"`
	WorkspaceName string                       `json:"workspaceName,omitempty"`
	Proofs        map[kind.Area]DuplicateProof `json:"proofs,omitempty"`
	Finished      *CompleteApply               `json:"finished,omitempty"` // the last that changed the set of requests
	Head          *ApplyHead                   `json:"head,omitempty"`
	Holds         []Hold                       `json:"holds,omitempty"`
}

// CompleteApply is an apply of a whole project that left nothing to do. Every request in git then has a record, unless the
// record was lost.
type CompleteApply struct {
	At       time.Time `json:"at"`
	Commit   string    `json:"commit,omitempty"` // empty outside git
	Requests []string  `json:"requests"`         // the send-once objects in git, as KIND/NAME, sorted
}

// HadRequest reports whether git had the request then.
func (f *CompleteApply) HadRequest(key kind.Key) bool {
	if f == nil {
		return false
	}
	_, ok := slices.BinarySearch(f.Requests, key.String())
	return ok
}

// String describes the apply.
func (f *CompleteApply) String() string {
	commit := ""
	if f.Commit != "" {
		commit = fmt.Sprintf("of commit %.8s ", f.Commit)
	}
	return "an apply " + commit + "that finished at " + f.At.UTC().Format(time.RFC3339)
}

// DuplicateProof says when and how the platform rejected a duplicate name.
type DuplicateProof struct {
	At time.Time `json:"at"`
	// Name was sent twice, HTTP is the second answer.
	Name string `json:"name"`
	HTTP int    `json:"http"`
	By   string `json:"by,omitempty"`
}

// String says when and how a duplicate was rejected.
func (p DuplicateProof) String() string {
	text := fmt.Sprintf("as seen at %s with %s (HTTP %d)", p.At.UTC().Format(time.RFC3339), p.Name, p.HTTP)
	if p.By != "" {
		text += " by " + p.By
	}
	return text
}

// View is what a plan needs of a ledger.
type View struct {
	// Problem says why the ledger can't be used, or is empty. The others are as in ProblemError.
	Problem, Fix string
	Elsewhere    bool
	ID           string
	Records      map[kind.Key]Record // those of the requested keys, of recent claims and of open requests
	// Terms say, by area, whether open requests may be sent again.
	Terms    map[kind.Area]ResendTerms
	Finished *CompleteApply
	Head     *ApplyHead
	Holds    []Hold
	Unseen   bool  // this machine never saw a request of the ledger, so it can't detect a rollback
	NotKept  error // why this machine can't store what it sees of the ledger, or nil
}

// ProblemError returns the Problem as an error, or nil.
func (v View) ProblemError() error {
	if v.Problem == "" {
		return nil
	}
	return &ProblemError{Problem: v.Problem, Fix: v.Fix, Elsewhere: v.Elsewhere}
}

// RemoteNames returns the platform's name of each object that git names differently.
func (v View) RemoteNames() map[kind.Key]string {
	names := map[kind.Key]string{}
	for key, rec := range v.Records {
		if rec.RemoteName != "" && rec.RemoteName != key.Name {
			names[key] = rec.RemoteName
		}
	}
	return names
}

// IsOurs reports whether a request of this ledger certainly made the object. Another client may have made an adopted one.
func (r Record) IsOurs() bool {
	return r.State == Posted && r.Outcome != nil && (r.Outcome.How == Created || r.Outcome.How == Duplicate)
}

// isFinal reports whether the outcome of a request is known, and it is never sent again.
func (r Record) isFinal() bool {
	return r.State == Posted || r.State == Adopted || r.State == Abandoned
}

// IsBlank reports whether there is no record, or an empty one.
func (r Record) IsBlank() bool { return r.State == "" && r.Applied == nil && r.Pending == nil }

// listLag is how long a list of the platform may not show what was written, and clocks may differ.
const listLag = 10 * time.Minute

// WrittenLately reports whether trueup wrote the object so lately that a list may not show it yet.
func (r Record) WrittenLately(now time.Time) bool {
	return slices.ContainsFunc(r.History, func(s LogStep) bool {
		return slices.Contains([]event{evBegin, evPost, evDelete}, event(s.Event)) && now.Sub(s.At).Abs() < listLag
	})
}

// IsForgotten reports whether a person took the object out of git's care, and it was not managed again since.
func (r Record) IsForgotten() bool {
	return (r.IsBlank() || r.State == Abandoned) && r.Outcome != nil && r.Outcome.How == Forgotten
}

// IsGone reports whether trueup deleted the object.
func (r Record) IsGone() bool {
	return r.State == Posted && r.Outcome != nil && r.Outcome.How == Removed
}

// Status returns the state in a word, also for an object that converges.
func (r Record) Status() string {
	switch {
	case r.State != "":
		return string(r.State)
	case r.Pending != nil:
		return "unconfirmed"
	case r.Applied != nil:
		return "applied"
	}
	return "free"
}

// DescribeDeletion describes the object's deletion, or returns "".
func (r Record) DescribeDeletion() string {
	last := r.lastStep()
	switch {
	case last.Event == string(evDeleted):
		return fmt.Sprintf("trueup deleted it (%s%s)", last.By, formatTime(&last.At))
	case last.Event == string(evDelete):
		return fmt.Sprintf("%s%s started its deletion and recorded no outcome", last.By, formatTime(&last.At))
	case r.IsGone():
		return "trueup deleted it"
	}
	return ""
}
