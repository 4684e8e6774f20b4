package accesslog

import (
	"bytes"
	"slices"
	"strconv"
	"strings"
)

// request is what is read of a line. A comment is a line of its format that is no request.
type request struct {
	host, path []byte
	comment    bool
}

// parser reads lines of one log. Their format is recognised line by line.
type parser struct {
	// columns are those of a log with a line "#Fields:": the host by which it was asked, if it has that, the
	// host, and the path. They count from 1.
	columns [3]int
	json    object
}

// parse returns the request of a line. It is valid until the line is changed.
func (p *parser) parse(line []byte) (request, bool) {
	if line[0] == '#' {
		if names, ok := bytes.CutPrefix(line, []byte("#Fields:")); ok {
			p.header(string(names))
		}
		return request{comment: true}, true
	}
	if p.columns[2] > 0 {
		return p.table(line)
	}
	if line[0] == '<' { // the prefix of syslog, "<134>2016-07-04T22:37:26Z cache-sjc3128 name[82959]: "
		_, line, _ = bytes.Cut(line, []byte(": "))
		if len(line) == 0 {
			return request{}, false
		}
	}
	if line[0] == '{' {
		return p.json.parse(line)
	}
	return common(line)
}

// header reads the names of columns (W3C extended log format). CloudFront logs the name of its distribution as
// cs(Host).
func (p *parser) header(names string) {
	p.columns = [3]int{}
	for i, name := range strings.Fields(names) {
		switch name {
		case "x-host-header":
			p.columns[0] = i + 1
		case "cs(Host)", "cs-host":
			p.columns[1] = i + 1
		case "cs-uri-stem":
			p.columns[2] = i + 1
		}
	}
}

func (p *parser) table(line []byte) (request, bool) {
	separator := []byte{'\t'}
	if !bytes.Contains(line, separator) {
		separator = []byte{' '}
	}
	var fields [3][]byte
	for column := 1; column <= slices.Max(p.columns[:]); column++ {
		var field []byte
		field, line, _ = bytes.Cut(line, separator)
		if i := slices.Index(p.columns[:], column); i >= 0 && string(field) != "-" {
			fields[i] = field
		}
	}
	var r request
	ok := r.target(fields[2])
	for _, host := range fields[:2] {
		if r.host == nil && host != nil {
			r.host = withoutPort(host)
		}
	}
	return r, ok
}

// common reads the common and the combined log format, which may have a virtual host in front: the first quoted
// text that is the first line of a request.
func common(line []byte) (r request, ok bool) {
	head, rest, quoted := bytes.Cut(line, []byte{'"'})
	for quoted {
		end := closing(rest)
		if end < 0 {
			break
		}
		target := requestLine(rest[:end])
		if bytes.IndexByte(target, '\\') >= 0 {
			target = unescaped(target)
		}
		if r.target(target) {
			if r.host == nil {
				r.host = virtualHost(head)
			}
			return r, true
		}
		_, rest, quoted = bytes.Cut(rest[end+1:], []byte{'"'})
	}
	return r, false
}

// requestLine returns the target of "GET /path HTTP/1.1", or nil.
func requestLine(text []byte) []byte {
	method := 0
	for method < len(text) && 'A' <= text[method] && text[method] <= 'Z' {
		method++
	}
	if method == 0 || method == len(text) || text[method] != ' ' {
		return nil
	}
	target, _, _ := bytes.Cut(text[method+1:], []byte{' '})
	return target
}

// closing returns the index of the first quote that no backslash escapes, or -1.
func closing(text []byte) int {
	for from := 0; ; {
		i := bytes.IndexByte(text[from:], '"')
		if i < 0 {
			return -1
		}
		i += from
		slashes := i
		for slashes > 0 && text[slashes-1] == '\\' {
			slashes--
		}
		if (i-slashes)%2 == 0 {
			return i
		}
		from = i + 1
	}
}

// virtualHost returns the first word if it precedes an address, an identity, a user and a time: without it, the
// second word is nearly always "-".
func virtualHost(text []byte) []byte {
	first, rest, _ := bytes.Cut(text, []byte(" "))
	if bytes.HasPrefix(rest, []byte("- ")) {
		return nil
	}
	words, _, timed := bytes.Cut(rest, []byte("["))
	if !timed || bytes.Count(words, []byte(" ")) < 3 {
		return nil
	}
	return withoutPort(first)
}

// target sets the path, and the host if there is one, from the target of a request. It reports whether that
// is an address.
func (r *request) target(target []byte) bool {
	if after, isURL := url(target); isURL {
		end := bytes.IndexAny(after, "/?#")
		if end < 0 {
			end = len(after)
		}
		host := after[:end]
		r.host, target = withoutPort(host[bytes.LastIndexByte(host, '@')+1:]), after[end:]
		if len(target) == 0 || target[0] != '/' {
			target = []byte("/")
		}
		if len(r.host) == 0 {
			return false
		}
	}
	for _, c := range []byte("?#") {
		if i := bytes.IndexByte(target, c); i >= 0 {
			target = target[:i]
		}
	}
	r.path = target
	return len(target) > 0 && target[0] == '/'
}

// url returns what follows the scheme.
func url(target []byte) (after []byte, ok bool) {
	after, ok = bytes.CutPrefix(target, []byte("http"))
	after, _ = bytes.CutPrefix(after, []byte("s"))
	after, is := bytes.CutPrefix(after, []byte("://"))
	return after, ok && is
}

// unescaped returns the bytes that servers write as \xC3 or \".
func unescaped(text []byte) (out []byte) {
	for i := 0; i < len(text); i++ {
		c := text[i]
		if c == '\\' && i+1 < len(text) {
			i++
			c = text[i]
			if c == 'x' && i+2 < len(text) {
				if n, err := strconv.ParseUint(string(text[i+1:i+3]), 16, 8); err == nil {
					c = byte(n)
					i += 2
				}
			}
		}
		out = append(out, c)
	}
	return out
}

func withoutPort(host []byte) []byte {
	if colon := bytes.LastIndexByte(host, ':'); colon >= 0 && bytes.IndexByte(host[colon:], ']') < 0 {
		return host[:colon]
	}
	return host
}

// isHost reports whether a text may be a hostname or an address in brackets, or is empty.
func isHost(text []byte) bool {
	if len(text) > 1 && text[0] == '[' && text[len(text)-1] == ']' {
		return true
	}
	for _, c := range text {
		isUsual := 'a' <= c && c <= 'z' || '-' <= c && c <= '9' && c != '/'
		if !isUsual && (c <= ' ' || strings.IndexByte("\"#%/:<>?@[\\]^`{|}\x7f", c) >= 0) {
			return false
		}
	}
	return true
}
