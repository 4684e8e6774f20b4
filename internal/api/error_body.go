package api

import (
	"bytes"
	"cmp"
	"encoding/json"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"trueup/internal/canon"
	"trueup/internal/diag"
)

// errorBody is the content of an error's body.
type errorBody struct {
	reason, message string
	limit           int         // how many bytes of the message to quote
	causes          [][2]string // field and message
	retryAfter      time.Duration
	isJSON, empty   bool           // the body is a JSON object; it is empty
	body            map[string]any // the decoded object
}

// readErrorBody parses the forms that the platform and its gateways send: a Status, {"message"} as text or object,
// {"reason"}, {"error"}, {"errors"}, {"detail"}, {"details"}, RFC 9457, plain text and HTML. It ignores the content
// type, because time-outs come as JSON in text/plain.
func readErrorBody(body []byte) errorBody {
	if len(bytes.TrimSpace(body)) == 0 {
		return errorBody{empty: true}
	}
	v, err := canon.Decode(body)
	switch t := v.(type) {
	case map[string]any:
		return readErrorObject(t)
	case []any, string:
		if err == nil {
			return errorBody{message: messageFor(v, 0), limit: messageSize}
		}
	}
	if looksHTML(body) {
		return errorBody{message: cmp.Or(pageText(string(body)), "an HTML page"), limit: messageSize}
	}
	return errorBody{message: string(body), limit: excerptSize}
}

func readErrorObject(o map[string]any) errorBody {
	c := errorBody{isJSON: true, body: o, message: messageFor(o, 0), limit: messageSize, reason: textOf(o, "reason")}
	details := objectOf(o, "details")
	if n, ok := details["retryAfterSeconds"].(json.Number); ok {
		c.retryAfter = parseSeconds(string(n), maxAsked)
	}
	causes, _ := details["causes"].([]any)
	for _, each := range causes[:min(len(causes), maxCauses)] {
		cause, _ := each.(map[string]any)
		field := textOf(cause, "field")
		message := cmp.Or(textOf(cause, "message"), textOf(cause, "reason"))
		told := strings.Contains(c.message, message) && strings.Contains(c.message, field)
		// The field "<nil>" is noise.
		if field != "<nil>" && message != "" && !told {
			c.causes = append(c.causes, [2]string{field, message})
		}
	}
	return c
}

// quoteInto puts the words of an answer into an error. If a part of a secret is anywhere in them, or in the body that they
// are from, it quotes none of them.
func (b errorBody) quoteInto(body []byte, e *Error) {
	words := []string{string(body[:min(len(body), maxChecked)]), b.message[:min(len(b.message), maxChecked)], b.reason}
	for _, cause := range b.causes {
		words = append(words, cause[:]...)
	}
	if slices.ContainsFunc(slices.Compact(words), diag.HasSecret) {
		e.Said = diag.HideAnswer(len(body))
		return
	}
	e.Said, e.Reason = diag.QuoteAnswer(b.message, cmp.Or(b.limit, messageSize)), diag.QuoteAnswer(b.reason, excerptSize)
	for _, cause := range b.causes {
		e.Causes = append(e.Causes, FieldError{diag.QuoteAnswer(cause[0], excerptSize), diag.QuoteAnswer(cause[1], excerptSize)})
	}
}

// maxCauses is how many causes an error lists.
const maxCauses = 20

func objectOf(o map[string]any, name string) map[string]any {
	m, _ := o[name].(map[string]any)
	return m
}

func textOf(o map[string]any, name string) string {
	s, _ := o[name].(string)
	return s
}

// messageFor returns the message for people in a decoded body, or "".
func messageFor(v any, depth int) string {
	const deepest, longest = 4, 10
	if depth > deepest {
		return ""
	}
	switch t := v.(type) {
	case string:
		return t
	case []any:
		var parts []string
		for _, e := range t[:min(len(t), longest)] {
			if s := messageFor(e, depth+1); s != "" {
				parts = append(parts, s)
			}
		}
		return strings.Join(parts, "; ")
	case map[string]any:
		title := textOf(t, "title")
		for _, key := range []string{"message", "detail", "error", "errors", "details", "error_description", "description", "msg"} {
			switch s := messageFor(t[key], depth+1); s {
			case "":
			case title:
				return s
			default:
				return joinSentences(title, s)
			}
		}
		return cmp.Or(title, textOf(t, "reason"))
	}
	return ""
}

// parseSeconds parses a number of seconds and returns at most the given time, or 0 if the number is invalid or negative.
func parseSeconds(text string, most time.Duration) time.Duration {
	n, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
	if err != nil || !(n > 0) || math.IsInf(n, 0) {
		return 0
	}
	return time.Duration(min(n, most.Seconds()) * float64(time.Second))
}

// How many bytes to quote from an answer, and in how many to look for secrets besides.
const (
	maxChecked  = 16 << 10
	excerptSize = 300  // from a text that may not be a message
	messageSize = 2000 // from a message: a 403 with user, verb and resource fits
)

// Parts of an HTML page.
var (
	pageStart = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?i)^\s*<(!doctype|html|head|body|\?xml)`) })
	pageTitle = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?is)<title>(.*?)</title>`) })
	pageTag   = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`<[^>]*(>|$)`) })
)

func looksHTML(body []byte) bool { return pageStart().Match(body) }

func pageText(page string) string {
	text, title := strings.Join(strings.Fields(pageTag().ReplaceAllString(page, " ")), " "), ""
	if found := pageTitle().FindStringSubmatch(page); found != nil {
		title = strings.Join(strings.Fields(found[1]), " ")
	}
	if strings.HasPrefix(text, title) {
		return text
	}
	return joinSentences(title, text)
}

// The form of a Warning header (RFC 7234 5.5): code, agent and quoted text; and that of an escape in the text.
var (
	warningForm = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[0-9]+ +[^ ]+ +"((?:[^"\\]|\\.)*)"`) })
	quotedPair  = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\\(.)`) })
)

// warningText returns the text of a Warning header, or the whole header if it has another form.
func warningText(header string) diag.Quotation {
	if found := warningForm().FindStringSubmatch(header); found != nil {
		header = quotedPair().ReplaceAllString(found[1], "$1")
	}
	return diag.QuoteAnswer(header, messageSize)
}
