package sandbox

import (
	"fmt"
	"maps"
	"slices"
)

// Group says what a quirk asks of a client.
type Group string

// A client works as ever under a benign quirk; under an adverse one it has to
// notice that something is wrong.
const (
	Benign  Group = "benign"
	Adverse Group = "adverse"
)

// Quirk is one way in which a real server differs from the plainest one.
type Quirk struct {
	Name    string
	Group   Group
	Summary string
}

// The quirks. What each does is said in the table below.
const (
	quirkDefaults      = "defaults"
	quirkTyped         = "typed-scalars"
	quirkStatus        = "status"
	quirkMetadata      = "metadata-extra"
	quirkSetOrder      = "set-order"
	quirkListArray     = "list-array"
	quirkListData      = "list-data"
	quirkListPaged     = "list-paged"
	quirkListNull      = "list-null-items"
	quirkListNoSpec    = "list-without-spec"
	quirkListUnordered = "list-unordered"
	quirkStatus200     = "status-200"
	quirkStatus202     = "status-202"
	quirkStatus204     = "status-204"
	quirkEmptyPatch    = "empty-patch-body"
	quirkDeleteAtOnce  = "delete-at-once"
	quirkDeleteString  = "delete-string"
	quirkLagging       = "lagging-reads"

	quirkErrorMessage  = "error-message-object"
	quirkErrorReason   = "error-reason"
	quirkErrorString   = "error-string"
	quirkErrorDetails  = "error-details"
	quirkErrorHTML     = "error-html"
	quirkErrorText     = "error-text"
	quirkErrorProblem  = "error-problem"
	quirkNilCause      = "error-nil-cause"
	quirkDropUnknown   = "drop-unknown-fields"
	quirkWrongSpace    = "wrong-namespace-empty"
	quirkIncomplete    = "list-incomplete"
	quirkExpired       = "list-expired"
	quirkTerminating   = "terminating"
	quirkFinalizers    = "finalizers"
	quirkWrongAddress  = "wrong-address"
	quirkGateway       = "gateway-timeout-text"
	quirkLimitedPlain  = "rate-limited-plain"
	quirkLimitedStatus = "rate-limited-status"
	quirkVersion       = "conflict-on-resource-version"
	quirkNormalises    = "normalises"
	quirkSorts         = "sorts-locations"
	quirkForgets       = "forgets-writes"
	quirkRedirect      = "redirect"
	quirkHalfBody      = "half-body"
	quirkPortal        = "captive-portal"
	quirkOtherSpace    = "other-workspace"
	quirkDuplicates    = "executes-duplicates"
	quirkReadOnly      = "readonly-rejects"

	quirkDuplicateFirst = "duplicate-is-existing"
	quirkDuplicate400   = "duplicate-400"
	quirkDuplicate422   = "duplicate-422"
	quirkConflictObject = "conflict-shows-object"
	quirkDateMissing    = "date-missing"
	quirkDateAged       = "date-aged"
	quirkDateAhead      = "date-ahead"
	quirkDateBehind     = "date-behind"
)

// Quirks returns the table of all quirks, the benign ones first.
func Quirks() []Quirk { return append(benignQuirks(), adverseQuirks()...) }

func benignQuirks() []Quirk {
	return []Quirk{
		{quirkDefaults, Benign, "missing fields get the server's default, also inside list elements; an array sent without such a member resets it"},
		{quirkTyped, Benign, "answers numbers and booleans where text was sent: 443, true, 2"},
		{quirkStatus, Benign, "CDNs and purges are answered with a status"},
		{quirkMetadata, Benign, "metadata has labels and annotations that are null, a workspace, a selfLink and finalizers"},
		{quirkSetOrder, Benign, "upstreams, and the servers of each, come back in another order"},
		{quirkListArray, Benign, "a list is a bare array"},
		{quirkListData, Benign, "a list is an object with its items under data"},
		{quirkListPaged, Benign, "a list has one item a page, whatever limit was asked for"},
		{quirkListNull, Benign, "a list without items says items: null"},
		{quirkListNoSpec, Benign, "the items of a list have no spec; only a read by name shows it"},
		{quirkListUnordered, Benign, "the items of each page come in reverse order of their names"},
		{quirkStatus200, Benign, "a creation answers 200"},
		{quirkStatus202, Benign, "a creation, patch or deletion answers 202"},
		{quirkStatus204, Benign, "a creation, patch or deletion answers 204, so without a body"},
		{quirkEmptyPatch, Benign, "a patch answers 200 with an empty body"},
		{quirkDeleteAtOnce, Benign, "a deleted snapshot is gone at once and the answer is a Status"},
		{quirkDeleteString, Benign, "a deletion is answered with a JSON string"},
		{quirkLagging, Benign, "the first read by name after a patch shows the object as it was before"},
		{quirkConflictObject, Benign, "a creation of a name that exists is 409 with the object that has the name as its body"},
		{quirkDateMissing, Benign, "answers have no Date header"},
		{quirkDateAged, Benign, "reads come from a cache that has kept them for 25 hours: an old Date, and an Age that says so"},
	}
}

func adverseQuirks() []Quirk {
	return []Quirk{
		{quirkErrorMessage, Adverse, `errors are {"message": {"detail": …}}`},
		{quirkErrorReason, Adverse, `errors are {"reason": …}`},
		{quirkErrorString, Adverse, `errors are {"error": …}`},
		{quirkErrorDetails, Adverse, `errors are {"details": …}`},
		{quirkErrorHTML, Adverse, "errors are HTML pages"},
		{quirkErrorText, Adverse, "errors are plain text"},
		{quirkErrorProblem, Adverse, "errors are application/problem+json (RFC 9457)"},
		{quirkNilCause, Adverse, "invalid content has one more cause, whose field is <nil>"},
		{quirkDropUnknown, Adverse, "fields that the server does not know are dropped with a 2xx and a Warning header"},
		{quirkWrongSpace, Adverse, "answers as if the workspace of the address did not exist: lists are empty, a creation is 404"},
		{quirkIncomplete, Adverse, "a list leaves out every other object and does not say so; a read by name finds it"},
		{quirkExpired, Adverse, "a list has one item a page, and every continue token has expired: 410"},
		{quirkTerminating, Adverse, "every object has a deletionTimestamp"},
		{quirkFinalizers, Adverse, "a deleted snapshot stays terminating for good"},
		{quirkWrongAddress, Adverse, "every path is unknown: 404 as text/plain"},
		{quirkGateway, Adverse, "every request is 504 as text/plain with a JSON body that lacks kind and apiVersion"},
		{quirkLimitedPlain, Adverse, "the first request of each method and path is 429 as plain text"},
		{quirkLimitedStatus, Adverse, "the first request of each method and path is 429 with a Status"},
		{quirkVersion, Adverse, "a patch that carries metadata.resourceVersion is 409, whatever its value"},
		{quirkNormalises, Adverse, "hostnames are answered in lower case and edge TTLs with their unit: 3600s"},
		{quirkSorts, Adverse, "locations are answered sorted by path, the last first"},
		{quirkForgets, Adverse, "a patch is answered with what was asked for, but nothing is kept"},
		{quirkRedirect, Adverse, "every request is answered with 307 to another path"},
		{quirkHalfBody, Adverse, "a successful answer ends in the middle of its body"},
		{quirkPortal, Adverse, "every request is 200 with an HTML page to log in on"},
		{quirkOtherSpace, Adverse, "objects say that they belong to another namespace"},
		{quirkDuplicates, Adverse, "a second purge of a name is accepted and executed"},
		{quirkDuplicateFirst, Adverse, "a second purge of a name is 200 with the first one, and not executed"},
		{quirkDuplicate400, Adverse, "a second purge of a name is 400 and told that it already exists"},
		{quirkDuplicate422, Adverse, "a second purge of a name is 422 and told that it already exists"},
		{quirkDateAhead, Adverse, "the Date header is seven minutes ahead of the platform's clock"},
		{quirkDateBehind, Adverse, "the Date header is seven minutes behind the platform's clock"},
		{quirkReadOnly, Adverse, "locations, upstreams and servers have an id of the server's, and a body that carries one is 422"},
	}
}

// quirkSet is the quirks that are switched on. It is never changed.
type quirkSet map[string]bool

// with returns the set with one more quirk.
func (q quirkSet) with(name string) quirkSet {
	out := maps.Clone(q)
	out[name] = true
	return out
}

func newQuirkSet(names []string) (quirkSet, error) {
	all := Quirks()
	set := quirkSet{}
	for _, name := range names {
		if !slices.ContainsFunc(all, func(q Quirk) bool { return q.Name == name }) {
			return nil, fmt.Errorf("quirk %q does not exist", name)
		}
		set[name] = true
	}
	return set, nil
}
