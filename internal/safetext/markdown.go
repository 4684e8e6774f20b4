package safetext

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"

	"trueup/internal/diag"
)

// Markdown is markup with text from outside only in fences and code.
type Markdown struct{ markup string }

// Constant converts text that has only constants and numbers.
func Constant(t Text) Markdown { return Markdown{t.s} }

// M formats markup as fmt.Sprintf does.
func M(format constant, parts ...Markdown) Markdown {
	args := diag.MapList(parts, func(p Markdown) any { return p.markup })
	return Markdown{fmt.Sprintf(string(format), args...)}
}

// JoinMarkdown puts sep between the parts.
func JoinMarkdown(parts []Markdown, sep constant) Markdown {
	texts := diag.MapList(parts, func(p Markdown) string { return p.markup })
	return Markdown{strings.Join(texts, string(sep))}
}

// String returns m for output.
func (m Markdown) String() string { return m.markup }

// Empty reports whether m is empty.
func (m Markdown) Empty() bool { return m.markup == "" }

// Len returns the number of bytes.
func (m Markdown) Len() int { return len(m.markup) }

// Fence returns a code block whose fence is longer than any run of backticks in lines.
func Fence(info constant, lines []Text) Markdown {
	var b strings.Builder
	longest := 2
	for _, line := range lines {
		for run := range strings.FieldsFuncSeq(line.s, func(r rune) bool { return r != '`' }) {
			longest = max(longest, len(run))
		}
	}
	ticks := strings.Repeat("`", longest+1)
	b.WriteString(ticks + string(info) + "\n")
	for _, line := range lines {
		b.WriteString(line.EscapeCommands().s + "\n")
	}
	b.WriteString(ticks + "\n")
	return Markdown{b.String()}
}

// Details returns a part that readers can fold.
func Details(open bool, summary, body Markdown) Markdown {
	tag := M("<details>")
	if open {
		tag = M("<details open>")
	}
	return M("\n%s<summary>%s</summary>\n\n%s\n</details>\n", tag, summary, body)
}

// Code returns text from outside for a sentence. It is in code, where code hosts link no names
// and issue numbers. Characters with a meaning in Markdown or HTML become entities.
func Code(t Text) Markdown {
	var b strings.Builder
	b.WriteString("<code>")
	for i := range len(t.s) {
		if needsNoEscape(t.s, i) {
			b.WriteByte(t.s[i])
		} else {
			b.WriteString("&#" + strconv.Itoa(int(t.s[i])) + ";")
		}
	}
	b.WriteString("</code>")
	return Markdown{b.String()}
}

// needsNoEscape reports whether the byte at i needs no escape in Markdown and HTML. A dot after
// a w does: www. makes a link.
func needsNoEscape(s string, i int) bool {
	const literals = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ -/,"
	if s[i] == '.' {
		return i == 0 || s[i-1] != 'w' && s[i-1] != 'W'
	}
	return s[i] >= utf8.RuneSelf || strings.IndexByte(literals, s[i]) >= 0
}

// plainAddress matches URLs in which no character can end a link.
var plainAddress = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^https?://[A-Za-z0-9.-]+(:[0-9]+)?(/[A-Za-z0-9._~/-]*)?$`)
})

// Link returns a link to a URL from CI. ok is false if the URL could break the markup.
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
