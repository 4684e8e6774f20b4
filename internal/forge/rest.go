package forge

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"trueup/internal/api"
)

// maxAnswer bounds, in bytes, how much of an answer is read: a page of 100 comments of the greatest length fits.
const maxAnswer = 128 << 20

type request struct {
	method, address string
	fields          map[string]string
}

// call sends a request and decodes the answer, unless answer is nil. An answer that is no success is a *refusal. It
// reports whether the host has a further page of the list. It follows no redirect, so the token goes nowhere else.
func (c *Client) call(ctx context.Context, q request, answer any) (more bool, err error) {
	var content bytes.Buffer
	if q.fields != nil {
		if err := json.NewEncoder(&content).Encode(q.fields); err != nil {
			return false, err
		}
	}
	req, err := http.NewRequestWithContext(ctx, q.method, q.address, &content)
	if err != nil {
		return false, err
	}
	req.Header = c.header.Clone()
	if q.fields != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return false, err
	}
	defer func() { _ = resp.Body.Close() }() // it was only read
	op := q.method + " " + req.URL.Path
	if c.Trace != nil {
		c.Trace(op, resp.StatusCode)
	}
	if resp.StatusCode/100 != 2 {
		return false, c.refused(op, resp)
	}
	if answer != nil {
		if err := json.NewDecoder(io.LimitReader(resp.Body, maxAnswer)).Decode(answer); err != nil {
			return false, fmt.Errorf("read the answer of %s: %w", op, err)
		}
	}
	// GitHub has the one header, GitLab either.
	return resp.Header.Get("X-Next-Page") != "" || strings.Contains(resp.Header.Get("Link"), `rel="next"`), nil
}

// parseAPI reads the address of an API. It accepts only those that a token may go to.
func parseAPI(address string) (*url.URL, error) {
	u, err := url.Parse(strings.TrimSuffix(address, "/"))
	switch {
	case err != nil || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "":
		// It may hold a password.
		return nil, errors.New("CI gives no valid address of the code host's API: it must be https://HOST/PATH")
	case u.Scheme == "https" || u.Scheme == "http" && api.IsLoopback(u):
		return u, nil
	}
	return nil, fmt.Errorf("the address of the code host's API is %s: trueup sends a token only over https, or to this machine", u.Redacted())
}

type refusal struct {
	op, text string
	status   int
	// limited is true if the host limits the rate of requests. wait is how long it asks to wait.
	limited bool
	wait    time.Duration
}

func (r *refusal) Error() string {
	text := fmt.Sprintf("%s: status %d", r.op, r.status)
	if r.text != "" {
		text += ": " + r.text
	}
	return text
}

func (c *Client) refused(op string, resp *http.Response) *refusal {
	out := &refusal{op: op, status: resp.StatusCode}
	if resp.StatusCode/100 == 3 {
		out.text = "it redirects, and trueup does not send a token there: was the repository renamed or moved?"
		return out
	}
	if body, err := io.ReadAll(io.LimitReader(resp.Body, 64<<10)); err == nil {
		out.text = strings.ReplaceAll(complaint(body), c.Token.Reveal(), c.Token.String())
	}
	h := resp.Header
	out.limited = resp.StatusCode == http.StatusTooManyRequests || resp.StatusCode == http.StatusForbidden &&
		(h.Get("Retry-After") != "" || h.Get("X-RateLimit-Remaining") == "0" || strings.Contains(out.text, "rate limit"))
	if out.limited || resp.StatusCode == http.StatusServiceUnavailable {
		out.wait = requestedWait(h, c.Now())
	}
	return out
}

// requestedWait returns how long a host asks to wait: in seconds, as a date, or until the rate limit resets.
func requestedWait(h http.Header, now time.Time) time.Duration {
	if n, err := strconv.Atoi(h.Get("Retry-After")); err == nil {
		return time.Duration(n) * time.Second
	}
	if at, err := http.ParseTime(h.Get("Retry-After")); err == nil {
		return at.Sub(now)
	}
	reset := cmp.Or(h.Get("X-RateLimit-Reset"), h.Get("RateLimit-Reset"))
	if n, err := strconv.ParseInt(reset, 10, 64); err == nil {
		return time.Unix(n, 0).Sub(now)
	}
	return 0
}

// complaint returns the message of an answer, and what is wrong with each field.
func complaint(body []byte) string {
	var said struct {
		Message json.RawMessage
		Error   string
		Errors  []struct{ Message, Field, Code string }
	}
	// It is fine if the answer has another form: the status says enough.
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

func status(err error) int {
	if r, ok := errors.AsType[*refusal](err); ok {
		return r.status
	}
	return 0
}
