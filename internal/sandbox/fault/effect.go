package fault

import (
	"cmp"
	_ "embed" // for the tables
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Effect is what a fault can do to a request.
type Effect struct {
	Name, Form, Example, Summary string
	// Either: it can come before the platform acts on the request, so that it never
	// does, or after. The others change the platform's own answer: it has acted.
	Either bool
}

//go:embed effects.tsv
var effectTable string

// Effects returns the table of all effects.
func Effects() []Effect {
	var all []Effect
	for line := range strings.Lines(effectTable) {
		col := strings.Split(strings.TrimSpace(line), "\t")
		all = append(all, Effect{Name: col[0], Either: col[1] == "either", Form: col[2], Example: col[3], Summary: col[4]})
	}
	return all
}

// effect is an Effect with its arguments.
type effect struct {
	Effect
	// delay holds the request up, or its answer.
	delay time.Duration
	// clock is by how much the Date header is off from now on.
	clock time.Duration
	// limit is how many objects of a list are shown.
	limit int
	// quirk is on for this request.
	quirk string
	// answer changes what the platform says, and may be nil.
	answer func(a *Answer, now time.Time)
}

// replaces reports whether the answer is not the platform's.
func (e effect) replaces() bool { return e.Either && e.delay == 0 && e.Name != "delay" }

// effect reads the name of an effect and its arguments.
func (w *reader) effect() (effect, error) {
	name := w.take()
	key, _, _ := strings.Cut(name.text, "=")
	if len(key) == 3 && strings.Trim(key, "0123456789") == "" {
		key = "status"
	}
	all := Effects()
	i := slices.IndexFunc(all, func(e Effect) bool { return e.Name == key })
	if i < 0 || name.text == "status" || (key == "date") != strings.Contains(name.text, "=") {
		var forms []string
		for _, e := range all {
			forms = append(forms, e.Form)
		}
		return effect{}, w.wrong(name, "an effect is one of %s", strings.Join(forms, ", "))
	}
	e := effect{Effect: all[i], answer: plain()[key]}
	if e.answer != nil {
		return e, nil
	}
	err := readers()[key](&e, w, name)
	return e, err
}

// plain are the effects without arguments.
func plain() map[string]func(*Answer, time.Time) {
	replaced := func(status int, media, body string) func(*Answer, time.Time) {
		return func(a *Answer, _ time.Time) { *a = *NewAnswer(status, media, []byte(body)) }
	}
	edited := func(edit func(object map[string]any)) func(*Answer, time.Time) {
		return func(a *Answer, _ time.Time) {
			if body, isObject := decode(a.Body).(map[string]any); isObject && a.Status < http.StatusMultipleChoices {
				eachObject(body, edit)
				a.Body = []byte(text(body) + "\n")
			}
		}
	}
	otherMeta := func(name string) func(*Answer, time.Time) {
		return edited(func(o map[string]any) {
			meta := members(o["metadata"])
			meta[name] = "other-" + word(meta[name])
		})
	}
	return map[string]func(*Answer, time.Time){
		"drop":     func(a *Answer, _ time.Time) { a.ending = drops },
		"reset":    func(a *Answer, _ time.Time) { a.ending = resets },
		"stall":    func(a *Answer, _ time.Time) { a.ending = stalls },
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

// readers read the arguments of the other effects.
func readers() map[string]func(e *effect, w *reader, name token) error {
	return map[string]func(e *effect, w *reader, name token) error{
		"status": readStatus, "truncate": readTruncate, "partial-list": readPartial,
		"gzip-bomb": readPadding, "huge": readPadding,
		"redirect": func(e *effect, w *reader, name token) error {
			to := w.take().text
			e.answer = func(a *Answer, _ time.Time) { *a = *redirect(to) }
			if to == "" {
				return w.wrong(name, "the URL is missing")
			}
			return nil
		},
		"delay": func(e *effect, w *reader, _ token) (err error) {
			at := w.take()
			if e.delay, err = parseTime(at.text); err != nil {
				return w.wrong(at, "%v", err)
			}
			return nil
		},
		"drip": func(e *effect, w *reader, _ token) error {
			at := w.take()
			size, every, _ := strings.Cut(at.text, "/")
			n, err := parseSize(size)
			pause, err2 := parseTime(every)
			if err != nil || err2 != nil || n == 0 {
				return w.wrong(at, "a drip is a size and a time, such as 10B/100ms")
			}
			e.answer = func(a *Answer, _ time.Time) { a.drip, a.every = n, pause }
			return nil
		},
		"clock": func(e *effect, w *reader, _ token) (err error) {
			at := w.take()
			if e.clock, err = time.ParseDuration(at.text); err != nil || !strings.ContainsAny(at.text[:1], "+-") {
				return w.wrong(at, "how far the clock is off is written such as +25h or -7m")
			}
			return nil
		},
		"date": func(e *effect, _ *reader, name token) error {
			value := strings.TrimPrefix(name.text, "date=")
			e.answer = func(a *Answer, _ time.Time) { a.Header.Set("Date", value) }
			return nil
		},
		"duplicate-executes": func(e *effect, _ *reader, _ token) error {
			e.quirk = "executes-duplicates"
			return nil
		},
	}
}

func readStatus(e *effect, w *reader, name token) error {
	status, err := strconv.Atoi(name.text)
	if err != nil || status < 200 || status > 599 {
		return w.wrong(name, "a status is between 200 and 599")
	}
	given := w.details("retry-after", "reason", "message", "field")
	title := http.StatusText(status)
	f := Failure{
		Code: status, Reason: cmp.Or(given["reason"], strings.ReplaceAll(title, " ", "")),
		Message: cmp.Or(given["message"], "the sandbox was told to answer: "+title),
	}
	if field := given["field"]; field != "" {
		f.Causes = []Cause{{Reason: "FieldValueInvalid", Message: f.Message, Field: field}}
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
	return nil
}

// details takes the words NAME=VALUE that follow, of the names.
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

// retryDate returns a value of Retry-After: a time with a sign is a date from now.
func retryDate(text string, now time.Time) string {
	d, err := time.ParseDuration(text)
	if err != nil || !strings.ContainsAny(text[:1], "+-") {
		return text
	}
	return now.Add(d).Format(http.TimeFormat)
}

func readTruncate(e *effect, w *reader, _ token) error {
	at := w.take()
	where := &cut{half: at.text == "half"}
	if !where.half {
		n, err := parseSize(at.text)
		if err != nil {
			return w.wrong(at, "%v, or half", err)
		}
		where.after = n
	}
	where.hidden = w.option("close-delimited") != ""
	e.answer = func(a *Answer, _ time.Time) { a.cut = where }
	return nil
}

func readPadding(e *effect, w *reader, name token) error {
	at := w.take()
	n, err := parseSize(at.text)
	if err != nil {
		return w.wrong(at, "%v", err)
	}
	e.answer = func(a *Answer, _ time.Time) { a.padding, a.gzip = n, name.text == "gzip-bomb" }
	return nil
}

func readPartial(e *effect, w *reader, _ token) (err error) {
	at := w.take()
	if e.limit, err = positive(at.text); err != nil {
		return w.wrong(at, "how many objects are listed is %v", err)
	}
	sign := w.option("remaining", "continue")
	e.answer = func(a *Answer, _ time.Time) {
		body := members(decode(a.Body))
		meta := members(body["metadata"])
		if body["items"] == nil || word(meta["continue"]) == "" || sign == "continue" {
			return
		}
		meta["continue"] = ""
		if sign == "" {
			delete(meta, "remainingItemCount")
		}
		a.Body = []byte(text(body) + "\n")
	}
	return nil
}
