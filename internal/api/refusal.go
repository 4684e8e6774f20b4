package api

import (
	"net/http"

	"trueup/internal/kind"
)

// isRefusal reports whether an answer to a write proves that the platform has not carried the request out: the
// platform's documents have its status for such a request, and it is in the platform's form of error, which is JSON
// (docs/platform.md 7). A proxy may answer anything else after it sent the request on.
func (r reply) isRefusal() bool {
	switch r.status {
	case http.StatusUnauthorized, http.StatusForbidden: // the documents show no body
		return r.fromPlatform()
	case http.StatusBadRequest, http.StatusUnprocessableEntity: // a parameter is not valid: the body has a message
		return r.isJSON && (r.message != "" || r.reason != "")
	case http.StatusNotFound:
		return r.verb != kind.Create
	}
	return r.status == http.StatusTooManyRequests
}
