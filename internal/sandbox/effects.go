package sandbox

import (
	"cmp"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Effect is what a fault can do to a request.
type Effect struct {
	Name    string
	Form    string
	Example string
	Summary string
	// Either says that it can come before the platform acts on the request, so
	// that it never does, or after. The others change the platform's own
	// answer: it has always acted.
	Either bool
}

// action is an effect with its arguments.
type action struct {
	either bool
	// replaces says that the answer is not the platform's.
	replaces bool
	// delay holds the request up, or its answer.
	delay time.Duration
	// clock is by how much the Date header is off from now on.
	clock time.Duration
	// prepare changes how the platform takes the request, and answer what it
	// says; both may be nil.
	prepare func(c *call)
	answer  func(c *call, p *reply)
}

// effectRow is an effect and how its arguments are read; name is the word that
// it began with.
type effectRow struct {
	Effect
	replaces bool
	parse    func(w *words, name word) (action, error)
}

// named reports whether a word begins the effect.
func (r effectRow) named(text string) bool {
	switch r.Name {
	case "status":
		return len(text) == 3 && strings.Trim(text, "0123456789") == ""
	case "date":
		return strings.HasPrefix(text, "date=")
	}
	return r.Name == text
}

// Effects returns the table of all effects.
func Effects() []Effect {
	var out []Effect
	for _, row := range effectRows() {
		out = append(out, row.Effect)
	}
	return out
}

func effectRows() []effectRow { return append(insteadRows(), changingRows()...) }

// insteadRows are the effects by which the platform's answer is not seen.
func insteadRows() []effectRow {
	rows := []effectRow{
		{Effect{
			Name: "status", Form: "NNN [retry-after=VALUE] [reason=WORD] [message=TEXT] [field=PATH] [plain]", Example: `POST /purges: 403 reason=Forbidden message="exceeded quota" x2`,
			Summary: "answers with the status, and a Status that explains it, with the reason, message and field that are given, or as plain text; VALUE of Retry-After is sent as it is, and +30s or -30s as the date that it is from now",
		}, true, parseStatus},
		{Effect{
			Name: "drop", Form: "drop", Example: "POST /purges: drop after-commit",
			Summary: "closes the connection without an answer",
		}, true, plainly(func(_ *call, p *reply) { p.ending = drops })},
		{Effect{
			Name: "reset", Form: "reset", Example: "PATCH /cdns: reset",
			Summary: "resets the connection (RST)",
		}, true, plainly(func(_ *call, p *reply) { p.ending = resets })},
		{Effect{
			Name: "stall", Form: "stall", Example: "POST /volumesnapshots: stall after-commit",
			Summary: "never answers",
		}, true, plainly(func(_ *call, p *reply) { p.ending = stalls })},
		{Effect{
			Name: "redirect", Form: "redirect URL", Example: "GET *: redirect http://127.0.0.1:9/elsewhere",
			Summary: "answers with 307 to the URL",
		}, true, parseRedirect},
		{Effect{
			Name: "html", Form: "html", Example: "GET */cdns: html",
			Summary: "answers with 200 and an HTML page to log in on",
		}, true, plainly(func(_ *call, p *reply) { *p = portal() })},
		{Effect{
			Name: "empty", Form: "empty", Example: "PATCH *: empty after-commit",
			Summary: "answers with 200 and nothing",
		}, true, plainly(func(_ *call, p *reply) { *p = reply{status: http.StatusOK, media: typeJSON} })},
		{Effect{
			Name: "not-json", Form: "not-json", Example: "GET /cdns/shop: not-json",
			Summary: "answers with 200 and a body that says that it is JSON, and is none",
		}, true, plainly(func(_ *call, p *reply) {
			*p = reply{status: http.StatusOK, media: typeJSON, body: []byte("{\"kind\": CDN, 'name': shop,}\n")}
		})},
		{Effect{
			Name: "status-failure", Form: "status-failure", Example: "POST /cdns: status-failure after-commit",
			Summary: "answers with 200 and a Status that says Failure",
		}, true, plainly(func(c *call, p *reply) {
			*p = failed(c, &failure{code: http.StatusInternalServerError, reason: "InternalError", message: "Internal error occurred"})
			p.status = http.StatusOK
		})},
		{Effect{
			Name: "delay", Form: "delay TIME", Example: "GET *: delay 300ms 5% seed=7",
			Summary: "before the commit: acts on the request, and answers, only after the time, also if nobody waits any more; after it: acts at once and answers after the time",
		}, false, parseDelay},
	}
	for i := range rows {
		rows[i].Either = true
	}
	return rows
}

// changingRows are the effects that change the answer that the platform gives.
func changingRows() []effectRow {
	return []effectRow{
		{Effect{
			Name: "drip", Form: "drip SIZE/TIME", Example: "GET /cdns: drip 10B/100ms",
			Summary: "sends the body slowly: so many bytes at a time",
		}, false, parseDrip},
		{Effect{
			Name: "truncate", Form: "truncate SIZE|half [close-delimited]", Example: "GET /cdns: truncate half close-delimited x*",
			Summary: "cuts the body off: the Content-Length promises more, or, close-delimited, there is none and nothing shows that it was cut",
		}, false, parseTruncate},
		{Effect{
			Name: "gzip-bomb", Form: "gzip-bomb SIZE", Example: "GET /cdns: gzip-bomb 300MiB",
			Summary: "pads the answer with so many bytes, and compresses it",
		}, false, parsePadding},
		{Effect{
			Name: "huge", Form: "huge SIZE", Example: "GET /cdns/shop: huge 17MiB",
			Summary: "pads the answer with so many bytes",
		}, false, parsePadding},
		{Effect{
			Name: "wrong-kind", Form: "wrong-kind", Example: "GET /cdns/shop: wrong-kind",
			Summary: "answers with objects of another kind",
		}, false, altered(func(o object) { o["kind"] = "ConfigMap" })},
		{Effect{
			Name: "wrong-name", Form: "wrong-name", Example: "POST /cdns: wrong-name",
			Summary: "answers with objects of another name",
		}, false, altered(func(o object) { o.meta()["name"] = "other-" + o.name() })},
		{Effect{
			Name: "wrong-namespace", Form: "wrong-namespace", Example: "GET /volumesnapshots: wrong-namespace",
			Summary: "answers with objects of another namespace",
		}, false, altered(func(o object) { o.meta()["namespace"] = "other-" + text(o.meta()["namespace"]) })},
		{Effect{
			Name: "partial-list", Form: "partial-list N [remaining|continue]", Example: "GET */cdns: partial-list 1 remaining x*",
			Summary: "lists only the first N objects, without any sign of it; or says how many remain, but not how to get them; or how to continue as well",
		}, false, parsePartial},
		{Effect{
			Name: "clock", Form: "clock +TIME|-TIME", Example: "GET *: clock +25h @3",
			Summary: "the Date header is so far off, in this answer and all that follow; the platform's own clock goes on as ever",
		}, false, parseClock},
		{Effect{
			Name: "date", Form: "date=TEXT", Example: `GET *: date="the 21st of November" x*`,
			Summary: "the Date header says this",
		}, false, parseDate},
		{Effect{
			Name: "duplicate-executes", Form: "duplicate-executes", Example: "POST /purges: duplicate-executes x*",
			Summary: "a purge whose name exists is accepted and executed",
		}, false, func(*words, word) (action, error) {
			return action{prepare: func(c *call) { c.on = c.on.with(quirkDuplicates) }}, nil
		}},
		{Effect{
			Name: "bad-header", Form: "bad-header", Example: "GET *: bad-header",
			Summary: "the answer has a header of 2 MiB",
		}, false, plainly(func(_ *call, p *reply) {
			p.set("X-Padding", strings.Repeat("a", 2<<20))
		})},
	}
}

// plainly is an effect without arguments.
func plainly(answer func(*call, *reply)) func(*words, word) (action, error) {
	return func(*words, word) (action, error) { return action{answer: answer}, nil }
}

// altered is an effect that changes each object of an answer.
func altered(change func(object)) func(*words, word) (action, error) {
	return plainly(func(_ *call, p *reply) {
		body, err := decodeObject(p.body)
		if err != nil || p.status >= http.StatusMultipleChoices {
			return
		}
		items, isList := body["items"].([]any)
		if !isList {
			items = []any{map[string]any(body)}
		}
		for _, item := range items {
			if o := asObject(item); o.meta() != nil {
				change(o)
			}
		}
		p.body = append([]byte(jsonText(map[string]any(body))), '\n')
	})
}

func parseStatus(w *words, name word) (action, error) {
	status, err := strconv.Atoi(name.text)
	if err != nil || status < 200 || status > 599 {
		return action{}, w.wrong(name, "a status is between 200 and 599")
	}
	said := w.details("retry-after", "reason", "message", "field")
	plain := w.option("plain") != ""
	return action{answer: func(c *call, p *reply) {
		*p = reply{status: status, media: typeJSON, body: []byte("{}\n")}
		switch {
		case status == http.StatusNoContent || status == http.StatusNotModified:
			p.media, p.body = "", nil
		case status >= http.StatusBadRequest:
			*p = failed(c, told(status, said, plain))
		}
		if after := said["retry-after"]; after != "" {
			p.set("Retry-After", retryDate(after, c.now))
		}
	}}, nil
}

// details takes the words NAME=VALUE that follow, of the names.
func (w *words) details(names ...string) map[string]string {
	said := map[string]string{}
	for len(w.left) > 0 {
		name, value, ok := strings.Cut(w.left[0].text, "=")
		if !ok || !slices.Contains(names, name) {
			break
		}
		said[name] = value
		w.take()
	}
	return said
}

// told is the failure that a fault describes.
func told(status int, said map[string]string, plain bool) *failure {
	text := http.StatusText(status)
	f := &failure{
		code: status, reason: cmp.Or(said["reason"], strings.ReplaceAll(text, " ", "")),
		message: cmp.Or(said["message"], "the sandbox was told to answer: "+text),
	}
	if field := said["field"]; field != "" {
		f.causes = []cause{{Reason: "FieldValueInvalid", Message: f.message, Field: field}}
	}
	if plain {
		f.plain = f.message + "\n"
	}
	return f
}

// retryDate is a value of Retry-After: a time with a sign is a date from now.
func retryDate(text string, now time.Time) string {
	d, err := time.ParseDuration(text)
	if err != nil || text == "" || text[0] != '+' && text[0] != '-' {
		return text
	}
	return now.Add(d).Format(http.TimeFormat)
}

func parseRedirect(w *words, name word) (action, error) {
	to := w.take()
	if to.text == "" {
		return action{}, w.wrong(name, "the URL is missing")
	}
	return action{answer: func(_ *call, p *reply) {
		*p = reply{status: http.StatusTemporaryRedirect, media: typeText, location: to.text}
	}}, nil
}

func parseDelay(w *words, _ word) (action, error) {
	at := w.take()
	d, err := parseWait(at.text)
	if err != nil {
		return action{}, w.wrong(at, "%v", err)
	}
	return action{delay: d}, nil
}

func parseDrip(w *words, _ word) (action, error) {
	at := w.take()
	size, every, _ := strings.Cut(at.text, "/")
	n, err := parseSize(size)
	d, err2 := parseWait(every)
	if err != nil || err2 != nil || n == 0 {
		return action{}, w.wrong(at, "a drip is a size and a time, such as 10B/100ms")
	}
	return action{answer: func(_ *call, p *reply) { p.drop, p.every = n, d }}, nil
}

func parseTruncate(w *words, _ word) (action, error) {
	at := w.take()
	where := &cut{half: at.text == "half"}
	if !where.half {
		n, err := parseSize(at.text)
		if err != nil {
			return action{}, w.wrong(at, "%v, or half", err)
		}
		where.after = n
	}
	where.unnoticed = w.option("close-delimited") != ""
	return action{answer: func(_ *call, p *reply) { p.cut = where }}, nil
}

func parsePadding(w *words, name word) (action, error) {
	at := w.take()
	n, err := parseSize(at.text)
	if err != nil {
		return action{}, w.wrong(at, "%v", err)
	}
	return action{answer: func(_ *call, p *reply) { p.padding, p.gzip = n, name.text == "gzip-bomb" }}, nil
}

func parsePartial(w *words, _ word) (action, error) {
	at := w.take()
	n, err := positive(at.text)
	if err != nil {
		return action{}, w.wrong(at, "how many objects are listed is %v", err)
	}
	part := &partial{items: n, sign: w.option("remaining", "continue")}
	return action{prepare: func(c *call) { c.partial = part }}, nil
}

func parseClock(w *words, _ word) (action, error) {
	at := w.take()
	d, err := time.ParseDuration(at.text)
	if err != nil || at.text[0] != '+' && at.text[0] != '-' {
		return action{}, w.wrong(at, "how far the clock is off is written such as +25h or -7m")
	}
	return action{clock: d}, nil
}

func parseDate(_ *words, name word) (action, error) {
	value := strings.TrimPrefix(name.text, "date=")
	return action{answer: func(_ *call, p *reply) { p.set("Date", value) }}, nil
}

// partial is a list that ends early.
type partial struct {
	items int
	// sign is "", "remaining" or "continue".
	sign string
}

// end ends a page that was filled with so many items.
func (p *partial) end(to *page) {
	if p.sign == "continue" {
		return
	}
	to.next = ""
	if p.sign == "" {
		to.remain, to.whole = 0, true
	}
}
