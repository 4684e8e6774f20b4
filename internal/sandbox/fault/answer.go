// Package fault makes a platform misbehave: rules let single requests fail, and
// quirks change all answers. It knows no resource and stores nothing.
package fault

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strconv"
	"time"
)

// The media types of answers.
const (
	TypeJSON = "application/json"
	TypeText = "text/plain; charset=utf-8"
	TypeHTML = "text/html; charset=utf-8"
)

// Answer is what the platform says to a request, and how it reaches the client.
type Answer struct {
	Status int
	Header http.Header
	Body   []byte

	ending ending
	// delay is the time before the answer.
	delay time.Duration
	// padding is how many bytes are added to the JSON object in Body.
	padding int64
	gzip    bool
	cut     *cut
	// drip is how many bytes are sent at a time, and every the pause between;
	// 0 sends all at once.
	drip  int64
	every time.Duration
}

// ending is how a connection ends without an answer.
type ending int

const (
	answers ending = iota
	drops
	resets
	stalls
)

// cut is where a body ends too early; hidden promises no length.
type cut struct {
	after        int64
	half, hidden bool
}

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

// logged is the status for the request log: 0 without an answer.
func (a *Answer) logged() int {
	if a.ending != answers {
		return 0
	}
	return a.Status
}

// write sends the answer; wait returns false when nobody waits any more. It breaks
// a connection by a panic with http.ErrAbortHandler, as net/http asks.
func (a *Answer) write(w http.ResponseWriter, wait func(time.Duration) bool) {
	if a.delay > 0 && !wait(a.delay) {
		panic(http.ErrAbortHandler)
	}
	switch a.ending {
	case stalls:
		wait(forever)
		panic(http.ErrAbortHandler)
	case resets:
		reset(w)
		panic(http.ErrAbortHandler)
	case drops:
		panic(http.ErrAbortHandler)
	case answers:
	}
	body, size := a.content()
	if a.cut != nil {
		most := a.cut.after
		if a.cut.half {
			most = size / 2
		}
		body = io.LimitReader(body, most)
	}
	a.writeHead(w, size)
	if !a.send(w, body, wait) {
		panic(http.ErrAbortHandler)
	}
	if a.cut != nil && !a.cut.hidden {
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	}
}

func (a *Answer) writeHead(w http.ResponseWriter, size int64) {
	h := w.Header()
	switch {
	case a.gzip:
		h.Set("Content-Encoding", "gzip")
	case a.cut != nil && a.cut.hidden:
		// net/http then ends the body with the connection.
		h.Set("Transfer-Encoding", "identity")
	case a.Status != http.StatusNoContent && a.Status != http.StatusNotModified:
		h.Set("Content-Length", strconv.FormatInt(size, 10))
	}
	for name, values := range a.Header {
		h[name] = values
	}
	w.WriteHeader(a.Status)
}

// content returns the body with its padding, and its size.
func (a *Answer) content() (io.Reader, int64) {
	begin, rest, isObject := bytes.Cut(a.Body, []byte("{"))
	if a.padding == 0 || !isObject {
		return bytes.NewReader(a.Body), int64(len(a.Body))
	}
	open, after := slices.Concat(begin, []byte(`{"padding":"`)), `",`
	if bytes.HasPrefix(bytes.TrimSpace(rest), []byte("}")) {
		after = `"`
	}
	rest = slices.Concat([]byte(after), rest)
	body := io.MultiReader(bytes.NewReader(open), io.LimitReader(filler{}, a.padding), bytes.NewReader(rest))
	return body, int64(len(open)) + a.padding + int64(len(rest))
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

// send writes the body, and ignores that a client went away. It returns false when
// nobody waits any more.
func (a *Answer) send(w http.ResponseWriter, body io.Reader, wait func(time.Duration) bool) bool {
	switch {
	case a.gzip:
		if packed, err := gzip.NewWriterLevel(w, gzip.BestSpeed); err == nil {
			_, _ = io.Copy(packed, body)
			_ = packed.Close()
		}
		return true
	case a.drip == 0:
		_, _ = io.Copy(w, body)
		return true
	}
	for {
		if _, err := io.CopyN(w, body, a.drip); err != nil {
			return true
		}
		_ = http.NewResponseController(w).Flush()
		if !wait(a.every) {
			return false
		}
	}
}

// reset closes the connection so that the client sees a reset.
func reset(w http.ResponseWriter) {
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return
	}
	if tcp, ok := conn.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
	}
	_ = conn.Close()
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
	// Instead is the body of the answer where it is no Status: a text or an object.
	Instead any `json:"-"`
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
