package apply

import (
	"errors"
	"strings"
	"time"

	"trueup/internal/kind"
)

// Answer is an error of a Writer that says what it means. Any other error is
// uncertain after a write: it may have happened.
type Answer interface {
	error
	NotFound() bool
	// Exists reports that the name of what was to be created exists already.
	Exists() bool
	Conflict() bool
	// Limited reports that the platform takes no more of these for now.
	Limited() bool
	Auth() bool
	// Uncertain reports that the write may have happened, NotSent that nothing was
	// written, Hopeless that another try can't succeed.
	Uncertain() bool
	NotSent() bool
	Hopeless() bool
	// HTTPStatus is 0 if the platform gave no answer.
	HTTPStatus() int
	// Field is the path of the field that is wrong, or empty.
	Field() string
	// Wait is how long the server asked to be left alone.
	Wait() time.Duration
	// Existing is the object that a conflict shows, if it shows one.
	Existing() (kind.Object, bool)
}

// ask returns what an error says of itself, the zero value if it says nothing.
func ask[T any](err error, question func(Answer) T) (said T) {
	if answer, ok := errors.AsType[Answer](err); ok {
		return question(answer)
	}
	return said
}

func notFound(err error) bool  { return ask(err, Answer.NotFound) }
func conflict(err error) bool  { return ask(err, Answer.Conflict) }
func exists(err error) bool    { return ask(err, Answer.Exists) }
func auth(err error) bool      { return ask(err, Answer.Auth) }
func notSent(err error) bool   { return ask(err, Answer.NotSent) }
func httpStatus(err error) int { return ask(err, Answer.HTTPStatus) }

// uncertain reports whether a write that failed may have happened.
func uncertain(err error) bool {
	answer, ok := errors.AsType[Answer](err)
	return !ok || answer.Uncertain() && !answer.NotSent()
}

// transient reports whether a write that failed may succeed on another try: it was
// not written, or the platform was out of reach or overloaded (docs/design.md C4).
func transient(err error) bool {
	switch {
	case err == nil || auth(err) || ask(err, Answer.Hopeless):
		return false
	case notSent(err), conflict(err):
		return true
	case !uncertain(err):
		return false
	}
	switch httpStatus(err) {
	case 0, statusRequestTimeout, statusBadGateway, statusUnavailable, statusGatewayTimeout:
		return true
	}
	return false
}

// refusesVersion reports whether the server refused the precondition: a 409 says that
// the version is stale, another certain refusal that names it that it takes none.
func refusesVersion(err error) bool {
	if err == nil || uncertain(err) || auth(err) {
		return false
	}
	return conflict(err) || strings.Contains(err.Error(), "resourceVersion")
}

// The status codes that the rules above and below name.
const (
	statusNotFound       = 404
	statusConflict       = 409
	statusRequestTimeout = 408
	statusServerError    = 500
	statusBadGateway     = 502
	statusUnavailable    = 503
	statusGatewayTimeout = 504
)
