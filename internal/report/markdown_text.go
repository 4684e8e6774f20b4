package report

import (
	"regexp"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"
)

// markup is Markdown of this package, in which text from outside stands only in
// a fence or as code.
type markup string

// constant is text in which there are but words of this program and numbers.
func constant(s safe) markup { return markup(s) }

// fence wraps lines in a fence that is longer than any run of backticks in
// them.
func fence(info markup, content []safe) markup {
	var b strings.Builder
	longest := 2
	for _, line := range content {
		longest = max(longest, backticks(line))
	}
	ticks := strings.Repeat("`", longest+1)
	b.WriteString(ticks + string(info) + "\n")
	for _, line := range content {
		b.WriteString(string(guarded(line)) + "\n")
	}
	b.WriteString(ticks + "\n")
	return markup(b.String())
}

// backticks is the length of the longest run of them.
func backticks(s safe) int {
	longest, run := 0, 0
	for i := range len(s) {
		if s[i] != '`' {
			run = 0
			continue
		}
		run++
		longest = max(longest, run)
	}
	return longest
}

// details is a part that a reader opens, unless it is open.
func details(open bool, summary, body markup) markup {
	var tag markup = "<details>"
	if open {
		tag = "<details open>"
	}
	return "\n" + tag + "<summary>" + summary + "</summary>\n\n" + body + "\n</details>\n"
}

// code is text from outside in a sentence. Code hosts link names and numbers of
// issues in text, but not in code; and each character that Markdown or HTML
// could read is an entity, which stands for itself in both.
func code(s safe) markup {
	var b strings.Builder
	b.WriteString("<code>")
	for i := range len(s) {
		if literally(s, i) {
			b.WriteByte(s[i])
			continue
		}
		b.WriteString("&#" + strconv.Itoa(int(s[i])) + ";")
	}
	b.WriteString("</code>")
	return markup(b.String())
}

// literally reports whether the byte at i means itself in Markdown and HTML. A
// point after a w does not: www. makes a link.
func literally(s safe, i int) bool {
	const literals = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ -/,"
	if s[i] == '.' {
		return i == 0 || s[i-1] != 'w' && s[i-1] != 'W'
	}
	return s[i] >= utf8.RuneSelf || strings.IndexByte(literals, s[i]) >= 0
}

// plainAddress is one that no character of can end a link.
var plainAddress = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^https?://[A-Za-z0-9.-]+(:[0-9]+)?(/[A-Za-z0-9._~/-]*)?$`)
})

// link is a link to an address that CI said, or the text alone where the address
// is none that this program would write itself.
func link(text markup, address string) markup {
	if !plainAddress().MatchString(address) {
		return text
	}
	return "[" + text + "](" + markup(address) + ")"
}
