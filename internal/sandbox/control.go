package sandbox

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"
)

// ControlBase is the path prefix of the requests with which scripts control the sandbox. They need no
// token.
const ControlBase = "/_sandbox/"

// controls returns the handler of the requests below ControlBase:
//
//	GET, DELETE       requests    show or empty the request log
//	GET, POST         clock       {"now": …}; {"advance": "25h"}
//	GET, POST, DELETE fault       show, add (one rule a line), or remove all rules
//	GET, PUT          quirks      ["defaults", …]
//	GET, PUT          objects     show all live objects; put an object or an array
//	GET, DELETE       objects/KIND/WORKSPACE/NAME
//	GET               executed    {"rel-42": 1}
func (s *Server) controls() *http.ServeMux {
	mux := http.NewServeMux()
	for pattern, act := range map[string]action{
		"GET requests":    func(*http.Request, []byte) (any, error) { return s.Requests() },
		"DELETE requests": func(*http.Request, []byte) (any, error) { return nil, s.ResetRequests() },
		"GET clock":       func(*http.Request, []byte) (any, error) { return map[string]any{"now": s.Now()}, nil },
		"POST clock":      s.advance,
		"GET fault":       func(*http.Request, []byte) (any, error) { return s.Faults(), nil },
		"DELETE fault":    func(*http.Request, []byte) (any, error) { s.ClearFaults(); return nil, nil },
		"POST fault": func(_ *http.Request, body []byte) (any, error) {
			return nil, s.Fault(strings.Split(strings.TrimSpace(string(body)), "\n")...)
		},
		"GET quirks": func(*http.Request, []byte) (any, error) { return s.ActiveQuirks(), nil },
		"PUT quirks": func(_ *http.Request, body []byte) (any, error) {
			var names []string
			err := wrap(json.Unmarshal(body, &names), "read body")
			if err == nil {
				err = s.SetQuirks(names...)
			}
			return s.ActiveQuirks(), err
		},
		"GET objects": func(*http.Request, []byte) (any, error) { return s.Objects() },
		"PUT objects": func(_ *http.Request, body []byte) (any, error) {
			objs := []json.RawMessage{body}
			if bytes.HasPrefix(bytes.TrimSpace(body), []byte("[")) {
				if err := wrap(json.Unmarshal(body, &objs), "read body"); err != nil {
					return nil, err
				}
			}
			return nil, s.PutJSON(objs...)
		},
		"GET executed": func(*http.Request, []byte) (any, error) { return s.Executed() },
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

// action carries out a request with a body, and returns the value to answer as JSON, or nil.
type action func(r *http.Request, body []byte) (any, error)

func (act action) ServeHTTP(w http.ResponseWriter, r *http.Request) {
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

func (s *Server) advance(_ *http.Request, body []byte) (any, error) {
	var in struct{ Advance string }
	if err := wrap(json.Unmarshal(body, &in), "read body"); err != nil {
		return nil, err
	}
	d, err := time.ParseDuration(in.Advance)
	if err != nil {
		return nil, wrap(err, "advance clock")
	}
	return map[string]any{"now": s.Now().Add(d)}, s.Advance(d)
}

// refusal says why a request may come from a web page, or returns "". A page has an origin, or reaches
// this machine by a public name that resolves to it.
func refusal(r *http.Request) string {
	host := r.Host
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	ip := net.ParseIP(strings.Trim(host, "[]"))
	if !strings.EqualFold(host, "localhost") && (ip == nil || !ip.IsLoopback()) {
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
