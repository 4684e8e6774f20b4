package ledger

import (
	"fmt"
	"slices"
	"time"

	"trueup/internal/canon"
	"trueup/internal/kind"
)

// State is the state of a request that is sent once.
type State string

// The states of a request. A record of an object that converges has none.
const (
	Claimed   State = "claimed"
	Posted    State = "posted"
	Rejected  State = "rejected"
	Unknown   State = "unknown"
	Adopted   State = "adopted"
	Abandoned State = "abandoned"
)

// Record is what trueup has done to one object. Records are never deleted: a manifest that comes back to git
// must not be sent again.
type Record struct {
	Schema    string `json:"schema"`
	Workspace string `json:"workspace"`
	kind.Key
	// Seq counts the transitions of this record from 1.
	Seq int `json:"seq"`
	// Nonce identifies this transition, the last step of History.
	Nonce   string `json:"nonce"`
	History []Step `json:"history,omitempty"`

	// The claim of a request that is sent once, and its outcome.
	State        State      `json:"state,omitempty"`
	SpecDigest   *canon.Sum `json:"specDigest,omitempty"`
	Spec         JSON       `json:"spec,omitempty"`
	FirstClaimAt *time.Time `json:"firstClaimAt,omitempty"`
	ClaimedAt    *time.Time `json:"claimedAt,omitempty"`
	AcceptedAt   *time.Time `json:"acceptedAt,omitempty"`
	Claim        *Claim     `json:"claim,omitempty"`
	// Before has the live objects, right before the first claim, that look like the one that the request makes.
	// None of them is ours. Nil means unknown.
	Before *Listing `json:"before,omitempty"`
	// Uncertain says that an earlier send may have arrived, Left that the run with the claim ended without an
	// outcome.
	Uncertain bool     `json:"uncertain,omitempty"`
	Left      bool     `json:"left,omitempty"`
	Outcome   *Outcome `json:"outcome,omitempty"`
	// RepostedFrom is when an earlier send was first claimed that a person answered with --repost. If the
	// platform has the name, that send was executed.
	RepostedFrom *time.Time `json:"repostedFrom,omitempty"`

	// The specs of an object that converges: the last-applied one, and those whose write was begun and not
	// confirmed since, oldest first.
	Applied JSON   `json:"applied,omitempty"`
	Pending []JSON `json:"pending,omitempty"`
	// NotConverged says that the platform did not keep what was sent.
	NotConverged bool `json:"notConverged,omitempty"`

	// What the platform said about the object.
	RemoteName        string `json:"remoteName,omitempty"`
	UID               string `json:"uid,omitempty"`
	CreationTimestamp string `json:"creationTimestamp,omitempty"`
}

// Listing has live objects of a kind.
type Listing struct {
	At      time.Time  `json:"at"`
	Objects []Identity `json:"objects,omitempty"`
}

// Identity is how the platform names an object.
type Identity struct {
	Name string `json:"name"`
	UID  string `json:"uid,omitempty"`
}

// Has reports whether the listing has an object with the name or the uid.
func (l *Listing) Has(name, uid string) bool {
	return slices.ContainsFunc(l.Objects, func(o Identity) bool { return o.Name == name || uid != "" && o.UID == uid })
}

// Step is one transition of a record.
type Step struct {
	Seq   int       `json:"seq"`
	Nonce string    `json:"nonce"`
	At    time.Time `json:"at"`
	// Event is what happened, By the run or person, Detail a message of at most 200 bytes.
	Event  string `json:"event"`
	By     string `json:"by,omitempty"`
	Detail string `json:"detail,omitempty"`
}

// Claim identifies the run that is about to send.
type Claim struct {
	RunID  string `json:"runId,omitempty"`
	RunURL string `json:"runUrl,omitempty"`
	Actor  string `json:"actor,omitempty"`
	Commit string `json:"commit,omitempty"`
	Host   string `json:"host,omitempty"`
	Tool   string `json:"tool,omitempty"`
}

// How is how a request ended.
type How string

// The ways in which a request ends.
const (
	// Created is a 2xx, Refused a 4xx that proves that nothing was done.
	Created How = "created"
	Refused How = "refused"
	// Duplicate means that the platform refused a second request of the name after one of ours without an
	// answer, which was therefore executed. Found means that the object is live.
	Duplicate How = "conflict-after-ambiguous"
	Found     How = "found"
	// Released means that provably nothing was sent, Unclear that this can't be known, NotOurs that the name
	// belongs to an object that no request of this ledger made.
	Released How = "released"
	Unclear  How = "unclear"
	NotOurs  How = "not-ours"
	// Operator is a person's answer, AdoptedByOperator a request that a person recorded as done.
	Operator          How = "operator"
	AdoptedByOperator How = "adopted"
	// Removed means that trueup deleted the object.
	Removed How = "deleted"
)

// Outcome says how a request ended.
type Outcome struct {
	How  How `json:"how"`
	HTTP int `json:"http,omitempty"`
	// Message is that of the platform or the network, of at most 2000 bytes.
	Message string `json:"message,omitempty"`
	// Reason and By are a person's, of ledger resolve.
	Reason string `json:"reason,omitempty"`
	By     string `json:"by,omitempty"`
}

// Genesis identifies a ledger, and binds its records to one workspace and to the platform's addresses, so that
// no record is used with another platform.
type Genesis struct {
	Schema   string `json:"schema"`
	LedgerID string `json:"ledgerId"`
	// Seq counts the changes of the genesis from 1.
	Seq       int       `json:"seq"`
	CreatedAt time.Time `json:"createdAt"`
	// Origins are the addresses of the platform that the records are about, by area.
	Origins map[kind.Area]string `json:"origins"`
	// Workspace is {workspace_uuid}.
	Workspace string `json:"workspace"`
	// WorkspaceName is {namespace}, which addresses of the compute area have instead; older ledgers have none.
	WorkspaceName string `json:"workspaceName,omitempty"`
	// Proofs say, by area, how the platform refused a second request of the same name.
	Proofs map[kind.Area]Proof `json:"proofs,omitempty"`
	// Finished is the last whole apply after which git had other requests than before.
	Finished *Finished `json:"finished,omitempty"`
}

// Finished is an apply of a whole project that left nothing to do. Every request that git had then has a
// record, or the record was lost.
type Finished struct {
	At time.Time `json:"at"`
	// Commit is the commit that was applied; empty outside git.
	Commit string `json:"commit,omitempty"`
	// Requests are the send-once objects in git, as KIND/NAME, sorted.
	Requests []string `json:"requests"`
}

// Had reports whether git had the request when the apply finished.
func (f *Finished) Had(key kind.Key) bool {
	if f == nil {
		return false
	}
	_, ok := slices.BinarySearch(f.Requests, key.String())
	return ok
}

// String describes the apply.
func (f *Finished) String() string {
	commit := ""
	if f.Commit != "" {
		commit = fmt.Sprintf("of commit %.8s ", f.Commit)
	}
	return "an apply " + commit + "that finished at " + f.At.UTC().Format(time.RFC3339)
}

// Proof says when and how the platform refused a duplicate.
type Proof struct {
	At time.Time `json:"at"`
	// Name is the name that was sent twice, HTTP the answer to the second.
	Name string `json:"name"`
	HTTP int    `json:"http"`
	By   string `json:"by,omitempty"`
}

// View is what a plan needs of a ledger.
type View struct {
	// Problem says why the ledger can't be used, or is empty, and Fix what to do about it.
	Problem, Fix string
	// Elsewhere says that the ledger is of another workspace or platform.
	Elsewhere bool
	ID        string
	// Records are those of the requested keys, and of all requests that were claimed lately or are open.
	Records map[kind.Key]Record
	// Terms say, by area, whether open requests may be sent again.
	Terms map[kind.Area]Terms
	// Finished is that of the genesis, or nil.
	Finished *Finished
	// Unseen says that this machine has seen none of the ledger's requests, so it would not notice that the
	// ledger was rolled back.
	Unseen bool
}

// RemoteNames returns the objects that the server calls by another name than git.
func (v View) RemoteNames() map[kind.Key]string {
	names := map[kind.Key]string{}
	for key, rec := range v.Records {
		if rec.RemoteName != "" && rec.RemoteName != key.Name {
			names[key] = rec.RemoteName
		}
	}
	return names
}

// Ours reports whether a request of this ledger certainly made the object: the answer said so, or the platform
// refused a second one of the name. An adopted object may be somebody else's.
func (r Record) Ours() bool {
	return r.State == Posted && r.Outcome != nil && (r.Outcome.How == Created || r.Outcome.How == Duplicate)
}

// Blank reports whether there is no record, or an empty one.
func (r Record) Blank() bool { return r.State == "" && r.Applied == nil && r.Pending == nil }

// Gone reports whether trueup deleted the object.
func (r Record) Gone() bool { return r.State == Posted && r.Outcome != nil && r.Outcome.How == Removed }

// Unmade returns a clause about the object's deletion, or "".
func (r Record) Unmade() string {
	var last Step
	if n := len(r.History); n > 0 {
		last = r.History[n-1]
	}
	switch {
	case last.Event == string(evDeleted):
		return fmt.Sprintf("trueup deleted it (%s%s)", last.By, at(&last.At))
	case last.Event == string(evDelete):
		return fmt.Sprintf("%s%s started its deletion and recorded no outcome", last.By, at(&last.At))
	case r.Gone():
		return "trueup deleted it"
	}
	return ""
}
