package sandbox

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

const snapshotGroup = "snapshot.storage.k8s.io"

// resource is one collection of the platform.
type resource struct {
	plural, kind, apiVersion, group string
	base                            string // the path before {workspace}/{plural}
	// what carries out the HTTP methods for the collection and for one object (docs/platform.md 4)
	collection, single methodHandlers
	role               string                 // the role that may use every method
	admit              func(*admission) error // validates an object before it is stored
}

type methodHandlers map[string]func(*Server, *apiRequest) (*Response, error)

const workspaces = DeliveryBase + "/global/workspaces/"

var resources = sync.OnceValue(func() []*resource {
	return []*resource{
		{
			plural: "cdns", kind: "CDN", apiVersion: "delivery/v2.1", group: "delivery", base: workspaces,
			collection: methodHandlers{"GET": (*Server).answerList, "POST": (*Server).answerCreate},
			single:     methodHandlers{"GET": (*Server).answerGet, "PATCH": (*Server).answerPatch},
			role:       RoleCDNAdmin, admit: admitCDN,
		},
		{
			plural: "purges", kind: "Purge", apiVersion: "delivery/v2.1", group: "delivery", base: workspaces,
			collection: methodHandlers{"POST": (*Server).answerCreate},
			role:       RolePurger, admit: admitPurge,
		},
		{
			plural: "volumesnapshots", kind: "VolumeSnapshot", apiVersion: snapshotGroup + "/v1", group: snapshotGroup,
			base:       ComputeBase + "/apis/" + snapshotGroup + "/v1/namespaces/",
			collection: methodHandlers{"GET": (*Server).answerList, "POST": (*Server).answerCreate},
			single:     methodHandlers{"GET": (*Server).answerGet, "DELETE": (*Server).answerDelete},
			role:       RoleComputeAdmin, admit: admitSnapshot,
		},
	}
})

func resourceOf(kind string) (*resource, error) {
	for _, res := range resources() {
		if res.kind == kind {
			return res, nil
		}
	}
	return nil, fmt.Errorf("kind %q is not served here", kind)
}

// apiRequest is one request to the platform.
type apiRequest struct {
	method string
	path   string // escaped
	query  url.Values
	header http.Header
	body   []byte
	now    time.Time
	on     quirkSet

	res   *resource
	space string       // the uuid or namespace in the path
	ws    WorkspaceKey // the workspace of space, if known
	known bool
	name  string
	user  string
}

func (c *apiRequest) isPurge() bool { return c.res.kind == "Purge" }
func (c *apiRequest) isCDN() bool   { return c.res.kind == "CDN" }

// answerRequest answers a request as documented, but for quirks. unread says why its body could not be read.
func (s *Server) answerRequest(r *http.Request, body []byte, unread error, on quirkSet) *Response {
	c := &apiRequest{method: r.Method, path: r.URL.EscapedPath(), query: r.URL.Query(), header: r.Header, body: body, now: s.Now(), on: on}
	a, err := s.carryOut(c, unread)
	if err != nil {
		return c.failedAnswer(err)
	}
	return a
}

func (s *Server) carryOut(c *apiRequest, unread error) (*Response, error) {
	if large, ok := errors.AsType[*http.MaxBytesError](unread); ok {
		return nil, newAPIError(http.StatusRequestEntityTooLarge, "RequestEntityTooLarge", "Request entity too large: limit is %d", large.Limit)
	}
	if unread != nil {
		return nil, badRequest("the body could not be read: %v", unread)
	}
	if !s.routeRequest(c) {
		return nil, &apiError{Code: http.StatusNotFound, Instead: "404 page not found\n"}
	}
	if err := s.checkToken(c); err != nil {
		return nil, err
	}
	verbs := c.res.collection
	if c.name != "" {
		verbs = c.res.single
	}
	act := verbs[c.method]
	if act == nil {
		return nil, newAPIError(http.StatusMethodNotAllowed, "MethodNotAllowed", "the server does not allow this method on the requested resource")
	}
	return act(s, c)
}

// routeRequest sets the resource, workspace and name from the path (docs/platform.md 4). It returns false if
// nothing is served there. The slash in the compute area's group may be escaped (docs/platform.md 10).
func (s *Server) routeRequest(c *apiRequest) bool {
	path := c.path
	for _, slash := range []string{"%2F", "%2f"} {
		path = strings.Replace(path, snapshotGroup+slash, snapshotGroup+"/", 1)
	}
	for _, res := range resources() {
		rest, below := strings.CutPrefix(path, res.base)
		space, rest, _ := strings.Cut(rest, "/")
		plural, name, byName := strings.Cut(rest, "/")
		if !below || plural != res.plural || strings.Contains(name, "/") {
			continue
		}
		c.space, _ = url.PathUnescape(space) // empty after an error
		c.name, _ = url.PathUnescape(name)
		if c.res = res; c.space == "" || byName && c.name == "" {
			return false
		}
		c.ws, c.known = s.findWorkspace(func(ws WorkspaceKey) bool {
			return c.space == ws.UUID && res.group == "delivery" || c.space == ws.Name && res.group == snapshotGroup
		})
		return true
	}
	return false
}

func (s *Server) findWorkspace(match func(WorkspaceKey) bool) (WorkspaceKey, bool) {
	if i := slices.IndexFunc(s.opts.Workspaces, match); i >= 0 {
		return s.opts.Workspaces[i], true
	}
	return WorkspaceKey{}, false
}

// checkToken checks the token and its roles (docs/platform.md 5 and 7.1).
func (s *Server) checkToken(c *apiRequest) error {
	value := c.header.Get("Authorization")
	if value == "" {
		c.user = "system:anonymous"
		return c.forbiddenError()
	}
	token, isBearer := strings.CutPrefix(value, "Bearer ")
	roles, found := s.opts.Tokens[token]
	if !isBearer || !found {
		return newAPIError(http.StatusUnauthorized, "Unauthorized", "Unauthorized")
	}
	c.user = "sandbox:" + strings.Join(roles, "+")
	reads := c.method == http.MethodGet && slices.Contains(roles, RoleReader)
	if !reads && !slices.Contains(roles, c.res.role) {
		return c.forbiddenError()
	}
	return nil
}

func (c *apiRequest) requireMedia(want string) error {
	media, _, _ := strings.Cut(c.header.Get("Content-Type"), ";")
	if strings.ToLower(strings.TrimSpace(media)) == want {
		return nil
	}
	return newAPIError(http.StatusUnsupportedMediaType, "UnsupportedMediaType",
		"the body of the request was in an unknown format - accepted media types include: %s", want)
}

func newAPIError(code int, reason, format string, args ...any) *apiError {
	return &apiError{Code: code, Reason: reason, Message: fmt.Sprintf(format, args...)}
}

func badRequest(format string, args ...any) error {
	return newAPIError(http.StatusBadRequest, "BadRequest", format, args...)
}

func (c *apiRequest) failedAnswer(err error) *Response {
	f, ok := errors.AsType[*apiError](err)
	if !ok {
		f = newAPIError(http.StatusInternalServerError, "InternalError", "Internal error occurred: %v", err)
	}
	f.Details.Name = c.name
	if c.res != nil {
		f.Details.Group, f.Details.Resource = c.res.group, c.res.plural
	}
	return f.response()
}

func (c *apiRequest) groupResource() string { return c.res.plural + "." + c.res.group }

func (c *apiRequest) notFoundError() error {
	return newAPIError(http.StatusNotFound, "NotFound", "%s %q not found", c.groupResource(), c.name)
}

func (c *apiRequest) forbiddenError() error {
	verb := map[string]string{"POST": "create", "PATCH": "patch", "DELETE": "delete", "PUT": "update", "GET": "get"}[c.method]
	target := ""
	switch {
	case c.name != "":
		target = fmt.Sprintf(" %q", c.name)
	case c.method == http.MethodGet:
		verb = "list"
	}
	return newAPIError(http.StatusForbidden, "Forbidden", "%s%s is forbidden: User %q cannot %s resource %q in API group %q in the namespace %q",
		c.groupResource(), target, c.user, verb, c.res.plural, c.res.group, c.space)
}

func (c *apiRequest) invalidError(causes ...cause) error {
	texts := make([]string, len(causes))
	for i, found := range causes {
		texts[i] = found.Field + ": " + found.Message
	}
	message := strings.Join(texts, ", ")
	if len(texts) > 1 {
		message = "[" + message + "]"
	}
	f := newAPIError(http.StatusUnprocessableEntity, "Invalid", "%s.%s %q is invalid: %s", c.res.kind, c.res.group, c.name, message)
	f.Details.Causes = causes
	return f
}

// The media types of answers.
const (
	typeJSON = "application/json"
	typeText = "text/plain; charset=utf-8"
)

// Response is the platform's response to a request.
type Response struct {
	Status int // 0 if nothing is sent
	Header http.Header
	Body   []byte

	delay time.Duration // to wait before answering
	// Send sends the response in another way; it may be nil.
	Send func(w http.ResponseWriter, wait WaitFunc)
}

// WaitFunc waits for a time, or forever if it is negative. It returns false if the
// client or the server went away.
type WaitFunc func(time.Duration) bool

// newResponse returns an answer with a body of the media type.
func newResponse(status int, media string, body []byte) *Response {
	return &Response{Status: status, Header: http.Header{"Content-Type": {media}}, Body: body}
}

// jsonResponse returns an answer with a value as its body.
func jsonResponse(status int, v any) *Response {
	return newResponse(status, typeJSON, []byte(EncodeJSON(v)+"\n"))
}

// EncodeJSON returns a value as JSON.
func EncodeJSON(v any) string {
	raw, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	return string(raw)
}

// DecodeJSON reads JSON, with numbers as json.Number. It returns nil if it can't.
func DecodeJSON(raw []byte) any {
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	var v any
	if dec.Decode(&v) != nil {
		return nil
	}
	return v
}

// AsMap returns v if it is a JSON object, else nil.
func AsMap(v any) map[string]any {
	m, _ := v.(map[string]any)
	return m
}

// AsList returns v if it is a JSON array, else nil.
func AsList(v any) []any {
	l, _ := v.([]any)
	return l
}

// asText returns v if it is a string, else "".
func asText(v any) string {
	s, _ := v.(string)
	return s
}

// write sends the answer. It panics with http.ErrAbortHandler to break the connection.
func (a *Response) write(w http.ResponseWriter, wait WaitFunc) {
	switch {
	case a.delay > 0 && !wait(a.delay):
		panic(http.ErrAbortHandler)
	case a.Send != nil:
		a.Send(w, wait)
	default:
		if a.Status != http.StatusNoContent && a.Status != http.StatusNotModified {
			w.Header().Set("Content-Length", strconv.Itoa(len(a.Body)))
		}
		maps.Copy(w.Header(), a.Header)
		w.WriteHeader(a.Status)
		_, _ = w.Write(a.Body)
	}
}

// resetConnection closes the connection so that the client sees a reset.
func resetConnection(w http.ResponseWriter, _ WaitFunc) {
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return
	}
	if tcp, ok := conn.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
	}
	_ = conn.Close()
}

// cause is one invalid field.
type cause struct {
	Reason  string `json:"reason"`
	Message string `json:"message"`
	Field   string `json:"field"`
}

// apiError is an error of the platform, answered as a Kubernetes Status.
type apiError struct {
	Code    int    `json:"code"`
	Reason  string `json:"reason"`
	Message string `json:"message"`
	Details struct {
		Name     string  `json:"name,omitempty"`
		Group    string  `json:"group,omitempty"`
		Resource string  `json:"kind,omitempty"`
		Causes   []cause `json:"causes,omitempty"`
	} `json:"details,omitzero"`
	Meta struct {
		Continue string `json:"continue,omitempty"` // the token to continue an expired list with
	} `json:"metadata"`
	Instead string `json:"-"` // the body in place of a Status, as plain text
}

// Error returns Message.
func (f *apiError) Error() string { return f.Message }

// response returns the failure as an answer.
func (f *apiError) response() *Response {
	a := newResponse(f.Code, typeText, []byte(f.Instead))
	if f.Instead == "" {
		a = jsonResponse(f.Code, struct {
			Kind       string `json:"kind"`
			APIVersion string `json:"apiVersion"`
			Status     string `json:"status"`
			*apiError
		}{"Status", "v1", "Failure", f})
	}
	return a
}
