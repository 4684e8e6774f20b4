package forge

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// maxAnswer is how much of an answer is read, in bytes: a page of 100 comments
// of the greatest length fits.
const maxAnswer = 128 << 20

// refusal is an answer of the host that is no success.
type refusal struct {
	op, text string
	status   int
	// wait is how long the host asks to wait, and limited whether it does.
	wait    time.Duration
	limited bool
}

func (r *refusal) Error() string {
	text := fmt.Sprintf("%s: status %d", r.op, r.status)
	if r.text != "" {
		text += ": " + r.text
	}
	return text
}

// pinned is the only way to the host: nothing goes anywhere but below its API's
// address, no redirect is followed, and what is no success is a refusal,
// whichever client asked.
type pinned struct {
	next  http.RoundTripper
	base  *url.URL
	token Token
	now   func() time.Time
	trace func(op string, status int)
}

// parseAPI reads the address of an API; a token may go to it.
func parseAPI(address string) (*url.URL, error) {
	u, err := url.Parse(strings.TrimSuffix(address, "/"))
	switch {
	case err != nil || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "":
		// It may hold a password.
		return nil, errors.New("CI gives no valid address of the code host's API: it must be https://HOST/PATH")
	case u.Scheme == "https" || u.Scheme == "http" && onLoopback(u):
		return u, nil
	}
	return nil, fmt.Errorf("the address of the code host's API is %s: trueup sends a token only over https, or to this machine", u.Redacted())
}

func onLoopback(u *url.URL) bool {
	ip := net.ParseIP(u.Hostname())
	return u.Hostname() == "localhost" || ip != nil && ip.IsLoopback()
}

// RoundTrip sends a request and returns an answer only if it is a success.
func (p *pinned) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.URL.Scheme != p.base.Scheme || req.URL.Host != p.base.Host {
		return nil, fmt.Errorf("%s is not the code host's API at %s", req.URL.Redacted(), p.base.Host)
	}
	op := req.Method + " " + req.URL.Path
	resp, err := p.next.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	if p.trace != nil {
		p.trace(op, resp.StatusCode)
	}
	resp.Body = struct {
		io.Reader
		io.Closer
	}{io.LimitReader(resp.Body, maxAnswer), resp.Body}
	if resp.StatusCode/100 == 2 {
		return resp, nil
	}
	defer func() { _ = resp.Body.Close() }() // nothing was written to it
	return nil, p.refused(op, resp)
}

func (p *pinned) refused(op string, resp *http.Response) *refusal {
	r := &refusal{op: op, status: resp.StatusCode}
	if resp.StatusCode/100 == 3 {
		r.text = "it redirects, and trueup does not send a token there: was the repository renamed or moved?"
		return r
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, 64<<10))
	if err == nil {
		r.text = p.token.redact(complaint(body))
	}
	h := resp.Header
	r.limited = resp.StatusCode == http.StatusTooManyRequests || resp.StatusCode == http.StatusForbidden &&
		(h.Get("Retry-After") != "" || h.Get("X-RateLimit-Remaining") == "0" || strings.Contains(r.text, "rate limit"))
	if r.limited || resp.StatusCode == http.StatusServiceUnavailable {
		r.wait = p.asked(h)
	}
	return r
}

// asked is how long a host asks to wait: in seconds, as a date, or until its
// count of requests begins anew.
func (p *pinned) asked(h http.Header) time.Duration {
	if n, err := strconv.Atoi(h.Get("Retry-After")); err == nil {
		return time.Duration(n) * time.Second
	}
	if at, err := http.ParseTime(h.Get("Retry-After")); err == nil {
		return at.Sub(p.now())
	}
	reset := cmp.Or(h.Get("X-RateLimit-Reset"), h.Get("RateLimit-Reset"))
	if n, err := strconv.ParseInt(reset, 10, 64); err == nil {
		return time.Unix(n, 0).Sub(p.now())
	}
	return 0
}

// complaint is what an answer says, as both hosts say it: a message, and perhaps
// what is wrong with each field.
func complaint(body []byte) string {
	var said struct {
		Message json.RawMessage `json:"message"`
		Error   string          `json:"error"`
		Errors  []struct {
			Message string `json:"message"`
			Field   string `json:"field"`
			Code    string `json:"code"`
		} `json:"errors"`
	}
	// What is none of this is no reason to fail for: the status tells enough.
	_ = json.Unmarshal(body, &said)
	text := said.Error
	if len(said.Message) > 0 {
		text = strings.Trim(string(said.Message), `"`)
	}
	for _, e := range said.Errors {
		text += "; " + cmp.Or(e.Message, strings.TrimSpace(e.Field+" "+e.Code))
	}
	if len(text) > 500 {
		text = strings.ToValidUTF8(text[:500], "") + "…"
	}
	return text
}

// status is that of the host's answer, 0 where there was none.
func status(err error) int {
	var r *refusal
	if errors.As(err, &r) {
		return r.status
	}
	return 0
}
