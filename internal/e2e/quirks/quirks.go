// Package quirks makes the sandbox differ from the platform's document in more ways than the program offers, as real
// servers may. It is for tests.
package quirks

import (
	"bytes"
	_ "embed" // for the table
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	"go.yaml.in/yaml/v4"

	"trueup/internal/sandbox"
)

// Quirk is one way in which a real server may differ from the simplest one.
type Quirk struct {
	Name string
	// Group is "benign" if a client can ignore the quirk, and "adverse" if it must notice it.
	Group, Summary string
}

//go:embed quirks.tsv
var table string

// All returns the table of all quirks, with those of the program, the benign ones first.
func All() []Quirk {
	var all []Quirk
	for line := range strings.Lines(table) {
		col := strings.Split(strings.TrimSpace(line), "\t")
		all = append(all, Quirk{Name: col[0], Group: col[1], Summary: col[2]})
	}
	return all
}

// names holds the names of the quirks that are on. It never changes.
type names map[string]bool

func (on names) hasAny(prefix string) bool {
	for name := range on {
		if strings.HasPrefix(name, prefix) {
			return true
		}
	}
	return false
}

// Server is a sandbox that has any of the quirks.
type Server struct {
	*sandbox.Server
	workspaces []sandbox.WorkspaceKey

	mu   sync.Mutex
	hook func(method, path string)
	on   names
	// limited has the method and path of each request that a rate limit refused; lagging has, by path, the outdated
	// answer to the next read.
	limited map[string]bool
	lagging map[string]*sandbox.Response
}

// Open opens a sandbox with quirks of this package, too.
func Open(opts sandbox.ServerOptions) (*Server, error) {
	s := &Server{workspaces: opts.Workspaces}
	if len(s.workspaces) == 0 {
		s.workspaces = []sandbox.WorkspaceKey{{Name: sandbox.WorkspaceName, UUID: sandbox.WorkspaceUUID}}
	}
	on := opts.Quirks
	opts.Quirks, opts.Around, opts.Faults = nil, s.around, Faults()
	var err error
	if s.Server, err = sandbox.Open(opts); err == nil {
		err = s.SetQuirks(on...)
	}
	return s, err
}

// OnRequest calls f at the start of each request to the platform, before it reads
// anything. f may call every method of the server; nil removes it.
func (s *Server) OnRequest(f func(method, path string)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.hook = f
}

// ServeHTTP answers requests as a sandbox does.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	hook := s.hook
	s.mu.Unlock()
	if hook != nil && !strings.HasPrefix(r.URL.Path, sandbox.ControlBase) {
		hook(r.Method, r.URL.Path)
	}
	s.Server.ServeHTTP(w, r)
}

// SetQuirks turns on exactly these quirks. It changes nothing if a name is unknown.
func (s *Server) SetQuirks(of ...string) error {
	all, on, ofProgram := All(), names{}, []string{}
	for _, name := range of {
		switch {
		case slices.ContainsFunc(sandbox.Quirks(), func(q sandbox.Quirk) bool { return q.Name == name }):
			ofProgram = append(ofProgram, name)
		case slices.ContainsFunc(all, func(q Quirk) bool { return q.Name == name }):
			on[name] = true
		default:
			return fmt.Errorf("quirk %q does not exist", name)
		}
	}
	s.mu.Lock()
	s.on, s.limited, s.lagging = on, map[string]bool{}, map[string]*sandbox.Response{}
	s.mu.Unlock()
	return s.Server.SetQuirks(ofProgram...)
}

// carrier carries a request with its body out.
type carrier = func(r *http.Request, body []byte) *sandbox.Response

// around answers a request with the quirks that are on.
func (s *Server) around(r *http.Request, body []byte, next carrier) *sandbox.Response {
	s.mu.Lock()
	on := s.on
	s.mu.Unlock()
	if len(on) == 0 {
		return next(r, body)
	}
	a := s.answerInstead(r, body, on)
	if a == nil {
		a = s.carryOut(r, body, next, on)
	}
	shapeError(a, r.URL.Path, on)
	setDate(r.Method, a, s.Now(), on)
	return a
}

// carryOut has the platform answer a request, changed by quirks.
func (s *Server) carryOut(r *http.Request, body []byte, next carrier, on names) *sandbox.Response {
	unknown, asked := "", r
	if on["list-paged"] || on["list-expired"] {
		query := r.URL.Query()
		query.Set("limit", "1")
		r = r.Clone(r.Context())
		r.URL.RawQuery = query.Encode()
	}
	if on["wrong-namespace-empty"] {
		unknown = "unknown-"
		r = s.inUnknownWorkspace(r, unknown)
	}
	body, dropped := changeBody(r, body, on)
	a := s.answerStale(r, next, on, func() *sandbox.Response { return s.write(r, body, next, on) })
	if unknown != "" {
		a.Body = bytes.ReplaceAll(a.Body, []byte(unknown), nil)
	}
	s.shapeDuplicate(r, body, a, on)
	shapeAnswer(asked, a, s.Now(), on)
	for _, field := range dropped {
		if a.Status < http.StatusMultipleChoices {
			a.Header.Add("Warning", fmt.Sprintf("299 - %q", fmt.Sprintf("unknown field %q", field)))
		}
	}
	return a
}

// inUnknownWorkspace returns a request to a workspace that does not exist.
func (s *Server) inUnknownWorkspace(r *http.Request, prefix string) *http.Request {
	r = r.Clone(r.Context())
	for _, ws := range s.workspaces {
		for _, space := range []string{ws.Name, ws.UUID} {
			r.URL.Path = strings.Replace(r.URL.Path, "/"+space+"/", "/"+prefix+space+"/", 1)
			r.URL.RawPath = strings.Replace(r.URL.RawPath, "/"+space+"/", "/"+prefix+space+"/", 1)
		}
	}
	return r
}

// target is the object that a request is about.
type target struct{ kind, workspace, name string }

func (s *Server) targetOf(r *http.Request, body []byte) (t target) {
	parts := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	for i, part := range parts {
		kind, known := map[string]string{"cdns": "CDN", "purges": "Purge", "volumesnapshots": "VolumeSnapshot"}[part]
		if !known || i == 0 {
			continue
		}
		t.kind = kind
		for _, ws := range s.workspaces {
			if parts[i-1] == ws.Name || parts[i-1] == ws.UUID {
				t.workspace = ws.Name
			}
		}
		if i+1 < len(parts) {
			t.name = parts[i+1]
		}
	}
	if r.Method == http.MethodPost {
		t.name = asText(sandbox.AsMap(sandbox.AsMap(sandbox.DecodeJSON(body))["metadata"])["name"])
	}
	return t
}

// find returns the stored object, or nil.
func (s *Server) find(t target) map[string]any {
	object, _ := s.Object(t.kind, t.workspace, t.name)
	return object
}

// Put is that of the sandbox. With the quirk finalizers, a deletion that began never ends.
func (s *Server) Put(objects ...map[string]any) error {
	s.mu.Lock()
	on := s.on
	s.mu.Unlock()
	for _, o := range objects {
		meta := sandbox.AsMap(o["metadata"])
		if at, err := time.Parse(time.RFC3339, asText(meta["deletionTimestamp"])); err == nil && on["finalizers"] {
			meta["deletionTimestamp"] = at.Add(farAway).Format(time.RFC3339)
		}
	}
	return s.Server.Put(objects...)
}

// LoadSeed is that of the sandbox, with Put.
func (s *Server) LoadSeed(raw []byte) error {
	dec := yaml.NewDecoder(bytes.NewReader(raw))
	for {
		var object map[string]any
		err := dec.Decode(&object)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err == nil && object != nil {
			err = s.Put(object)
		}
		if err != nil {
			return err
		}
	}
}

// put stores an object, and panics if it can't, as a test must know.
func (s *Server) put(object map[string]any) {
	if err := s.Put(object); err != nil {
		panic(err)
	}
}

func (s *Server) remove(t target) {
	if err := s.Remove(t.kind, t.workspace, t.name); err != nil {
		panic(err)
	}
}

// farAway is how far a deletion lies ahead that never ends.
const farAway = 100 * 365 * 24 * time.Hour

// write carries a request out, with the quirks that store something else.
func (s *Server) write(r *http.Request, body []byte, next carrier, on names) *sandbox.Response {
	if r.Method == http.MethodGet || !on["forgets-writes"] && !on["keeps-removed"] && !on["replaces-spec"] && !on["renames"] && !on["delete-at-once"] && !on["finalizers"] {
		return next(r, body)
	}
	t := s.targetOf(r, body)
	before := s.find(t)
	if before != nil && on["replaces-spec"] && r.Method == http.MethodPatch {
		was := sandbox.AsMap(before["metadata"])["resourceVersion"]
		before["spec"] = map[string]any{"hostname": sandbox.AsMap(before["spec"])["hostname"]}
		s.put(before)
		// The request names the version that it changes.
		patch := sandbox.AsMap(sandbox.DecodeJSON(body))
		if meta := sandbox.AsMap(patch["metadata"]); meta != nil && meta["resourceVersion"] == was {
			meta["resourceVersion"] = sandbox.AsMap(s.find(t)["metadata"])["resourceVersion"]
			body = encode(patch)
		}
	}
	a := next(r, body)
	after := s.find(t)
	switch {
	case after == nil:
	case r.Method == http.MethodPatch && on["forgets-writes"]:
		s.put(before)
	case r.Method == http.MethodPatch && on["keeps-removed"]:
		keepRemoved(sandbox.AsMap(before["spec"]), sandbox.AsMap(after["spec"]))
		s.put(after)
		if a.Status == http.StatusOK {
			read := r.Clone(r.Context())
			read.Method = http.MethodGet
			a.Body = next(read, nil).Body
		}
	case r.Method == http.MethodPost && before == nil && on["renames"]:
		s.remove(t)
		meta := sandbox.AsMap(after["metadata"])
		name := t.name + "-" + asText(meta["resourceVersion"])
		meta["name"] = name
		s.put(after)
		if shown := sandbox.AsMap(sandbox.DecodeJSON(a.Body)); sandbox.AsMap(shown["metadata"]) != nil {
			sandbox.AsMap(shown["metadata"])["name"] = name
			a.Body = encode(shown)
		}
	case r.Method == http.MethodDelete && on["delete-at-once"]:
		s.remove(t)
		a.Body = encode(map[string]any{"kind": "Status", "apiVersion": "v1", "metadata": map[string]any{}, "status": "Success", "details": map[string]any{"name": t.name}})
	case r.Method == http.MethodDelete && on["finalizers"]:
		s.put(after)
	}
	return a
}

// keepRemoved adds to a spec what an older one has and it lacks, also in list elements with the same name, host or path.
func keepRemoved(old, now map[string]any) {
	for name, was := range old {
		is, has := now[name]
		switch {
		case !has:
			now[name] = was
		case sandbox.AsMap(is) != nil:
			keepRemoved(sandbox.AsMap(was), sandbox.AsMap(is))
		}
		for _, e := range sandbox.AsList(is) {
			for _, other := range sandbox.AsList(was) {
				if a, b := sandbox.AsMap(e), sandbox.AsMap(other); a != nil && a["name"] == b["name"] && a["host"] == b["host"] && a["path"] == b["path"] {
					keepRemoved(b, a)
				}
			}
		}
	}
}

// answerStale answers with what was before a write: lists, if the quirk lags is on, or the first read by name after a patch, if
// lagging-reads is.
func (s *Server) answerStale(r *http.Request, next carrier, on names, carryOut func() *sandbox.Response) *sandbox.Response {
	lists := on["lags"]
	switch {
	case !lists && !on["lagging-reads"]:
	case r.Method == http.MethodGet:
		s.mu.Lock()
		kept := s.lagging[r.URL.Path]
		if !lists {
			delete(s.lagging, r.URL.Path)
		}
		s.mu.Unlock()
		if kept != nil {
			return newResponse(kept.Status, typeJSON, kept.Body)
		}
	case lists || r.Method == http.MethodPatch:
		read := r.Clone(r.Context())
		if read.Method = http.MethodGet; lists && r.Method != http.MethodPost {
			read.URL.Path = path.Dir(r.URL.Path)
		}
		before := next(read, nil)
		s.mu.Lock()
		if !lists || s.lagging[read.URL.Path] == nil {
			s.lagging[read.URL.Path] = before
		}
		s.mu.Unlock()
	}
	return carryOut()
}

// The media types of answers.
const (
	typeJSON = "application/json"
	typeText = "text/plain; charset=utf-8"
	typeHTML = "text/html; charset=utf-8"
)

func newResponse(status int, media string, body []byte) *sandbox.Response {
	return &sandbox.Response{Status: status, Header: http.Header{"Content-Type": {media}}, Body: bytes.Clone(body)}
}

// newFailure returns a Status object.
func newFailure(code int, reason, message string, more map[string]any) *sandbox.Response {
	status := map[string]any{
		"kind": "Status", "apiVersion": "v1", "metadata": map[string]any{}, "status": "Failure", "message": message, "reason": reason,
		"details": map[string]any{}, "code": code,
	}
	maps.Copy(status, more)
	return newResponse(code, typeJSON, encode(status))
}

func encode(v any) []byte { return []byte(sandbox.EncodeJSON(v) + "\n") }

func asText(v any) string {
	s, _ := v.(string)
	return s
}
