package sandbox

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// maxBody bounds a request, in bytes.
const maxBody = 16 << 20

// serve answers one request to the platform and logs it.
func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	hook, on := s.hook, s.on
	s.mu.Unlock()
	if hook != nil {
		hook(r.Method, r.URL.Path)
	}
	body, readErr := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	f := s.takeFault(r.Method, r.URL.Path)
	wait := func(d time.Duration) bool { return s.wait(r.Context().Done(), d) }
	// What waits on its way here is acted on, whoever still waits for it.
	if d := f.action.delay; d > 0 && !f.after && !s.wait(nil, d) {
		panic(http.ErrAbortHandler)
	}
	c := &call{
		method: r.Method, path: r.URL.Path, query: r.URL.Query(), header: r.Header,
		body: body, now: s.Now(), on: on,
	}
	c.date(w.Header(), s.dateShift())
	entry := Request{
		Method: r.Method, Path: r.URL.EscapedPath(), Query: r.URL.RawQuery,
		ContentType: r.Header.Get("Content-Type"), Body: string(body), Time: c.now,
	}
	p := s.reply(c, r.URL.EscapedPath(), f, tooLarge(readErr))
	entry.Status = p.logged()
	s.record(entry)
	p.write(w, wait)
}

// reply is what the platform says to a request, or what a fault makes of it.
func (s *Server) reply(c *call, escaped string, f *fault, unread error) reply {
	var p reply
	if f.after || !f.action.replaces {
		if f.action.prepare != nil {
			f.action.prepare(c)
		}
		err := unread
		if err == nil {
			p, err = s.answer(c, escaped)
		}
		if err != nil {
			p = failed(c, err)
		}
	}
	if f.after {
		p.wait = f.action.delay
	}
	if f.action.answer != nil {
		f.action.answer(c, &p)
	}
	return p
}

func (s *Server) dateShift() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.dateOff
}

// How far quirks put the Date header off: as a wrong clock, and as a cache.
const (
	DateSkew = 7 * time.Minute
	DateAge  = 25 * time.Hour
)

// date says what time it is, as the quirks have it; off is what a fault adds.
func (c *call) date(h http.Header, off time.Duration) {
	at := c.now.Add(off)
	switch {
	case c.on[quirkDateMissing]:
		h["Date"] = nil // net/http would add one
		return
	case c.on[quirkDateAged] && c.method == http.MethodGet:
		at = at.Add(-DateAge)
		h.Set("Age", strconv.Itoa(int(DateAge.Seconds())))
	case c.on[quirkDateAhead]:
		at = at.Add(DateSkew)
	case c.on[quirkDateBehind]:
		at = at.Add(-DateSkew)
	}
	h.Set("Date", at.Format(http.TimeFormat))
}

// tooLarge explains why a body could not be read.
func tooLarge(err error) error {
	if err == nil {
		return nil
	}
	var large *http.MaxBytesError
	if errors.As(err, &large) {
		return &failure{
			code: http.StatusRequestEntityTooLarge, reason: "RequestEntityTooLarge",
			message: fmt.Sprintf("Request entity too large: limit is %d", large.Limit),
		}
	}
	return badRequest("the body could not be read: %v", err)
}

// answer is what the platform says, quirks included.
func (s *Server) answer(c *call, escaped string) (reply, error) {
	if p, err := s.refuse(c); err != nil || p.status != 0 {
		return p, err
	}
	if !s.route(c, escaped) || c.on[quirkWrongAddress] {
		return reply{}, unknownPath()
	}
	if err := s.authorize(c); err != nil {
		return reply{}, err
	}
	if !c.allowed() {
		return reply{}, &failure{
			code: http.StatusMethodNotAllowed, reason: "MethodNotAllowed",
			message: "the server does not allow this method on the requested resource",
		}
	}
	if c.on[quirkWrongSpace] {
		c.known = false
	}
	p, err := s.dispatch(c)
	if err != nil {
		return reply{}, err
	}
	return c.disguise(p), nil
}

func (s *Server) dispatch(c *call) (reply, error) {
	switch c.method {
	case http.MethodPost:
		return s.create(c)
	case http.MethodPatch:
		return s.patch(c)
	case http.MethodDelete:
		return s.delete(c)
	}
	if c.name == "" {
		return s.list(c)
	}
	return s.get(c)
}

// refuse answers for the quirks that let no request through; a reply without
// a status and no error let it pass.
func (s *Server) refuse(c *call) (reply, error) {
	switch {
	case c.on[quirkGateway]:
		body := `{"metadata":{},"status":"Failure","message":"Timeout: request did not complete within the allotted timeout","reason":"Timeout","details":{},"code":504}`
		return reply{status: http.StatusGatewayTimeout, media: typeText, body: []byte(body + "\n")}, nil
	case c.on[quirkRedirect]:
		return reply{status: http.StatusTemporaryRedirect, media: typeText, location: "/moved" + c.path}, nil
	case c.on[quirkPortal]:
		return portal(), nil
	case c.on[quirkLimitedPlain] && s.firstTime(c):
		return reply{}, &failure{
			code: http.StatusTooManyRequests, message: "too many requests", retryAfter: 1,
			plain: "Too many requests, please try again later.\n",
		}
	case c.on[quirkLimitedStatus] && s.firstTime(c):
		return reply{}, &failure{
			code: http.StatusTooManyRequests, reason: "TooManyRequests", retryAfter: 1,
			message: "the server has received too many requests and has asked us to try again later",
		}
	}
	return reply{}, nil
}

func (s *Server) firstTime(c *call) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	key := c.method + " " + c.path
	if s.limited[key] {
		return false
	}
	s.limited[key] = true
	return true
}

// disguise changes the status and the body of a success as quirks say; the
// status codes of successes are not shown (docs/platform.md 7.4).
func (c *call) disguise(p reply) reply {
	if c.method != http.MethodGet {
		switch {
		case c.on[quirkStatus204]:
			p.status, p.media, p.body = http.StatusNoContent, "", nil
		case c.on[quirkEmptyPatch] && c.method == http.MethodPatch:
			p.status, p.media, p.body = http.StatusOK, "", nil
		case c.on[quirkStatus202]:
			p.status = http.StatusAccepted
		case c.on[quirkStatus200]:
			p.status = http.StatusOK
		}
	}
	if c.on[quirkHalfBody] && len(p.body) > 1 {
		p.cut = &cut{half: true}
	}
	return p
}

// portal is the page of a network that wants somebody to log in.
func portal() reply {
	body := "<!DOCTYPE html>\n<html><head><title>Log in</title></head><body><form action=\"/login\">Log in to the network</form></body></html>\n"
	return reply{status: http.StatusOK, media: typeHTML, body: []byte(body)}
}

// mediaType is the type of the request's body without parameters.
func (c *call) mediaType() string {
	media, _, _ := strings.Cut(c.header.Get("Content-Type"), ";")
	return strings.ToLower(strings.TrimSpace(media))
}

func (c *call) requireMedia(want string) error {
	if c.mediaType() == want {
		return nil
	}
	return &failure{
		code: http.StatusUnsupportedMediaType, reason: "UnsupportedMediaType",
		message: fmt.Sprintf("the body of the request was in an unknown format - accepted media types include: %s", want),
	}
}
