package quirks

import (
	"bytes"
	"fmt"
	"net/http"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"trueup/internal/kind"
	"trueup/internal/sandbox"
)

const portalPage = "<!DOCTYPE html>\n<html><head><title>Log in</title></head><body><form action=\"/login\">Log in to the network</form></body></html>\n"

// answerInstead answers for the quirks that reject requests without a look at the platform, or returns nil.
func (s *Server) answerInstead(r *http.Request, body []byte, on names) *sandbox.Response {
	switch {
	case on["wrong-address"]:
		return newResponse(http.StatusNotFound, typeText, []byte("404 page not found\n"))
	case on["gateway-timeout-text"]:
		return newResponse(http.StatusGatewayTimeout, typeText, []byte(`{"metadata":{},"status":"Failure",`+
			`"message":"Timeout: request did not complete within the allotted timeout","reason":"Timeout","details":{},"code":504}`+"\n"))
	case on["redirect"]:
		a := newResponse(http.StatusTemporaryRedirect, typeText, nil)
		a.Header.Set("Location", "/moved"+r.URL.Path)
		return a
	case on["captive-portal"]:
		return newResponse(http.StatusOK, typeHTML, []byte(portalPage))
	case on.hasAny("rate-limited-") && s.isFirst(r):
		a := newFailure(http.StatusTooManyRequests, "TooManyRequests", "the server has received too many requests and has asked us to try again later",
			map[string]any{"details": map[string]any{"retryAfterSeconds": 1}})
		if on["rate-limited-plain"] {
			a = newResponse(http.StatusTooManyRequests, typeText, []byte("Too many requests, please try again later.\n"))
		}
		a.Header.Set("Retry-After", "1")
		return a
	case on["list-expired"] && r.URL.Query().Get("continue") != "":
		return newFailure(http.StatusGone, "Expired", "The provided continue parameter is too old to display a consistent list result.",
			map[string]any{"metadata": map[string]any{"continue": r.URL.Query().Get("continue")}})
	case on["readonly-rejects"]:
		return rejectIDs(body)
	}
	return nil
}

// isFirst reports whether a request is the first of its method and path.
func (s *Server) isFirst(r *http.Request) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	key := r.Method + " " + r.URL.Path
	seen := s.limited[key]
	s.limited[key] = true
	return !seen
}

// rejectIDs rejects a CDN that has an id which only the server sets, or returns nil.
func rejectIDs(body []byte) *sandbox.Response {
	var causes []any
	var texts []string
	var find func(at string, v any)
	find = func(at string, v any) {
		switch v := v.(type) {
		case map[string]any:
			if v["id"] != nil && strings.HasSuffix(at, "]") {
				message := fmt.Sprintf("Forbidden: %s is set by the server", bytes.TrimSpace(encode(v["id"])))
				causes = append(causes, map[string]any{"reason": "FieldValueForbidden", "field": at + ".id", "message": message})
				texts = append(texts, at+".id: "+message)
			}
			for _, name := range []string{"locations", "upstreams", "servers"} {
				find(at+"."+name, v[name])
			}
		case []any:
			for i, e := range v {
				find(at+"["+strconv.Itoa(i)+"]", e)
			}
		}
	}
	find("spec", sandbox.AsMap(sandbox.DecodeJSON(body))["spec"])
	if causes == nil {
		return nil
	}
	message := strings.Join(texts, ", ")
	if len(texts) > 1 {
		message = "[" + message + "]"
	}
	return newFailure(http.StatusUnprocessableEntity, "Invalid", "CDN is invalid: "+message, map[string]any{"details": map[string]any{"causes": causes}})
}

// changeBody returns the body of a write as quirks change it, and the paths of the fields that they drop.
func changeBody(r *http.Request, body []byte, on names) (changed []byte, dropped []string) {
	object := sandbox.AsMap(sandbox.DecodeJSON(body))
	meta, spec := sandbox.AsMap(object["metadata"]), sandbox.AsMap(object["spec"])
	switch {
	case r.Method == http.MethodPatch && on["conflict-on-resource-version"] && meta["resourceVersion"] != nil:
		meta["resourceVersion"] = "another"
	case on["drop-unknown-fields"] && spec != nil && strings.Contains(r.URL.Path, "/cdns"):
		cdn, _ := kind.FindKind("CDN")
		dropped = dropUnknown("spec", spec, cdn.Spec())
	default:
		return body, nil
	}
	return encode(object), dropped
}

// dropUnknown removes the members that no schema has, and returns their paths.
func dropUnknown(at string, v any, f *kind.Field) (dropped []string) {
	if f == nil {
		return nil
	}
	for i, e := range sandbox.AsList(v) {
		dropped = append(dropped, dropUnknown(at+"["+strconv.Itoa(i)+"]", e, f.Item)...)
	}
	object := sandbox.AsMap(v)
	var members []string
	for name := range object {
		members = append(members, name)
	}
	slices.Sort(members)
	for _, name := range members {
		switch {
		case f.Fields == nil:
		case f.KnowsMember(name, object):
			dropped = append(dropped, dropUnknown(at+"."+name, object[name], f.Fields[name])...)
		default:
			delete(object, name)
			dropped = append(dropped, at+"."+name)
		}
	}
	return dropped
}

// shapeDuplicate changes the answer to the creation of what exists.
func (s *Server) shapeDuplicate(r *http.Request, body []byte, a *sandbox.Response, on names) {
	status := sandbox.AsMap(sandbox.DecodeJSON(a.Body))
	if a.Status != http.StatusConflict || r.Method != http.MethodPost || status["reason"] != "AlreadyExists" {
		return
	}
	t := s.targetOf(r, body)
	isPurge := t.kind == "Purge"
	become := func(code int, reason string) {
		a.Status, status["code"], status["reason"] = code, code, reason
		a.Body = encode(status)
	}
	switch {
	case on["conflict-shows-object"]:
		a.Body = encode(s.find(t))
	case isPurge && on["duplicate-is-existing"]:
		a.Status, a.Body = http.StatusOK, encode(s.find(t))
	case isPurge && on["duplicate-400"]:
		become(http.StatusBadRequest, "BadRequest")
	case isPurge && on["duplicate-422"]:
		become(http.StatusUnprocessableEntity, "Invalid")
	}
}

// shapeAnswer changes an answer as the quirks require. docs/platform.md 7.4 documents
// neither the status codes of successes nor the form of lists.
func shapeAnswer(r *http.Request, a *sandbox.Response, now time.Time, on names) {
	if a.Status == 0 {
		return
	}
	if body, isObject := sandbox.DecodeJSON(a.Body).(map[string]any); isObject && body["kind"] != "Status" {
		eachObject(body, func(o map[string]any) {
			editMeta(o, now, on)
			if o["kind"] == "CDN" {
				editCDN(sandbox.AsMap(o["spec"]), on)
			}
		})
		a.Body = encode(shapeList(body, r.URL.Query().Get("continue") == "", on))
	}
	if a.Status >= http.StatusMultipleChoices {
		return
	}
	if r.Method != http.MethodGet {
		shapeWrite(r.Method, a, on)
	}
	if on["half-body"] && len(a.Body) > 1 {
		a.Send = func(w http.ResponseWriter, wait sandbox.WaitFunc) { truncate(a, w, wait, -1) }
	}
}

func shapeWrite(method string, a *sandbox.Response, on names) {
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
func shapeList(body map[string]any, isFirst bool, on names) any {
	items, isList := body["items"].([]any)
	if !isList {
		return body
	}
	if on["list-incomplete"] {
		for i := len(items) - 1 - len(items)%2; i > 0; i -= 2 {
			items = slices.Delete(items, i, i+1)
		}
		body["items"] = items
	}
	if on["list-unordered"] {
		slices.Reverse(items)
	}
	for _, item := range items {
		if on["list-without-spec"] {
			delete(sandbox.AsMap(item), "spec")
		}
	}
	isWhole := isFirst && asText(sandbox.AsMap(body["metadata"])["continue"]) == ""
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

func editMeta(o map[string]any, now time.Time, on names) {
	meta := sandbox.AsMap(o["metadata"])
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
	if deleted, err := time.Parse(time.RFC3339, asText(meta["deletionTimestamp"])); err == nil && on["finalizers"] && deleted.After(now) {
		meta["deletionTimestamp"] = deleted.Add(-farAway).Format(time.RFC3339)
	}
	if on["other-workspace"] {
		meta["namespace"] = "other-" + space
	}
}

// editCDN applies the quirks that change the spec of a CDN.
func editCDN(spec map[string]any, on names) {
	locations, upstreams := sandbox.AsList(spec["locations"]), sandbox.AsList(spec["upstreams"])
	if on["omits-empty"] {
		omitEmpty(spec)
	}
	if on["set-order"] {
		slices.Reverse(upstreams)
		for _, v := range upstreams {
			slices.Reverse(sandbox.AsList(sandbox.AsMap(v)["servers"]))
		}
	}
	if on["readonly-rejects"] {
		addIDs(locations, "loc-", "path")
		addIDs(upstreams, "ups-", "name")
		for _, v := range upstreams {
			addIDs(sandbox.AsList(sandbox.AsMap(v)["servers"]), "srv-", "host")
		}
	}
}

func addIDs(all []any, prefix, from string) {
	for _, v := range all {
		if m := sandbox.AsMap(v); m != nil {
			m["id"] = prefix + asText(m[from])
		}
	}
}

// omitEmpty removes the empty members of an object, and of all objects in it.
func omitEmpty(v any) {
	for _, e := range sandbox.AsList(v) {
		omitEmpty(e)
	}
	for name, member := range sandbox.AsMap(v) {
		omitEmpty(member)
		if list, isList := member.([]any); isList && len(list) == 0 || sandbox.AsMap(member) != nil && len(sandbox.AsMap(member)) == 0 {
			delete(sandbox.AsMap(v), name)
		}
	}
}

// eachObject calls edit for each object of a list, or for the only object.
func eachObject(body map[string]any, edit func(object map[string]any)) {
	items, isList := body["items"].([]any)
	if !isList {
		items = []any{body}
	}
	for _, item := range items {
		if o := sandbox.AsMap(item); sandbox.AsMap(o["metadata"]) != nil {
			edit(o)
		}
	}
}

// How far quirks move the Date header.
const (
	dateSkew = 7 * time.Minute
	dateAge  = 25 * time.Hour
)

// setDate sets the Date header for the quirks about it, unless a fault did.
func setDate(method string, a *sandbox.Response, at time.Time, on names) {
	if _, has := a.Header["Date"]; has || !on.hasAny("date-") {
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

// shapeError changes a failed Status as the error-* quirks require.
// docs/platform.md 7.3 shows no form of errors.
func shapeError(a *sandbox.Response, path string, on names) {
	if !on.hasAny("error-") || a.Header.Get("Content-Type") != typeJSON {
		return
	}
	status := sandbox.AsMap(sandbox.DecodeJSON(a.Body))
	if status["kind"] != "Status" || status["status"] != "Failure" {
		return
	}
	message := asText(status["message"])
	code, _ := strconv.Atoi(fmt.Sprint(status["code"]))
	title := http.StatusText(code)
	switch {
	case on["error-html"]:
		a.Header.Set("Content-Type", typeHTML)
		a.Body = fmt.Appendf(nil, "<!DOCTYPE html>\n<html><head><title>%d %s</title></head><body><h1>%s</h1></body></html>\n", code, title, title)
		return
	case on["error-text"]:
		a.Header.Set("Content-Type", typeText)
		a.Body = []byte(message + "\n")
		return
	case on["error-problem"]:
		a.Header.Set("Content-Type", "application/problem+json")
		status = map[string]any{"type": "about:blank", "title": title, "status": code, "detail": message, "instance": path}
	case on["error-message-object"]:
		status = map[string]any{"message": map[string]any{"detail": message}}
	case on["error-nil-cause"]:
		addNilCause(sandbox.AsMap(status["details"]))
	}
	for name, member := range map[string]string{"error-reason": "reason", "error-string": "error", "error-details": "details"} {
		if on[name] {
			status = map[string]any{member: message}
		}
	}
	a.Body = encode(status)
}

func addNilCause(details map[string]any) {
	if causes := sandbox.AsList(details["causes"]); len(causes) > 0 {
		noise := map[string]any{"reason": "FieldValueInvalid", "message": `Invalid value: "": some checks were skipped`, "field": "<nil>"}
		details["causes"] = append([]any{noise}, causes...)
	}
}
