package view

import (
	"strings"

	"trueup/internal/canon"
	"trueup/internal/safetext"
)

// maxFlow is the most lines of a value below its path that must not be whole.
const maxFlow = 4

// flow collects a value as YAML flow, one token for each scalar.
type flow struct{ tokens []safetext.Text }

// Tokens returns the YAML flow of a value, a token for each scalar in it, with or without the outer brackets. Long texts in it
// are shortened unless they are all of it.
func Tokens(v any, brackets bool) []safetext.Text {
	var f flow
	if brackets {
		f.write("", v, "")
		return f.tokens
	}
	f.members(v, "", "")
	if len(f.tokens) == 0 {
		f.write("", v, "")
	}
	return f.tokens
}

func (f *flow) write(before string, v any, after string) {
	text, brackets := "", ""
	switch t := v.(type) {
	case map[string]any:
		brackets = "{}"
	case []any:
		brackets = "[]"
	case string:
		text = Shorten(FlowText(t)).String()
	default:
		text = scalar(v).String()
	}
	n := len(f.tokens)
	if brackets != "" {
		f.members(v, before+brackets[:1], brackets[1:]+after)
	}
	if len(f.tokens) == n { // a scalar, or a structure without members
		f.tokens = append(f.tokens, safetext.Clean(before+brackets+text+after))
	}
}

func (f *flow) members(v any, before, after string) {
	list, _ := v.([]any)
	object, _ := v.(map[string]any)
	keys := canon.SortedKeys(object)
	n := len(list) + len(keys)
	for i := range n {
		end := ","
		if i == n-1 {
			end = after
		}
		if list != nil {
			f.write(before, list[i], end)
		} else {
			f.write(before+Shorten(FlowText(keys[i])).String()+": ", object[keys[i]], end)
		}
		before = ""
	}
}

// FlowText quotes a string unless YAML reads it as the same string without quotes.
func FlowText(s string) safetext.Text {
	if s == "" || !IsPlain(s) || strings.ContainsRune("0123456789-+.", rune(s[0])) {
		return scalar(s)
	}
	switch strings.ToLower(s) {
	case "true", "false", "null", "yes", "no", "on", "off":
		return scalar(s)
	}
	return safetext.Clean(s)
}

// IsPlain reports whether no character of s has a meaning in YAML flow.
func IsPlain(s string) bool {
	const others = "_-./*"
	return !strings.ContainsFunc(s, func(r rune) bool {
		letter := r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9'
		return !letter && !strings.ContainsRune(others, r)
	})
}

// Wrap sets tokens in lines of at most that many columns. It counts those after a few lines unless whole is set.
func Wrap(tokens []safetext.Text, columns int, whole bool) []safetext.Text {
	var lines []safetext.Text
	var line safetext.Text
	for i, token := range tokens {
		for _, piece := range pieces(token.Guarded(), columns) {
			switch {
			case line.Empty():
				line = piece
			case line.Width()+1+piece.Width() <= columns:
				line = safetext.F("%s %s", line, piece)
			default:
				lines = append(lines, line)
				line = piece
			}
			if len(lines) == maxFlow && !whole {
				return append(lines, safetext.F("… and %s", safetext.Count(len(tokens)-i, "more value")))
			}
		}
	}
	return append(lines, line)
}

// pieces breaks a token that is wider than a line, at spaces where it has them.
func pieces(token safetext.Text, columns int) (out []safetext.Text) {
	if token.Width() <= columns {
		return []safetext.Text{token}
	}
	for _, word := range token.Split(" ") {
		word = word.TrimRight()
		for word.Width() > columns {
			head, rest := word.Break(columns, true)
			out, word = append(out, head), rest
		}
		if !word.Empty() {
			out = append(out, word)
		}
	}
	return out
}
