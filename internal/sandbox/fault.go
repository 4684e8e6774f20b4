package sandbox

import (
	"cmp"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"regexp"
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

	FaultValue
	seen, done int
}

func (f *fault) matchesRequest(method, path string) bool {
	return (f.method == "*" || f.method == method) && matchPath(f.path, path)
}

// matchPath reports whether the path contains the pattern, or, if the pattern has
// asterisks, matches it as a whole. An asterisk stands for any text.
func matchPath(pattern, path string) bool {
	if !strings.Contains(pattern, "*") {
		return strings.Contains(path, pattern)
	}
	whole, err := regexp.Compile(`(?s)^` + strings.ReplaceAll(regexp.QuoteMeta(pattern), `\*`, `.*`) + `$`)
	return err == nil && whole.MatchString(path) // no path that is not UTF-8 can be named
}

// countRequest counts a request, and reports whether the fault applies to it.
func (f *fault) countRequest() bool {
	f.seen++
	return f.seen >= f.from && !f.isSpent() && rand.Float64()*100 < f.percent
}

func (f *fault) isSpent() bool { return f.times != forever && f.done >= f.times }

func parseFault(text string, kinds []FaultKind) (*fault, error) {
	f := &fault{text: strings.TrimSpace(text), from: 1, percent: 100, FaultValue: FaultValue{Options: map[string]string{}}}
	if err := f.parseFault(kinds); err != nil {
		return nil, fmt.Errorf("fault %q: %w; a fault is %s", f.text, err, Grammar)
	}
	return f, nil
}

func (f *fault) parseFault(kinds []FaultKind) error {
	request, rest, _ := strings.Cut(f.text, ":")
	target := strings.Fields(request)
	switch {
	case len(target) != 2:
		return errors.New("write a method (or *) and a path before a colon")
	case target[0] != "*" && strings.Trim(target[0], "ABCDEFGHIJKLMNOPQRSTUVWXYZ") != "":
		return fmt.Errorf("%q: write the method in capital letters, or * for any", target[0])
	}
	f.method, f.path = target[0], target[1]
	rest, f.Options["message"], _ = strings.Cut(rest, " message=") // the last option: it may have spaces
	words := append(strings.Fields(rest), "")
	if err := f.setKind(words[0], kinds); err != nil {
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
func (f *fault) setKind(word string, kinds []FaultKind) error {
	name, value, hasValue := strings.Cut(word, "=")
	if len(word) == 3 && strings.Trim(word, "0123456789") == "" {
		name, value = statusName, word
	}
	at := slices.IndexFunc(kinds, func(k FaultKind) bool { return k.Name == name })
	if at < 0 || word == statusName {
		return fmt.Errorf("%q does not exist: trueup sandbox fault --help lists the names", word)
	}
	f.FaultKind, f.Text, f.after = kinds[at], value, !kinds[at].Either
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
		if f.N = -1; !isGiven {
			return f.Value == "[=N]"
		}
		n, err := strconv.ParseUint(f.Text, 10, 31)
		f.N = int(n)
		return err == nil
	case "=TIME":
		f.Time, err = time.ParseDuration(f.Text)
		return err == nil
	case statusOptions:
		f.N, err = strconv.Atoi(f.Text)
		return err == nil && f.N >= 200 && f.N <= 599
	}
	return f.Text != ""
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
	f.Options[name] = value
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
	Edit   func(f FaultValue, a *Response, now time.Time) // may be nil
}

// FaultValue is what a fault says besides its name.
type FaultValue struct {
	Text string
	N    int           // the value, if it is a number; -1 if it is left out
	Time time.Duration // the value, if it is a time
	// Options are those of a status, by name.
	Options map[string]string
}

// Form returns the name with its value, as a fault has it.
func (k FaultKind) Form() string { return k.Name + k.Value }

// A status takes options instead of a value.
const (
	statusName    = "NNN"
	statusOptions = " [retry-after=VALUE] [reason=WORD] [field=PATH] [plain] [message=TEXT]"
)

// FaultKinds returns all kinds of faults.
func FaultKinds() []FaultKind {
	return []FaultKind{
		{
			statusName, statusOptions, "POST /purges: 403 x2 reason=Forbidden message=exceeded quota",
			"answers with this status, and a Status object of the reason, field and message, or plain text. Retry-After is VALUE, or for +30s a date that far from now. TEXT is the rest of the line",
			true, FaultValue.answerStatus,
		},
		{"drop", "", "POST /purges: drop after-commit", "closes the connection without an answer", true, breakConnection(func(http.ResponseWriter, WaitFunc) {})},
		{"reset", "", "PATCH /cdns: reset", "resets the connection (RST)", true, breakConnection(resetConnection)},
		{"stall", "", "POST /volumesnapshots: stall after-commit", "never answers", true, breakConnection(func(_ http.ResponseWriter, wait WaitFunc) { wait(forever) })},
		{
			"redirect", "=URL", "GET *: redirect=http://127.0.0.1:9/elsewhere", "answers with 307 to the URL", true,
			func(f FaultValue, a *Response, _ time.Time) {
				*a = *newResponse(http.StatusTemporaryRedirect, typeText, nil)
				a.Header.Set("Location", f.Text)
			},
		},
		{"delay", "=TIME", "GET *: delay=300ms 5%", "carries the request out, and answers, after this time, even if the client is gone. after-commit: carries it out at once, and answers after this time", true, nil},
		{partialList, "=N", "GET */cdns: partial-list=1 x*", "lists only the first N objects, as if there were no more", false, dropContinueToken(false)},
		{partialCounted, "=N", "GET */cdns: partial-list-counted=1", "the same, but says how many are left", false, dropContinueToken(true)},
		{partialPaged, "=N", "GET */cdns: partial-list-paged=1", "the same, with the token to get them", false, nil},
		{"clock", "=TIME", "GET *: clock=25h @3", "changes the Date header by TIME, in this answer and all later ones; the platform's own clock does not change", false, nil},
		{"duplicate-executes", "", "POST /purges: duplicate-executes x*", "accepts and executes a purge although its name exists", false, nil},
	}
}

// The faults of lists.
const (
	partialList    = "partial-list"
	partialCounted = "partial-list-counted"
	partialPaged   = "partial-list-paged"
)

type responseEditor = func(f FaultValue, a *Response, now time.Time)

// breakConnection breaks the connection after how, without an answer.
func breakConnection(how func(http.ResponseWriter, WaitFunc)) responseEditor {
	return func(_ FaultValue, a *Response, _ time.Time) {
		a.Status = 0
		a.Send = func(w http.ResponseWriter, wait WaitFunc) {
			how(w, wait)
			panic(http.ErrAbortHandler)
		}
	}
}

func (f FaultValue) answerStatus(a *Response, now time.Time) {
	title := http.StatusText(f.N)
	failed := apiError{
		Code: f.N, Reason: cmp.Or(f.Options["reason"], strings.ReplaceAll(title, " ", "")), Message: cmp.Or(f.Options["message"], "a fault of the sandbox: "+title),
	}
	if field := f.Options["field"]; field != "" {
		failed.Details.Causes = []cause{{Reason: "FieldValueInvalid", Message: failed.Message, Field: field}}
	}
	if _, isPlain := f.Options["plain"]; isPlain {
		failed.Instead = failed.Message + "\n"
	}
	switch {
	case f.N == http.StatusNoContent || f.N == http.StatusNotModified:
		*a = Response{Status: f.N, Header: http.Header{}}
	case f.N >= http.StatusBadRequest:
		*a = *failed.response()
	default:
		*a = *newResponse(f.N, typeJSON, []byte("{}\n"))
	}
	if after := f.Options["retry-after"]; after != "" {
		if d, err := time.ParseDuration(after); err == nil && strings.ContainsAny(after[:1], "+-") {
			after = now.Add(d).Format(http.TimeFormat)
		}
		a.Header.Set("Retry-After", after)
	}
}

// dropContinueToken removes the token to get the rest of a list, and how many are left unless that is counted.
func dropContinueToken(isCounted bool) responseEditor {
	return func(_ FaultValue, a *Response, _ time.Time) {
		body := AsMap(DecodeJSON(a.Body))
		meta := AsMap(body["metadata"])
		if body["items"] == nil || asText(meta["continue"]) == "" {
			return
		}
		meta["continue"] = ""
		if !isCounted {
			delete(meta, "remainingItemCount")
		}
		a.Body = []byte(EncodeJSON(body) + "\n")
	}
}

// Quirk is one way in which a real server may differ from the simplest one.
type Quirk struct{ Name, Summary string }

// Quirks returns the table of all quirks.
func Quirks() []Quirk {
	return []Quirk{
		{"defaults", "missing fields get the server's default, also inside list elements; an array sent without such a member resets it"},
		{"typed-scalars", "answers numbers and booleans where text was sent: 443, true, 2"},
		{"status", "CDNs and purges are answered with a status"},
		{"normalises", "answers show hostnames in lower case, and edge TTLs with their unit: 3600s"},
		{"sorts-locations", "answers show locations sorted by path, in reverse"},
		{executesDuplicates, "a second purge of a name is accepted and executed"},
	}
}

const executesDuplicates = "executes-duplicates"

// quirkSet holds the names of the quirks that are on. It never changes.
type quirkSet map[string]bool

// SetQuirks turns on exactly these quirks. It changes nothing if a name is unknown.
func (s *Server) SetQuirks(names ...string) error {
	all, on := Quirks(), quirkSet{}
	for _, name := range names {
		if !slices.ContainsFunc(all, func(q Quirk) bool { return q.Name == name }) {
			return fmt.Errorf("quirk %q does not exist", name)
		}
		on[name] = true
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.on = on
	return nil
}
