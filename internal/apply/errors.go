package apply

import (
	"errors"
	"net/http"
	"strings"

	"trueup/internal/api"
)

// answer returns the platform's answer that err is, or an empty one.
func answer(err error) *api.Error {
	if e, ok := errors.AsType[*api.Error](err); ok {
		return e
	}
	return new(api.Error)
}

func notFound(err error) bool { return answer(err).NotFound() }
func conflict(err error) bool { return answer(err).Class == api.Contended }
func taken(err error) bool    { return conflict(err) || answer(err).Class == api.Taken }
func notSent(err error) bool  { return answer(err).NotSent() }

// uncertain reports whether a write that failed may have happened: an error that is no answer
// leaves that unknown.
func uncertain(err error) bool {
	class := answer(err).Class
	return class == "" || class == api.Unclear
}

// transient reports whether a retry may succeed: nothing was written, or the platform
// was unreachable or overloaded (docs/design.md C4).
func transient(err error) bool {
	a := answer(err)
	switch {
	case err == nil || a.Auth() || a.Hopeless:
		return false
	case a.NotSent(), a.Class == api.Contended:
		return true
	case !uncertain(err):
		return false
	}
	switch a.Status {
	case 0, http.StatusRequestTimeout, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return true
	}
	return false
}

// refusesVersion reports whether the server refused the resourceVersion of a PATCH: it is stale
// (409), or the server accepts none.
func refusesVersion(err error) bool {
	if err == nil || uncertain(err) || answer(err).Auth() {
		return false
	}
	return conflict(err) || strings.Contains(err.Error(), "resourceVersion")
}
