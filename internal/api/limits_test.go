package api_test

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"trueup/internal/api"
)

// raw serves connections that speak no better HTTP than talk does: it is called
// once a request has been read, with its number on all connections.
func raw(t *testing.T, talk func(n int, conn net.Conn), adjust ...func(*api.ClientConfig)) (c *api.Client, requests func() []string) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	seen := make(chan string, 100)
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				defer func() { _ = conn.Close() }()
				for from := bufio.NewReader(conn); ; {
					req, err := http.ReadRequest(from)
					if err != nil {
						return
					}
					_, _ = io.Copy(io.Discard, req.Body)
					seen <- req.Method
					talk(len(seen), conn)
				}
			}()
		}
	}()
	t.Cleanup(func() { _ = listener.Close() })
	cfg := config(t, "http://"+listener.Addr().String())
	for _, f := range adjust {
		f(&cfg)
	}
	c = api.NewClient(cfg)
	t.Cleanup(c.Close)
	return c, func() (all []string) {
		for {
			select {
			case method := <-seen:
				all = append(all, method)
			default:
				return all
			}
		}
	}
}

// hurried makes the tries few and their time short.
func hurried(cfg *api.ClientConfig) {
	cfg.RequestTimeout, cfg.Retry.Tries, cfg.MaxHeader = time.Second, 1, 128<<10
}

// goOn writes for as long as anybody reads.
func goOn(conn net.Conn, text string) {
	for {
		if _, err := io.WriteString(conn, text); err != nil {
			return
		}
		time.Sleep(time.Millisecond)
	}
}

// TestAnswersThatNeverEnd: the time limit of a request covers its head and its
// body, whatever keeps coming. They wait together.
func TestAnswersThatNeverEnd(t *testing.T) {
	t.Parallel()
	const head = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
	type trial struct {
		name, says string
		get, post  error
		requests   func() []string
	}
	var all []*trial
	var wg sync.WaitGroup
	for name, tt := range map[string]struct{ first, then, says string }{
		"nothing":              {"", "", "no answer within 1s, the time limit of a request (TRUEUP_REQUEST_TIMEOUT)"},
		"half a head":          {"HTTP/1.1 200 OK\r\nContent-", "", "no answer within 1s"},
		"a head that drips":    {head, "X", "no answer within 1s"},
		"a body that drips":    {head + "Content-Length: 100000\r\n\r\n", " ", "the answer was cut: no answer within 1s"},
		"a body without end":   {head + "\r\n", " ", "the answer was cut: no answer within 1s"},
		"chunks without end":   {head + "Transfer-Encoding: chunked\r\n\r\n", "1\r\n \r\n", "the answer was cut: no answer within 1s"},
		"an error that drips":  {"HTTP/1.1 422 No\r\n\r\n{", " ", "422 Unprocessable Entity: {: the answer was cut: no answer within 1s"},
		"continue without end": {"", "HTTP/1.1 100 Continue\r\n\r\n", "no answer within 1s"},
		"continue at once":     {"", strings.Repeat("HTTP/1.1 100 Continue\r\n\r\n", 4096), "server response headers exceeded 131072 bytes"},
		"hints without end":    {"", "HTTP/1.1 103 Early Hints\r\nLink: <a>\r\n\r\n", "no answer within 1s"},
		"a head without end":   {head, "X: " + strings.Repeat("x", 64<<10) + "\r\n", "header"},
		"a long first line":    {"HTTP/1.1 200 ", strings.Repeat("x", 64<<10), "header"},
	} {
		c, requests := raw(t, func(_ int, conn net.Conn) {
			_, _ = io.WriteString(conn, tt.first)
			if tt.then == "" {
				_, _ = io.Copy(io.Discard, conn)
				return
			}
			goOn(conn, tt.then)
		}, hurried, func(cfg *api.ClientConfig) {
			if !strings.Contains(tt.says, "1s") {
				cfg.RequestTimeout = 30 * time.Second
			}
		})
		done := &trial{name: name, says: tt.says, requests: requests}
		all = append(all, done)
		wg.Go(func() {
			_, done.get = c.Get(t.Context(), named(t, "CDN"), "shop")
			_, done.post = c.Create(t.Context(), named(t, "Purge"), []byte(`{}`))
		})
	}
	wg.Wait()
	for _, a := range all {
		for _, err := range []error{a.get, a.post} {
			if err == nil || !strings.Contains(asError(t, err).Error(), a.says) {
				t.Errorf("%s: %v", a.name, err)
			}
		}
		if e := asError(t, a.post); e.Class != api.Unknown || e.NotSent() {
			t.Errorf("%s: %s, %v", a.name, e.Class, a.post)
		}
		if sent := a.requests(); len(sent) != 2 {
			t.Errorf("%s: the server saw %v", a.name, sent)
		}
	}
}

// TestARefusalThatIsCutIsReadAgain: who cut it is not known, and what it was about
// neither.
func TestARefusalThatIsCutIsReadAgain(t *testing.T) {
	const body = `{"kind":"Status","status":"Failure","reason":"NotFound"}`
	var n atomic.Int32
	c := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Content-Length", strconv.Itoa(len(body)))
		w.WriteHeader(http.StatusNotFound)
		_, _ = io.WriteString(w, body[:len(body)/min(3-int(n.Add(1)), 2)])
	})
	_, err := c.Get(t.Context(), named(t, "CDN"), "shop")
	if e := asError(t, err); n.Load() != 2 || !e.NotFound() {
		t.Errorf("after %d requests: %v", n.Load(), err)
	}
}

// TestAListThatDripsEnds: each wait is short, and all of them take too long.
func TestAListThatDripsEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cfg := config(t, "http://127.0.0.1:1")
		cfg.RequestTimeout, cfg.Retry.Tries = 30*time.Second, 1
		cfg.Transport = roundTrip(func(r *http.Request) (*http.Response, error) {
			body, w := io.Pipe()
			context.AfterFunc(r.Context(), func() { _ = w.CloseWithError(r.Context().Err()) })
			go func() {
				for err := error(nil); err == nil; time.Sleep(10 * time.Second) {
					_, err = io.WriteString(w, " ")
				}
			}()
			return &http.Response{StatusCode: 200, Header: http.Header{}, Body: body, Request: r}, nil
		})
		begun := time.Now()
		_, info, err := names(t, api.NewReader(cfg))
		if e := asError(t, err); info.Complete || e.Class != api.Unavailable || time.Since(begun) != 10*time.Minute ||
			!strings.Contains(err.Error(), "the list is still arriving after 10m0s, the time limit of a page (20 times TRUEUP_REQUEST_TIMEOUT)") {
			t.Errorf("%v after %v", err, time.Since(begun))
		}
		time.Sleep(time.Minute)
	})
}

// TestTheRunsTimeIsNamed: which of the two limits is over.
func TestTheRunsTimeIsNamed(t *testing.T) {
	c, _ := raw(t, func(_ int, conn net.Conn) { _, _ = io.Copy(io.Discard, conn) })
	mine := fmt.Errorf("the run's time is over: %w", context.DeadlineExceeded)
	ctx, cancel := context.WithTimeoutCause(t.Context(), 50*time.Millisecond, mine)
	defer cancel()
	if _, err := c.Get(ctx, named(t, "CDN"), "shop"); !errors.Is(err, mine) || !strings.HasPrefix(err.Error(), "get CDN/shop: the run's time is over: context deadline exceeded") {
		t.Errorf("%v", err)
	}
}

// TestHeadersAreNoWayIn: what a head holds is shown without what a terminal
// would obey.
func TestHeadersAreNoWayIn(t *testing.T) {
	for _, head := range []string{
		"X-Request-Id: a\x00b\x1b[2Jc\u202e\r\n", "X-Request-Id: \xff\xfe\x9b\r\n", "Location: \x1b]0;x\a\r\n",
		"Content-Type: a\x07\x7f\r\n", "Content-Encoding: \x1b[1m\r\n", "Warning: 299 - \"\x1b[2J\"\r\n", "Retry-After: \x1b\r\n", " folded: x\r\n", "No colon\r\n",
		"Content-Length: -1\r\n", "Content-Length: 1\r\nContent-Length: 2\r\n", "Transfer-Encoding: \x00\r\n", "Date: \x1b\r\n",
	} {
		for _, status := range []string{"200 OK", "302 Found\x1b[2J", "400 \u202e", "500 X", "999 Y"} {
			c, _ := raw(t, func(_ int, conn net.Conn) {
				_, _ = io.WriteString(conn, "HTTP/1.1 "+status+"\r\n"+head+"Connection: close\r\n\r\nno")
				_ = conn.Close()
			}, hurried)
			if _, err := c.Get(t.Context(), named(t, "CDN"), "shop"); err == nil || strings.ContainsFunc(asError(t, err).Error(), func(r rune) bool { return r < ' ' || r >= 0x7f && r < 0xa0 || r == '\u202e' }) {
				t.Errorf("%q, %q: %q", status, head, err)
			}
		}
	}
}

// TestAReusedConnectionIsDropped: the server takes a write over a connection
// that has served before, and hangs up without an answer. It sees it once, and
// whoever asked hears that it may have happened.
func TestAReusedConnectionIsDropped(t *testing.T) {
	for _, verb := range []string{"create", "patch", "delete"} {
		c, requests := raw(t, func(n int, conn net.Conn) {
			if n == 1 {
				body := `{"metadata":{"name":"a.b c"},"spec":{}}`
				_, _ = fmt.Fprintf(conn, "HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
				return
			}
			_ = conn.Close()
		})
		k := named(t, map[string]string{"create": "Purge", "patch": "CDN", "delete": "VolumeSnapshot"}[verb])
		if _, err := c.ReadClock(t.Context(), named(t, "CDN"), "a.b c"); err != nil {
			t.Fatal(err)
		}
		err := operate(t.Context(), c, verb, k)
		if e := asError(t, err); e.Class != api.Unknown || !strings.Contains(err.Error(), "the connection was closed without an answer") && !strings.Contains(err.Error(), "reset") {
			t.Errorf("%s: %s, %v", verb, e.Class, err)
		}
		if sent := requests(); len(sent) != 2 || sent[0] != "GET" {
			t.Errorf("%s: the server saw %v", verb, sent)
		}
	}
}

// zipped is a body of n times the text, compressed.
func zipped(text string, n int) []byte {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	for range n {
		_, _ = io.WriteString(z, text)
	}
	_ = z.Close()
	return b.Bytes()
}

// TestBombsAreStoppedEverywhere: in what a write is answered, in an error, in
// an error that a creation is told, and in a look at the clock.
func TestBombsAreStoppedEverywhere(t *testing.T) {
	bomb := append(zipped(`{"metadata":{"name":"a.b c"},"spec":{"x":"`, 1), zipped(strings.Repeat("a", 1<<20), 64)...)
	for _, status := range []int{200, 201, 400, 409, 500} {
		c := serve(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Encoding", "gzip")
			w.WriteHeader(status)
			_, _ = w.Write(bomb)
		}, func(cfg *api.ClientConfig) { cfg.MaxObject, cfg.Retry.Tries = 256<<10, 1 })
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		for call := range documented {
			verb, name, _ := strings.Cut(call, " ")
			if err := operate(t.Context(), c, verb, named(t, name)); err == nil || status < 300 && !strings.Contains(err.Error(), "larger than 256 KiB") || len(err.Error()) > 3000 {
				t.Errorf("%d, %s: %v", status, call, err)
			}
		}
		_, _ = c.ReadClock(t.Context(), named(t, "CDN"), "shop")
		runtime.ReadMemStats(&after)
		if used := after.TotalAlloc - before.TotalAlloc; used > 32<<20 {
			t.Errorf("%d: %d MiB were allocated", status, used>>20)
		}
	}
}

// TestEncodingsThatWereNotAskedFor, and such as the body does not have: it is
// not read, and a write may have happened.
func TestEncodingsThatWereNotAskedFor(t *testing.T) {
	object := `{"metadata":{"name":"a.b c"},"items":[]}`
	for encoding, body := range map[string]string{
		"gzip": object, "br": object, "deflate": object, "zstd": object, "gzip, gzip": string(zipped(object, 1)),
	} {
		c := serve(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header()["Content-Encoding"] = []string{encoding}
			_, _ = io.WriteString(w, body)
		})
		for call := range documented {
			verb, name, _ := strings.Cut(call, " ")
			err := operate(t.Context(), c, verb, named(t, name))
			if e := asError(t, err); (e.Class == api.Unknown) != (verb != "list" && verb != "get") || !strings.Contains(err.Error(), "gzip: invalid header") && !strings.Contains(err.Error(), "encoded") {
				t.Errorf("%q, %s: %s, %v", encoding, call, e.Class, err)
			}
		}
		c = serve(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header()["Content-Encoding"] = []string{encoding}
			w.WriteHeader(404)
			_, _ = io.WriteString(w, `{"message":"no"}`)
		})
		if _, err := c.Get(t.Context(), named(t, "CDN"), "shop"); asError(t, err).NotFound() {
			t.Errorf("%q: a 404 that can't be read counts as the platform's word: %v", encoding, err)
		}
	}
	for _, encoding := range []string{"identity", "Identity", "", "GZIP", "x-gzip"} {
		c := serve(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header()["Content-Encoding"] = []string{encoding}
			if strings.Contains(strings.ToLower(encoding), "gzip") {
				_, _ = w.Write(zipped(cdn("shop"), 1))
				return
			}
			_, _ = io.WriteString(w, cdn("shop"))
		})
		if _, err := c.Get(t.Context(), named(t, "CDN"), "shop"); err != nil && encoding != "x-gzip" {
			t.Errorf("%q: %v", encoding, err)
		}
	}
}

// TestACutAnswerIsNoAbsence: a 404 of which the body does not arrive may be
// anybody's.
func TestACutAnswerIsNoAbsence(t *testing.T) {
	for _, body := range []string{"", `{"kind":"Status"`, `{"kind":"Status"}`} {
		c, _ := raw(t, func(_ int, conn net.Conn) {
			_, _ = io.WriteString(conn, "HTTP/1.1 404 Not Found\r\nContent-Length: 50\r\n\r\n"+body)
			_ = conn.Close()
		}, hurried)
		if _, err := c.Get(t.Context(), named(t, "CDN"), "shop"); asError(t, err).Class != api.Unavailable || !strings.Contains(err.Error(), "the answer was cut") {
			t.Errorf("%q: %v", body, err)
		}
	}
}

// TestManySmallThingsAreBounded: objects of a list, over all of its pages.
func TestManySmallThingsAreBounded(t *testing.T) {
	c := serve(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = fmt.Fprintf(w, `{"items":[%s],"metadata":{"continue":"%sx"}}`, cdn("shop")+","+cdn("docs"), r.URL.Query().Get("continue"))
	}, func(cfg *api.ClientConfig) {
		cfg.MaxItems = 5
	})
	got, info, err := names(t, c.Reader)
	if err == nil || !strings.Contains(asError(t, err).Error(), "the list has more than 5 objects") || len(got) != 5 || info.Complete {
		t.Errorf("%d objects, complete %t: %v", len(got), info.Complete, err)
	}
}
