package api

import (
	"bytes"
	"cmp"
	"encoding/json"
	"math"
	"strconv"
	"strings"
	"time"

	"trueup/internal/canon"
)

// complaint is what the body of an error says.
type complaint struct {
	reason, message string
	causes          []Cause
	retryAfter      time.Duration
	// restart is metadata.continue of a 410.
	restart string
	// isJSON says that the body is a JSON object, empty that there is none.
	isJSON, empty bool
	// body is the decoded object.
	body map[string]any
}

// readComplaint understands the bodies that the platform and what stands
// before it are known to send: a Status, {"message"} as text or object,
// {"reason"}, {"error"}, {"errors"}, {"detail"}, {"details"}, RFC 9457, plain
// text and HTML. It looks at the body and not at its header, for a time-out
// comes as text/plain with JSON in it.
func readComplaint(body []byte, redact func(string) string) complaint {
	if len(bytes.TrimSpace(body)) == 0 {
		return complaint{empty: true}
	}
	v, err := canon.Decode(body)
	switch t := v.(type) {
	case map[string]any:
		return objectComplaint(t, redact)
	case []any, string:
		if err == nil {
			return complaint{message: oneLine(redact(sentence(v, 0)), messageSize)}
		}
	}
	text := redact(string(body))
	if looksHTML(body) {
		return complaint{message: cmp.Or(pageText(text), "an HTML page")}
	}
	return complaint{message: oneLine(text, excerptSize)}
}

func objectComplaint(o map[string]any, redact func(string) string) complaint {
	c := complaint{isJSON: true, body: o}
	c.message = oneLine(redact(sentence(o, 0)), messageSize)
	if reason, ok := o["reason"].(string); ok {
		c.reason = oneLine(redact(reason), excerptSize)
	}
	if meta, ok := o["metadata"].(map[string]any); ok {
		c.restart, _ = meta["continue"].(string)
	}
	details, ok := o["details"].(map[string]any)
	if !ok {
		return c
	}
	if n, ok := details["retryAfterSeconds"].(json.Number); ok {
		c.retryAfter = seconds(string(n), maxAsked)
	}
	causes, _ := details["causes"].([]any)
	for _, each := range causes[:min(len(causes), maxCauses)] {
		if cause, ok := readCause(each, redact); ok && !strings.Contains(c.message, cause.Message) {
			c.causes = append(c.causes, cause)
		}
	}
	return c
}

// maxCauses bounds how many causes an error lists.
const maxCauses = 20

// readCause reads one of details.causes; the field "<nil>" is noise.
func readCause(v any, redact func(string) string) (Cause, bool) {
	o, _ := v.(map[string]any)
	field, _ := o["field"].(string)
	message, _ := o["message"].(string)
	if message == "" {
		message, _ = o["reason"].(string)
	}
	if field == "<nil>" || message == "" {
		return Cause{}, false
	}
	return Cause{Field: oneLine(redact(field), excerptSize), Message: oneLine(redact(message), excerptSize)}, true
}

// sentence finds the words for people in a decoded body.
func sentence(v any, depth int) string {
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
			if s := sentence(e, depth+1); s != "" {
				parts = append(parts, s)
			}
		}
		return strings.Join(parts, "; ")
	case map[string]any:
		return objectSentence(t, depth)
	}
	return ""
}

func objectSentence(o map[string]any, depth int) string {
	title, hasTitle := o["title"].(string)
	for _, key := range []string{"message", "detail", "error", "errors", "details", "error_description", "description", "msg"} {
		s := sentence(o[key], depth+1)
		if s == "" {
			continue
		}
		if hasTitle && title != s {
			return title + ": " + s
		}
		return s
	}
	if hasTitle {
		return title
	}
	reason, _ := o["reason"].(string)
	return reason
}

// seconds reads a number of seconds, at most a bound that fits a Duration; 0
// where it is none or negative.
func seconds(text string, most time.Duration) time.Duration {
	n, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
	if err != nil || !(n > 0) || math.IsInf(n, 0) {
		return 0
	}
	return time.Duration(min(n, most.Seconds()) * float64(time.Second))
}
