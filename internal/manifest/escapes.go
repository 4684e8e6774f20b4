package manifest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// shift is a place of a text behind which, in the same line, everything stands
// by so many characters further left than in the file.
type shift struct {
	place
	by uint32
}

// knownEscapes returns text that is JSON with the escapes that the parser refuses
// as it reads them, and the places that moved: \/ and the two halves of a character
// beyond U+FFFF, which encoders of JSON write. Any other text is returned as it is.
func knownEscapes(data []byte) ([]byte, []shift) {
	if bytes.IndexByte(data, '\\') < 0 || !json.Valid(data) {
		return data, nil
	}
	var shifts []shift
	out := make([]byte, 0, len(data))
	at := shift{place: place{1, 1}}
	pass := func(text []byte) {
		out = append(out, text...)
		for i := 0; i < len(text); {
			n := lineBreak(text[i:])
			switch {
			case n > 0:
				at = shift{place: place{at.line + 1, 1}}
			case utf8.RuneStart(text[i]):
				at.column++
			}
			i += max(n, 1)
		}
	}
	for {
		// In JSON a backslash stands in a text, before a character that it belongs to.
		i := bytes.IndexByte(data, '\\')
		if i < 0 {
			pass(data)
			return out, shifts
		}
		pass(data[:i])
		known, size := knownEscape(data[i:])
		pass(known)
		if by := size - len(known); by > 0 {
			at.by += uint32(by)
			shifts = append(shifts, at)
		}
		data = data[i+size:]
	}
}

// knownEscape returns how the parser reads the escape that the text starts with,
// and the escape's size.
func knownEscape(text []byte) ([]byte, int) {
	if text[1] == '/' {
		return text[1:2], 2
	}
	if high := codeUnit(text); utf16.IsSurrogate(high) {
		if r := utf16.DecodeRune(high, codeUnit(text[6:])); r != utf8.RuneError {
			return fmt.Appendf(nil, `\U%08X`, r), 12
		}
	}
	return text[:2], 2
}

// codeUnit is the number of the escape \u, with its four digits, that the text
// starts with, or -1.
func codeUnit(text []byte) rune {
	if len(text) < 6 || text[0] != '\\' || text[1] != 'u' {
		return -1
	}
	n, err := strconv.ParseUint(string(text[2:6]), 16, 16)
	if err != nil {
		return -1
	}
	return rune(n)
}

// unshift puts the nodes where they stand in the file.
func unshift(n *yaml.Node, shifts []shift) {
	if len(shifts) == 0 {
		return
	}
	var by shift
	var visit func(*yaml.Node)
	visit = func(n *yaml.Node) {
		for len(shifts) > 0 && shifts[0].before(n) {
			by, shifts = shifts[0], shifts[1:]
		}
		if by.before(n) && int(by.line) == n.Line {
			n.Column += int(by.by)
		}
		for _, e := range n.Content {
			visit(e)
		}
	}
	visit(n)
}

func (s shift) before(n *yaml.Node) bool {
	return int(s.line) < n.Line || int(s.line) == n.Line && int(s.column) <= n.Column
}
