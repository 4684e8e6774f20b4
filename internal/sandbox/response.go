package sandbox

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"net"
	"net/http"
	"strconv"
	"time"
)

// The media types of answers.
const (
	typeJSON = "application/json"
	typeText = "text/plain; charset=utf-8"
)

// Response is the platform's response to a request.
type Response struct {
	Status int // 0 if nothing is sent
	Header http.Header
	Body   []byte

	delay time.Duration // to wait before answering
	// Send sends the response in another way; it may be nil.
	Send func(w http.ResponseWriter, wait WaitFunc)
}

// WaitFunc waits for a time, or forever if it is negative. It returns false if the
// client or the server went away.
type WaitFunc func(time.Duration) bool

// NewAnswer returns an answer with a body of the media type.
func newResponse(status int, media string, body []byte) *Response {
	return &Response{Status: status, Header: http.Header{"Content-Type": {media}}, Body: body}
}

// JSON returns an answer with a value as its body.
func jsonResponse(status int, v any) *Response {
	return newResponse(status, typeJSON, []byte(EncodeJSON(v)+"\n"))
}

// EncodeJSON returns a value as JSON.
func EncodeJSON(v any) string {
	raw, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	return string(raw)
}

// DecodeJSON reads JSON, with numbers as json.Number. It returns nil if it can't.
func DecodeJSON(raw []byte) any {
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	var v any
	if dec.Decode(&v) != nil {
		return nil
	}
	return v
}

// AsMap returns v if it is a JSON object, else nil.
func AsMap(v any) map[string]any {
	m, _ := v.(map[string]any)
	return m
}

// AsList returns v if it is a JSON array, else nil.
func AsList(v any) []any {
	l, _ := v.([]any)
	return l
}

// asText returns v if it is a string, else "".
func asText(v any) string {
	s, _ := v.(string)
	return s
}

// write sends the answer. It panics with http.ErrAbortHandler to break the connection.
func (a *Response) write(w http.ResponseWriter, wait WaitFunc) {
	switch {
	case a.delay > 0 && !wait(a.delay):
		panic(http.ErrAbortHandler)
	case a.Send != nil:
		a.Send(w, wait)
	default:
		if a.Status != http.StatusNoContent && a.Status != http.StatusNotModified {
			w.Header().Set("Content-Length", strconv.Itoa(len(a.Body)))
		}
		maps.Copy(w.Header(), a.Header)
		w.WriteHeader(a.Status)
		_, _ = w.Write(a.Body)
	}
}

// resetConnection closes the connection so that the client sees a reset.
func resetConnection(w http.ResponseWriter, _ WaitFunc) {
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return
	}
	if tcp, ok := conn.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
	}
	_ = conn.Close()
}

// cause is one invalid field.
type cause struct {
	Reason  string `json:"reason"`
	Message string `json:"message"`
	Field   string `json:"field"`
}

// Failure is an error of the platform, answered as a Kubernetes Status.
type apiError struct {
	Code    int    `json:"code"`
	Reason  string `json:"reason"`
	Message string `json:"message"`
	Details struct {
		Name     string  `json:"name,omitempty"`
		Group    string  `json:"group,omitempty"`
		Resource string  `json:"kind,omitempty"`
		Causes   []cause `json:"causes,omitempty"`
	} `json:"details,omitzero"`
	Meta struct {
		Continue string `json:"continue,omitempty"` // the token to continue an expired list with
	} `json:"metadata"`
	Instead string `json:"-"` // the body in place of a Status, as plain text
}

// Error returns Message.
func (f *apiError) Error() string { return f.Message }

// response returns the failure as an answer.
func (f *apiError) response() *Response {
	a := newResponse(f.Code, typeText, []byte(f.Instead))
	if f.Instead == "" {
		a = jsonResponse(f.Code, struct {
			Kind       string `json:"kind"`
			APIVersion string `json:"apiVersion"`
			Status     string `json:"status"`
			*apiError
		}{"Status", "v1", "Failure", f})
	}
	return a
}
