package effect

import (
	"strconv"
	"strings"
)

// LiveValueAt returns the value at a place of a live spec, or nil.
func LiveValueAt(live any, at []PathStep) any { return valueAt(live, at, PathStep.liveKey) }

// valueAt returns the value at a place of one side, or nil.
func valueAt(v any, at []PathStep, side func(PathStep) any) any {
	for _, s := range at {
		v = memberAt(v, side(s))
	}
	return v
}

func memberAt(v, step any) any {
	switch step := step.(type) {
	case string:
		fields, _ := v.(map[string]any)
		return fields[step]
	case int:
		list, _ := v.([]any)
		if list = withoutNulls(list); step >= 0 && step < len(list) {
			return list[step]
		}
	}
	return nil
}

// pathMatchesPlace reports whether a path for people names a place. A list element may be named by its value in
// live or in after.
func pathMatchesPlace(path string, at []PathStep, live, after any) bool {
	if len(at) == 0 {
		return path == ""
	}
	s := at[0]
	was, is := memberAt(live, s.liveKey()), memberAt(after, s.afterKey())
	if !s.Element {
		rest, begins := cutField(path, s.Field)
		return begins && pathMatchesPlace(strings.TrimPrefix(rest, "."), at[1:], was, is)
	}
	inside, begins := strings.CutPrefix(path, "[")
	name, rest, ends := strings.Cut(inside, "]")
	if needsQuotes(name, "./*:") {
		quoted, err := strconv.QuotedPrefix(inside)
		name, _ = strconv.Unquote(quoted)
		rest, ends = strings.CutPrefix(inside[len(quoted):], "]")
		begins = begins && err == nil
	}
	return begins && ends && (namesElement(name, was, s.Live) || namesElement(name, is, s.After)) &&
		pathMatchesPlace(strings.TrimPrefix(rest, "."), at[1:], was, is)
}

// cutField returns what follows the name of a field. A name with characters of a path is quoted and in
// brackets.
func cutField(path, name string) (rest string, ok bool) {
	if needsQuotes(name, "") {
		return strings.CutPrefix(path, "["+strconv.Quote(name)+"]")
	}
	return strings.CutPrefix(path, name)
}

// needsQuotes reports whether a name may not be in a path without quotes: it is empty, or has other characters than
// letters, digits, underscores, hyphens and these.
func needsQuotes(name, also string) bool {
	return name == "" || strings.ContainsFunc(name, func(r rune) bool {
		isPlain := 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || r == '_' || r == '-'
		return !isPlain && !strings.ContainsRune(also, r)
	})
}

// namesElement reports whether a list element has the name: its index, its text, or the texts of some of its
// fields in a row, with or without a colon.
func namesElement(name string, element any, index int) bool {
	if element == nil {
		return false
	}
	s, isText := scalarText(element)
	fields, _ := element.(map[string]any)
	return isText && s == name || name == strconv.Itoa(index) || spellsFields(name, fields)
}

func spellsFields(name string, fields map[string]any) bool {
	read := make([]bool, len(name)+1) // read[n]: the first n bytes are made of such texts
	read[0] = true
	for n := range name {
		for _, v := range fields {
			s, ok := scalarText(v)
			if !read[n] || !ok || s == "" || !strings.HasPrefix(name[n:], s) {
				continue
			}
			end := n + len(s)
			read[end] = true
			if strings.HasPrefix(name[end:], ":") {
				read[end+1] = true
			}
		}
	}
	return name != "" && read[len(name)]
}
