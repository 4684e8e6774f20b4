// Package fault makes a platform misbehave: rules let single requests fail, and
// quirks change all answers. It knows no resource and stores nothing.
package fault

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// The media types of answers.
const (
	TypeJSON = "application/json"
	TypeText = "text/plain; charset=utf-8"
	TypeHTML = "text/html; charset=utf-8"
)

// Answer is what the platform says to a request.
type Answer struct {
	Status int
	Header http.Header
	Body   []byte

	delay  time.Duration                            // the time before the answer
	send   func(w http.ResponseWriter, wait waiter) // replaces how the answer is sent
	silent bool                                     // nothing is sent
}

// waiter waits, without end where the time is negative. It returns false when nobody
// waits any more.
type waiter func(time.Duration) bool

// NewAnswer returns an answer of a media type.
func NewAnswer(status int, media string, body []byte) *Answer {
	return &Answer{Status: status, Header: http.Header{"Content-Type": {media}}, Body: body}
}

// JSON returns an answer that shows a value.
func JSON(status int, v any) *Answer { return NewAnswer(status, TypeJSON, []byte(text(v)+"\n")) }

// text returns a value as JSON.
func text(v any) string {
	raw, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	return string(raw)
}

// write sends the answer. It breaks a connection by a panic with
// http.ErrAbortHandler, as net/http asks.
func (a *Answer) write(w http.ResponseWriter, wait waiter) {
	switch {
	case a.delay > 0 && !wait(a.delay):
		panic(http.ErrAbortHandler)
	case a.send != nil:
		a.send(w, wait)
	default:
		a.head(w, int64(len(a.Body)))
		_, _ = w.Write(a.Body)
	}
}

// head sends status and headers, with the length of the body where it is not negative.
func (a *Answer) head(w http.ResponseWriter, size int64) {
	if size >= 0 && a.Status != http.StatusNoContent && a.Status != http.StatusNotModified {
		w.Header().Set("Content-Length", strconv.FormatInt(size, 10))
	}
	maps.Copy(w.Header(), a.Header)
	w.WriteHeader(a.Status)
}

// endBy has the connection end without an answer.
func (a *Answer) endBy(end func(w http.ResponseWriter, wait waiter)) {
	a.silent = true
	a.send = func(w http.ResponseWriter, wait waiter) {
		end(w, wait)
		panic(http.ErrAbortHandler)
	}
}

// reset closes the connection so that the client sees a reset.
func reset(w http.ResponseWriter, _ waiter) {
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return
	}
	if tcp, ok := conn.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
	}
	_ = conn.Close()
}

// drip sends some bytes at a time.
func (a *Answer) drip(w http.ResponseWriter, wait waiter, size int64, every time.Duration) {
	a.head(w, int64(len(a.Body)))
	for chunk := range slices.Chunk(a.Body, int(size)) {
		_, _ = w.Write(chunk)
		_ = http.NewResponseController(w).Flush()
		if !wait(every) {
			panic(http.ErrAbortHandler)
		}
	}
}

// truncate cuts the body off after some bytes. The length promises more, or, hidden, is
// not sent: then net/http ends the body with the connection.
func (a *Answer) truncate(w http.ResponseWriter, size int, hidden bool) {
	promised := int64(len(a.Body))
	if hidden {
		promised = -1
		a.Header.Set("Transfer-Encoding", "identity")
	}
	a.head(w, promised)
	_, _ = w.Write(a.Body[:min(size, len(a.Body))])
	if !hidden {
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	}
}

// pad sends the JSON object in the body with a member of so many bytes.
func (a *Answer) pad(w http.ResponseWriter, size int64, packed bool) {
	length, body := int64(len(a.Body)), io.Reader(bytes.NewReader(a.Body))
	if begin, rest, isObject := bytes.Cut(a.Body, []byte("{")); isObject {
		const open, after = `{"padding":"`, `",`
		length += int64(len(open)+len(after)) + size - 1
		body = io.MultiReader(bytes.NewReader(begin), strings.NewReader(open), io.LimitReader(filler{}, size),
			strings.NewReader(after), bytes.NewReader(rest))
	}
	if !packed {
		a.head(w, length)
		_, _ = io.Copy(w, body)
		return
	}
	a.Header.Set("Content-Encoding", "gzip")
	a.head(w, -1)
	if zip, err := gzip.NewWriterLevel(w, gzip.BestSpeed); err == nil {
		_, _ = io.Copy(zip, body)
		_ = zip.Close()
	}
}

// filler is endless text.
type filler struct{}

// Read fills p.
func (filler) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = 'a'
	}
	return len(p), nil
}

// Cause is one finding about the content of an object.
type Cause struct {
	Reason  string `json:"reason"`
	Message string `json:"message"`
	Field   string `json:"field"`
}

// Failure is an error of the platform, which a Kubernetes-style server answers
// with a Status.
type Failure struct {
	Code    int     `json:"code"`
	Reason  string  `json:"reason"`
	Message string  `json:"message"`
	Details Details `json:"details,omitzero"`
	Meta    Meta    `json:"metadata"`
	Instead any     `json:"-"` // the body of the answer where it is no Status: a text or an object
}

// Details say what a Failure is about.
type Details struct {
	Name       string  `json:"name,omitempty"`
	Group      string  `json:"group,omitempty"`
	Resource   string  `json:"kind,omitempty"`
	Causes     []Cause `json:"causes,omitempty"`
	RetryAfter int     `json:"retryAfterSeconds,omitempty"`
}

// Meta holds what a list may continue with.
type Meta struct {
	Continue string `json:"continue,omitempty"`
}

// Error returns the message.
func (f *Failure) Error() string { return f.Message }

// Answer returns the failure as an answer.
func (f *Failure) Answer() *Answer {
	body := f.Instead
	if body == nil {
		body = struct {
			Kind       string `json:"kind"`
			APIVersion string `json:"apiVersion"`
			Status     string `json:"status"`
			*Failure
		}{"Status", "v1", "Failure", f}
	}
	a := JSON(f.Code, body)
	if plain, isText := body.(string); isText {
		a = NewAnswer(f.Code, TypeText, []byte(plain))
	}
	if after := f.Details.RetryAfter; after > 0 {
		a.Header.Set("Retry-After", strconv.Itoa(after))
	}
	return a
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
