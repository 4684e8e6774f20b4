package api

import (
	"bytes"
	"cmp"
	"encoding/json"
	"math"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"trueup/internal/canon"
	"trueup/internal/diag"
	"trueup/internal/kind"
)

// ErrorClass is what an Error means for the caller.
type ErrorClass string

// The classes of errors. After those of the first block, the platform has not carried the request out.
const (
	Denied    ErrorClass = "denied"        // a token or role is missing or rejected
	Taken     ErrorClass = "exists"        // the name exists; an earlier request may have created the object
	Contended ErrorClass = "conflict"      // a conflict that may pass: try again
	Limited   ErrorClass = "limit-reached" // a quota or limit: try later
	Rejected  ErrorClass = "rejected"      // rejected for any other reason
	// Unsent is a request that was provably not sent, or that the platform rejected before it read it (429): wait
	// and try again.
	Unsent ErrorClass = "not-sent"

	Absent      ErrorClass = "absent"      // the object does not exist
	Unavailable ErrorClass = "unavailable" // a read without a useful answer: try again
	Unreadable  ErrorClass = "unreadable"  // a read whose answer is invalid
	Unknown     ErrorClass = "unknown"     // a write that may have been carried out
	// Misdirected is an answer that is not from the platform's API, or is from another workspace: the configuration
	// is wrong.
	Misdirected ErrorClass = "misdirected"
)

// DuplicateAnswer matches the answers that reject a send-once request because its name
// exists, besides those that say so themselves. The platform documents that these names
// are unique, but not how it rejects a second one (docs/design.md A3).
type DuplicateAnswer struct {
	Status []int          // the status codes; none means 409
	Body   *regexp.Regexp // Body matches the answer's body or message; nil matches every answer
}

// matchesAnswer reports whether an answer means that the name exists. A zero Duplicate matches none.
func (d DuplicateAnswer) matchesAnswer(status int, body []byte, message string) bool {
	switch {
	case len(d.Status) == 0 && d.Body == nil:
		return false
	case len(d.Status) == 0 && status != http.StatusConflict, len(d.Status) > 0 && !slices.Contains(d.Status, status):
		return false
	}
	return d.Body == nil || d.Body.Match(body) || d.Body.MatchString(message)
}

// statusClientClosed is nginx's status for a client that did not wait.
const statusClientClosed = 499

// errorResponse is an unsuccessful answer: what its body says, and what the table of answers asks besides.
type errorResponse struct {
	body            []byte
	reason, message string
	limit           int         // how many bytes of the message to quote
	causes          [][2]string // field and message
	retryAfter      time.Duration
	isJSON, empty   bool           // the body is a JSON object; it is empty
	object          map[string]any // the decoded object

	verb      kind.Verb
	status    int
	duplicate bool // Config.Duplicate matches
	shows     bool // the answer contains the object that has the name
	listed    bool // the kind was listed completely
	permitted bool // the platform carried the same operation out before, for another object of the kind
}

// mayBeFromPlatform reports whether the body may be the platform's: Kubernetes answers a missing
// object with JSON, and an unknown path with plain text.
func (r errorResponse) mayBeFromPlatform() bool { return r.isJSON || r.empty }

func (r errorResponse) matchesRow(w answerRule) bool {
	return (w.verbs == nil || slices.Contains(w.verbs, r.verb)) &&
		r.status >= w.from && r.status <= max(w.from, w.to) && (w.when == nil || w.when(r))
}

func (r errorResponse) saysExists() bool {
	// Some servers write a sentence as the reason.
	word := !strings.Contains(r.reason, " ") && r.reason != ""
	return r.shows || r.reason == "AlreadyExists" || !word && strings.Contains(r.message+r.reason, "already exists")
}

// limitReached matches messages about quotas and limits, except conflicts about a quota object.
var limitReached = diag.Pattern(`(?i)exceeded quota|\b(quota|limit)\b.{0,100}\b(exceeded|reached)\b|exceeds the (quota|limit)|maximum number of`)

func (r errorResponse) saysLimitReached() bool { return limitReached().MatchString(r.message) }

// policy matches what admission policies and firewalls say about one request.
var policy = diag.Pattern(`(?i)denied (the )?request|violates? .{0,100}polic(y|ies)|\b(denied|rejected|blocked) by .{0,100}\b(policy|firewall|waf)\b|(request|you) (is|was|has been|have been) blocked`)

// isAboutObject reports whether a 403 is about this object, and not about the token.
func (r errorResponse) isAboutObject() bool { return r.permitted || policy().MatchString(r.message) }

// answerRule is a rule of the table of answers. The first rule that matches applies.
type answerRule struct {
	verbs    []kind.Verb              // nil means all
	from, to int                      // the range of the status; to is 0 for a single one
	says     string                   // describes when, for people
	when     func(errorResponse) bool // nil means always
	class    ErrorClass               // empty means Unknown for a write, Unavailable for a read
}

// answerTable returns the table that gives the class of each unsuccessful answer. The platform documents only 401 and 403
// (docs/platform.md 7); the rest follows HTTP and the reasons of Kubernetes, which similar services use. A write is
// refused only by an answer that is a refusal for certain.
func answerTable() []answerRule {
	reads, named := []kind.Verb{kind.List, kind.Get}, []kind.Verb{kind.Get, kind.Patch, kind.Delete}
	writes, create := []kind.Verb{kind.Create, kind.Patch, kind.Delete}, []kind.Verb{kind.Create}
	return []answerRule{
		{verbs: create, from: 409, says: "reason `Conflict`", when: func(r errorResponse) bool { return r.reason == "Conflict" }, class: Contended},
		{verbs: create, from: 400, to: 499, says: "matches `duplicate:` of trueup.yaml", when: func(r errorResponse) bool { return r.duplicate }, class: Taken},
		{verbs: create, from: 409, says: "reason `AlreadyExists`, or without a reason “already exists” or the object itself", when: errorResponse.saysExists, class: Taken},
		{verbs: create, from: 409, says: "anything else: the name may exist, or the request may be carried out", class: Unknown},
		{verbs: writes, from: 409, class: Contended},
		{verbs: reads, from: 409, class: Rejected},
		{verbs: writes, from: 400, to: 499, says: "not the platform's form of error, or a status that its documents do not have", when: func(r errorResponse) bool { return !r.isRefusal() }, class: Unknown},
		{from: 401, class: Denied},
		{verbs: writes, from: 400, to: 403, says: "a message that a quota or limit is reached", when: errorResponse.saysLimitReached, class: Limited},
		{verbs: writes, from: 422, says: "a message that a quota or limit is reached", when: errorResponse.saysLimitReached, class: Limited},
		{from: 403, says: "a policy or a firewall denied the request, or the token did the same with another object of the kind before", when: errorResponse.isAboutObject, class: Rejected},
		{from: 403, class: Denied},
		{verbs: writes, from: 429, says: "a message that a quota is reached", when: func(r errorResponse) bool {
			return r.saysLimitReached() && strings.Contains(strings.ToLower(r.message), "quota")
		}, class: Limited},
		{from: 429, class: Unsent},
		{verbs: reads, from: http.StatusRequestTimeout},
		{verbs: reads, from: http.StatusNotAcceptable},
		{verbs: reads, from: statusClientClosed},
		{verbs: named, from: 404, says: "JSON or an empty body; any body, if trueup has listed the whole kind before", when: func(r errorResponse) bool { return r.mayBeFromPlatform() || r.listed }, class: Absent},
		{from: 404, class: Misdirected},
		{from: 400, to: 499, class: Rejected},
		{from: 500, to: 999},
		{from: 307, to: 308, class: Misdirected},
		{verbs: writes, from: 100, to: 399, says: "no object, or a redirect; the request may be carried out", class: Unknown},
		{from: 100, to: 399, class: Misdirected},
	}
}

func classWithoutAnswer(verb kind.Verb) ErrorClass {
	if isWrite(verb) {
		return Unknown
	}
	return Unavailable
}

// classifyAnswer returns the class of an unsuccessful answer, and the object that already has the name if the answer shows it.
func (r *Reader) classifyAnswer(c *operation, re errorResponse) (ErrorClass, *kind.LiveObject) {
	_, re.listed = r.cfg.Listed.kinds.Load(c.kind.Name)
	_, re.permitted = r.permitted.Load(c.operationName() + " " + c.kind.Name)
	var existing *kind.LiveObject
	if c.verb == kind.Create {
		existing = r.findExisting(c, re.object)
		re.shows = existing != nil
		re.duplicate = c.kind.IsRequestOnly() && r.cfg.Duplicate.matchesAnswer(re.status, re.body, re.message)
	}
	class := classWithoutAnswer(c.verb)
	table := answerTable()
	if i := slices.IndexFunc(table, re.matchesRow); i >= 0 {
		class = cmp.Or(table[i].class, class)
	}
	if class != Taken {
		existing = nil
	}
	return class, existing
}

// findExisting returns the object that has the name, from the body of a refusal or from
// one of its members. Of two such members, one may echo the request, so it returns nil.
func (r *Reader) findExisting(c *operation, body map[string]any) *kind.LiveObject {
	if o := r.parseRequestedObject(c, body); o != nil {
		return o
	}
	var found []*kind.LiveObject
	for name := range body {
		if o := r.parseRequestedObject(c, objectOf(body, name)); o != nil {
			found = append(found, o)
		}
	}
	if len(found) != 1 {
		return nil
	}
	return found[0]
}

// parseRequestedObject returns the call's object if the tree is one, with its spec, else nil.
func (r *Reader) parseRequestedObject(c *operation, tree map[string]any) *kind.LiveObject {
	if tree["kind"] != c.kind.Name {
		return nil
	}
	o, err := readObject(canon.Encode(tree), c.kind, r.cfg.Workspace)
	made := o.UID != "" || o.CreationTimestamp != "" // without these it may echo the request
	if err != nil || o.Name != c.name || o.Spec == nil || !made {
		return nil
	}
	return &o
}

// readErrorBody parses the forms that the platform and its gateways send: a Status, {"message"} as text or object,
// {"reason"}, {"error"}, {"errors"}, {"detail"}, {"details"}, RFC 9457, plain text and HTML. It ignores the content
// type, because time-outs come as JSON in text/plain.
func readErrorBody(body []byte) errorResponse {
	r := errorResponse{body: body, limit: messageSize}
	v, _ := canon.Decode(body)
	switch t := v.(type) {
	case map[string]any:
		r.readObject(t)
		return r
	case []any, string:
		r.message = findMessage(v, 0)
		return r
	}
	switch {
	case len(bytes.TrimSpace(body)) == 0:
		r.empty = true
	case looksHTML(body):
		r.message = cmp.Or(htmlPageText(string(body)), "an HTML page")
	default:
		r.message, r.limit = string(body), excerptSize
	}
	return r
}

func (r *errorResponse) readObject(o map[string]any) {
	r.isJSON, r.object, r.message, r.reason = true, o, findMessage(o, 0), textOf(o, "reason")
	details := objectOf(o, "details")
	if n, ok := details["retryAfterSeconds"].(json.Number); ok {
		r.retryAfter = parseSeconds(string(n), maxAsked)
	}
	causes, _ := details["causes"].([]any)
	for _, each := range causes[:min(len(causes), maxCauses)] {
		cause, _ := each.(map[string]any)
		field := textOf(cause, "field")
		message := cmp.Or(textOf(cause, "message"), textOf(cause, "reason"))
		told := strings.Contains(r.message, message) && strings.Contains(r.message, field)
		// The field "<nil>" is noise.
		if field != "<nil>" && message != "" && !told {
			r.causes = append(r.causes, [2]string{field, message})
		}
	}
}

// quoteInto puts the words of an answer into an error. If a part of a secret is anywhere in them, or in the body that they
// are from, it quotes none of them.
func (r errorResponse) quoteInto(e *Error) {
	words := []string{string(r.body[:min(len(r.body), maxChecked)]), r.message[:min(len(r.message), maxChecked)], r.reason}
	for _, cause := range r.causes {
		words = append(words, cause[:]...)
	}
	if slices.ContainsFunc(slices.Compact(words), diag.HasSecret) {
		e.Said = diag.HideAnswer(len(r.body))
		return
	}
	e.Said, e.Reason = diag.QuoteAnswer(r.message, r.limit), diag.QuoteAnswer(r.reason, excerptSize)
	for _, cause := range r.causes {
		e.Causes = append(e.Causes, FieldError{diag.QuoteAnswer(cause[0], excerptSize), diag.QuoteAnswer(cause[1], excerptSize)})
	}
}

// maxCauses is how many causes an error lists.
const maxCauses = 20

func objectOf(o map[string]any, name string) map[string]any {
	m, _ := o[name].(map[string]any)
	return m
}

func textOf(o map[string]any, name string) string {
	s, _ := o[name].(string)
	return s
}

// findMessage returns the message for people in a decoded body, or "".
func findMessage(v any, depth int) string {
	const deepest, longest = 4, 10
	if depth > deepest {
		return ""
	}
	switch t := v.(type) {
	case string:
		return t
	case []any:
		var parts []string
		for _, e := range t[:min(len(t), longest)] {
			if s := findMessage(e, depth+1); s != "" {
				parts = append(parts, s)
			}
		}
		return strings.Join(parts, "; ")
	case map[string]any:
		title := textOf(t, "title")
		for _, key := range []string{"message", "detail", "error", "errors", "details", "error_description", "description", "msg"} {
			switch s := findMessage(t[key], depth+1); s {
			case "":
			case title:
				return s
			default:
				return joinSentences(title, s)
			}
		}
		return cmp.Or(title, textOf(t, "reason"))
	}
	return ""
}

// parseSeconds parses a number of seconds and returns at most the given time, or 0 if the number is invalid or negative.
func parseSeconds(text string, most time.Duration) time.Duration {
	n, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
	if err != nil || !(n > 0) || math.IsInf(n, 0) {
		return 0
	}
	return time.Duration(min(n, most.Seconds()) * float64(time.Second))
}

// How many bytes to quote from an answer, and in how many to look for secrets besides.
const (
	maxChecked  = 16 << 10
	excerptSize = 300  // from a text that may not be a message
	messageSize = 2000 // from a message: a 403 with user, verb and resource fits
)

// Parts of an HTML page.
var (
	pageStart = diag.Pattern(`(?i)^\s*<(!doctype|html|head|body|\?xml)`)
	pageTitle = diag.Pattern(`(?is)<title>(.*?)</title>`)
	pageTag   = diag.Pattern(`<[^>]*(>|$)`)
)

func looksHTML(body []byte) bool { return pageStart().Match(body) }

func htmlPageText(page string) string {
	text, title := strings.Join(strings.Fields(pageTag().ReplaceAllString(page, " ")), " "), ""
	if found := pageTitle().FindStringSubmatch(page); found != nil {
		title = strings.Join(strings.Fields(found[1]), " ")
	}
	if strings.HasPrefix(text, title) {
		return text
	}
	return joinSentences(title, text)
}
