package diag

import (
	"encoding/base64"
	"fmt"
	"html"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"
)

// Quotation is what a server or another program said, on one line. Only QuoteAnswer, HideAnswer and UnmarshalText make one,
// so it has no part of a secret that this process knows.
type Quotation struct{ text string }

// String returns the words.
func (a Quotation) String() string { return a.text }

// MarshalText returns the words for encoders.
func (a Quotation) MarshalText() ([]byte, error) { return []byte(a.text), nil }

// maxRead is the most bytes of an answer that is decoded from a text.
const maxRead = 4096

// UnmarshalText quotes a text.
func (a *Quotation) UnmarshalText(text []byte) error {
	*a = QuoteAnswer(string(text), maxRead)
	return nil
}

// QuoteAnswer returns the words of a server on one line, in at most limit bytes, without control characters and those
// that change the direction of text. Words that have a part of a secret are replaced by their length.
func QuoteAnswer(words string, limit int) Quotation {
	if HasSecret(words[:min(len(words), checkedTimes*limit)]) || HasSecret(oneLine(words, checkedTimes*limit)) {
		return HideAnswer(len(words))
	}
	return Quotation{oneLine(words, limit)}
}

// HideAnswer returns what stands for words of so many bytes.
func HideAnswer(length int) Quotation {
	return Quotation{fmt.Sprintf("%d bytes, not shown because they repeat a part of a secret", length)}
}

func oneLine(text string, limit int) string {
	var b strings.Builder
	gap := false
	for _, r := range text {
		if unicode.IsSpace(r) || !unicode.IsPrint(r) || r == utf8.RuneError {
			gap = b.Len() > 0
			continue
		}
		if b.Len()+utf8.RuneLen(r)+1 > limit {
			b.WriteString("…")
			break
		}
		if gap {
			b.WriteByte(' ')
			gap = false
		}
		b.WriteRune(r)
	}
	return b.String()
}

// checkedTimes is how many times as long as what QuoteAnswer quotes is the text in which it looks for secrets.
const checkedTimes = 4

// secretPart is how many characters in a row of a secret may not be shown.
const secretPart = 8

// secrets has all parts of the secrets, without the case of letters.
//
//nolint:gochecknoglobals // a secret is one wherever a server repeats it, and no part of the program may forget to ask
var secrets = struct {
	sync.RWMutex
	parts map[string]bool
}{parts: map[string]bool{}}

// RegisterSecret makes QuoteAnswer hide a secret. A shorter text than secretPart is none.
func RegisterSecret(secret string) {
	secrets.Lock()
	defer secrets.Unlock()
	forms := []string{secret}
	for skipped := range min(3, len(secret)) { // base64 of a text that has the secret at any place
		for _, encoding := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
			whole := secret[skipped : len(secret)-(len(secret)-skipped)%3]
			forms = append(forms, encoding.EncodeToString([]byte(whole)))
		}
	}
	for _, form := range forms {
		form = strings.ToLower(form)
		for i := range max(0, len(form)-secretPart+1) {
			secrets.parts[form[i:i+secretPart]] = true
		}
	}
}

// How many encodings one in the other HasSecret undoes, and how many of them may be base64.
const maxEncodings, maxBase64 = 8, 3

// HasSecret reports whether a text has secretPart characters in a row of a known secret, whatever the case of letters,
// as it is or in JSON, HTML, percent or base64 encodings, one in the other.
func HasSecret(text string) bool {
	secrets.RLock()
	defer secrets.RUnlock()
	return len(secrets.parts) > 0 && hasSecret(text, maxBase64)
}

func hasSecret(text string, moreBase64 int) bool {
	has := func(t string) bool {
		return hasSecretPart(t) || moreBase64 > 0 && t != "" && hasSecret(decodeBase64Parts(t), moreBase64-1)
	}
	if has(text) {
		return true
	}
	for range maxEncodings {
		before := text
		for _, undo := range []func(string) string{unescapeJSON, html.UnescapeString, UnescapePercent, lineBreaks().Replace} {
			undone := undo(text)
			if undone != text && has(undone) {
				return true
			}
			text = undone
		}
		if text == before {
			break
		}
	}
	return false
}

func hasSecretPart(text string) bool {
	text = strings.ToLower(text)
	for i := range max(0, len(text)-secretPart+1) {
		if secrets.parts[text[i:i+secretPart]] {
			return true
		}
	}
	return false
}

var (
	jsonEscape    = Pattern(`\\(?:[uU][[:xdigit:]]{4}|[xX][[:xdigit:]]{2}|.)`)
	percentEscape = Pattern(`%[[:xdigit:]]{2}`)
	urlAlphabet   = sync.OnceValue(func() *strings.Replacer { return strings.NewReplacer("-", "+", "_", "/") })
	// lineBreaks are those that a server may put into long texts.
	lineBreaks = sync.OnceValue(func() *strings.Replacer { return strings.NewReplacer("\r", "", "\n", "", "\t", "") })
)

func unescapeJSON(text string) string {
	if !strings.Contains(text, `\`) {
		return text
	}
	return jsonEscape().ReplaceAllStringFunc(text, func(escape string) string {
		if code, err := strconv.ParseUint(escape[2:], 16, 32); err == nil && strings.ContainsAny(escape[1:2], "uUxX") {
			return string(rune(code))
		}
		return escape[1:]
	})
}

// UnescapePercent replaces each valid percent escape by the byte that it stands for, and leaves the rest.
func UnescapePercent(text string) string {
	if !strings.Contains(text, "%") {
		return text
	}
	return percentEscape().ReplaceAllStringFunc(text, func(escape string) string {
		plain, _ := url.PathUnescape(escape) // the pattern matches valid escapes only
		return plain
	})
}

// decodeBase64Parts returns what each text of base64 in a text can be decoded to, whichever character it starts with.
func decodeBase64Parts(text string) string {
	var b strings.Builder
	for found := range strings.FieldsFuncSeq(text, func(r rune) bool { return !isBase64(r) }) {
		if len(found) < secretPart {
			continue
		}
		found = urlAlphabet().Replace(found)
		b.Grow(3 * len(found))
		plain := make([]byte, len(found))
		for skipped := range 4 {
			part := found[skipped:]
			if len(part)%4 == 1 {
				part = part[:len(part)-1]
			}
			n, _ := base64.RawStdEncoding.Decode(plain, []byte(part)) // it is of the alphabet, and has no rest
			b.Write(plain[:n])
			b.WriteByte('\n')
		}
	}
	return b.String()
}

func isBase64(r rune) bool {
	return 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || strings.ContainsRune("+/-_", r)
}
