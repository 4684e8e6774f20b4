package fault

import (
	"cmp"
	_ "embed" // for the tables
	"fmt"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Effect is one way in which a rule changes the answer to a request.
type Effect struct {
	Name, Form, Example, Summary string
	Expects                      string // what the argument must be, for error messages
	// Either is true if the effect may come before or after the platform carries the
	// request out. The other effects change the platform's answer, so they come after.
	Either bool
}

//go:embed effects.tsv
var effectTable string

// Effects returns the table of all effects.
func Effects() []Effect {
	var all []Effect
	for line := range strings.Lines(effectTable) {
		col := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		all = append(all, Effect{
			Name: col[0], Either: col[1] == "either", Form: col[2], Example: col[3], Summary: col[4], Expects: col[5],
		})
	}
	return all
}

// effect is an Effect with its arguments.
type effect struct {
	Effect
	delay  time.Duration                  // before the request is carried out, or answered
	clock  time.Duration                  // what to add to the Date header from now on
	limit  int                            // the number of items in a list; 0 means all
	answer func(a *Answer, now time.Time) // edits the answer; may be nil
}

// replaces reports whether the effect replaces the platform's answer.
func (e effect) replaces() bool { return e.Either && e.delay == 0 && e.Name != "delay" }

// findEffect returns the effect that the words of a rule begin with, its argument and the words after it.
func findEffect(words []string) (e Effect, arg string, rest []string, err error) {
	all, forms := Effects(), ""
	word := strings.Join(words[:min(1, len(words))], "")
	name, value, hasValue := strings.Cut(word, "=")
	if len(word) == 3 && strings.Trim(word, "0123456789") == "" {
		name, value = "status", word
	}
	for _, row := range all {
		forms += ", " + row.Form
		if row.Name == name && word != "status" && hasValue == (name == "date") {
			e = row
		}
	}
	switch {
	case e.Name == "":
		return e, "", nil, fmt.Errorf("%q: an effect is one of %s", word, forms[2:])
	case value != "" || e.Expects == "" || len(words) < 2:
		return e, value, words[1:], nil
	}
	return e, words[1], words[2:], nil
}

// hasOption reports whether the form of the effect has the name in brackets.
func (e Effect) hasOption(name string) bool {
	return slices.Contains(strings.FieldsFunc(e.Form, func(c rune) bool { return strings.ContainsRune(" []|=", c) })[1:], name)
}

// prepare returns the effect with its argument and its options.
func (e Effect) prepare(arg string, options map[string]string) (effect, error) {
	out := effect{Effect: e, answer: simpleEffects()[e.Name]}
	if read := argumentParsers()[e.Name]; read != nil && !read(&out, arg, options) {
		return out, fmt.Errorf("%q: %s", arg, e.Expects)
	}
	return out, nil
}

// simpleEffects returns the effects that take no argument.
func simpleEffects() map[string]func(*Answer, time.Time) {
	replaced := func(status int, media, body string) func(*Answer, time.Time) {
		return func(a *Answer, _ time.Time) { *a = *NewAnswer(status, media, []byte(body)) }
	}
	edited := func(edit func(object map[string]any)) func(*Answer, time.Time) {
		return func(a *Answer, _ time.Time) {
			if body, isObject := Decode(a.Body).(map[string]any); isObject && a.Status < http.StatusMultipleChoices {
				eachObject(body, edit)
				a.Body = []byte(Encode(body) + "\n")
			}
		}
	}
	otherMeta := func(name string) func(*Answer, time.Time) {
		return edited(func(o map[string]any) {
			meta := Map(o["metadata"])
			meta[name] = "other-" + Text(meta[name])
		})
	}
	return map[string]func(*Answer, time.Time){
		"drop":     func(a *Answer, _ time.Time) { a.endBy(func(http.ResponseWriter, waiter) {}) },
		"reset":    func(a *Answer, _ time.Time) { a.endBy(reset) },
		"stall":    func(a *Answer, _ time.Time) { a.endBy(func(_ http.ResponseWriter, wait waiter) { wait(forever) }) },
		"html":     replaced(http.StatusOK, TypeHTML, portalPage),
		"empty":    replaced(http.StatusOK, TypeJSON, ""),
		"not-json": replaced(http.StatusOK, TypeJSON, "{\"kind\": CDN, 'name': shop,}\n"),
		"status-failure": func(a *Answer, _ time.Time) {
			f := Failure{Code: http.StatusInternalServerError, Reason: "InternalError", Message: "Internal error occurred"}
			*a = *f.Answer()
			a.Status = http.StatusOK
		},
		"wrong-kind":      edited(func(o map[string]any) { o["kind"] = "ConfigMap" }),
		"wrong-name":      otherMeta("name"),
		"wrong-namespace": otherMeta("namespace"),
		"bad-header":      func(a *Answer, _ time.Time) { a.Header.Set("X-Padding", strings.Repeat("a", 2<<20)) },
	}
}

// argumentParsers returns a parser for each effect that takes an argument. It gets the
// options, too, and returns false if the argument is invalid.
func argumentParsers() map[string]func(e *effect, arg string, options map[string]string) bool {
	return map[string]func(e *effect, arg string, options map[string]string) bool{
		"status": readStatus, "partial-list": readPartial, "gzip-bomb": readPadding, "huge": readPadding,
		"redirect": func(e *effect, to string, _ map[string]string) bool {
			e.answer = func(a *Answer, _ time.Time) { *a = *redirect(to) }
			return to != ""
		},
		"delay": func(e *effect, arg string, _ map[string]string) (ok bool) {
			e.delay, ok = parseTime(arg)
			return ok
		},
		"drip": func(e *effect, arg string, _ map[string]string) bool {
			size, every, _ := strings.Cut(arg, "/")
			n, ok := parseSize(size)
			pause, ok2 := parseTime(every)
			e.answer = func(a *Answer, _ time.Time) {
				a.send = func(w http.ResponseWriter, wait waiter) { a.drip(w, wait, n, pause) }
			}
			return ok && ok2 && n > 0
		},
		"truncate": func(e *effect, arg string, options map[string]string) bool {
			n, ok := parseSize(arg)
			_, hidden := options["close-delimited"]
			e.answer = func(a *Answer, _ time.Time) {
				size := int(min(n, math.MaxInt32))
				if arg == "half" {
					size = len(a.Body) / 2
				}
				a.send = func(w http.ResponseWriter, _ waiter) { a.truncate(w, size, hidden) }
			}
			return ok || arg == "half"
		},
		"clock": func(e *effect, arg string, _ map[string]string) bool {
			d, err := time.ParseDuration(arg)
			e.clock = d
			return err == nil && strings.ContainsAny(arg[:1], "+-")
		},
		"date": func(e *effect, arg string, _ map[string]string) bool {
			e.answer = func(a *Answer, _ time.Time) { a.Header.Set("Date", arg) }
			return true
		},
	}
}

func readStatus(e *effect, arg string, given map[string]string) bool {
	status, err := strconv.Atoi(arg)
	title := http.StatusText(status)
	f := Failure{
		Code: status, Reason: cmp.Or(given["reason"], strings.ReplaceAll(title, " ", "")),
		Message: cmp.Or(given["message"], "a fault of the sandbox: "+title),
	}
	if field := given["field"]; field != "" {
		f.Details.Causes = []Cause{{Reason: "FieldValueInvalid", Message: f.Message, Field: field}}
	}
	if _, isPlain := given["plain"]; isPlain {
		f.Instead = f.Message + "\n"
	}
	e.answer = func(a *Answer, now time.Time) {
		switch {
		case status == http.StatusNoContent || status == http.StatusNotModified:
			*a = Answer{Status: status, Header: http.Header{}}
		case status >= http.StatusBadRequest:
			*a = *f.Answer()
		default:
			*a = *NewAnswer(status, TypeJSON, []byte("{}\n"))
		}
		if after := given["retry-after"]; after != "" {
			a.Header.Set("Retry-After", retryDate(after, now))
		}
	}
	return err == nil && status >= 200 && status <= 599
}

// retryDate returns the value of Retry-After: a signed time becomes a date.
func retryDate(text string, now time.Time) string {
	d, err := time.ParseDuration(text)
	if err != nil || !strings.ContainsAny(text[:1], "+-") {
		return text
	}
	return now.Add(d).Format(http.TimeFormat)
}

func readPadding(e *effect, arg string, _ map[string]string) bool {
	n, ok := parseSize(arg)
	packed := e.Name == "gzip-bomb"
	e.answer = func(a *Answer, _ time.Time) {
		a.send = func(w http.ResponseWriter, _ waiter) { a.pad(w, n, packed) }
	}
	return ok
}

func readPartial(e *effect, arg string, options map[string]string) bool {
	n, err := positive(arg)
	e.limit = n
	_, keepsCount := options["remaining"]
	_, keepsToken := options["continue"]
	e.answer = func(a *Answer, _ time.Time) {
		body := Map(Decode(a.Body))
		meta := Map(body["metadata"])
		if body["items"] == nil || Text(meta["continue"]) == "" || keepsToken {
			return
		}
		meta["continue"] = ""
		if !keepsCount {
			delete(meta, "remainingItemCount")
		}
		a.Body = []byte(Encode(body) + "\n")
	}
	return err == nil
}
