package apply

import (
	"errors"
	"strings"
	"time"

	"trueup/internal/kind"
)

// What an error of a Writer says of itself, by the methods that Writer names.
// An error that says nothing is uncertain after a write: it may have happened.

func notFound(err error) bool {
	var e interface{ NotFound() bool }
	return errors.As(err, &e) && e.NotFound()
}

func conflict(err error) bool {
	var e interface{ Conflict() bool }
	return errors.As(err, &e) && e.Conflict()
}

// exists reports that the name of what was to be created exists already.
func exists(err error) bool {
	var e interface{ Exists() bool }
	return errors.As(err, &e) && e.Exists()
}

// limited reports that the platform takes no more of these for now.
func limited(err error) bool {
	var e interface{ Limited() bool }
	return errors.As(err, &e) && e.Limited()
}

// fieldOf is the field of the object that the platform said is wrong, or empty.
func fieldOf(err error) string {
	var e interface{ Field() string }
	if !errors.As(err, &e) {
		return ""
	}
	return e.Field()
}

func auth(err error) bool {
	var e interface{ Auth() bool }
	return errors.As(err, &e) && e.Auth()
}

func uncertain(err error) bool {
	var e interface{ Uncertain() bool }
	return !notSent(err) && (!errors.As(err, &e) || e.Uncertain())
}

func notSent(err error) bool {
	var e interface{ NotSent() bool }
	return errors.As(err, &e) && e.NotSent()
}

func hopeless(err error) bool {
	var e interface{ Hopeless() bool }
	return errors.As(err, &e) && e.Hopeless()
}

// waitOf is how long the server asked to be left alone.
func waitOf(err error) time.Duration {
	var e interface{ Wait() time.Duration }
	if !errors.As(err, &e) {
		return 0
	}
	return e.Wait()
}

func httpStatus(err error) int {
	var e interface{ HTTPStatus() int }
	if !errors.As(err, &e) {
		return 0
	}
	return e.HTTPStatus()
}

// silent tells that the platform gave no answer to a request. What failed here
// is no request, and says nothing of an answer.
func silent(err error) bool {
	var e interface{ HTTPStatus() int }
	return errors.As(err, &e) && e.HTTPStatus() == 0
}

// existingOf is the object that a conflict speaks of, where the server shows it.
func existingOf(err error) (kind.Object, bool) {
	var e interface{ Existing() (kind.Object, bool) }
	if !errors.As(err, &e) {
		return kind.Object{}, false
	}
	return e.Existing()
}

func verdictOf(err error) Verdict {
	if auth(err) {
		return Auth
	}
	return Partial
}

// refusesVersion recognises a refusal of the precondition: a 409 says that it
// is stale, another certain refusal that names it that it is not taken.
func refusesVersion(err error) bool {
	if err == nil || uncertain(err) || auth(err) {
		return false
	}
	return conflict(err) || strings.Contains(err.Error(), "resourceVersion")
}
