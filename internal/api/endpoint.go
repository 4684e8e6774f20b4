package api

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strings"
	"unicode"

	"trueup/internal/kind"
)

// Endpoint is the address of one area of the platform, and the token for it.
type Endpoint struct {
	Base  *url.URL // from ParseBase
	Token Token
	// Ask returns the token when it is first needed, if Token is zero. Several
	// goroutines may call it.
	Ask func(context.Context) (Token, error) `json:"-"`
	// BaseFrom and TokenFrom name the settings in messages. By default they are the
	// environment variables.
	BaseFrom, TokenFrom string
}

// ParseBase parses the base address of an area: https, or http on loopback, without
// user, query, fragment or dot segments, and not at or below deprecatedPurge
// (docs/platform.md 9), unless that is empty. Errors never quote the address, which
// might contain a password.
func ParseBase(raw, deprecatedPurge string) (*url.URL, error) {
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
		{isBelow(u, deprecatedPurge), "is the deprecated purge service, which will be shut down: use the delivery area's address"},
	} {
		if fault.found {
			return nil, errors.New("base address " + fault.says)
		}
	}
	return u, nil
}

// isBelow reports whether u is at or below the other address.
func isBelow(u *url.URL, other string) bool {
	o, err := url.Parse(other)
	if err != nil || o.Host == "" || !strings.EqualFold(u.Host, o.Host) {
		return false
	}
	return strings.HasPrefix(strings.TrimRight(u.Path, "/")+"/", strings.TrimRight(o.Path, "/")+"/")
}

// isDotSegment reports whether a path segment leads to another directory.
func isDotSegment(segment string) bool { return segment == "." || segment == ".." }

// IsLoopback reports whether an address is on this machine.
func IsLoopback(u *url.URL) bool {
	if strings.EqualFold(u.Hostname(), "localhost") {
		return true
	}
	ip := net.ParseIP(u.Hostname())
	return ip != nil && ip.IsLoopback()
}

// join appends an escaped path to the base without changing an escape in either:
// some bases contain an encoded slash (apis/GROUP%2FVERSION).
func (e Endpoint) join(escaped string) (*url.URL, error) {
	u, err := url.Parse(e.Base.Scheme + "://" + e.Base.Host + strings.TrimRight(e.Base.EscapedPath(), "/") + escaped)
	if err != nil {
		return nil, fmt.Errorf("path %q does not fit a URL", escaped)
	}
	return u, nil
}

// sameOrigin reports whether the token may go to u.
func (e Endpoint) sameOrigin(u *url.URL) bool {
	return strings.EqualFold(u.Scheme, e.Base.Scheme) && strings.EqualFold(u.Host, e.Base.Host) && u.User == nil
}

// minTokenPart is the length from which redact removes the beginning of a token.
const minTokenPart = 8

// redact removes the token, in the encodings in which a server may echo it, from a
// text. It also removes the beginning of a token at the end of a text that was cut.
func (e Endpoint) redact(text string) string {
	secret := e.Token.Reveal()
	if secret == "" {
		return text
	}
	for _, form := range []string{secret, url.QueryEscape(secret), url.PathEscape(secret)} {
		text = strings.ReplaceAll(text, form, hidden)
		for n := min(len(form)-1, len(text)); n >= minTokenPart; n-- {
			if strings.HasSuffix(text, form[:n]) {
				text = text[:len(text)-n] + hidden
				break
			}
		}
	}
	return text
}

// baseSetting names the setting of the area's address.
func (e Endpoint) baseSetting(area kind.Area) string {
	return cmp.Or(e.BaseFrom, variable(area, "URL"))
}

// tokenSetting names the setting of the area's token.
func (e Endpoint) tokenSetting(area kind.Area) string {
	return cmp.Or(e.TokenFrom, variable(area, "TOKEN"))
}

// variable names an environment variable for an area.
func variable(area kind.Area, part string) string {
	return "TRUEUP_" + strings.ToUpper(string(area)) + "_" + part
}

// hidden replaces a token in every output.
const hidden = "***"

// Token is a token of the platform (docs/platform.md 5), or of a code host. Every way of printing it prints
// "***": a closure hides the value even from printers of unexported fields.
type Token struct{ reveal func() string }

// NewToken returns a token from the text of a file or a variable. It drops one
// newline at the end, and rejects other white space, control characters and an empty
// text. Errors never quote the text.
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
	return Token{reveal: func() string { return text }}, nil
}

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
