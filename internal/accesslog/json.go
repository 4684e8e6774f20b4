package accesslog

import (
	"bytes"
	"encoding/json"
)

// object reads the JSON object of a line: its fields, and those of its object "request" or "httpRequest".
type object struct {
	host, path text
	depth      int
	inside     bool   // of such an object
	name       []byte // of the field whose value is next
}

// text is the text of a JSON string: that of the field with the highest rank.
type text struct {
	raw  []byte
	rank int
}

// parse returns the request of an object. It accepts more than JSON, as it looks at strings, brackets and
// braces only.
func (o *object) parse(line []byte) (r request, ok bool) {
	*o = object{}
	for i := 0; i < len(line); i++ {
		switch c := line[i]; c {
		case '{', '[':
			o.depth++
			o.inside = o.inside || o.depth == 2 && c == '{' && isRequest(o.name)
			o.name = nil
		case '}', ']':
			o.depth--
			o.inside = o.depth > 1 && o.inside
			o.name = nil
			if o.depth == 0 {
				return o.request(line[i+1:])
			}
		case ',':
			o.name = nil
		case '"':
			end := closing(line[i+1:])
			if end < 0 {
				return r, false
			}
			o.string(line[i+1 : i+1+end])
			i += end + 1
		}
	}
	return r, false
}

func isRequest(name []byte) bool { return string(name) == "request" || string(name) == "httpRequest" }

// string reads a name or a value.
func (o *object) string(raw []byte) {
	switch {
	case o.depth != 1 && (o.depth != 2 || !o.inside):
	case o.name == nil:
		o.name = raw
	default:
		o.host.offer(hostRank(o.name), raw)
		o.path.offer(pathRank(o.name), raw)
	}
}

func (t *text) offer(rank int, raw []byte) {
	if rank > t.rank && len(raw) > 0 {
		t.raw, t.rank = raw, rank
	}
}

func (o *object) request(after []byte) (r request, ok bool) {
	target := o.path.bytes()
	if inLine := requestLine(target); inLine != nil {
		target = inLine
	}
	ok = r.target(target) && len(bytes.TrimSpace(after)) == 0
	if host := o.host.bytes(); len(host) > 0 {
		r.host = withoutPort(host)
	}
	return r, ok
}

// bytes returns the text, or nil if it is no valid JSON string.
func (t text) bytes() []byte {
	if bytes.IndexByte(t.raw, '\\') < 0 {
		return t.raw
	}
	var s string
	if json.Unmarshal(append(append([]byte{'"'}, t.raw...), '"'), &s) != nil {
		return nil
	}
	return []byte(s)
}

// hostRank ranks the fields in which servers and CDNs log the host; others have rank 0.
func hostRank(name []byte) int {
	switch string(name) {
	case "host", "Host", "RequestHost", "ClientRequestHost", "x-host-header":
		return 3
	case "http_host", "request_host", "cs(Host)", "authority", ":authority":
		return 2
	case "vhost", "server_name":
		return 1
	}
	return 0
}

// pathRank ranks the fields of the path: nginx's uri is the path after rewrites.
func pathRank(name []byte) int {
	switch string(name) {
	case "request_uri", "requestUrl", "RequestPath", "ClientRequestURI", "cs-uri-stem":
		return 4
	case "url", "ClientRequestPath":
		return 3
	case "request":
		return 2
	case "uri", "path":
		return 1
	}
	return 0
}
