package report

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
)

// The columns that a value, a name and a message may take. The JSON format
// alone cuts nothing.
const (
	maxText    = 160
	maxName    = 80
	maxPath    = 200
	maxMessage = 1000
)

// literal is v on one line: a text in quotes, so that "true" and true can be
// told apart, and a structure as a flow.
func literal(v any) safe {
	switch v.(type) {
	case map[string]any, []any:
		var f flow
		f.write("", v, "")
		return join(f.tokens, " ")
	}
	return jsonText(v)
}

// jsonText is v as JSON on one line.
func jsonText(v any) safe {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return clean(strconv.Quote(fmt.Sprint(v)))
	}
	return clean(string(bytes.TrimSuffix(b.Bytes(), []byte("\n"))))
}

// value is v as one line of bounded width; what is cut off is said.
func value(v any) safe {
	if v == nil {
		return "(absent)"
	}
	return shorten(literal(v), maxText)
}

func shorten(s safe, columns int) safe {
	if short := cut(s, columns); short != s {
		return short + " (" + safe(strconv.Itoa(len(s))) + " bytes)"
	}
	return s
}

// kept in front of the first difference where a common start is left out.
const leadIn = 16

// pair shows two values that differ, so that the difference is never in the
// part that is cut off.
func pair(before, after any) (safe, safe) { return pairOf(before, after, maxText) }

// pairOf is pair for texts of so many columns.
func pairOf(before, after any, most int) (safe, safe) {
	return apart(literal(before), literal(after), most)
}

// apart cuts two texts that differ to so many columns, what they share at their
// start first.
func apart(a, b safe, columns int) (safe, safe) {
	if width(a) <= columns && width(b) <= columns {
		return a, b
	}
	x, y := []rune(string(a)), []rune(string(b))
	common := 0
	for common < min(len(x), len(y)) && x[common] == y[common] {
		common++
	}
	if common > 2*leadIn {
		a = "…" + safe(x[common-leadIn:])
		b = "…" + safe(y[common-leadIn:])
	}
	return shorten(a, columns), shorten(b, columns)
}
