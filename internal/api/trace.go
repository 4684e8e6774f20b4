package api

import "net/http"

// shownHeader is the head of an answer without what a server may have repeated
// of a token, and without the cookies that it wants to set.
func (c *call) shownHeader(header http.Header) http.Header {
	shown := make(http.Header, len(header))
	for name, values := range header {
		name = oneLine(c.endpoint.redact(name), excerptSize)
		for _, v := range values {
			v = oneLine(c.endpoint.redact(v), excerptSize)
			if name == "Set-Cookie" {
				v = hidden
			}
			shown[name] = append(shown[name], v)
		}
	}
	return shown
}
