package safetext

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"
)

// Markdown is markup in which text from outside stands only in a fence or as code.
type Markdown string

// Constant is text in which there are only words of this program and numbers.
func Constant(t Text) Markdown { return Markdown(t) }

// M formats markup as fmt.Sprintf does.
func M(format constant, parts ...Markdown) Markdown {
	args := make([]any, len(parts))
	for i, p := range parts {
		args[i] = p
	}
	return Markdown(fmt.Sprintf(string(format), args...))
}

// JoinMarkdown puts sep between the parts.
func JoinMarkdown(parts []Markdown, sep constant) Markdown {
	texts := make([]string, len(parts))
	for i, p := range parts {
		texts[i] = string(p)
	}
	return Markdown(strings.Join(texts, string(sep)))
}

// Text is markup as lines of text.
func (m Markdown) Text() Text { return Text(m) }

// Fence puts lines in a fence that is longer than any run of backticks in them.
func Fence(info Markdown, lines []Text) Markdown {
	var b strings.Builder
	longest := 2
	for _, line := range lines {
		longest = max(longest, line.Backticks())
	}
	ticks := strings.Repeat("`", longest+1)
	b.WriteString(ticks + string(info) + "\n")
	for _, line := range lines {
		b.WriteString(string(line.Guarded()) + "\n")
	}
	b.WriteString(ticks + "\n")
	return Markdown(b.String())
}

// Backticks returns the length of the longest run of them.
func (t Text) Backticks() int {
	longest, run := 0, 0
	for i := range len(t) {
		if t[i] != '`' {
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
	var tag Markdown = "<details>"
	if open {
		tag = "<details open>"
	}
	return "\n" + tag + "<summary>" + summary + "</summary>\n\n" + body + "\n</details>\n"
}

// Code is text from outside in a sentence. Code hosts link names and numbers of
// issues in text, but not in code. Each character that means something in
// Markdown or HTML is an entity, which is the character itself in both.
func Code(t Text) Markdown {
	var b strings.Builder
	b.WriteString("<code>")
	for i := range len(t) {
		if literally(t, i) {
			b.WriteByte(t[i])
		} else {
			b.WriteString("&#" + strconv.Itoa(int(t[i])) + ";")
		}
	}
	b.WriteString("</code>")
	return Markdown(b.String())
}

// literally reports whether the byte at i means itself in Markdown and HTML. A
// point behind a w does not: www. makes a link.
func literally(t Text, i int) bool {
	const literals = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ -/,"
	if t[i] == '.' {
		return i == 0 || t[i-1] != 'w' && t[i-1] != 'W'
	}
	return t[i] >= utf8.RuneSelf || strings.IndexByte(literals, t[i]) >= 0
}

// plainAddress matches addresses in which no character can end a link.
var plainAddress = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^https?://[A-Za-z0-9.-]+(:[0-9]+)?(/[A-Za-z0-9._~/-]*)?$`)
})

// Link is a link to an address that CI named; ok is false where the address could
// be more than that.
func Link(text Markdown, address string) (link Markdown, ok bool) {
	if !plainAddress().MatchString(address) {
		return "", false
	}
	return "[" + text + "](" + Markdown(address) + ")", true
}
