package diag_test

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"html"
	"net/url"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"trueup/internal/diag"
)

// TestNoAnswerHasAPartOfASecret encodes a part of a secret as servers do, in any nesting.
func TestNoAnswerHasAPartOfASecret(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		secret := rapid.StringMatching(`[A-Za-z0-9+/=._~:{}",-]{8,60}`).Draw(t, "secret")
		diag.RegisterSecret(secret)
		from := rapid.IntRange(0, len(secret)-8).Draw(t, "from")
		words := secret[from : from+rapid.IntRange(8, len(secret)-from).Draw(t, "length")]
		words = rapid.SampledFrom([]func(string) string{strings.Clone, strings.ToUpper, strings.ToLower}).Draw(t, "case")(words)
		for range rapid.IntRange(0, 4).Draw(t, "encodings") {
			before, after := rapid.SampledFrom([]string{"", "Bearer ", "ab", "{\"x\": "}).Draw(t, "before"), rapid.SampledFrom([]string{"", " is bad", "=", "}"}).Draw(t, "after")
			words = rapid.SampledFrom(encodings()).Draw(t, "encoding")(before + words + after)
		}
		if answer := diag.QuoteAnswer("no: "+words, len(words)).String(); answer != fmt.Sprintf("%d bytes, not shown because they repeat a part of a secret", len(words)+4) {
			t.Fatalf("%q: %s", secret, answer)
		}
	})
}

func encodings() []func(string) string {
	quoted := func(s string) string { b, _ := json.Marshal(s); return string(b) }
	each := func(format string) func(string) string {
		return func(s string) string {
			var b strings.Builder
			for _, c := range []byte(s) {
				fmt.Fprintf(&b, format, c)
			}
			return b.String()
		}
	}
	return []func(string) string{
		quoted, func(s string) string { return strings.ReplaceAll(quoted(s), "/", `\/`) }, each(`\u%04x`), func(s string) string { return quoted(s)[:len(quoted(s))-1] },
		html.EscapeString, each("&#%d;"), each("&#x%02X;"),
		url.QueryEscape, each("%%%02x"), each("%%%02X"),
		func(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) },
		func(s string) string { return base64.RawURLEncoding.EncodeToString([]byte(s)) },
	}
}

// TestWordsWithoutASecretStay has what servers say, beside a secret with some of the same words.
func TestWordsWithoutASecretStay(t *testing.T) {
	diag.RegisterSecret("short")
	diag.RegisterSecret("prod-7f3a9c-4e51")
	for words, want := range map[string]string{
		`CDN "shop" is invalid: spec.tls.forced: must be "true"`: `CDN "shop" is invalid: spec.tls.forced: must be "true"`,
		"prod-7f of a short name":                                "prod-7f of a short name",
		"a\u2028b\x1b[2J c":                                      "a b [2J c",
		"":                                                       "",
	} {
		if got := diag.QuoteAnswer(words, 2000).String(); got != want {
			t.Errorf("%q: %q", words, got)
		}
	}
	for in, want := range map[string]string{
		"": "", " a \n b ": "a b", "aäb": "aäb", "äääääääääääää": "äääää…", "\x1b[0m\u202ex": "[0m x", "\xff\xfea": "a",
	} {
		if got := diag.QuoteAnswer(in, 12).String(); got != want {
			t.Errorf("%q became %q, want %q", in, got, want)
		}
	}
}
