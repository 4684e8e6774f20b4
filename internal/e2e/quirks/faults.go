package quirks

import (
	"bytes"
	"compress/gzip"
	"io"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"trueup/internal/sandbox"
)

// slowPause is the pause after each part of a body that drips.
const slowPause = 30 * time.Millisecond

type editor = func(f sandbox.FaultValue, a *sandbox.Response, now time.Time)

// Faults returns ways to fail that only a broken server, or something between it and the client, has.
func Faults() []sandbox.FaultKind {
	return []sandbox.FaultKind{
		{Name: "html", Example: "GET */cdns: html", Summary: "answers with 200 and an HTML login page", Either: true, Edit: replaceAnswer(typeHTML, portalPage)},
		{Name: "empty", Example: "PATCH *: empty after-commit", Summary: "answers with 200 and an empty body", Either: true, Edit: replaceAnswer(typeJSON, "")},
		{
			Name: "not-json", Example: "GET /cdns/shop: not-json", Summary: "answers with 200 and a body that is not JSON", Either: true,
			Edit: replaceAnswer(typeJSON, "{\"kind\": CDN, 'name': shop,}\n"),
		},
		{
			Name: "status-failure", Example: "POST /cdns: status-failure after-commit", Summary: "answers with 200 and a Status object that reports a failure", Either: true,
			Edit: func(_ sandbox.FaultValue, a *sandbox.Response, _ time.Time) {
				*a = *newFailure(http.StatusInternalServerError, "InternalError", "Internal error occurred", nil)
				a.Status = http.StatusOK
			},
		},
		{Name: "drip", Value: "=N", Example: "GET /cdns: drip=10", Summary: "sends the body slowly, N bytes at once", Edit: sendBy(drip)},
		{Name: "truncate", Value: "[=N]", Example: "GET /cdns: truncate", Summary: "cuts the body off after half of it, or N bytes; Content-Length promises more", Edit: sendBy(truncate)},
		{Name: "truncate-unseen", Value: "[=N]", Example: "GET /cdns: truncate-unseen x*", Summary: "truncates without Content-Length, so that nothing shows the cut", Edit: sendBy(truncateUnseen)},
		{Name: "huge", Value: "=N", Example: "GET /cdns/shop: huge=17", Summary: "adds N MiB to the answer", Edit: sendBy(padBody)},
		{Name: "gzip-bomb", Value: "=N", Example: "GET /cdns: gzip-bomb=300", Summary: "adds N MiB to the answer and compresses it", Edit: sendBy(padPacked)},
		{
			Name: "wrong-kind", Example: "GET /cdns/shop: wrong-kind", Summary: "answers with objects of another kind",
			Edit: editObjects(func(o map[string]any) { o["kind"] = "ConfigMap" }),
		},
		{Name: "wrong-name", Example: "POST /cdns: wrong-name", Summary: "answers with objects of another name", Edit: editObjects(otherMeta("name"))},
		{Name: "wrong-namespace", Example: "GET /volumesnapshots: wrong-namespace", Summary: "answers with objects of another namespace", Edit: editObjects(otherMeta("namespace"))},
		{
			Name: "date", Value: "=TEXT", Example: "GET *: date=tomorrow x*", Summary: "sets the Date header to TEXT",
			Edit: func(f sandbox.FaultValue, a *sandbox.Response, _ time.Time) { a.Header.Set("Date", f.Text) },
		},
		{
			Name: "bad-header", Example: "GET *: bad-header", Summary: "adds a header of 2 MiB",
			Edit: func(_ sandbox.FaultValue, a *sandbox.Response, _ time.Time) {
				a.Header.Set("X-Padding", strings.Repeat("a", 2<<20))
			},
		},
	}
}

func replaceAnswer(media, body string) editor {
	return func(_ sandbox.FaultValue, a *sandbox.Response, _ time.Time) {
		*a = *newResponse(http.StatusOK, media, []byte(body))
	}
}

// sendBy sends the answer by a function that gets the fault's number.
func sendBy(send func(a *sandbox.Response, w http.ResponseWriter, wait sandbox.WaitFunc, n int)) editor {
	return func(f sandbox.FaultValue, a *sandbox.Response, _ time.Time) {
		a.Send = func(w http.ResponseWriter, wait sandbox.WaitFunc) { send(a, w, wait, f.N) }
	}
}

func editObjects(edit func(object map[string]any)) editor {
	return func(_ sandbox.FaultValue, a *sandbox.Response, _ time.Time) {
		if body, isObject := sandbox.DecodeJSON(a.Body).(map[string]any); isObject && a.Status < http.StatusMultipleChoices {
			eachObject(body, edit)
			a.Body = encode(body)
		}
	}
}

func otherMeta(name string) func(object map[string]any) {
	return func(o map[string]any) {
		meta := sandbox.AsMap(o["metadata"])
		meta[name] = "other-" + asText(meta[name])
	}
}

// writeHead sends the status and headers; a negative size sends no Content-Length.
func writeHead(a *sandbox.Response, w http.ResponseWriter, size int64) {
	if size >= 0 && a.Status != http.StatusNoContent && a.Status != http.StatusNotModified {
		w.Header().Set("Content-Length", strconv.FormatInt(size, 10))
	}
	maps.Copy(w.Header(), a.Header)
	w.WriteHeader(a.Status)
}

// drip sends the body in parts of size bytes, with a pause after each.
func drip(a *sandbox.Response, w http.ResponseWriter, wait sandbox.WaitFunc, size int) {
	writeHead(a, w, int64(len(a.Body)))
	for part := range slices.Chunk(a.Body, max(size, 1)) {
		_, _ = w.Write(part)
		_ = http.NewResponseController(w).Flush()
		if !wait(slowPause) {
			panic(http.ErrAbortHandler)
		}
	}
}

// truncate sends the first size bytes of the body, or half of it if size is
// negative. Content-Length promises the rest.
func truncate(a *sandbox.Response, w http.ResponseWriter, _ sandbox.WaitFunc, size int) {
	writeHead(a, w, int64(len(a.Body)))
	writeStart(a, w, size)
	_ = http.NewResponseController(w).Flush()
	panic(http.ErrAbortHandler)
}

// truncateUnseen truncates without Content-Length: net/http ends the body with the connection.
func truncateUnseen(a *sandbox.Response, w http.ResponseWriter, _ sandbox.WaitFunc, size int) {
	a.Header.Set("Transfer-Encoding", "identity")
	writeHead(a, w, -1)
	writeStart(a, w, size)
}

func writeStart(a *sandbox.Response, w http.ResponseWriter, size int) {
	if size < 0 {
		size = len(a.Body) / 2
	}
	_, _ = w.Write(a.Body[:min(size, len(a.Body))])
}

// padBody adds a member of so many MiB to the JSON object in the body.
func padBody(a *sandbox.Response, w http.ResponseWriter, _ sandbox.WaitFunc, mebibytes int) {
	body, length := padded(a, mebibytes)
	writeHead(a, w, length)
	_, _ = io.Copy(w, body)
}

// padPacked pads the body and compresses it.
func padPacked(a *sandbox.Response, w http.ResponseWriter, _ sandbox.WaitFunc, mebibytes int) {
	body, _ := padded(a, mebibytes)
	a.Header.Set("Content-Encoding", "gzip")
	writeHead(a, w, -1)
	if zip, err := gzip.NewWriterLevel(w, gzip.BestSpeed); err == nil {
		_, _ = io.Copy(zip, body)
		_ = zip.Close()
	}
}

func padded(a *sandbox.Response, mebibytes int) (body io.Reader, length int64) {
	begin, rest, isObject := bytes.Cut(a.Body, []byte("{"))
	if !isObject {
		return bytes.NewReader(a.Body), int64(len(a.Body))
	}
	const open, after = `{"padding":"`, `",`
	size := int64(mebibytes) << 20
	return io.MultiReader(bytes.NewReader(begin), strings.NewReader(open), io.LimitReader(filler{}, size),
		strings.NewReader(after), bytes.NewReader(rest)), int64(len(a.Body)+len(open)+len(after)) + size - 1
}

// filler reads as endless text.
type filler struct{}

func (filler) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = 'a'
	}
	return len(p), nil
}
