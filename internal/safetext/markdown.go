package safetext

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"
)

// Markdown is markup in which text from outside is only in a fence or code.
type Markdown struct{ markup string }

// Constant is text in which there are only words of this program and numbers.
func Constant(t Text) Markdown { return Markdown{t.s} }

// M formats markup as fmt.Sprintf does.
func M(format constant, parts ...Markdown) Markdown {
	args := make([]any, len(parts))
	for i, p := range parts {
		args[i] = p.markup
	}
	return Markdown{fmt.Sprintf(string(format), args...)}
}

// JoinMarkdown puts sep between the parts.
func JoinMarkdown(parts []Markdown, sep constant) Markdown {
	texts := make([]string, len(parts))
	for i, p := range parts {
		texts[i] = p.markup
	}
	return Markdown{strings.Join(texts, string(sep))}
}

// String returns m for output.
func (m Markdown) String() string { return m.markup }

// Text returns m as lines of text.
func (m Markdown) Text() Text { return Text{m.markup} }

// Empty reports whether there is no markup.
func (m Markdown) Empty() bool { return m.markup == "" }

// Len returns the number of bytes.
func (m Markdown) Len() int { return len(m.markup) }

// Fence puts lines in a fence that is longer than any run of backticks in them.
func Fence(info constant, lines []Text) Markdown {
	var b strings.Builder
	longest := 2
	for _, line := range lines {
		longest = max(longest, line.Backticks())
	}
	ticks := strings.Repeat("`", longest+1)
	b.WriteString(ticks + string(info) + "\n")
	for _, line := range lines {
		b.WriteString(line.Guarded().s + "\n")
	}
	b.WriteString(ticks + "\n")
	return Markdown{b.String()}
}

// Backticks returns the length of the longest run of them.
func (t Text) Backticks() int {
	longest, run := 0, 0
	for i := range len(t.s) {
		if t.s[i] != '`' {
			run = 0
			continue
		}
		run++
		longest = max(longest, run)
	}
	return longest
}

// Details is a part that a reader opens, unless it is open.
func Details(open bool, summary, body Markdown) Markdown {
	tag := M("<details>")
	if open {
		tag = M("<details open>")
	}
	return M("\n%s<summary>%s</summary>\n\n%s\n</details>\n", tag, summary, body)
}

// Code is text from outside in a sentence. Code hosts link names and numbers of
// issues in text, but not in code. Each character that means something in
// Markdown or HTML is an entity, which is the character itself in both.
func Code(t Text) Markdown {
	var b strings.Builder
	b.WriteString("<code>")
	for i := range len(t.s) {
		if literally(t.s, i) {
			b.WriteByte(t.s[i])
		} else {
			b.WriteString("&#" + strconv.Itoa(int(t.s[i])) + ";")
		}
	}
	b.WriteString("</code>")
	return Markdown{b.String()}
}

// literally reports whether the byte at i means itself in Markdown and HTML. A
// point behind a w does not: www. makes a link.
func literally(s string, i int) bool {
	const literals = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ -/,"
	if s[i] == '.' {
		return i == 0 || s[i-1] != 'w' && s[i-1] != 'W'
	}
	return s[i] >= utf8.RuneSelf || strings.IndexByte(literals, s[i]) >= 0
}

// plainAddress matches addresses in which no character can end a link.
var plainAddress = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^https?://[A-Za-z0-9.-]+(:[0-9]+)?(/[A-Za-z0-9._~/-]*)?$`)
})

// Link is a link to an address that CI named; ok is false where the address could
// be more than that.
func Link(text Markdown, address string) (link Markdown, ok bool) {
	if !plainAddress().MatchString(address) {
		return Markdown{}, false
	}
	return M("[%s](%s)", text, Markdown{address}), true
}

// Add appends markup.
func (m Markdown) Add(more ...Markdown) Markdown {
	return JoinMarkdown(append([]Markdown{m}, more...), "")
}
