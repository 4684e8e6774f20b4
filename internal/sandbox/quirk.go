package sandbox

import (
	_ "embed" // for the table
	"fmt"
	"net/http"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Quirk is one way in which a real server may differ from the simplest one.
type Quirk struct {
	Name string `json:"name"`
	// Group is "benign" if a client can ignore the quirk, and "adverse" if it must notice it.
	Group   string `json:"group"`
	Summary string `json:"summary"`
}

//go:embed quirks.tsv
var quirkTable string

// Quirks returns the table of all quirks, the benign ones first. This package
// handles those that change answers; the platform handles the others.
func Quirks() []Quirk {
	var all []Quirk
	for line := range strings.Lines(quirkTable) {
		col := strings.Split(strings.TrimSpace(line), "\t")
		all = append(all, Quirk{Name: col[0], Group: col[1], Summary: col[2]})
	}
	return all
}

// quirkSet holds the names of the quirks that are on. It never changes.
type quirkSet map[string]bool

func (s quirkSet) hasAny(prefix string) bool {
	for name := range s {
		if strings.HasPrefix(name, prefix) {
			return true
		}
	}
	return false
}

const portalPage = "<!DOCTYPE html>\n<html><head><title>Log in</title></head><body><form action=\"/login\">Log in to the network</form></body></html>\n"

func redirectTo(to string) *response {
	a := newResponse(http.StatusTemporaryRedirect, typeText, nil)
	a.Header.Set("Location", to)
	return a
}

// answerInstead answers for the quirks that block every request, or returns nil.
func (in *injector) answerInstead(r *http.Request, on quirkSet) *response {
	switch {
	case on["gateway-timeout-text"]:
		return newResponse(http.StatusGatewayTimeout, typeText, []byte(`{"metadata":{},"status":"Failure",`+
			`"message":"Timeout: request did not complete within the allotted timeout","reason":"Timeout","details":{},"code":504}`+"\n"))
	case on["redirect"]:
		return redirectTo("/moved" + r.URL.Path)
	case on["captive-portal"]:
		return newResponse(http.StatusOK, typeHTML, []byte(portalPage))
	case on.hasAny("rate-limited-") && in.isFirst(r):
		f := apiError{
			Code: http.StatusTooManyRequests, Reason: "TooManyRequests",
			Message: "the server has received too many requests and has asked us to try again later",
		}
		f.Details.RetryAfter = 1
		if on["rate-limited-plain"] {
			f.Instead = "Too many requests, please try again later.\n"
		}
		return f.response()
	}
	return nil
}

// isFirst reports whether a request is the first of its method and path.
func (in *injector) isFirst(r *http.Request) bool {
	in.mu.Lock()
	defer in.mu.Unlock()
	key := r.Method + " " + r.URL.Path
	seen := in.limited[key]
	in.limited[key] = true
	return !seen
}

// shapeAnswer changes an answer as the quirks require. docs/platform.md 7.4 documents
// neither the status codes of successes nor the form of lists.
func shapeAnswer(r *http.Request, a *response, now time.Time, on quirkSet) {
	if len(on) == 0 {
		return
	}
	if body, isObject := decode(a.Body).(map[string]any); isObject && body["kind"] != "Status" {
		eachObject(body, func(o map[string]any) {
			editMeta(o, now, on)
			if o["kind"] == "CDN" {
				editCDN(asMap(o["spec"]), on)
			}
		})
		a.Body = []byte(encode(shapeList(body, r.URL.Query().Get("continue") == "", on)) + "\n")
	}
	if a.Status >= http.StatusMultipleChoices {
		return
	}
	if r.Method != http.MethodGet {
		shapeWrite(r.Method, a, on)
	}
	if on["half-body"] && len(a.Body) > 1 {
		a.send = func(w http.ResponseWriter, wait waiter) { a.truncate(w, wait, -1) }
	}
}

func shapeWrite(method string, a *response, on quirkSet) {
	if on["delete-string"] && method == http.MethodDelete {
		a.Body = []byte("\"deleted\"\n")
	}
	isEmpty := on["empty-patch-body"] && method == http.MethodPatch
	switch {
	case on["status-204"]:
		a.Status, isEmpty = http.StatusNoContent, true
	case isEmpty || on["status-200"] && !on["status-202"]:
		a.Status = http.StatusOK
	case on["status-202"]:
		a.Status = http.StatusAccepted
	}
	if isEmpty {
		a.Body = nil
		a.Header.Del("Content-Type")
	}
}

// shapeList changes the form of a list. Only the documented form has pages, so
// the other forms apply to a list on a single page.
func shapeList(body map[string]any, isFirst bool, on quirkSet) any {
	items, isList := body["items"].([]any)
	if !isList {
		return body
	}
	if on["list-unordered"] {
		slices.Reverse(items)
	}
	for _, item := range items {
		if on["list-without-spec"] {
			delete(asMap(item), "spec")
		}
	}
	isWhole := isFirst && asText(asMap(body["metadata"])["continue"]) == ""
	switch {
	case len(items) == 0 && on["list-null-items"]:
		body["items"] = nil
	case isWhole && on["list-data"]:
		return map[string]any{"data": items}
	case isWhole && on["list-array"]:
		return items
	}
	return body
}

func editMeta(o map[string]any, now time.Time, on quirkSet) {
	meta := asMap(o["metadata"])
	space := asText(meta["namespace"])
	if on["metadata-extra"] {
		for _, member := range []string{"labels", "annotations"} {
			if _, has := meta[member]; !has {
				meta[member] = nil
			}
		}
		meta["workspace"] = space
		plural := strings.ToLower(asText(o["kind"])) + "s"
		meta["selfLink"] = "/" + path.Join(asText(o["apiVersion"]), "namespaces", space, plural, asText(meta["name"]))
		meta["finalizers"] = []any{"sandbox/protection"}
	}
	if on["terminating"] {
		meta["deletionTimestamp"] = now.Format(time.RFC3339)
	}
	if on["other-workspace"] {
		meta["namespace"] = "other-" + space
	}
}

// editCDN applies the quirks that change the spec of a CDN.
func editCDN(spec map[string]any, on quirkSet) {
	locations, upstreams := asList(spec["locations"]), asList(spec["upstreams"])
	if on["set-order"] {
		slices.Reverse(upstreams)
		for _, v := range upstreams {
			slices.Reverse(asList(asMap(v)["servers"]))
		}
	}
	if on["sorts-locations"] {
		slices.SortStableFunc(locations, func(a, b any) int {
			return strings.Compare(asText(asMap(b)["path"]), asText(asMap(a)["path"]))
		})
	}
	if on["normalises"] {
		spec["hostname"] = strings.ToLower(asText(spec["hostname"]))
		for _, v := range locations {
			if cache := asMap(asMap(v)["cache"]); cache["edgeTTL"] != nil {
				cache["edgeTTL"] = fmt.Sprint(cache["edgeTTL"], "s")
			}
		}
	}
	if on["readonly-rejects"] {
		addIDs(locations, "loc-", "path")
		addIDs(upstreams, "ups-", "name")
		for _, v := range upstreams {
			addIDs(asList(asMap(v)["servers"]), "srv-", "host")
		}
	}
}

func addIDs(all []any, prefix, from string) {
	for _, v := range all {
		if m := asMap(v); m != nil {
			m["id"] = prefix + asText(m[from])
		}
	}
}

// How far quirks move the Date header.
const (
	dateSkew = 7 * time.Minute
	dateAge  = 25 * time.Hour
)

// setDate sets the Date header, unless an effect did.
func setDate(method string, a *response, at time.Time, on quirkSet) {
	if _, has := a.Header["Date"]; has {
		return
	}
	switch {
	case on["date-missing"]:
		a.Header["Date"] = nil // net/http would add one
		return
	case on["date-aged"] && method == http.MethodGet:
		at = at.Add(-dateAge)
		a.Header.Set("Age", strconv.Itoa(int(dateAge.Seconds())))
	case on["date-ahead"]:
		at = at.Add(dateSkew)
	case on["date-behind"]:
		at = at.Add(-dateSkew)
	}
	a.Header.Set("Date", at.Format(http.TimeFormat))
}

// eachObject calls edit for each object of a list, or for the only object.
func eachObject(body map[string]any, edit func(object map[string]any)) {
	items, isList := body["items"].([]any)
	if !isList {
		items = []any{body}
	}
	for _, item := range items {
		if o := asMap(item); asMap(o["metadata"]) != nil {
			edit(o)
		}
	}
}
