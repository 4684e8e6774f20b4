package fault

import (
	"fmt"
	"net/http"
	"strconv"
)

// Cause is one finding about the content of an object.
type Cause struct {
	Reason  string `json:"reason"`
	Message string `json:"message"`
	Field   string `json:"field"`
}

// Failure is an error of the platform, which a Kubernetes-style server answers
// with a Status.
type Failure struct {
	Code            int
	Reason, Message string
	Causes          []Cause
	RetryAfter      int
	// Name, Group and Resource are of the object; Continue is what a list may
	// continue with.
	Name, Group, Resource, Continue string
	// Instead is the body of the answer where it is no Status: a text or an object.
	Instead any
}

// Error returns the message.
func (f *Failure) Error() string { return f.Message }

// Answer returns the failure as an answer.
func (f *Failure) Answer() *Answer {
	a := JSON(f.Code, f.Instead)
	switch plain, isText := f.Instead.(string); {
	case isText:
		a = NewAnswer(f.Code, TypeText, []byte(plain))
	case f.Instead == nil:
		a = JSON(f.Code, f.status())
	}
	if f.RetryAfter > 0 {
		a.Header.Set("Retry-After", strconv.Itoa(f.RetryAfter))
	}
	return a
}

func (f *Failure) status() map[string]any {
	details, meta := map[string]any{}, map[string]any{}
	set := func(in map[string]any, name, value string) {
		if value != "" {
			in[name] = value
		}
	}
	set(details, "group", f.Group)
	set(details, "kind", f.Resource)
	set(details, "name", f.Name)
	set(meta, "continue", f.Continue)
	if len(f.Causes) > 0 {
		details["causes"] = f.Causes
	}
	if f.RetryAfter > 0 {
		details["retryAfterSeconds"] = f.RetryAfter
	}
	body := map[string]any{
		"kind": "Status", "apiVersion": "v1", "metadata": meta, "status": "Failure",
		"message": f.Message, "reason": f.Reason, "code": f.Code,
	}
	if len(details) > 0 {
		body["details"] = details
	}
	return body
}

// shapeError gives a Status that says Failure the shape of the quirks that are on:
// the document shows none (docs/platform.md 7.3).
func shapeError(a *Answer, path string, on Set) {
	if !on.hasAny("error-") || a.Header.Get("Content-Type") != TypeJSON {
		return
	}
	status := members(decode(a.Body))
	if status["kind"] != "Status" || status["status"] != "Failure" {
		return
	}
	message := word(status["message"])
	code, _ := strconv.Atoi(fmt.Sprint(status["code"]))
	title := http.StatusText(code)
	switch {
	case on["error-html"]:
		a.Header.Set("Content-Type", TypeHTML)
		a.Body = fmt.Appendf(nil, "<!DOCTYPE html>\n<html><head><title>%d %s</title></head><body><h1>%s</h1></body></html>\n", code, title, title)
		return
	case on["error-text"]:
		a.Header.Set("Content-Type", TypeText)
		a.Body = []byte(message + "\n")
		return
	case on["error-problem"]:
		a.Header.Set("Content-Type", "application/problem+json")
		status = map[string]any{"type": "about:blank", "title": title, "status": code, "detail": message, "instance": path}
	case on["error-message-object"]:
		status = map[string]any{"message": map[string]any{"detail": message}}
	case on["error-nil-cause"]:
		addNilCause(members(status["details"]))
	}
	for name, member := range map[string]string{"error-reason": "reason", "error-string": "error", "error-details": "details"} {
		if on[name] {
			status = map[string]any{member: message}
		}
	}
	a.Body = []byte(text(status) + "\n")
}

func addNilCause(details map[string]any) {
	if causes := elements(details["causes"]); len(causes) > 0 {
		noise := Cause{Reason: "FieldValueInvalid", Message: `Invalid value: "": some checks were skipped`, Field: "<nil>"}
		details["causes"] = append([]any{noise}, causes...)
	}
}
