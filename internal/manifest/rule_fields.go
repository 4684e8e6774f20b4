package manifest

import (
	"fmt"
	"iter"
	"strconv"
	"strings"
	"unicode"
)

// The kinds that rules are for.
const (
	cdn      = "CDN"
	purging  = "Purge"
	snapshot = "VolumeSnapshot"
)

// only runs the check for objects of one kind whose spec is a mapping.
func only(kindName string, check func(*subject)) func(*subject) {
	return func(s *subject) {
		if s.Kind.Name == kindName && s.Tree != nil {
			check(s)
		}
	}
}

// elements yields the path and the value of each mapping in a list field; what
// has another type is the schema's to report.
func elements(parent map[string]any, path, field string) iter.Seq2[string, map[string]any] {
	return func(yield func(string, map[string]any) bool) {
		list, _ := parent[field].([]any)
		for i, e := range list {
			m, ok := e.(map[string]any)
			if ok && !yield(element(child(path, field), i), m) {
				return
			}
		}
	}
}

// texts yields the path and the value of each text in a list field.
func texts(parent map[string]any, path, field string) iter.Seq2[string, string] {
	return func(yield func(string, string) bool) {
		list, _ := parent[field].([]any)
		for i, e := range list {
			text, ok := e.(string)
			if ok && !yield(element(child(path, field), i), text) {
				return
			}
		}
	}
}

// mapping returns a field that is a mapping, else nil.
func mapping(parent map[string]any, field string) map[string]any {
	m, _ := parent[field].(map[string]any)
	return m
}

// text returns a field that is text; what has another type is the schema's to
// report.
func text(parent map[string]any, field string) (string, bool) {
	s, ok := parent[field].(string)
	return s, ok
}

// numberIn reports whether the text is decimal digits with a value between both
// bounds.
func numberIn(text string, least, most uint64) bool {
	n, err := strconv.ParseUint(text, 10, 64)
	return err == nil && n >= least && n <= most
}

// unique returns a function that takes the elements of a list one by one and
// reports each whose key another had before it; an empty key is none.
func (s *subject) unique(noun, fix string) func(at, key string) {
	first := map[string]string{}
	return func(at, key string) {
		before, again := first[key]
		switch {
		case key == "":
		case again && s.full():
		case again:
			line, _ := s.Place(before)
			s.report(at, fmt.Sprintf("%s %s is already on line %d", noun, key, line), fix)
		default:
			first[key] = at
		}
	}
}

// oddities names what is in a path on which the platform's document is silent.
func oddities(path string) []string {
	var odd []string
	add := func(found bool, what string) {
		if found {
			odd = append(odd, what)
		}
	}
	before, _, _ := strings.Cut(path, "?")
	before, _, _ = strings.Cut(before, "#")
	add(strings.Contains(before, "//"), "an empty segment")
	add(dotted(before), ". or .. as a segment")
	add(strings.Contains(path, "?"), "a query")
	add(strings.Contains(path, "#"), "a fragment")
	add(strings.IndexFunc(path, blank) >= 0, "white space or a control character")
	add(strings.IndexFunc(path, func(r rune) bool { return r > unicode.MaxASCII }) >= 0, "a character that is not ASCII")
	add(strings.Contains(path, "%") && badEscape(path), "a % without two hexadecimal digits")
	if raw := encoded(path); raw != "" {
		add(true, raw+", which clients encode")
	}
	return odd
}

// badEscape reports whether a % stands without two hexadecimal digits behind it
// (RFC 3986, 2.1).
func badEscape(path string) bool {
	for i := range len(path) {
		if path[i] == '%' && (len(path) < i+3 || !isHex(path[i+1]) || !isHex(path[i+2])) {
			return true
		}
	}
	return false
}

func isHex(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F'
}

// encoded names the characters of ASCII that no address holds as they are
// (RFC 3986, 2), each once; "" for none.
func encoded(path string) string {
	const never = "\"<>\\^`{|}"
	if !strings.ContainsAny(path, never) {
		return ""
	}
	var found []string
	for _, r := range never {
		if strings.ContainsRune(path, r) {
			found = append(found, string(r))
		}
	}
	if len(found) == 1 {
		return "the character " + found[0]
	}
	return "the characters " + strings.Join(found, " ")
}

// dotted reports whether a segment is . or .., which clients take out before
// they ask for a path (RFC 3986, 5.2.4).
func dotted(path string) bool {
	if !strings.Contains(path, "/.") {
		return false // most paths, at no cost
	}
	for segment := range strings.SplitSeq(path, "/") {
		if segment == "." || segment == ".." {
			return true
		}
	}
	return false
}

// oddPath is the message of a path with oddities.
func oddPath(path string, odd []string) string {
	return fmt.Sprintf("the path %q has %s: the platform's document does not say what that means", path, strings.Join(odd, " and "))
}

func blank(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) }
