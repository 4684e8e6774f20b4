package api

import (
	"cmp"
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
	"unicode"

	"trueup/internal/diag"
	"trueup/internal/kind"
)

// ClientConfig configures a Reader or a Client. A zero size, time or count means the default.
type ClientConfig struct {
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
	Retry              RetryPolicy
	// WritesPerSecond is the rate of WaitForRateLimit, default 5 (docs/design.md 0.15). There is
	// no limit if all endpoints are on loopback.
	WritesPerSecond float64
	Budget          *SharedLimits   // shared with the clients of other runs, instead of WritesPerSecond; nil means alone
	Duplicate       DuplicateAnswer // how the platform rejects a send-once request whose name exists
	Parallelism     int             // an eighth of the connections to a host; default 4
	UserAgent       string
	// Warn gets a text for each pause that the platform asks for; Trace gets each request after its answer. Both may be nil,
	// and may be called from several goroutines.
	Warn  func(string)
	Trace func(TraceEvent)
	// Now is the clock for TraceEvent.Took, and for Retry-After dates in answers
	// without a Date. If nil, neither is computed.
	Now     func() time.Time
	Proxy   func(*http.Request) (*url.URL, error) // Proxy works as http.Transport.Proxy; nil means none
	RootCAs *x509.CertPool                        // nil means the system's
	// ReadOnly makes a Client refuse every request but GET, with diag.ErrReadOnly.
	ReadOnly bool
	Listed   *ListedKinds // shared by all clients of a run; nil means a new one
	// Transport replaces the network in tests. It can't prove that a failed write was not sent.
	Transport http.RoundTripper
}

// RetryPolicy configures the retries of reads. Writes are never retried.
type RetryPolicy struct {
	Tries uint // including the first; default 5
	// Each delay is random, from zero to a bound that doubles from Initial to Max; default 0.5 s and 20 s.
	Initial, Max time.Duration
	// MaxRetryAfter is the longest pause to wait for if the platform asks for one; a
	// longer one is an error. Default 15 minutes.
	MaxRetryAfter time.Duration
	Second        time.Duration // the length of a second of Retry-After; tests make it shorter
}

// TraceEvent describes one request and its answer.
type TraceEvent struct {
	Method, URL  string
	Attempt      int // counted from 1
	RequestBytes int
	Status       int // 0 if no answer came; Err then says why
	RequestID    diag.Quotation
	AnswerBytes  int64 // the Content-Length; -1 if there is none
	Took         time.Duration
	Err          string
}

func (c ClientConfig) withDefaults() ClientConfig {
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
	c.WritesPerSecond = cmp.Or(c.WritesPerSecond, usualWrites)
	c.Parallelism = cmp.Or(c.Parallelism, 4)
	c.Listed = cmp.Or(c.Listed, new(ListedKinds))
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

// Endpoint is the address of one area of the platform, and the token for it.
type Endpoint struct {
	Base  *url.URL // from ParseBaseURL
	Token Token
	// Ask returns the token when it is first needed, if Token is zero. Several goroutines may call it.
	Ask func(context.Context) (Token, error) `json:"-"`
	// BaseFrom and TokenFrom name the settings in messages. By default they are the environment variables.
	BaseFrom, TokenFrom string
}

// ParseBaseURL parses the base address of an area: https, or http on loopback, without user, query, fragment or dot
// segments. Errors never quote the address, which might contain a password.
func ParseBaseURL(raw string) (*url.URL, error) {
	u, err := url.Parse(raw)
	if err != nil || strings.ContainsAny(raw, " \t\r\n") {
		return nil, errors.New("base address is not a URL")
	}
	for _, fault := range []struct {
		found bool
		says  string
	}{
		{u.User != nil, "contains a user name or a password: remove it, because the token has its own setting"},
		{u.Hostname() == "", "has no host: write https://HOST/PATH"},
		{strings.Contains(u.Host, "%"), "has a host with a percent sign: write its plain name"},
		{u.Scheme == "http" && !IsLoopback(u), "is http: trueup uses https only, except on loopback"},
		{u.Scheme != "https" && u.Scheme != "http", "has a scheme other than https"},
		{strings.ContainsAny(raw, "?#"), "has a query or a fragment: remove it"},
		{slices.ContainsFunc(strings.Split(u.Path, "/"), isDotSegment), "has a dot segment in its path: write the whole path"},
	} {
		if fault.found {
			return nil, errors.New("base address " + fault.says)
		}
	}
	return u, nil
}

func isDotSegment(segment string) bool { return segment == "." || segment == ".." }

// IsLoopback reports whether an address is on this machine.
func IsLoopback(u *url.URL) bool {
	ip := net.ParseIP(u.Hostname())
	return isLocalhost(u.Hostname()) || ip != nil && ip.IsLoopback()
}

func isLocalhost(host string) bool { return strings.HasSuffix("."+strings.ToLower(host), ".localhost") }

func (e Endpoint) baseSetting(area kind.Area) string {
	return cmp.Or(e.BaseFrom, VariableName(area, "URL"))
}

func (e Endpoint) tokenSetting(area kind.Area) string {
	return cmp.Or(e.TokenFrom, VariableName(area, "TOKEN"))
}

// VariableName returns the name of a variable of an area.
func VariableName(area kind.Area, part string) string {
	return "TRUEUP_" + strings.ToUpper(string(area)) + "_" + part
}

// hidden replaces a token in every output.
const hidden = "***"

// Token is a token of the platform (docs/platform.md 5), or of a code host. Every way of printing it prints
// "***": a closure hides the value even from printers of unexported fields.
type Token struct{ reveal func() string }

// NewToken returns a token from the text of a file or a variable. It drops one newline at the end, and rejects other
// white space, control characters and an empty text. Nothing quotes an answer that has a part of it.
func NewToken(text string) (Token, error) {
	text = strings.TrimSuffix(strings.TrimSuffix(text, "\n"), "\r")
	if text == "" {
		return Token{}, errors.New("token is empty")
	}
	for _, r := range text {
		if unicode.IsSpace(r) || !unicode.IsPrint(r) || r > unicode.MaxASCII {
			return Token{}, errors.New("token contains white space, a control character or a character outside ASCII")
		}
	}
	diag.RegisterSecret(text)
	return Token{reveal: func() string { return text }}, nil
}

// PublicToken returns a token that everybody may know, such as that of the sandbox.
func PublicToken(text string) Token { return Token{reveal: func() string { return text }} }

// IsZero reports whether there is no token.
func (t Token) IsZero() bool { return t.reveal == nil }

// Reveal returns the secret, or "".
func (t Token) Reveal() string {
	if t.reveal == nil {
		return ""
	}
	return t.reveal()
}

// String returns "***".
func (Token) String() string { return hidden }

// MarshalText writes "***".
func (Token) MarshalText() ([]byte, error) { return []byte(hidden), nil }

// Format prints "***" whatever the verb.
func (Token) Format(f fmt.State, _ rune) { _, _ = f.Write([]byte(hidden)) }
