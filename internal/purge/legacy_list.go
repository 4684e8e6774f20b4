package purge

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
)

// ReadLegacyList reads a list of addresses: text with one a line, or JSON, of
// which every text of a list counts, and in objects those that look like an
// address or a path. Other values in a list are unplaced.
func ReadLegacyList(data []byte) ([]Line, []Unplaced, error) {
	data = bytes.TrimPrefix(data, []byte("\uFEFF"))
	if first := bytes.TrimLeft(data, " \t\r\n"); len(first) > 0 && (first[0] == '[' || first[0] == '{') {
		return readJSON(data)
	}
	list, err := ReadLines(bytes.NewReader(data))
	for i := range list {
		list[i].Text = unquoted(list[i].Text)
	}
	return list, nil, err
}

// unquoted takes off the quotes, and the comma behind them, that are left where
// somebody copied a list of a program.
func unquoted(text string) string {
	for _, quote := range []string{`"`, `'`} {
		inner, quoted := strings.CutPrefix(text, quote)
		if inner, closed := strings.CutSuffix(strings.TrimSuffix(inner, ","), quote); quoted && closed {
			return inner
		}
	}
	return text
}

// jsonList reads JSON, one token after the other.
type jsonList struct {
	decoder *json.Decoder
	data    []byte
	// open are the lists and objects around a token; isKey says that the next text
	// of an object is a key.
	open  []json.Delim
	isKey []bool
	// line is that of the offset at.
	at, line int
	entries  []Line
	unplaced []Unplaced
}

func readJSON(data []byte) ([]Line, []Unplaced, error) {
	l := &jsonList{decoder: json.NewDecoder(bytes.NewReader(data)), data: data, line: 1}
	l.decoder.UseNumber()
	for {
		token, err := l.decoder.Token()
		if errors.Is(err, io.EOF) {
			if len(l.open) > 0 {
				return nil, nil, fmt.Errorf("line %d: the JSON ends too early", l.lineAt(len(data)))
			}
			return l.entries, l.unplaced, nil
		}
		if err != nil {
			return nil, nil, fmt.Errorf("line %d: it is not JSON: %w", l.lineAt(int(l.decoder.InputOffset())), err)
		}
		l.token(token)
	}
}

// lineAt is the line of an offset, which must not be before one that was asked for.
func (l *jsonList) lineAt(offset int) int {
	l.line += bytes.Count(l.data[l.at:offset], []byte("\n"))
	l.at = offset
	return l.line
}

func (l *jsonList) token(token json.Token) {
	delim, isDelim := token.(json.Delim)
	if isDelim && (delim == ']' || delim == '}') {
		l.open, l.isKey = l.open[:len(l.open)-1], l.isKey[:len(l.isKey)-1]
		return
	}
	inObject := len(l.open) > 0 && l.open[len(l.open)-1] == '{'
	if inObject {
		isKey := l.isKey[len(l.isKey)-1]
		l.isKey[len(l.isKey)-1] = !isKey
		if isKey {
			return
		}
	}
	if isDelim {
		l.open, l.isKey = append(l.open, delim), append(l.isKey, true)
		return
	}
	l.value(token, inObject)
}

// value notes a text; another value of a list has no place.
func (l *jsonList) value(token json.Token, inObject bool) {
	line := l.lineAt(int(l.decoder.InputOffset()))
	text, isText := token.(string)
	switch {
	case isText && (!inObject || isAddress(text) || strings.HasPrefix(text, "/")):
		l.entries = append(l.entries, Line{strings.TrimSpace(text), line})
	case !inObject:
		l.unplaced = append(l.unplaced, Unplaced{
			Line: Line{fmt.Sprint(token), line}, Reason: "is no text", Fix: `write "https://HOST/PATH"`,
		})
	}
}
