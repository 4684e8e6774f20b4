// Package control lets scripts control a sandbox over HTTP. It needs no token, and
// rejects requests from web pages.
package control

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
)

// Base is the path prefix of control requests.
const Base = "/_sandbox/"

// maxBody is the largest body of a request, in bytes.
const maxBody = 16 << 20

// Action carries out a request and returns the value to answer as JSON, or nil.
type Action func(r *http.Request) (any, error)

// Serve carries out the action for the request's method and path below Base.
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

// refusal says why a request may come from a web page, or returns "". A page has an
// origin, or reaches this machine by a public name that resolves to it.
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

// Text returns the body of a request, at most 16 MiB.
func Text(r *http.Request) ([]byte, error) {
	raw, err := io.ReadAll(io.LimitReader(r.Body, maxBody))
	if err != nil {
		return nil, fmt.Errorf("read body: %w", err)
	}
	return raw, nil
}

// Body decodes the JSON body of a request.
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
