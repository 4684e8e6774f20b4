package api

import (
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"unicode"
)

// hidden is what every rendering of a Token shows.
const hidden = "***"

// Token is a Bearer token (docs/platform.md 5). Every way of printing it prints
// "***": the value is kept in a closure, so that not even a printer that walks
// unexported fields reaches it. The zero Token is none.
type Token struct{ reveal func() string }

// NewToken takes the text of a token as a file or a variable holds it: one
// newline at its end is dropped, any other white space or control character is
// refused, and so is an empty text. Errors never quote the text.
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

// value is the secret itself, for the Authorization header and for taking the
// secret out of what a server echoes.
func (t Token) value() string {
	if t.reveal == nil {
		return ""
	}
	return t.reveal()
}

// String returns "***".
func (Token) String() string { return hidden }

// GoString returns "***".
func (Token) GoString() string { return hidden }

// MarshalJSON writes "***" as a JSON string.
func (Token) MarshalJSON() ([]byte, error) { return []byte(`"` + hidden + `"`), nil }

// MarshalText writes "***".
func (Token) MarshalText() ([]byte, error) { return []byte(hidden), nil }

// LogValue gives slog "***".
func (Token) LogValue() slog.Value { return slog.StringValue(hidden) }

// Format prints "***" whatever the verb.
func (Token) Format(f fmt.State, _ rune) { _, _ = f.Write([]byte(hidden)) }
