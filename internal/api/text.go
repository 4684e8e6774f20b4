package api

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Bounds of what is quoted from an answer, in bytes.
const (
	// excerptSize bounds text that is not known to be a message.
	excerptSize = 300
	// messageSize bounds a message: a 403 names user, verb and resource and is
	// shown whole.
	messageSize = 2000
)

// oneLine makes a text from outside fit for an error: one line, no control,
// direction-changing or invalid characters, at most limit bytes.
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

// looksHTML recognises a page of a proxy, a portal or a web server.
func looksHTML(body []byte) bool {
	head := strings.ToLower(strings.TrimSpace(string(body[:min(len(body), 256)])))
	return strings.HasPrefix(head, "<!doctype") || strings.HasPrefix(head, "<html") ||
		strings.HasPrefix(head, "<head") || strings.HasPrefix(head, "<body") || strings.HasPrefix(head, "<?xml")
}

// pageText reduces a page to its title and its text.
func pageText(body string) string {
	lower := strings.ToLower(body)
	title := ""
	if i := strings.Index(lower, "<title>"); i >= 0 && len(lower) == len(body) {
		rest := body[i+len("<title>"):]
		if end := strings.Index(lower[i:], "</title>"); end >= len("<title>") {
			title = rest[:end-len("<title>")]
		}
	}
	text := oneLine(stripTags(body), excerptSize)
	title = oneLine(title, excerptSize)
	if title == "" || strings.HasPrefix(text, title) {
		return text
	}
	return title + ": " + text
}

// stripTags leaves what stands between the tags of a page.
func stripTags(page string) string {
	var b strings.Builder
	for page != "" {
		open := strings.IndexByte(page, '<')
		if open < 0 {
			b.WriteString(page)
			break
		}
		b.WriteString(page[:open])
		b.WriteByte(' ')
		end := strings.IndexByte(page[open:], '>')
		if end < 0 {
			break
		}
		page = page[open+end+1:]
	}
	return b.String()
}
