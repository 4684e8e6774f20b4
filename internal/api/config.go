package api

import (
	"cmp"
	"crypto/x509"
	"net/http"
	"net/url"
	"time"

	"trueup/internal/kind"
)

// Config is what a Reader or a Client needs to know. Zero values of sizes,
// times and counts mean the defaults that the fields name.
type Config struct {
	Endpoints map[kind.Area]Endpoint // may lack areas: that is an error only when one is used
	Workspace kind.Workspace
	// RequestTimeout bounds one request with its answer, and in a list each
	// wait for more of it; default 30 s.
	RequestTimeout time.Duration
	// MaxObject bounds one object, MaxList a whole list, in bytes after
	// decompression; default 16 MiB and 1 GiB (docs/design.md 0.14). MaxHeader bounds
	// the head of an answer; default 1 MiB.
	MaxObject, MaxList, MaxHeader int64
	// MaxPages stops a server that never ends a list; default 10,000. MaxItems
	// bounds what is kept of one: many small objects take more memory than few
	// large ones; default 100,000.
	MaxPages, MaxItems int
	Retry              Retry
	// WritesPerSecond is how many Turns a Client gives, unless all endpoints
	// are on loopback; default 5 (docs/design.md 0.15).
	WritesPerSecond float64
	// Duplicate is how the platform refuses the name of a once-only request that
	// exists already; the zero value is a 409.
	Duplicate Duplicate
	// Parallelism is how many requests the callers make at once: so many
	// connections are kept; default 4.
	Parallelism int
	UserAgent   string
	// Warn is given each Warning header of an answer, and each pause that an
	// answer asks for; Trace each request after its answer. Both may be nil and
	// may be called from several goroutines.
	Warn  func(Warning)
	Trace func(TraceEvent)
	// Now is the clock of TraceEvent.Took and of Retry-After dates in answers
	// without a Date; without it these are not measured.
	Now func() time.Time
	// Proxy chooses a proxy as http.Transport.Proxy does; nil is none.
	Proxy   func(*http.Request) (*url.URL, error)
	RootCAs *x509.CertPool // the trusted certificates; nil is the system's
	Listed  *Listed        // shared by the clients of a run; nil means one of its own
	// Transport replaces the network, in tests. With it nothing proves that a
	// failed write was not sent.
	Transport http.RoundTripper
}

// Retry says how reads are repeated; writes never are.
type Retry struct {
	Tries uint // all attempts; default 5
	// Initial is the longest first delay, doubled each time up to Max, each
	// drawn from zero up (full jitter); default 0.5 s and 20 s.
	Initial, Max time.Duration
	// MaxRetryAfter is the longest pause that a server may ask for; a longer one
	// is an error that says until when. Default 15 minutes.
	MaxRetryAfter time.Duration
	// Second is how long a second is that a server asks for: tests make it
	// shorter. Default 1 s.
	Second time.Duration
}

// Warning is one Warning header of an answer: how a server says that it has
// dropped a field.
type Warning struct {
	Op, Kind, Name string // Op is list, get, create, patch or delete; Name is empty for a list
	Code           int    // 299 for what a person should read
	Text           string
}

// TraceEvent is one request and the head of its answer.
type TraceEvent struct {
	Op, Kind, Name string
	Method, URL    string
	Attempt        int         // counted from 1
	Header         http.Header // what was sent, with the token as "***"
	RequestBytes   int
	Status         int // 0 where no answer came; Err then says why
	ContentType    string
	RequestID      string
	Answer         http.Header // the head of the answer, without tokens and cookies
	AnswerBytes    int64       // the length that the answer gives; -1 where it gives none
	Took           time.Duration
	Err            string
}

// withDefaults fills in what is zero.
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

// Bounds that nobody sets.
const (
	connectTimeout = 10 * time.Second // bounds the dialling, and the TLS handshake
	// pageTimeouts is how many times RequestTimeout a page of a list may take, however
	// slowly it goes on coming.
	pageTimeouts = 20
	// maxErrorBody bounds what is read of an error, in bytes after decompression.
	maxErrorBody = 64 << 10
)

// onLoopback reports whether nothing that is sent leaves the machine.
func (c Config) onLoopback() bool {
	for _, e := range c.Endpoints {
		if e.Base != nil && !isLoopback(e.Base) {
			return false
		}
	}
	return true
}
