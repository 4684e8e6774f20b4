package forge

import (
	"errors"
	"log/slog"
	"strings"
)

// Token is a secret for the code host. No way of printing shows it.
type Token struct{ secret string }

const hiddenToken = "***"

// NewToken reads a token. It rejects what no header can hold.
func NewToken(text string) (Token, error) {
	text = strings.TrimSuffix(strings.TrimSuffix(text, "\n"), "\r")
	if strings.ContainsFunc(text, func(r rune) bool { return r <= ' ' || r >= 0x7f }) {
		return Token{}, errors.New("it contains a space, a line end or another character that no token has: store it again")
	}
	return Token{text}, nil
}

func (Token) String() string { return hiddenToken }

// GoString hides it from %#v.
func (Token) GoString() string { return hiddenToken }

// LogValue hides it from logs.
func (Token) LogValue() slog.Value { return slog.StringValue(hiddenToken) }

// MarshalJSON hides it from JSON.
func (Token) MarshalJSON() ([]byte, error) { return []byte(`"` + hiddenToken + `"`), nil }

// redact removes the token from a text of the host.
func (t Token) redact(text string) string {
	if t.secret == "" {
		return text
	}
	return strings.ReplaceAll(text, t.secret, hiddenToken)
}
