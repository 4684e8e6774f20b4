package routing

import (
	"fmt"
	"strconv"
	"strings"
)

// Normal returns the path of a request as locations are compared with it (RFC 3986, 6.2.2): without query and
// fragment, without the segments "." and "..", and with every character escaped that a path can't have, in
// capitals. It decodes the escapes of letters, digits and -._~ but keeps all others, so %2F is no slash. Like
// browsers, it takes a backslash for a slash. No path is "/". The result is its own Normal.
func Normal(path string) string {
	if i := strings.IndexAny(path, "?#"); i >= 0 {
		path = path[:i]
	}
	path = strings.ReplaceAll(path, `\`, "/")
	var b strings.Builder
	for i := 0; i < len(path); i++ {
		c, escaped := path[i], false
		if c == '%' && i+2 < len(path) {
			if n, err := strconv.ParseUint(path[i+1:i+3], 16, 8); err == nil {
				c, escaped = byte(n), true
				i += 2
			}
		}
		if isUnreserved(c) || !escaped && strings.IndexByte(inPath, c) >= 0 {
			b.WriteByte(c)
		} else {
			fmt.Fprintf(&b, "%%%02X", c)
		}
	}
	return removeDots(b.String())
}

// inPath are the characters that a path can have besides unreserved ones.
const inPath = "/!$&'()*+,;=:@"

func isUnreserved(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' ||
		c == '-' || c == '.' || c == '_' || c == '~'
}

// removeDots removes the segments "." and ".." (RFC 3986, 5.2.4).
func removeDots(path string) string {
	var kept []string
	segments := strings.Split(strings.TrimPrefix(path, "/"), "/")
	for i, segment := range segments {
		dots := segment == "." || segment == ".."
		if segment == ".." && len(kept) > 0 {
			kept = kept[:len(kept)-1]
		}
		switch {
		case !dots:
			kept = append(kept, segment)
		case i == len(segments)-1:
			kept = append(kept, "")
		}
	}
	return "/" + strings.Join(kept, "/")
}
