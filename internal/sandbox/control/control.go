// Package control lets scripts steer a sandbox over HTTP. It asks for no token, and
// refuses pages in a browser of the same machine.
package control

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
)

// Base is the path below which scripts steer the sandbox.
const Base = "/_sandbox/"

// maxBody bounds a request, in bytes.
const maxBody = 16 << 20

// Action is what a request does: it returns what the answer shows, or nil.
type Action func(r *http.Request) (any, error)

// Serve answers a request below Base by the action of its method and path.
func Serve(w http.ResponseWriter, r *http.Request, actions map[string]Action) {
	if why := refusal(r); why != "" {
		http.Error(w, why, http.StatusForbidden)
		return
	}
	mux := http.NewServeMux()
	for pattern, act := range actions {
		method, path, _ := strings.Cut(pattern, " ")
		mux.HandleFunc(method+" "+Base+path, func(w http.ResponseWriter, r *http.Request) {
			v, err := act(r)
			switch {
			case err != nil:
				http.Error(w, err.Error(), http.StatusBadRequest)
			case v == nil:
				w.WriteHeader(http.StatusNoContent)
			default:
				w.Header().Set("Content-Type", "application/json")
				_ = json.NewEncoder(w).Encode(v) // a client that went away has no use for it
			}
		})
	}
	mux.ServeHTTP(w, r)
}

// refusal says why a request may be that of a page in a browser, or "". A page has
// an origin of its own, or reaches this machine by a name that leads here.
func refusal(r *http.Request) string {
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

// Text returns the body of a request.
func Text(r *http.Request) ([]byte, error) {
	raw, err := io.ReadAll(io.LimitReader(r.Body, maxBody))
	if err != nil {
		return nil, fmt.Errorf("read body: %w", err)
	}
	return raw, nil
}

// Body returns the JSON body of a request.
func Body[T any](r *http.Request) (v T, err error) {
	raw, err := Text(r)
	if err != nil {
		return v, err
	}
	if err := json.Unmarshal(raw, &v); err != nil {
		return v, fmt.Errorf("read body: %w", err)
	}
	return v, nil
}
