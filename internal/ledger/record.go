package ledger

import (
	"fmt"
	"slices"
	"time"

	"trueup/internal/canon"
	"trueup/internal/kind"
)

// State is how far a once-only request has come (docs/design.md A3).
type State string

// The states of an intent. A record without a state is of a kind that
// converges.
const (
	Claimed   State = "claimed"
	Posted    State = "posted"
	Rejected  State = "rejected"
	Unknown   State = "unknown"
	Adopted   State = "adopted"
	Abandoned State = "abandoned"
)

// Record is what has been done to one object (docs/design.md A2, B1 and 0.2).
type Record struct {
	Schema    string `json:"schema"`
	Workspace string `json:"workspace"`
	kind.Key
	// Seq counts the transitions of this record from 1.
	Seq int `json:"seq"`
	// Nonce names this transition; History ends with it.
	Nonce   string `json:"nonce"`
	History []Step `json:"history,omitempty"`

	// The intent of a request that is sent once.
	State        State      `json:"state,omitempty"`
	SpecDigest   *canon.Sum `json:"specDigest,omitempty"`
	Spec         JSON       `json:"spec,omitempty"`
	FirstClaimAt *time.Time `json:"firstClaimAt,omitempty"`
	ClaimedAt    *time.Time `json:"claimedAt,omitempty"`
	AcceptedAt   *time.Time `json:"acceptedAt,omitempty"`
	Claim        *Claim     `json:"claim,omitempty"`
	// Before is what was live right before the first claim and looks like what the
	// request makes: none of it is ours. Nil means that it is not known.
	Before *Listing `json:"before,omitempty"`
	// Uncertain says that an earlier send of this intent may have arrived, Left
	// that the run that claimed it has ended without an outcome.
	Uncertain bool     `json:"uncertain,omitempty"`
	Left      bool     `json:"left,omitempty"`
	Outcome   *Outcome `json:"outcome,omitempty"`
	// RepostedFrom is the first claim of an earlier intent that got no outcome, and of
	// which a person said that it was not executed. Where the platform has the name,
	// it was.
	RepostedFrom *time.Time `json:"repostedFrom,omitempty"`

	// The specs of an object that converges, canonical JSON: the one that was
	// applied last, and those whose write was begun and not confirmed since,
	// oldest first.
	Applied JSON   `json:"applied,omitempty"`
	Pending []JSON `json:"pending,omitempty"`
	// NotConverged says that the server did not keep what was sent.
	NotConverged bool `json:"notConverged,omitempty"`

	// What the server said of the object that was made.
	RemoteName        string `json:"remoteName,omitempty"`
	UID               string `json:"uid,omitempty"`
	CreationTimestamp string `json:"creationTimestamp,omitempty"`
}

// Listing is a whole list of the platform's, or those of it that matter.
type Listing struct {
	At      time.Time  `json:"at"`
	Objects []Identity `json:"objects,omitempty"`
}

// Identity is what the server calls an object.
type Identity struct {
	Name string `json:"name"`
	UID  string `json:"uid,omitempty"`
}

// Has reports whether the listing has an object of the name or the uid.
func (l *Listing) Has(name, uid string) bool {
	return slices.ContainsFunc(l.Objects, func(o Identity) bool { return o.Name == name || uid != "" && o.UID == uid })
}

// Step is one transition of a record, in few words.
type Step struct {
	Seq   int       `json:"seq"`
	Nonce string    `json:"nonce"`
	At    time.Time `json:"at"`
	// Event is what happened, By which run or person made it happen, Detail
	// what was said, cut to 200 bytes.
	Event  string `json:"event"`
	By     string `json:"by,omitempty"`
	Detail string `json:"detail,omitempty"`
}

// Claim says who is about to send.
type Claim struct {
	RunID  string `json:"runId,omitempty"`
	RunURL string `json:"runUrl,omitempty"`
	Actor  string `json:"actor,omitempty"`
	Commit string `json:"commit,omitempty"`
	Host   string `json:"host,omitempty"`
	Tool   string `json:"tool,omitempty"`
}

// How is the kind of an intent's end.
type How string

// The ends of an intent.
const (
	// Created means a 2xx, Refused a 4xx that proves that nothing was done.
	Created How = "created"
	Refused How = "refused"
	// Duplicate means that the platform refused a second request of the name,
	// after one of ours that had got no answer: that one was executed. Found
	// means that the object was found to be there.
	Duplicate How = "conflict-after-ambiguous"
	Found     How = "found"
	// Released means that provably nothing was sent, Unclear that it can't be
	// known, NotOurs that the name is taken by an object that no request of this
	// ledger can have made.
	Released How = "released"
	Unclear  How = "unclear"
	NotOurs  How = "not-ours"
	// Operator is a person's answer, AdoptedByOperator what a person said was
	// done elsewhere.
	Operator          How = "operator"
	AdoptedByOperator How = "adopted"
	// Removed means that what was made was deleted by us since.
	Removed How = "deleted"
)

// Outcome says how an intent ended.
type Outcome struct {
	How  How `json:"how"`
	HTTP int `json:"http,omitempty"`
	// Message is what the server or the network said, cut to 2000 bytes.
	Message string `json:"message,omitempty"`
	// Reason and By are what a person gave to ledger resolve.
	Reason string `json:"reason,omitempty"`
	By     string `json:"by,omitempty"`
}

// Genesis is the birth certificate of a ledger: it binds the records to one
// project and to the platform's addresses (docs/design.md A2 and 0.13).
type Genesis struct {
	Schema   string `json:"schema"`
	LedgerID string `json:"ledgerId"`
	// Seq counts the changes of the genesis from 1.
	Seq       int       `json:"seq"`
	CreatedAt time.Time `json:"createdAt"`
	// Origins are the addresses that the records speak of, by area.
	Origins map[kind.Area]string `json:"origins"`
	// Workspace is {workspace_uuid}.
	Workspace string `json:"workspace"`
	// WorkspaceName is {namespace}, which stands in addresses of the compute area in
	// its place; older ledgers have none.
	WorkspaceName string `json:"workspaceName,omitempty"`
	// Proofs say how the platform was seen to refuse a second request of the
	// same name, by area (docs/design.md 0.7).
	Proofs map[kind.Area]Proof `json:"proofs,omitempty"`
	// Finished is the last whole apply that changed which requests git has.
	Finished *Finished `json:"finished,omitempty"`
}

// Finished is an apply of a whole project that left nothing to do. Every request that
// git had then has a record; one without was lost.
type Finished struct {
	At time.Time `json:"at"`
	// Commit is the commit that was applied; empty outside git.
	Commit string `json:"commit,omitempty"`
	// Requests are the objects in git that are sent or made once, as KIND/NAME in order.
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

// String names the apply, for messages.
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

// View is what plan reads of a ledger: values only.
type View struct {
	// Problem says why the ledger can't be used (absent, another id, another
	// origin, refused in CI), or is empty.
	Problem string
	// Fix says what to do about Problem.
	Fix string
	// Elsewhere says that the ledger is of another workspace or platform.
	Elsewhere bool
	ID        string
	// Records are those of the keys that were asked for, and all of requests
	// that are sent once and were claimed lately, or are open.
	Records map[kind.Key]Record
	// Terms decide about open requests, by area.
	Terms map[kind.Area]Terms
	// Finished is the last whole apply that changed which requests git has, or nil.
	Finished *Finished
	// Unseen says that there were requests before, and that this machine has seen none
	// of them: a ledger that was rolled back would not be noticed.
	Unseen bool
}

func (r Record) key() Key { return Key{Workspace: r.Workspace, Key: r.Key} }
