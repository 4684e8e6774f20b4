package api

import (
	"cmp"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"

	"trueup/internal/canon"
	"trueup/internal/kind"
)

// Class is what an Error means for the caller.
type Class string

// The classes of errors. Each says whether the request was carried out, and what to
// do next.
const (
	Absent    Class = "absent"   // the platform's own word that there is no such object
	Denied    Class = "denied"   // a refused or missing token, or a missing role: not done
	Taken     Class = "exists"   // the name exists already: not done by this request
	Contended Class = "conflict" // a refusal that may pass by itself: not done, try again
	// Limited says that a quota or limit is reached: not done, try later.
	Limited  Class = "limit-reached"
	Rejected Class = "rejected" // any other answer that says no: not done
	// Misdirected is an answer of something that is not the platform's API, or
	// of another workspace: the configuration is wrong.
	Misdirected Class = "misdirected"
	// Unsent is a request that provably never left, or that the platform turned
	// away unread (429): not done, wait and try again.
	Unsent      Class = "not-sent"
	Unavailable Class = "unavailable" // a read without an answer; what it asked stays unknown
	Unreadable  Class = "unreadable"  // a read whose answer makes no sense
	Unclear     Class = "uncertain"   // a write that may have happened
)

// Duplicate says which answers to the creation of a once-only request mean that its name
// exists already, besides those that say so themselves. The platform documents that such
// names are unique, and not how it refuses a second one (docs/design.md A3).
type Duplicate struct {
	Status []int // the status codes; none means 409
	// Body must match the text of the answer, or the message in it; nil matches
	// every answer.
	Body *regexp.Regexp
}

// matches reports whether an answer was set to say that the name exists already.
func (d Duplicate) matches(status int, body []byte, message string) bool {
	switch {
	case len(d.Status) == 0 && d.Body == nil:
		return false
	case len(d.Status) == 0 && status != http.StatusConflict, len(d.Status) > 0 && !slices.Contains(d.Status, status):
		return false
	}
	return d.Body == nil || d.Body.Match(body) || d.Body.MatchString(message)
}

// statusClientClosed is how a web server notes that the client did not wait.
const statusClientClosed = 499

// reply is an answer that is not a success, and what is known of the request.
type reply struct {
	complaint
	verb   kind.Verb
	status int
	// duplicate: the answer matches Config.Duplicate; shows: it holds the object that
	// has the name; listed: the kind's list was read whole.
	duplicate, shows, listed bool
}

// ours reports whether the body looks like the platform's own: Kubernetes answers an
// unknown path as plain text, and a missing object as JSON.
func (r reply) ours() bool { return r.isJSON || r.empty }

func (r reply) exists() bool {
	// Some servers put a sentence where others have a word for machines.
	word := !strings.Contains(r.reason, " ") && r.reason != ""
	return r.shows || r.reason == "AlreadyExists" || !word && strings.Contains(r.message+r.reason, "already exists")
}

// limitReached is how quotas and limits are worded. A conflict about a quota object is
// none of these.
var limitReached = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)exceeded quota|\b(quota|limit)\b.{0,100}\b(exceeded|reached)\b|exceeds the (quota|limit)|maximum number of`)
})

func (r reply) limited() bool { return limitReached().MatchString(r.message) }

// overQuota is limited for an answer that else speaks of the rate of requests.
func (r reply) overQuota() bool {
	return r.limited() && strings.Contains(strings.ToLower(r.message), "quota")
}

// row is one rule of the table: the first that matches an answer says what it means.
type row struct {
	verbs    []kind.Verb // the operations; none means all
	from, to int         // bounds of the status, which is exactly from where to is 0
	says     string      // what the answer has to hold, for people; when tests it, nil is true
	when     func(reply) bool
	class    Class // the meaning; empty means Unclear of a write, and Unavailable of a read
}

// answers is the one place that says what an answer means that is not a success. The
// platform's document names 401 and 403 alone (docs/platform.md 7); the rest is HTTP, and
// Kubernetes' reasons, which its siblings use.
func answers() []row {
	reads, named := []kind.Verb{kind.List, kind.Get}, []kind.Verb{kind.Get, kind.Patch, kind.Delete}
	writes, create := []kind.Verb{kind.Create, kind.Patch, kind.Delete}, []kind.Verb{kind.Create}
	return []row{
		{verbs: create, from: 409, says: "reason `Conflict`", when: func(r reply) bool { return r.reason == "Conflict" }, class: Contended},
		{verbs: create, from: 400, to: 499, says: "matches `duplicate:` of trueup.yaml", when: func(r reply) bool { return r.duplicate }, class: Taken},
		{verbs: create, from: 409, says: "reason `AlreadyExists`, or without a reason “already exists” or the object itself", when: reply.exists, class: Taken},
		{verbs: create, from: 409, says: "anything else: the name may exist, or the request may be carried out", class: Unclear},
		{verbs: writes, from: 409, class: Contended},
		{verbs: reads, from: 409, class: Rejected},
		{from: 401, class: Denied},
		{verbs: writes, from: 400, to: 403, says: "that a quota or limit is reached", when: reply.limited, class: Limited},
		{verbs: writes, from: 422, says: "that a quota or limit is reached", when: reply.limited, class: Limited},
		{from: 403, class: Denied},
		{verbs: writes, from: 429, says: "that a quota is reached", when: reply.overQuota, class: Limited},
		{from: 429, class: Unsent},
		{from: http.StatusRequestTimeout},
		{from: http.StatusNotAcceptable, says: "the form of the answer was refused, so the request may be carried out"},
		{from: statusClientClosed},
		{verbs: named, from: 404, says: "JSON, or nothing; or anything after a whole list of the kind", when: func(r reply) bool { return r.ours() || r.listed }, class: Absent},
		{verbs: create, from: 404, says: "JSON, or nothing", when: reply.ours, class: Rejected},
		{from: 404, class: Misdirected},
		{from: 400, to: 499, class: Rejected},
		{from: 500, to: 999},
		{from: 307, to: 308, class: Misdirected},
		{verbs: writes, from: 100, to: 399, says: "no object, or a redirection that may come after the act", class: Unclear},
		{from: 100, to: 399, class: Misdirected},
	}
}

// classify says what an answer means that is not a success.
func classify(r reply) Class {
	for _, w := range answers() {
		if (w.verbs == nil || slices.Contains(w.verbs, r.verb)) &&
			r.status >= w.from && r.status <= max(w.from, w.to) && (w.when == nil || w.when(r)) {
			return cmp.Or(w.class, unanswered(r.verb))
		}
	}
	return unanswered(r.verb)
}

// unanswered is the class of a request whose outcome is unknown.
func unanswered(verb kind.Verb) Class {
	if isWrite(verb) {
		return Unclear
	}
	return Unavailable
}

// judge returns the class of an answer that is not a success, and the object that has
// the name if the answer shows it.
func (r *Reader) judge(c *call, status int, body []byte, said complaint) (Class, *kind.Object) {
	re := reply{complaint: said, verb: c.verb, status: status, listed: r.cfg.Listed.has(c.kind)}
	var existing *kind.Object
	if c.verb == kind.Create {
		existing = r.existing(c, said.body)
		re.shows = existing != nil
		re.duplicate = c.kind.RequestOnly() && r.cfg.Duplicate.matches(status, body, said.message)
	}
	class := classify(re)
	if class != Taken {
		existing = nil
	}
	return class, existing
}

// existing finds the object that has the name in a decoded refusal: the body itself, as
// some servers answer, or one member of it. Of two, one may echo the request.
func (r *Reader) existing(c *call, body map[string]any) *kind.Object {
	if o := r.whole(c, body); o != nil {
		return o
	}
	var found []*kind.Object
	for name := range body {
		if o := r.whole(c, objectOf(body, name)); o != nil {
			found = append(found, o)
		}
	}
	if len(found) != 1 {
		return nil
	}
	return found[0]
}

// whole reads the object that the call is about, or returns nil: without a spec it
// could be any other.
func (r *Reader) whole(c *call, tree map[string]any) *kind.Object {
	if tree["kind"] != c.kind.Name {
		return nil
	}
	o, err := readObject(canon.Bytes(tree), c.kind, r.cfg.Workspace)
	made := o.UID != "" || o.CreationTimestamp != "" // else it may echo what was sent
	if err != nil || o.Name != c.name || o.Spec == nil || !made {
		return nil
	}
	return &o
}
