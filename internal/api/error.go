package api

import (
	"cmp"
	"fmt"
	"net/http"
	"strings"
	"time"

	"trueup/internal/kind"
)

// Class says what an Error means for whoever asked.
type Class string

// The classes of errors.
const (
	// Absent is the platform's own word that there is no such object.
	Absent Class = "absent"
	// Denied is a 401 or a 403, or that there is no token to send.
	Denied Class = "denied"
	// Taken is a 409, or what Config.Duplicate says.
	Taken Class = "conflict"
	// Rejected is any other answer that says no, and nothing was changed.
	Rejected Class = "rejected"
	// Misdirected is an answer of something that is not the platform's API, or
	// of another workspace: the configuration is wrong.
	Misdirected Class = "misdirected"
	// Unsent is a request of which provably nothing was written, or that the
	// platform turned away unread (429).
	Unsent Class = "not-sent"
	// Unavailable is a read without an answer; what it asked stays unknown.
	Unavailable Class = "unavailable"
	// Unreadable is a read whose answer makes no sense.
	Unreadable Class = "unreadable"
	// Unclear is a write that may have happened.
	Unclear Class = "uncertain"
)

// Cause is one of the reasons that a Status gives, with the field it is about.
type Cause struct {
	Field, Message string
}

// Error is why an operation failed, on one line and without any secret.
type Error struct {
	// Op is list, get, create, patch or delete; or write, of no Name, for the
	// Turn that comes before one.
	Op   string
	Kind string
	// Name is empty for a list.
	Name string
	// Method and Path are those of the request, empty where none was made.
	Method, Path string
	// Status and ContentType are the answer's; 0 is no answer.
	Status      int
	ContentType string
	// Reason is the server's word for machines, Message its sentence.
	Reason, Message string
	Causes          []Cause
	RequestID       string
	// RetryAfter is what the server asked for, clamped.
	RetryAfter time.Duration
	Class      Class

	// hopeless says that a read would fail again in the same way.
	hopeless bool
	// restart is the fresh token of a list whose own has expired.
	restart string
	// existing is the object that has the name, where the answer shows it.
	existing *kind.Object
	err      error
}

// Error says what failed and why: "patch KIND/NAME: 422 Unprocessable Entity:
// tls.forced: must be text (PATCH /…, application/json)".
func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString(strings.TrimSpace(e.Op + " " + e.Kind))
	if e.Name != "" {
		b.WriteString("/" + oneLine(e.Name, excerptSize))
	}
	if e.Status != 0 {
		fmt.Fprintf(&b, ": %d", e.Status)
		if text := http.StatusText(e.Status); text != "" {
			b.WriteString(" " + text)
		}
	}
	if e.Message != "" {
		b.WriteString(": " + e.Message)
	}
	for i, c := range e.Causes {
		if i == 0 {
			b.WriteString(": ")
		} else {
			b.WriteString("; ")
		}
		if c.Field != "" {
			b.WriteString(c.Field + ": ")
		}
		b.WriteString(c.Message)
	}
	if d := e.details(); len(d) > 0 {
		b.WriteString(" (" + strings.Join(d, ", ") + ")")
	}
	return b.String()
}

// details are what helps to find the request again.
func (e *Error) details() []string {
	var d []string
	if e.Method != "" {
		d = append(d, e.Method+" "+e.Path)
	}
	if e.Status != 0 {
		d = append(d, cmp.Or(e.ContentType, "no content type"))
	}
	if e.Reason != "" && !strings.Contains(e.Message, e.Reason) {
		d = append(d, "reason "+e.Reason)
	}
	if e.RequestID != "" {
		d = append(d, "request id "+e.RequestID)
	}
	return d
}

// Unwrap returns what lies below: a network error or the context's.
func (e *Error) Unwrap() error { return e.err }

// NotFound is true only where the platform itself said that the object does
// not exist.
func (e *Error) NotFound() bool { return e.Class == Absent }

// Conflict tells that the name is taken, or that the object has changed.
func (e *Error) Conflict() bool { return e.Class == Taken }

// Existing returns the object that has the name, if a Conflict shows it whole.
func (e *Error) Existing() (kind.Object, bool) {
	if e.existing == nil {
		return kind.Object{}, false
	}
	return *e.existing, true
}

// Auth tells of a missing or refused token, or a missing right.
func (e *Error) Auth() bool { return e.Class == Denied }

// Uncertain tells that a write may have happened.
func (e *Error) Uncertain() bool { return e.Class == Unclear }

// NotSent tells that a write provably did not happen and may be sent again.
func (e *Error) NotSent() bool {
	return e.Class == Unsent || e.Class == Denied && e.Status == 0
}

// Wait is how long the server asked to be left alone, clamped; 0 if it did not.
// Turn waits for it, as does each read.
func (e *Error) Wait() time.Duration { return e.RetryAfter }

// Hopeless tells that another try would fail in the same way: a setting or a
// certificate is wrong.
func (e *Error) Hopeless() bool { return e.hopeless }

// HTTPStatus returns the status of the answer, or 0.
func (e *Error) HTTPStatus() int { return e.Status }

// statusClientClosed is how a web server notes that it was not waited for.
const statusClientClosed = 499

// classify says what the status of an answer means. ours says that the body
// looks like the platform's own (platform-api 7 is silent: kubernetes answers
// an unknown path as plain text, a missing object as JSON).
func classify(verb kind.Verb, status int, ours bool) Class {
	switch status {
	case http.StatusUnauthorized, http.StatusForbidden:
		return Denied
	case http.StatusConflict:
		return Taken
	case http.StatusTooManyRequests:
		return Unsent
	case http.StatusRequestTimeout, http.StatusNotAcceptable, statusClientClosed:
		// A 406 is about the form of the answer: the request may be carried out.
		return unanswered(verb)
	case http.StatusNotFound:
		return missing(verb, ours)
	case http.StatusTemporaryRedirect, http.StatusPermanentRedirect:
		return Misdirected
	}
	switch {
	case status >= http.StatusInternalServerError:
		return unanswered(verb)
	case status >= http.StatusBadRequest:
		return Rejected
	case isWrite(verb):
		// 303 and its elders are how a server answers a POST that it has
		// carried out; 307 and 308 have carried out nothing.
		return Unclear
	}
	return Misdirected
}

// unanswered is a request whose outcome the platform itself does not tell.
func unanswered(verb kind.Verb) Class {
	if isWrite(verb) {
		return Unclear
	}
	return Unavailable
}

// missing is a 404: of an object only where the platform says it of an object.
func missing(verb kind.Verb, ours bool) Class {
	switch {
	case verb == kind.List || !ours:
		return Misdirected
	case verb == kind.Create:
		return Rejected
	}
	return Absent
}

// isWrite tells whether the operation changes something.
func isWrite(v kind.Verb) bool { return v != kind.List && v != kind.Get }
