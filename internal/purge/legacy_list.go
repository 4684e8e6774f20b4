package purge

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
)

// ReadLegacyList reads a list of addresses, one a line or as JSON. In JSON, it takes every text of a list, and the
// texts in objects that look like an address or a path. Other values of a list are entries, too, which have no place.
func ReadLegacyList(data []byte) ([]Line, error) {
	data = bytes.TrimPrefix(data, []byte("\uFEFF"))
	if first := bytes.TrimLeft(data, " \t\r\n"); len(first) > 0 && (first[0] == '[' || first[0] == '{') {
		return readJSON(data)
	}
	list, err := ReadLines(bytes.NewReader(data))
	for i := range list {
		list[i].Text = unquoted(list[i].Text)
	}
	return list, err
}

// unquoted removes quotes and a comma around a line, such as one copied from source code.
func unquoted(text string) string {
	for _, quote := range []string{`"`, `'`} {
		inner, quoted := strings.CutPrefix(text, quote)
		if inner, closed := strings.CutSuffix(strings.TrimSuffix(inner, ","), quote); quoted && closed {
			return inner
		}
	}
	return text
}

// jsonList reads JSON token by token.
type jsonList struct {
	*json.Decoder
	data     []byte
	at, line int // line is the line of offset at
	entries  []Line
}

// maxNested limits nested lists and objects.
const maxNested = 1000

func readJSON(data []byte) ([]Line, error) {
	l := &jsonList{Decoder: json.NewDecoder(bytes.NewReader(data)), data: data, line: 1}
	l.UseNumber()
	for {
		token, err := l.Token()
		if errors.Is(err, io.EOF) {
			return l.entries, nil
		}
		if err == nil {
			err = l.value(token, false, maxNested)
		}
		if errors.Is(err, io.EOF) {
			return nil, fmt.Errorf("line %d: the JSON ends too early", l.lineAt(len(data)))
		}
		if err != nil {
			return nil, fmt.Errorf("line %d: it is not JSON: %w", l.lineAt(int(l.InputOffset())), err)
		}
	}
}

// lineAt returns the line of an offset, which must not be before an earlier one.
func (l *jsonList) lineAt(offset int) int {
	l.line += bytes.Count(l.data[l.at:offset], []byte("\n"))
	l.at = offset
	return l.line
}

// value reads the value that begins with a token.
func (l *jsonList) value(token json.Token, inObject bool, depth int) error {
	if delim, isDelim := token.(json.Delim); isDelim {
		return l.values(delim == '{', depth)
	}
	text, isText := token.(string)
	if !inObject || isText && (isAddress(text) || strings.HasPrefix(text, "/")) {
		l.entries = append(l.entries, Line{strings.TrimSpace(fmt.Sprint(token)), l.lineAt(int(l.InputOffset()))})
	}
	return nil
}

// values reads the rest of a list or an object.
func (l *jsonList) values(ofObject bool, depth int) error {
	if depth == 0 {
		return fmt.Errorf("it is nested more than %d deep", maxNested)
	}
	for isKey := ofObject; ; isKey = ofObject && !isKey {
		token, err := l.Token()
		if err != nil || token == json.Delim(']') || token == json.Delim('}') {
			return err
		}
		if !isKey {
			if err := l.value(token, ofObject, depth-1); err != nil {
				return err
			}
		}
	}
}
