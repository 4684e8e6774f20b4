package apply

import (
	"errors"
	"net/http"
	"strings"
	"time"

	"trueup/internal/kind"
)

// Answer is an error of a Writer that reports what happened. After a write, any other error
// leaves the outcome unknown.
type Answer interface {
	error
	NotFound() bool
	// Exists reports whether the name of the new object exists already.
	Exists() bool
	Conflict() bool
	// Limited reports whether the platform accepts no more requests of this kind for now.
	Limited() bool
	Auth() bool
	// Uncertain reports whether the write may have happened.
	Uncertain() bool
	// NotSent reports whether certainly nothing was written.
	NotSent() bool
	// Hopeless reports whether a retry can't succeed.
	Hopeless() bool
	// HTTPStatus is 0 if the platform gave no answer.
	HTTPStatus() int
	// Field is the path of the wrong field, or empty.
	Field() string
	// Wait is the pause that the server asked for.
	Wait() time.Duration
	// Existing returns the object that a conflict shows, if any.
	Existing() (kind.Object, bool)
}

// ask calls a method of an Answer on err. It returns the zero value if err is no Answer.
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

// transient reports whether a retry may succeed: nothing was written, or the platform
// was unreachable or overloaded (docs/design.md C4).
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
	case 0, http.StatusRequestTimeout, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return true
	}
	return false
}

// refusesVersion reports whether the server refused the resourceVersion of a PATCH: it is stale
// (409), or the server accepts none.
func refusesVersion(err error) bool {
	if err == nil || uncertain(err) || auth(err) {
		return false
	}
	return conflict(err) || strings.Contains(err.Error(), "resourceVersion")
}
