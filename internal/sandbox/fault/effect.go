package fault

import (
	"cmp"
	_ "embed" // for the tables
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

// findEffect returns the effect whose name the text begins with.
func findEffect(text string) (Effect, bool) {
	name, _, hasValue := strings.Cut(text, "=")
	if len(text) == 3 && strings.Trim(text, "0123456789") == "" {
		name = "status"
	}
	all := Effects()
	i := slices.IndexFunc(all, func(e Effect) bool { return e.Name == name })
	if i < 0 || text == "status" || hasValue != (name == "date") {
		return Effect{}, false
	}
	return all[i], true
}

// effect parses the effect and its arguments.
func (w *reader) effect() (effect, error) {
	name := w.take()
	row, ok := findEffect(name.text)
	if !ok {
		var forms []string
		for _, e := range Effects() {
			forms = append(forms, e.Form)
		}
		return effect{}, w.wrong(name, "an effect is one of %s", strings.Join(forms, ", "))
	}
	e := effect{Effect: row, answer: simpleEffects()[row.Name]}
	read := argumentParsers()[row.Name]
	if read == nil {
		return e, nil
	}
	arg := name
	if row.Name != "status" && row.Name != "date" {
		arg = w.take()
	}
	if !read(&e, w, arg.text) {
		if row.Name == "redirect" {
			arg = name
		}
		return e, w.wrong(arg, "%s", row.Expects)
	}
	return e, nil
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
// next word, may take more, and returns false if the argument is invalid.
func argumentParsers() map[string]func(e *effect, w *reader, arg string) bool {
	return map[string]func(e *effect, w *reader, arg string) bool{
		"status": readStatus, "partial-list": readPartial, "gzip-bomb": readPadding, "huge": readPadding,
		"redirect": func(e *effect, _ *reader, to string) bool {
			e.answer = func(a *Answer, _ time.Time) { *a = *redirect(to) }
			return to != ""
		},
		"delay": func(e *effect, _ *reader, arg string) (ok bool) {
			e.delay, ok = parseTime(arg)
			return ok
		},
		"drip": func(e *effect, _ *reader, arg string) bool {
			size, every, _ := strings.Cut(arg, "/")
			n, ok := parseSize(size)
			pause, ok2 := parseTime(every)
			e.answer = func(a *Answer, _ time.Time) {
				a.send = func(w http.ResponseWriter, wait waiter) { a.drip(w, wait, n, pause) }
			}
			return ok && ok2 && n > 0
		},
		"truncate": func(e *effect, w *reader, arg string) bool {
			n, ok := parseSize(arg)
			hidden := w.option("close-delimited") != ""
			e.answer = func(a *Answer, _ time.Time) {
				size := int(min(n, math.MaxInt32))
				if arg == "half" {
					size = len(a.Body) / 2
				}
				a.send = func(w http.ResponseWriter, _ waiter) { a.truncate(w, size, hidden) }
			}
			return ok || arg == "half"
		},
		"clock": func(e *effect, _ *reader, arg string) bool {
			d, err := time.ParseDuration(arg)
			e.clock = d
			return err == nil && strings.ContainsAny(arg[:1], "+-")
		},
		"date": func(e *effect, _ *reader, arg string) bool {
			value := strings.TrimPrefix(arg, "date=")
			e.answer = func(a *Answer, _ time.Time) { a.Header.Set("Date", value) }
			return true
		},
	}
}

func readStatus(e *effect, w *reader, arg string) bool {
	status, err := strconv.Atoi(arg)
	given := w.details("retry-after", "reason", "message", "field")
	title := http.StatusText(status)
	f := Failure{
		Code: status, Reason: cmp.Or(given["reason"], strings.ReplaceAll(title, " ", "")),
		Message: cmp.Or(given["message"], "a fault of the sandbox: "+title),
	}
	if field := given["field"]; field != "" {
		f.Details.Causes = []Cause{{Reason: "FieldValueInvalid", Message: f.Message, Field: field}}
	}
	if w.option("plain") != "" {
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

// details takes the words NAME=VALUE that follow, for these names only.
func (w *reader) details(names ...string) map[string]string {
	given := map[string]string{}
	for len(w.left) > 0 {
		name, value, ok := strings.Cut(w.left[0].text, "=")
		if !ok || !slices.Contains(names, name) {
			break
		}
		given[name] = value
		w.take()
	}
	return given
}

// retryDate returns the value of Retry-After: a signed time becomes a date.
func retryDate(text string, now time.Time) string {
	d, err := time.ParseDuration(text)
	if err != nil || !strings.ContainsAny(text[:1], "+-") {
		return text
	}
	return now.Add(d).Format(http.TimeFormat)
}

func readPadding(e *effect, _ *reader, arg string) bool {
	n, ok := parseSize(arg)
	packed := e.Name == "gzip-bomb"
	e.answer = func(a *Answer, _ time.Time) {
		a.send = func(w http.ResponseWriter, _ waiter) { a.pad(w, n, packed) }
	}
	return ok
}

func readPartial(e *effect, w *reader, arg string) bool {
	n, err := positive(arg)
	e.limit = n
	sign := w.option("remaining", "continue")
	e.answer = func(a *Answer, _ time.Time) {
		body := Map(Decode(a.Body))
		meta := Map(body["metadata"])
		if body["items"] == nil || Text(meta["continue"]) == "" || sign == "continue" {
			return
		}
		meta["continue"] = ""
		if sign == "" {
			delete(meta, "remainingItemCount")
		}
		a.Body = []byte(Encode(body) + "\n")
	}
	return err == nil
}
