package sandbox

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
)

const (
	typeJSON  = "application/json"
	typeText  = "text/plain; charset=utf-8"
	typeHTML  = "text/html; charset=utf-8"
	typePatch = "application/merge-patch+json"
)

// cause is one finding about the content of an object.
type cause struct {
	Reason  string `json:"reason"`
	Message string `json:"message"`
	Field   string `json:"field"`
}

// failure is an error of the platform, as a Kubernetes-style server tells it.
type failure struct {
	code       int
	reason     string
	message    string
	causes     []cause
	retryAfter int
	// name of the object, and what a list may continue with.
	name, token string
	// plain is sent instead of any JSON, and so is object.
	plain  string
	object object
}

func (f *failure) Error() string { return f.message }

func (c *call) groupResource() string { return c.res.plural + "." + c.res.group }

func forbidden(c *call) error {
	what := strconv.Quote(c.res.plural)
	target := ""
	if c.name != "" {
		target = " " + strconv.Quote(c.name)
	}
	return &failure{
		code: http.StatusForbidden, reason: "Forbidden", name: c.name,
		message: fmt.Sprintf("%s%s is forbidden: User %q cannot %s resource %s in API group %q in the namespace %q",
			c.groupResource(), target, c.user, c.verb(), what, c.res.group, c.space),
	}
}

func unknownPath() error {
	return &failure{code: http.StatusNotFound, plain: "404 page not found\n", message: "404 page not found"}
}

func notFound(what, name string) error {
	return &failure{
		code: http.StatusNotFound, reason: "NotFound", name: name,
		message: fmt.Sprintf("%s %q not found", what, name),
	}
}

func badRequest(format string, args ...any) error {
	return &failure{code: http.StatusBadRequest, reason: "BadRequest", message: fmt.Sprintf(format, args...)}
}

func conflict(reason, name, message string) error {
	return &failure{code: http.StatusConflict, reason: reason, name: name, message: message}
}

func invalid(c *call, name string, causes []cause) error {
	var texts []string
	for _, found := range causes {
		texts = append(texts, found.Field+": "+found.Message)
	}
	message := strings.Join(texts, ", ")
	if len(texts) > 1 {
		message = "[" + message + "]"
	}
	return &failure{
		code: http.StatusUnprocessableEntity, reason: "Invalid", name: name, causes: causes,
		message: fmt.Sprintf("%s.%s %q is invalid: %s", c.res.kind, c.res.group, name, message),
	}
}

// failed turns an error into an answer, in the shape that the quirks say
// (docs/platform.md 7.3: the shape is not shown).
func failed(c *call, err error) reply {
	var f *failure
	if !errors.As(err, &f) {
		f = &failure{code: http.StatusInternalServerError, reason: "InternalError", message: "Internal error occurred: " + err.Error()}
	}
	p := reply{status: f.code, media: typeJSON}
	if f.retryAfter > 0 {
		p.set("Retry-After", strconv.Itoa(f.retryAfter))
	}
	if f.plain != "" {
		p.media, p.body = typeText, []byte(f.plain)
		return p
	}
	if f.object != nil {
		p.body = append([]byte(jsonText(map[string]any(f.object))), '\n')
		return p
	}
	switch {
	case c.on[quirkErrorHTML]:
		p.media = typeHTML
		p.body = fmt.Appendf(nil, "<!DOCTYPE html>\n<html><head><title>%d %s</title></head><body><h1>%s</h1></body></html>\n",
			f.code, http.StatusText(f.code), http.StatusText(f.code))
	case c.on[quirkErrorText]:
		p.media, p.body = typeText, []byte(f.message+"\n")
	default:
		if c.on[quirkErrorProblem] {
			p.media = "application/problem+json"
		}
		body, err := json.Marshal(errorBody(c, f))
		if err != nil {
			body = []byte(`{}`)
		}
		p.body = append(body, '\n')
	}
	return p
}

func errorBody(c *call, f *failure) any {
	switch {
	case c.on[quirkErrorMessage]:
		return map[string]any{"message": map[string]any{"detail": f.message}}
	case c.on[quirkErrorReason]:
		return map[string]any{"reason": f.message}
	case c.on[quirkErrorString]:
		return map[string]any{"error": f.message}
	case c.on[quirkErrorDetails]:
		return map[string]any{"details": f.message}
	case c.on[quirkErrorProblem]:
		return map[string]any{
			"type": "about:blank", "title": http.StatusText(f.code), "status": f.code,
			"detail": f.message, "instance": c.path,
		}
	default:
		return statusBody(c, f)
	}
}

// statusBody is a Kubernetes Status.
func statusBody(c *call, f *failure) map[string]any {
	details := map[string]any{}
	if c.res != nil {
		details["group"], details["kind"] = c.res.group, c.res.plural
	}
	if f.name != "" {
		details["name"] = f.name
	}
	if causes := f.causes; len(causes) > 0 {
		if c.on[quirkNilCause] {
			causes = append([]cause{{Reason: "FieldValueInvalid", Message: `Invalid value: "": some checks were skipped`, Field: "<nil>"}}, causes...)
		}
		details["causes"] = causes
	}
	if f.retryAfter > 0 {
		details["retryAfterSeconds"] = f.retryAfter
	}
	meta := map[string]any{}
	if f.token != "" {
		meta["continue"] = f.token
	}
	body := map[string]any{
		"kind": "Status", "apiVersion": "v1", "metadata": meta, "status": "Failure",
		"message": f.message, "reason": f.reason, "code": f.code,
	}
	if len(details) > 0 {
		body["details"] = details
	}
	return body
}
