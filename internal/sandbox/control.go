package sandbox

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"

	"trueup/internal/sandbox/control"
)

// actions maps METHOD PATH, below control.Base, to what scripts can do:
//
//	GET, DELETE       requests    show or empty the request log
//	GET, POST         clock       {"now": …}; {"advance": "25h"}
//	GET, POST, DELETE fault       show, add (one rule a line), or remove all rules
//	GET, PUT          quirks      ["defaults", …]
//	GET, PUT          objects     show all live objects; put an object or an array
//	GET, DELETE       objects/KIND/WORKSPACE/NAME
//	GET               executed    {"rel-42": 1}
func (s *Server) actions() map[string]control.Action {
	return map[string]control.Action{
		"GET requests":    func(*http.Request) (any, error) { return s.Requests() },
		"DELETE requests": func(*http.Request) (any, error) { return nil, s.ResetRequests() },
		"GET clock":       func(*http.Request) (any, error) { return map[string]any{"now": s.Now()}, nil },
		"POST clock":      s.advance,
		"GET fault":       func(*http.Request) (any, error) { return s.Faults(), nil },
		"DELETE fault":    func(*http.Request) (any, error) { s.ClearFaults(); return nil, nil },
		"POST fault": func(r *http.Request) (any, error) {
			raw, err := control.Text(r)
			if err == nil {
				err = s.Fault(strings.Split(strings.TrimSpace(string(raw)), "\n")...)
			}
			return nil, err
		},
		"GET quirks": func(*http.Request) (any, error) { return s.ActiveQuirks(), nil },
		"PUT quirks": func(r *http.Request) (any, error) {
			names, err := control.Body[[]string](r)
			if err == nil {
				err = s.SetQuirks(names...)
			}
			return s.ActiveQuirks(), err
		},
		"GET objects":  func(*http.Request) (any, error) { return s.Objects() },
		"PUT objects":  s.putBody,
		"GET executed": func(*http.Request) (any, error) { return s.Executed() },
		"GET objects/{kind}/{workspace}/{name}": func(r *http.Request) (any, error) {
			obj, err := s.Object(r.PathValue("kind"), r.PathValue("workspace"), r.PathValue("name"))
			if err == nil && obj == nil {
				err = fmt.Errorf("%s %q does not exist", r.PathValue("kind"), r.PathValue("name"))
			}
			return obj, err
		},
		"DELETE objects/{kind}/{workspace}/{name}": func(r *http.Request) (any, error) {
			return nil, s.Remove(r.PathValue("kind"), r.PathValue("workspace"), r.PathValue("name"))
		},
	}
}

func (s *Server) advance(r *http.Request) (any, error) {
	in, err := control.Body[struct{ Advance string }](r)
	if err != nil {
		return nil, err
	}
	d, err := time.ParseDuration(in.Advance)
	if err != nil {
		return nil, fmt.Errorf("advance clock: %w", err)
	}
	return map[string]any{"now": s.Now().Add(d)}, s.Advance(d)
}

func (s *Server) putBody(r *http.Request) (any, error) {
	body, err := control.Body[json.RawMessage](r)
	if err != nil {
		return nil, err
	}
	objs := []json.RawMessage{body}
	if body[0] == '[' {
		if err := json.Unmarshal(body, &objs); err != nil {
			return nil, fmt.Errorf("read body: %w", err)
		}
	}
	return nil, s.PutJSON(objs...)
}
