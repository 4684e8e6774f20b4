// Package fault makes a platform misbehave: a rule changes the answers to some
// requests, and a quirk changes all answers.
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

// Answer is the platform's response to a request.
type Answer struct {
	Status int // 0 if nothing is sent
	Header http.Header
	Body   []byte

	delay time.Duration                            // to wait before answering
	send  func(w http.ResponseWriter, wait waiter) // replaces write
}

// waiter waits for a time, or forever if it is negative. It returns false if the
// client or the server went away.
type waiter func(time.Duration) bool

// NewAnswer returns an answer with a body of the media type.
func NewAnswer(status int, media string, body []byte) *Answer {
	return &Answer{Status: status, Header: http.Header{"Content-Type": {media}}, Body: body}
}

// JSON returns an answer with a value as its body.
func JSON(status int, v any) *Answer { return NewAnswer(status, TypeJSON, []byte(Encode(v)+"\n")) }

// Encode returns a value as JSON.
func Encode(v any) string {
	raw, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	return string(raw)
}

// Decode reads JSON, with numbers as json.Number. It returns nil if it can't.
func Decode(raw []byte) any {
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	var v any
	if dec.Decode(&v) != nil {
		return nil
	}
	return v
}

// Map returns v if it is a JSON object, else nil.
func Map(v any) map[string]any {
	m, _ := v.(map[string]any)
	return m
}

// List returns v if it is a JSON array, else nil.
func List(v any) []any {
	l, _ := v.([]any)
	return l
}

// Text returns v if it is a string, else "".
func Text(v any) string {
	s, _ := v.(string)
	return s
}

// write sends the answer. It panics with http.ErrAbortHandler to break the connection.
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

// head sends the status and headers; a negative size sends no Content-Length.
func (a *Answer) head(w http.ResponseWriter, size int64) {
	if size >= 0 && a.Status != http.StatusNoContent && a.Status != http.StatusNotModified {
		w.Header().Set("Content-Length", strconv.FormatInt(size, 10))
	}
	maps.Copy(w.Header(), a.Header)
	w.WriteHeader(a.Status)
}

// endBy breaks the connection after end, without an answer.
func (a *Answer) endBy(end func(w http.ResponseWriter, wait waiter)) {
	a.Status = 0
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

// drip sends the body in chunks of size bytes, with a pause after each.
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

// truncate sends the first size bytes of the body. Content-Length promises the
// rest; if hidden, it is absent, and net/http ends the body with the connection.
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

// pad adds a member of size bytes to the JSON object in the body.
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

// filler reads as endless text.
type filler struct{}

func (filler) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = 'a'
	}
	return len(p), nil
}

// Cause is one invalid field.
type Cause struct {
	Reason  string `json:"reason"`
	Message string `json:"message"`
	Field   string `json:"field"`
}

// Failure is an error of the platform, answered as a Kubernetes Status.
type Failure struct {
	Code    int    `json:"code"`
	Reason  string `json:"reason"`
	Message string `json:"message"`
	Details struct {
		Name       string  `json:"name,omitempty"`
		Group      string  `json:"group,omitempty"`
		Resource   string  `json:"kind,omitempty"`
		Causes     []Cause `json:"causes,omitempty"`
		RetryAfter int     `json:"retryAfterSeconds,omitempty"`
	} `json:"details,omitzero"`
	Meta struct {
		Continue string `json:"continue,omitempty"` // the token to continue an expired list with
	} `json:"metadata"`
	Instead any `json:"-"` // if not nil, the body in place of a Status: a string or an object
}

// Error returns Message.
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

// shapeError changes a failed Status as the error-* quirks require.
// docs/platform.md 7.3 shows no form of errors.
func shapeError(a *Answer, path string, on Set) {
	if !on.hasAny("error-") || a.Header.Get("Content-Type") != TypeJSON {
		return
	}
	status := Map(Decode(a.Body))
	if status["kind"] != "Status" || status["status"] != "Failure" {
		return
	}
	message := Text(status["message"])
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
		addNilCause(Map(status["details"]))
	}
	for name, member := range map[string]string{"error-reason": "reason", "error-string": "error", "error-details": "details"} {
		if on[name] {
			status = map[string]any{member: message}
		}
	}
	a.Body = []byte(Encode(status) + "\n")
}

func addNilCause(details map[string]any) {
	if causes := List(details["causes"]); len(causes) > 0 {
		noise := Cause{Reason: "FieldValueInvalid", Message: `Invalid value: "": some checks were skipped`, Field: "<nil>"}
		details["causes"] = append([]any{noise}, causes...)
	}
}
