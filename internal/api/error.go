package api

import (
	"cmp"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"time"

	"trueup/internal/kind"
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
	// RetryAfter is what the server asked for.
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

// Exists tells that the name exists already: this request made nothing.
func (e *Error) Exists() bool { return e.Class == Taken }

// Conflict tells that the request was refused for something that may pass: the object
// has changed, or somebody else is at it.
func (e *Error) Conflict() bool { return e.Class == Contended }

// Limited tells that a quota or limit is reached.
func (e *Error) Limited() bool { return e.Class == Limited }

// Field returns the field that the answer says is wrong, as its path from the top of
// the object; empty where it names none.
func (e *Error) Field() string {
	if e.Class != Rejected {
		return ""
	}
	for _, c := range e.Causes {
		if c.Field != "" {
			return c.Field
		}
	}
	return fieldIn().FindString(e.Message)
}

// fieldIn finds the path of a field in a sentence.
var fieldIn = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\bspec(\.[A-Za-z0-9_-]+|\[[0-9]+\])+`) })

// Existing returns the object that has the name, if the answer shows it whole.
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

// Wait is how long the server asked to be left alone; 0 if it did not.
// Turn waits for it, as does each read.
func (e *Error) Wait() time.Duration { return e.RetryAfter }

// Hopeless tells that another try would fail in the same way: a setting or a
// certificate is wrong.
func (e *Error) Hopeless() bool { return e.hopeless }

// HTTPStatus returns the status of the answer, or 0.
func (e *Error) HTTPStatus() int { return e.Status }
