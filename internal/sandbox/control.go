package sandbox

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"

	"go.yaml.in/yaml/v4"
)

// ControlBase is the path prefix of the requests with which scripts control the sandbox. They need no token.
const ControlBase = "/_sandbox/"

// controlHandler returns the handler of the requests below ControlBase (docs/reference/sandbox.md).
func (s *Server) controlHandler() *http.ServeMux {
	mux := http.NewServeMux()
	for pattern, act := range map[string]controlAction{
		"GET requests":    func(*http.Request, []byte) (any, error) { return s.Requests() },
		"DELETE requests": func(*http.Request, []byte) (any, error) { return nil, s.ResetRequests() },
		"GET clock":       func(*http.Request, []byte) (any, error) { return map[string]any{"now": s.Now()}, nil },
		"POST clock":      s.advanceClock,
		"GET fault":       func(*http.Request, []byte) (any, error) { return s.PendingFaults(), nil },
		"DELETE fault":    func(*http.Request, []byte) (any, error) { s.ClearFaults(); return nil, nil },
		"POST fault": func(_ *http.Request, body []byte) (any, error) {
			return nil, s.AddFaults(strings.Split(strings.TrimSpace(string(body)), "\n")...)
		},
		"GET objects": func(*http.Request, []byte) (any, error) { return s.Objects() },
		"PUT objects": func(_ *http.Request, body []byte) (any, error) {
			objs := []json.RawMessage{body}
			if bytes.HasPrefix(bytes.TrimSpace(body), []byte("[")) {
				if err := wrapError(json.Unmarshal(body, &objs), "read body"); err != nil {
					return nil, err
				}
			}
			return nil, s.PutJSON(objs...)
		},
		"GET executed": func(*http.Request, []byte) (any, error) { return s.CountExecutedPurges() },
		"GET objects/{kind}/{workspace}/{name}": func(r *http.Request, _ []byte) (any, error) {
			obj, err := s.Object(r.PathValue("kind"), r.PathValue("workspace"), r.PathValue("name"))
			if err == nil && obj == nil {
				err = fmt.Errorf("%s %q does not exist", r.PathValue("kind"), r.PathValue("name"))
			}
			return obj, err
		},
		"DELETE objects/{kind}/{workspace}/{name}": func(r *http.Request, _ []byte) (any, error) {
			return nil, s.Remove(r.PathValue("kind"), r.PathValue("workspace"), r.PathValue("name"))
		},
	} {
		method, path, _ := strings.Cut(pattern, " ")
		mux.Handle(method+" "+ControlBase+path, act)
	}
	return mux
}

// controlAction carries out a request with a body, and returns the value to answer as JSON, or nil.
type controlAction func(r *http.Request, body []byte) (any, error)

func (act controlAction) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var v any
	body, err := io.ReadAll(io.LimitReader(r.Body, maxBody))
	if err == nil {
		v, err = act(r, body)
	}
	switch {
	case err != nil:
		http.Error(w, err.Error(), http.StatusBadRequest)
	case v == nil:
		w.WriteHeader(http.StatusNoContent)
	default:
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(v) // a client that went away has no use for it
	}
}

func (s *Server) advanceClock(_ *http.Request, body []byte) (any, error) {
	var in struct{ Advance string }
	if err := wrapError(json.Unmarshal(body, &in), "read body"); err != nil {
		return nil, err
	}
	d, err := time.ParseDuration(in.Advance)
	if err != nil {
		return nil, wrapError(err, "advance clock")
	}
	return map[string]any{"now": s.Now().Add(d)}, s.Advance(d)
}

// WhyFromBrowser says why a request may come from a web page, or returns "". A page has an origin, or reaches
// this machine by a public name that resolves to it.
func WhyFromBrowser(r *http.Request) string {
	host := r.Host
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	ip := net.ParseIP(strings.Trim(host, "[]"))
	if !strings.HasSuffix("."+strings.ToLower(host), ".localhost") && (ip == nil || !ip.IsLoopback()) {
		return fmt.Sprintf("host %q is not this machine: use localhost or 127.0.0.1", host)
	}
	for _, origin := range r.Header.Values("Origin") {
		if !strings.EqualFold(origin, "http://"+r.Host) {
			return fmt.Sprintf("origin %q: web pages may not control the sandbox", origin)
		}
	}
	if site := r.Header.Get("Sec-Fetch-Site"); site != "" && site != "none" && site != "same-origin" {
		return fmt.Sprintf("Sec-Fetch-Site is %q: web pages may not control the sandbox", site)
	}
	return ""
}

const seededBefore = time.Hour // the default age of a seeded object: old enough to be ready

// LoadSeed stores every document of a YAML or JSON stream, as Put does.
func (s *Server) LoadSeed(raw []byte) error {
	dec := yaml.NewDecoder(bytes.NewReader(raw))
	for n := 1; ; n++ {
		var doc map[string]any
		err := dec.Decode(&doc)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err == nil && doc != nil {
			err = s.Put(doc)
		}
		if err != nil {
			return fmt.Errorf("seed: document %d: %w", n, err)
		}
	}
}

// Put creates or replaces live objects without a token, validation, or an entry in
// the request log. It adds the server's fields that an object lacks; the default
// namespace is the first workspace. After an error, no object is stored.
func (s *Server) Put(objs ...map[string]any) error {
	raws := make([]json.RawMessage, len(objs))
	for i, obj := range objs {
		raws[i] = json.RawMessage(EncodeJSON(obj))
	}
	return s.PutJSON(raws...)
}

// PutJSON is Put for objects in JSON.
func (s *Server) PutJSON(objs ...json.RawMessage) error {
	now := s.Now()
	return s.store.writeTransaction(func(o objectTx) error {
		for _, raw := range objs {
			in, err := decodeObject(raw)
			if err == nil {
				err = s.putObject(o, in, now)
			}
			if err != nil {
				return wrapError(err, "put %s %q", asText(in["kind"]), in.name())
			}
		}
		return nil
	})
}

func (s *Server) putObject(o objectTx, in object, now time.Time) error {
	res, err := resourceOf(asText(in["kind"]))
	if err != nil {
		return err
	}
	if in.name() == "" || strings.ContainsRune(in.name(), 0) {
		return errors.New("metadata.name is missing")
	}
	if in.spec() != nil {
		normalizeValue(in.spec())
	}
	c := &apiRequest{res: res, ws: s.opts.Workspaces[0], name: in.name(), now: now}
	if space := asText(in.meta()["namespace"]); space != "" {
		if c.ws, c.known = s.findWorkspace(func(ws WorkspaceKey) bool { return ws.Name == space }); !c.known {
			return fmt.Errorf("workspace %q does not exist", space)
		}
	}
	if err := c.completeObject(o, in); err != nil {
		return err
	}
	return o.putObject(res, c.ws.Name, in)
}

// completeObject adds the server's fields that a seeded object lacks: those of the object
// that it replaces, else new ones.
func (c *apiRequest) completeObject(o objectTx, obj object) error {
	old, err := o.getObject(c.res, c.ws.Name, c.name)
	if err != nil {
		return err
	}
	owned, err := c.serverMetadata(o, c.now.Add(-seededBefore))
	meta := obj.meta()
	for member, value := range owned {
		_, has := meta[member]
		was, had := old.meta()[member]
		switch {
		case member == "namespace" || member == "resourceVersion" || !has && !had:
			meta[member] = value
		case !has:
			meta[member] = was
		}
	}
	obj["apiVersion"] = c.res.apiVersion
	return err
}

// Object returns a live object as stored, without quirks, or nil if there is none. Numbers are json.Number.
func (s *Server) Object(kind, workspace, name string) (map[string]any, error) {
	res, err := resourceOf(kind)
	if err != nil {
		return nil, fmt.Errorf("read object: %w", err)
	}
	c := &apiRequest{res: res, now: s.Now()}
	var obj object
	err = s.store.readTransaction(func(o objectTx) (err error) {
		obj, err = o.getObject(res, workspace, name)
		return err
	})
	if err != nil || obj == nil || c.isGone(obj) {
		return nil, wrapError(err, "read %s %q", kind, name)
	}
	return obj, nil
}

// Objects returns every live object as stored, by resource, workspace and name.
func (s *Server) Objects() ([]map[string]any, error) {
	out := []map[string]any{}
	c := &apiRequest{now: s.Now()}
	err := s.store.readTransaction(func(o objectTx) (err error) {
		for _, c.res = range resources() {
			for _, ws := range s.opts.Workspaces {
				err = errors.Join(err, o.eachValue(bucketObjects, storeKey(c.res.plural, ws.Name, ""), "", func(_ string, raw []byte) error {
					obj, err := decodeObject(raw)
					if err == nil && !c.isGone(obj) {
						out = append(out, obj)
					}
					return err
				}))
			}
		}
		return err
	})
	return out, wrapError(err, "read objects")
}

// Remove deletes a live object at once, without a trace.
func (s *Server) Remove(kind, workspace, name string) error {
	res, err := resourceOf(kind)
	if err == nil {
		err = s.store.writeTransaction(func(o objectTx) error { return o.removeObject(res, workspace, name) })
	}
	return wrapError(err, "remove %s %q", kind, name)
}
