package sandbox

import (
	"cmp"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Grammar is the form of a fault, with an example.
const Grammar = "METHOD PATH: NAME[=VALUE] [after-commit] [xN|x*] [N%] [@N], such as POST /purges: 503 after-commit x2"

// forever is the times of a fault that never ends.
const forever = -1

// fault makes some requests fail, in one of the ways of FaultKinds.
type fault struct {
	FaultKind
	text string
	// method is "*" for any. path is a substring of the path, or, with asterisks, a pattern for all of it.
	method, path string
	after        bool // the platform carries the request out
	// The fault applies to at most times requests, from the one with the number from
	// (counted from 1), to each with the probability percent.
	times, from int
	percent     float64

	value string
	n     int           // the value, if it is a number; -1 if it is left out
	time  time.Duration // the value, if it is a time
	// options are those of a status, by name.
	options map[string]string

	seen, done int
}

func (f *fault) matchesRequest(method, path string) bool {
	return (f.method == "*" || f.method == method) && matchPath(f.path, path)
}

// matchPath reports whether the path contains the pattern, or, if the pattern has
// asterisks, matches it as a whole. An asterisk stands for any text.
func matchPath(pattern, path string) bool {
	parts := strings.Split(pattern, "*")
	last := len(parts) - 1
	if last == 0 {
		return strings.Contains(path, pattern)
	}
	rest, ok := strings.CutPrefix(path, parts[0])
	for _, part := range parts[1:last] {
		if !ok {
			return false
		}
		_, rest, ok = strings.Cut(rest, part)
	}
	return ok && strings.HasSuffix(rest, parts[last])
}

// isDue counts a request, and reports whether the fault applies to it.
func (f *fault) isDue() bool {
	f.seen++
	return f.seen >= f.from && !f.isSpent() && rand.Float64()*100 < f.percent
}

func (f *fault) isSpent() bool { return f.times != forever && f.done >= f.times }

func parseFault(text string) (*fault, error) {
	f := &fault{text: strings.TrimSpace(text), from: 1, percent: 100, options: map[string]string{}}
	if err := f.parseFault(); err != nil {
		return nil, fmt.Errorf("fault %q: %w; a fault is %s", f.text, err, Grammar)
	}
	return f, nil
}

func (f *fault) parseFault() error {
	request, rest, _ := strings.Cut(f.text, ":")
	target := strings.Fields(request)
	switch {
	case len(target) != 2:
		return errors.New("write a method (or *) and a path before a colon")
	case target[0] != "*" && strings.Trim(target[0], "ABCDEFGHIJKLMNOPQRSTUVWXYZ") != "":
		return fmt.Errorf("%q: write the method in capital letters, or * for any", target[0])
	}
	f.method, f.path = target[0], target[1]
	rest, f.options["message"], _ = strings.Cut(rest, " message=") // the last option: it may have spaces
	words := append(strings.Fields(rest), "")
	if err := f.setKind(words[0]); err != nil {
		return err
	}
	for _, word := range words[1 : len(words)-1] {
		if !f.setOption(word) {
			return fmt.Errorf("%q: only after-commit, xN, x*, N%%, @N and what a status takes may follow", word)
		}
	}
	if f.times == 0 {
		f.times = 1
		if f.percent < 100 {
			f.times = forever
		}
	}
	return nil
}

// setKind sets what happens, from NAME or NAME=VALUE. A status is its own name.
func (f *fault) setKind(word string) error {
	name, value, hasValue := strings.Cut(word, "=")
	if len(word) == 3 && strings.Trim(word, "0123456789") == "" {
		name, value = statusName, word
	}
	kinds := FaultKinds()
	at := slices.IndexFunc(kinds, func(k FaultKind) bool { return k.Name == name })
	if at < 0 || word == statusName {
		return fmt.Errorf("%q does not exist: trueup sandbox fault --help lists the names", word)
	}
	f.FaultKind, f.value, f.after = kinds[at], value, !kinds[at].Either
	if !f.setValue(hasValue) {
		return fmt.Errorf("%q: write %s, where N is a number, TIME is such as 300ms or -7m, and a status is between 200 and 599", word, f.Form())
	}
	return nil
}

// setValue reads the value as its kind has it, and reports whether it is one.
func (f *fault) setValue(isGiven bool) bool {
	var err error
	switch f.Value {
	case "":
		return !isGiven
	case "=N", "[=N]":
		if f.n = -1; !isGiven {
			return f.Value == "[=N]"
		}
		n, err := strconv.ParseUint(f.value, 10, 31)
		f.n = int(n)
		return err == nil
	case "=TIME":
		f.time, err = time.ParseDuration(f.value)
		return err == nil
	case statusOptions:
		f.n, err = strconv.Atoi(f.value)
		return err == nil && f.n >= 200 && f.n <= 599
	}
	return f.value != ""
}

// setOption sets what a word after the name says. It returns false if it says nothing.
func (f *fault) setOption(word string) (ok bool) {
	name, value, _ := strings.Cut(word, "=")
	switch {
	case word == "after-commit":
		f.after = true
		return true
	case word == "x*":
		f.times = forever
		return true
	case word[0] == 'x':
		f.times, ok = parsePositive(word[1:])
		return ok
	case word[0] == '@':
		f.from, ok = parsePositive(word[1:])
		return ok
	case strings.HasSuffix(word, "%"):
		percent, err := strconv.ParseFloat(strings.TrimSuffix(word, "%"), 64)
		f.percent = percent
		return err == nil && percent > 0 && percent <= 100
	}
	f.options[name] = value
	return f.Name == statusName && slices.Contains([]string{"retry-after", "reason", "field", "plain"}, name)
}

func parsePositive(text string) (n int, ok bool) {
	n, err := strconv.Atoi(text)
	return n, err == nil && n > 0
}

// FaultKind is one way in which a request can fail.
type FaultKind struct {
	Name    string
	Value   string // what follows the name
	Example string
	Summary string
	// Either is true if the platform acts on the request only after-commit. The other
	// kinds change the platform's answer, so it always acts.
	Either bool
	edit   func(f *fault, a *Response, now time.Time) // may be nil
}

// Form returns the name with its value, as a fault has it.
func (k FaultKind) Form() string { return k.Name + k.Value }

// A status takes options instead of a value.
const (
	statusName    = "NNN"
	statusOptions = " [retry-after=VALUE] [reason=WORD] [field=PATH] [plain] [message=TEXT]"
)

// slowPause is the pause after each part of a body that drips.
const slowPause = 30 * time.Millisecond

// FaultKinds returns all kinds of faults.
func FaultKinds() []FaultKind {
	return []FaultKind{
		{
			statusName, statusOptions, "POST /purges: 403 x2 reason=Forbidden message=exceeded quota",
			"answers with this status, and a Status object of the reason, field and message, or plain text. Retry-After is VALUE, or for +30s a date that far from now. TEXT is the rest of the line",
			true, (*fault).answerStatus,
		},
		{"drop", "", "POST /purges: drop after-commit", "closes the connection without an answer", true, endConnection(func(http.ResponseWriter, Waiter) {})},
		{"reset", "", "PATCH /cdns: reset", "resets the connection (RST)", true, endConnection(resetConnection)},
		{"stall", "", "POST /volumesnapshots: stall after-commit", "never answers", true, endConnection(func(_ http.ResponseWriter, wait Waiter) { wait(forever) })},
		{
			"redirect", "=URL", "GET *: redirect=http://127.0.0.1:9/elsewhere", "answers with 307 to the URL", true,
			func(f *fault, a *Response, _ time.Time) {
				*a = *newResponse(http.StatusTemporaryRedirect, typeText, nil)
				a.Header.Set("Location", f.value)
			},
		},
		{"html", "", "GET */cdns: html", "answers with 200 and an HTML login page", true, replaceAnswer(typeHTML, "<!DOCTYPE html>\n<html><head><title>Log in</title></head><body>Log in to the network</body></html>\n")},
		{"empty", "", "PATCH *: empty after-commit", "answers with 200 and an empty body", true, replaceAnswer(typeJSON, "")},
		{
			"not-json", "", "GET /cdns/shop: not-json", "answers with 200 and a body that is not JSON, although its content type says so", true,
			replaceAnswer(typeJSON, "{\"kind\": CDN, 'name': shop,}\n"),
		},
		{
			"status-failure", "", "POST /cdns: status-failure after-commit", "answers with 200 and a Status object that reports a failure", true,
			func(_ *fault, a *Response, _ time.Time) {
				*a = *(&apiError{Code: http.StatusInternalServerError, Reason: "InternalError", Message: "Internal error occurred"}).response()
				a.Status = http.StatusOK
			},
		},
		{"delay", "=TIME", "GET *: delay=300ms 5%", "carries the request out, and answers, after this time, even if the client is gone. after-commit: carries it out at once, and answers after this time", true, nil},
		{"drip", "=N", "GET /cdns: drip=10", "sends the body slowly: N bytes, then a pause of " + slowPause.String(), false, sendBy((*Response).drip)},
		{"truncate", "[=N]", "GET /cdns: truncate", "cuts the body off after half of it, or N bytes; Content-Length promises more", false, sendBy((*Response).truncate)},
		{"truncate-unseen", "[=N]", "GET /cdns: truncate-unseen x*", "truncates without Content-Length, so that nothing shows the cut", false, sendBy((*Response).truncateUnseen)},
		{"huge", "=N", "GET /cdns/shop: huge=17", "adds N MiB to the answer", false, sendBy((*Response).padBody)},
		{"gzip-bomb", "=N", "GET /cdns: gzip-bomb=300", "adds N MiB to the answer and compresses it", false, sendBy((*Response).padPacked)},
		{
			"wrong-kind", "", "GET /cdns/shop: wrong-kind", "answers with objects of another kind", false,
			editObjects(func(o map[string]any) { o["kind"] = "ConfigMap" }),
		},
		{"wrong-name", "", "POST /cdns: wrong-name", "answers with objects of another name", false, editObjects(otherMeta("name"))},
		{"wrong-namespace", "", "GET /volumesnapshots: wrong-namespace", "answers with objects of another namespace", false, editObjects(otherMeta("namespace"))},
		{partialList, "=N", "GET */cdns: partial-list=1 x*", "lists only the first N objects, as if there were no more", false, (*fault).endList},
		{partialCounted, "=N", "GET */cdns: partial-list-counted=1", "the same, but says how many are left", false, (*fault).endList},
		{partialPaged, "=N", "GET */cdns: partial-list-paged=1", "the same, with the token to get them", false, nil},
		{"clock", "=TIME", "GET *: clock=25h @3", "changes the Date header by TIME, in this answer and all later ones; the platform's own clock does not change", false, nil},
		{
			"date", "=TEXT", "GET *: date=tomorrow x*", "sets the Date header to TEXT", false,
			func(f *fault, a *Response, _ time.Time) { a.Header.Set("Date", f.value) },
		},
		{"duplicate-executes", "", "POST /purges: duplicate-executes x*", "accepts and executes a purge although its name exists", false, nil},
		{
			"bad-header", "", "GET *: bad-header", "adds a header of 2 MiB", false,
			func(_ *fault, a *Response, _ time.Time) { a.Header.Set("X-Padding", strings.Repeat("a", 2<<20)) },
		},
	}
}

// The faults of lists.
const (
	partialList    = "partial-list"
	partialCounted = "partial-list-counted"
	partialPaged   = "partial-list-paged"
)

type editor = func(f *fault, a *Response, now time.Time)

// endConnection breaks the connection after how, without an answer.
func endConnection(how func(http.ResponseWriter, Waiter)) editor {
	return func(_ *fault, a *Response, _ time.Time) { a.endBy(how) }
}

func replaceAnswer(media, body string) editor {
	return func(_ *fault, a *Response, _ time.Time) { *a = *newResponse(http.StatusOK, media, []byte(body)) }
}

// sendBy sends the answer by a method that gets the fault's number.
func sendBy(send func(a *Response, w http.ResponseWriter, wait Waiter, n int)) editor {
	return func(f *fault, a *Response, _ time.Time) {
		a.Send = func(w http.ResponseWriter, wait Waiter) { send(a, w, wait, f.n) }
	}
}

func editObjects(edit func(object map[string]any)) editor {
	return func(_ *fault, a *Response, _ time.Time) {
		if body, isObject := decode(a.Body).(map[string]any); isObject && a.Status < http.StatusMultipleChoices {
			items, isList := body["items"].([]any)
			if !isList {
				items = []any{body}
			}
			for _, item := range items {
				if o := asMap(item); asMap(o["metadata"]) != nil {
					edit(o)
				}
			}
			a.Body = []byte(encode(body) + "\n")
		}
	}
}

func otherMeta(name string) func(object map[string]any) {
	return func(o map[string]any) {
		meta := asMap(o["metadata"])
		meta[name] = "other-" + asText(meta[name])
	}
}

func (f *fault) answerStatus(a *Response, now time.Time) {
	title := http.StatusText(f.n)
	failed := apiError{
		Code: f.n, Reason: cmp.Or(f.options["reason"], strings.ReplaceAll(title, " ", "")), Message: cmp.Or(f.options["message"], "a fault of the sandbox: "+title),
	}
	if field := f.options["field"]; field != "" {
		failed.Details.Causes = []cause{{Reason: "FieldValueInvalid", Message: failed.Message, Field: field}}
	}
	if _, isPlain := f.options["plain"]; isPlain {
		failed.Instead = failed.Message + "\n"
	}
	switch {
	case f.n == http.StatusNoContent || f.n == http.StatusNotModified:
		*a = Response{Status: f.n, Header: http.Header{}}
	case f.n >= http.StatusBadRequest:
		*a = *failed.response()
	default:
		*a = *newResponse(f.n, typeJSON, []byte("{}\n"))
	}
	if after := f.options["retry-after"]; after != "" {
		a.Header.Set("Retry-After", retryDate(after, now))
	}
}

// retryDate returns the value of Retry-After: a signed time becomes a date.
func retryDate(text string, now time.Time) string {
	d, err := time.ParseDuration(text)
	if err != nil || !strings.ContainsAny(text[:1], "+-") {
		return text
	}
	return now.Add(d).Format(http.TimeFormat)
}

// endList removes the token to get the rest of a list, and perhaps how many are left.
func (f *fault) endList(a *Response, _ time.Time) {
	body := asMap(decode(a.Body))
	meta := asMap(body["metadata"])
	if body["items"] == nil || asText(meta["continue"]) == "" {
		return
	}
	meta["continue"] = ""
	if f.Name == partialList {
		delete(meta, "remainingItemCount")
	}
	a.Body = []byte(encode(body) + "\n")
}
