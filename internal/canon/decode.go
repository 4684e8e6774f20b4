package canon

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// Decode reads a text like Canonical; numbers are json.Number in canonical text.
func Decode(text []byte) (any, error) {
	b, err := Canonical(text)
	if err != nil {
		return nil, err
	}
	v, _ := tree(b, 0)
	return v, nil
}

// MustDecode reads canonical JSON, and panics on anything else.
func MustDecode(canonical []byte) any {
	v, err := Decode(canonical)
	if err != nil {
		panic(fmt.Sprintf("not canonical JSON: %v", err))
	}
	return v
}

// tree reads the value at a place of canonical JSON, and returns its end.
func tree(b []byte, at int) (v any, end int) {
	switch b[at] {
	case '{':
		fields := map[string]any{}
		for b[at+1] != '}' {
			colon := endOf(b, at+1)
			fields[unquote(b[at+1:colon])], at = tree(b, colon+1)
			if b[at] == '}' {
				return fields, at + 1
			}
		}
		return fields, at + 2
	case '[':
		elements := []any{}
		for b[at+1] != ']' {
			v, at = tree(b, at+1)
			if elements = append(elements, v); b[at] == ']' {
				return elements, at + 1
			}
		}
		return elements, at + 2
	}
	end = endOf(b, at)
	switch word := b[at:end]; word[0] {
	case '"':
		return unquote(word), end
	case 't', 'f':
		return word[0] == 't', end
	case 'n':
		return nil, end
	default:
		return json.Number(word), end
	}
}

// unquote returns the text of valid JSON.
func unquote(quoted []byte) string {
	if bytes.IndexByte(quoted, '\\') < 0 {
		return string(quoted[1 : len(quoted)-1])
	}
	var text string
	_ = json.Unmarshal(quoted, &text)
	return text
}
