package sandbox

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

// ending is how a connection ends that no answer comes on.
type ending int

const (
	answers ending = iota
	drops
	resets
	stalls
)

// cut is where a body ends too early.
type cut struct {
	after int64
	half  bool
	// unnoticed says that the length was not promised.
	unnoticed bool
}

// reply is an answer before it is written.
type reply struct {
	status   int
	media    string
	body     []byte
	warnings []string
	location string
	// header overrides what is set otherwise.
	header http.Header

	ending ending
	// wait is the time before the answer.
	wait time.Duration
	// padding is how many bytes the JSON object of body is made larger by.
	padding int64
	gzip    bool
	cut     *cut
	// drop is how many bytes of the body are sent at a time, and every the time
	// between; 0 is all at once.
	drop  int64
	every time.Duration
}

func jsonReply(status int, v any) (reply, error) {
	body, err := json.Marshal(v)
	if err != nil {
		return reply{}, fmt.Errorf("encode answer: %w", err)
	}
	return reply{status: status, media: typeJSON, body: append(body, '\n')}, nil
}

// set sets a header of the answer.
func (p *reply) set(name, value string) {
	if p.header == nil {
		p.header = http.Header{}
	}
	p.header.Set(name, value)
}

// logged is the status that the request log keeps.
func (p *reply) logged() int {
	if p.ending != answers {
		return 0
	}
	return p.status
}

// write sends the reply. wait waits as (*Server).wait does. A connection that
// is to break is broken by panicking with http.ErrAbortHandler.
func (p *reply) write(w http.ResponseWriter, wait func(time.Duration) bool) {
	if p.wait > 0 && !wait(p.wait) {
		panic(http.ErrAbortHandler)
	}
	if p.ending != answers {
		p.end(w, wait)
		panic(http.ErrAbortHandler)
	}
	body, size := p.content()
	if p.cut != nil && p.cut.half {
		body = io.LimitReader(body, size/2)
	} else if p.cut != nil {
		body = io.LimitReader(body, p.cut.after)
	}
	p.head(w, size)
	if !p.send(w, body, wait) {
		panic(http.ErrAbortHandler)
	}
	if p.cut != nil && !p.cut.unnoticed {
		flush(w)
		panic(http.ErrAbortHandler)
	}
}

// end does what comes before the end of a connection without an answer.
func (p *reply) end(w http.ResponseWriter, wait func(time.Duration) bool) {
	switch p.ending {
	case stalls:
		wait(forever)
	case resets:
		reset(w)
	case answers, drops:
	}
}

// head writes status and headers for a body of so many bytes.
func (p *reply) head(w http.ResponseWriter, size int64) {
	h := w.Header()
	if p.media != "" {
		h.Set("Content-Type", p.media)
	}
	for _, warning := range p.warnings {
		h.Add("Warning", "299 - "+strconv.Quote(warning))
	}
	if p.location != "" {
		h.Set("Location", p.location)
	}
	switch {
	case p.gzip:
		h.Set("Content-Encoding", "gzip")
	case p.cut != nil && p.cut.unnoticed:
		// Which net/http takes for a body that ends with the connection.
		h.Set("Transfer-Encoding", "identity")
	case p.status != http.StatusNoContent && p.status != http.StatusNotModified:
		h.Set("Content-Length", strconv.FormatInt(size, 10))
	}
	for name, values := range p.header {
		h[name] = values
	}
	w.WriteHeader(p.status)
}

// content is the body and its size.
func (p *reply) content() (io.Reader, int64) {
	begin, rest, isObject := bytes.Cut(p.body, []byte("{"))
	if p.padding == 0 || !isObject {
		return bytes.NewReader(p.body), int64(len(p.body))
	}
	open := slices.Concat(begin, []byte(`{"padding":"`))
	after := `",`
	if bytes.HasPrefix(bytes.TrimSpace(rest), []byte("}")) {
		after = `"`
	}
	rest = slices.Concat([]byte(after), rest)
	body := io.MultiReader(bytes.NewReader(open), io.LimitReader(filler{}, p.padding), bytes.NewReader(rest))
	return body, int64(len(open)) + p.padding + int64(len(rest))
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

// send writes the body; a client that went away is not our concern. It returns
// false where there is nobody to send to any more.
func (p *reply) send(w http.ResponseWriter, body io.Reader, wait func(time.Duration) bool) bool {
	switch {
	case p.gzip:
		packed, err := gzip.NewWriterLevel(w, gzip.BestSpeed)
		if err == nil {
			_, _ = io.Copy(packed, body)
			_ = packed.Close()
		}
		return true
	case p.drop == 0:
		_, _ = io.Copy(w, body)
		return true
	}
	for {
		if _, err := io.CopyN(w, body, p.drop); err != nil {
			return true
		}
		flush(w)
		if !wait(p.every) {
			return false
		}
	}
}

func flush(w http.ResponseWriter) {
	if flusher, ok := w.(http.Flusher); ok {
		flusher.Flush()
	}
}

// reset closes the connection so that the other end sees a reset.
func reset(w http.ResponseWriter) {
	hijacker, ok := w.(http.Hijacker)
	if !ok {
		return
	}
	conn, _, err := hijacker.Hijack()
	if err != nil {
		return
	}
	if tcp, ok := conn.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
	}
	_ = conn.Close()
}
