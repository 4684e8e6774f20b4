package sandbox

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"
)

// ControlBase is below what scripts steer the sandbox with. It asks for no
// token, so whoever serves it must listen on a loopback address only. A page in a
// browser of that machine is refused.
//
//	GET, DELETE       requests    the request log; empty it
//	GET, POST         clock       {"now": …}; {"advance": "25h"}
//	GET, POST, DELETE fault       those that wait; a rule as text, or one a line; forget all
//	GET, PUT          quirks      ["defaults", …]
//	GET, PUT          objects     all live objects; make or replace one, or each of an array
//	GET, DELETE       objects/KIND/WORKSPACE/NAME
//	GET               executed    {"rel-42": 1}
const ControlBase = "/_sandbox/"

// ofPage says why a request may be that of a page in a browser, or "". A page has
// an origin of its own, or reaches this machine by a name that it has made lead
// here.
func ofPage(r *http.Request) string {
	host := r.Host
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	ip := net.ParseIP(strings.Trim(host, "[]"))
	if !strings.EqualFold(host, "localhost") && (ip == nil || !ip.IsLoopback()) {
		return fmt.Sprintf("host %q is not of loopback: use localhost or 127.0.0.1", host)
	}
	for _, origin := range r.Header.Values("Origin") {
		if !strings.EqualFold(origin, "http://"+r.Host) {
			return fmt.Sprintf("origin %q is another one: no page may steer the sandbox", origin)
		}
	}
	if site := r.Header.Get("Sec-Fetch-Site"); site != "" && site != "none" && site != "same-origin" {
		return fmt.Sprintf("Sec-Fetch-Site is %q: no page may steer the sandbox", site)
	}
	return ""
}

// control answers the requests of scripts.
func (s *Server) control(w http.ResponseWriter, r *http.Request) {
	if why := ofPage(r); why != "" {
		p := reply{status: http.StatusForbidden, media: typeText, body: []byte(why + "\n")}
		p.write(w, nil) // which waits for nothing
		return
	}
	mux := http.NewServeMux()
	for pattern, answer := range map[string]func(*http.Request) (any, error){
		"GET requests":    func(*http.Request) (any, error) { return s.Requests() },
		"DELETE requests": func(*http.Request) (any, error) { return nil, s.ResetRequests() },
		"GET clock":       func(*http.Request) (any, error) { return map[string]any{"now": s.Now()}, nil },
		"POST clock":      s.controlClock,
		"GET fault":       func(*http.Request) (any, error) { return s.Faults(), nil },
		"POST fault":      s.controlFault,
		"DELETE fault":    func(*http.Request) (any, error) { s.ClearFaults(); return nil, nil },
		"GET quirks":      func(*http.Request) (any, error) { return s.ActiveQuirks(), nil },
		"PUT quirks":      s.controlQuirks,
		"GET objects":     func(*http.Request) (any, error) { return s.Objects() },
		"PUT objects":     s.controlPut,
		"GET executed":    func(*http.Request) (any, error) { return s.Executed() },

		"GET objects/{kind}/{workspace}/{name}": s.controlGet,
		"DELETE objects/{kind}/{workspace}/{name}": func(r *http.Request) (any, error) {
			return nil, s.Remove(r.PathValue("kind"), r.PathValue("workspace"), r.PathValue("name"))
		},
	} {
		method, path, _ := strings.Cut(pattern, " ")
		mux.HandleFunc(method+" "+ControlBase+path, func(w http.ResponseWriter, r *http.Request) {
			v, err := answer(r)
			writeControl(w, v, err)
		})
	}
	mux.ServeHTTP(w, r)
}

func writeControl(w http.ResponseWriter, v any, err error) {
	p := reply{status: http.StatusNoContent}
	if err == nil && v != nil {
		p, err = jsonReply(http.StatusOK, v)
	}
	if err != nil {
		p = reply{status: http.StatusBadRequest, media: typeText, body: []byte(err.Error() + "\n")}
	}
	p.write(w, nil) // which waits for nothing
}

func readBody(r *http.Request) ([]byte, error) {
	raw, err := io.ReadAll(io.LimitReader(r.Body, maxBody))
	if err != nil {
		return nil, fmt.Errorf("read body: %w", err)
	}
	return raw, nil
}

// readControl reads the JSON body of a script.
func readControl(r *http.Request, into any) error {
	raw, err := readBody(r)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(raw, into); err != nil {
		return fmt.Errorf("read body: %w", err)
	}
	return nil
}

func (s *Server) controlClock(r *http.Request) (any, error) {
	var in struct {
		Advance string `json:"advance"`
	}
	if err := readControl(r, &in); err != nil {
		return nil, err
	}
	d, err := time.ParseDuration(in.Advance)
	if err != nil {
		return nil, fmt.Errorf("advance clock: %w", err)
	}
	if err := s.Advance(d); err != nil {
		return nil, err
	}
	return map[string]any{"now": s.Now()}, nil
}

func (s *Server) controlFault(r *http.Request) (any, error) {
	raw, err := readBody(r)
	if err != nil {
		return nil, err
	}
	return nil, s.Fault(strings.Split(strings.TrimSpace(string(raw)), "\n")...)
}

func (s *Server) controlQuirks(r *http.Request) (any, error) {
	var names []string
	if err := readControl(r, &names); err != nil {
		return nil, err
	}
	if err := s.SetQuirks(names...); err != nil {
		return nil, err
	}
	return s.ActiveQuirks(), nil
}

func (s *Server) controlPut(r *http.Request) (any, error) {
	var body json.RawMessage
	if err := readControl(r, &body); err != nil {
		return nil, err
	}
	if body[0] != '[' {
		return nil, s.PutJSON(body)
	}
	var objs []json.RawMessage
	if err := json.Unmarshal(body, &objs); err != nil {
		return nil, fmt.Errorf("read body: %w", err)
	}
	return nil, s.PutJSON(objs...)
}

func (s *Server) controlGet(r *http.Request) (any, error) {
	obj, err := s.Object(r.PathValue("kind"), r.PathValue("workspace"), r.PathValue("name"))
	if err == nil && obj == nil {
		err = fmt.Errorf("%s %q does not exist", r.PathValue("kind"), r.PathValue("name"))
	}
	if err != nil {
		return nil, err
	}
	return obj, nil
}
