package api

import (
	"cmp"
	"crypto/x509"
	"net/http"
	"net/url"
	"time"

	"trueup/internal/kind"
)

// Config configures a Reader or a Client. A zero size, time or count means the default.
type Config struct {
	Endpoints map[kind.Area]Endpoint // using an area that is missing is an error
	Workspace kind.Workspace
	// RequestTimeout is the time for one request with its answer, and in a list for
	// each wait for more data; default 30 s.
	RequestTimeout time.Duration
	// The largest object, list, and head of an answer, in bytes after decompression;
	// default 16 MiB, 1 GiB (docs/design.md 0.14) and 1 MiB.
	MaxObject, MaxList, MaxHeader int64
	// The most pages of a list, default 10,000, and objects, default 100,000: many
	// small objects take more memory than few large ones.
	MaxPages, MaxItems int
	Retry              Retry
	// WritesPerSecond is the rate of Turns, default 5 (docs/design.md 0.15). There is
	// no limit if all endpoints are on loopback.
	WritesPerSecond float64
	// Duplicate is how the platform rejects a send-once request whose name exists.
	Duplicate Duplicate
	// Parallelism is how many idle connections to keep; default 4.
	Parallelism int
	UserAgent   string
	// Warn gets each Warning header and each pause that the platform asks for; Trace
	// gets each request after its answer. Both may be nil, and may be called from
	// several goroutines.
	Warn  func(Warning)
	Trace func(TraceEvent)
	// Now is the clock for TraceEvent.Took, and for Retry-After dates in answers
	// without a Date. If nil, neither is computed.
	Now func() time.Time
	// Proxy works as http.Transport.Proxy; nil means none.
	Proxy   func(*http.Request) (*url.URL, error)
	RootCAs *x509.CertPool // nil means the system's
	Listed  *Listed        // shared by all clients of a run; nil means a new one
	// Transport replaces the network in tests. It can't prove that a failed write was
	// not sent.
	Transport http.RoundTripper
}

// Retry configures the retries of reads. Writes are never retried.
type Retry struct {
	Tries uint // including the first; default 5
	// Each delay is random, from zero to a bound that doubles from Initial to Max;
	// default 0.5 s and 20 s.
	Initial, Max time.Duration
	// MaxRetryAfter is the longest pause to wait for if the platform asks for one; a
	// longer one is an error. Default 15 minutes.
	MaxRetryAfter time.Duration
	// Second is the length of a second of Retry-After; tests make it shorter.
	Second time.Duration
}

// Warning is a Warning header of an answer: a server says in it that it dropped a field.
type Warning struct {
	Op, Kind, Name string // Op is list, get, create, patch or delete; Name is empty for a list
	Code           int    // 299 for a text for people
	Text           string
}

// TraceEvent describes one request and the head of its answer.
type TraceEvent struct {
	Op, Kind, Name string
	Method, URL    string
	Attempt        int         // counted from 1
	Header         http.Header // of the request, with the token as "***"
	RequestBytes   int
	Status         int // 0 if no answer came; Err then says why
	ContentType    string
	RequestID      string
	Answer         http.Header // of the answer, without tokens and cookies
	AnswerBytes    int64       // the Content-Length; -1 if there is none
	Took           time.Duration
	Err            string
}

func (c Config) withDefaults() Config {
	c.RequestTimeout = cmp.Or(c.RequestTimeout, 30*time.Second)
	c.MaxObject = cmp.Or(c.MaxObject, 16<<20)
	c.MaxList = cmp.Or(c.MaxList, 1<<30)
	c.MaxHeader = cmp.Or(c.MaxHeader, 1<<20)
	c.MaxPages = cmp.Or(c.MaxPages, 10_000)
	c.MaxItems = cmp.Or(c.MaxItems, 100_000)
	c.Retry.Tries = cmp.Or(c.Retry.Tries, 5)
	c.Retry.Initial = cmp.Or(c.Retry.Initial, 500*time.Millisecond)
	c.Retry.Max = cmp.Or(c.Retry.Max, 20*time.Second)
	c.Retry.MaxRetryAfter = cmp.Or(c.Retry.MaxRetryAfter, 15*time.Minute)
	c.Retry.Second = cmp.Or(c.Retry.Second, time.Second)
	c.WritesPerSecond = cmp.Or(c.WritesPerSecond, 5)
	c.Parallelism = cmp.Or(c.Parallelism, 4)
	c.Listed = cmp.Or(c.Listed, new(Listed))
	c.UserAgent = cmp.Or(c.UserAgent, "trueup")
	if c.Now == nil {
		c.Now = func() time.Time { return time.Time{} }
	}
	return c
}

// Limits that can't be configured.
const (
	connectTimeout = 10 * time.Second // to dial, and for the TLS handshake
	// pageTimeouts is how many times RequestTimeout one page of a list may take.
	pageTimeouts = 20
	// maxErrorBody is how much to read of an error, in bytes after decompression.
	maxErrorBody = 64 << 10
)
