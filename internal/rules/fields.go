package rules

import (
	"bytes"
	"fmt"
	"iter"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"trueup/internal/canon"
	"trueup/internal/diag"
	"trueup/internal/kind"
)

const (
	cdn      = "CDN"
	purging  = "Purge"
	snapshot = "VolumeSnapshot"
)

// eachMapping yields the path and the value of every mapping at a place of the spec, such as
// "upstreams[].servers[]"; "" is the spec itself. Values of other types are left to the schema.
func (s *RuleSubject) eachMapping(place string) iter.Seq2[string, map[string]any] {
	return valuesAt[map[string]any]("spec", s.Tree, place)
}

// valuesAt yields the path and the value of everything of a type at a place below v.
func valuesAt[T any](at string, v any, place string) iter.Seq2[string, T] {
	return func(yield func(string, T) bool) {
		visitValues(at, v, place, func(at string, v any) bool {
			value, ok := v.(T)
			return !ok || yield(at, value)
		})
	}
}

// visitValues calls yield with every value at a place below v until yield returns false, and reports whether
// it visited all.
func visitValues(at string, v any, place string, yield func(string, any) bool) bool {
	if place == "" {
		return yield(at, v)
	}
	if below, ok := strings.CutPrefix(place, "[]"); ok {
		list, _ := v.([]any)
		for i, e := range list {
			if !visitValues(kind.JoinIndex(at, i), e, strings.TrimPrefix(below, "."), yield) {
				return false
			}
		}
		return true
	}
	end := strings.IndexAny(place+".", ".[")
	below := canon.At(v, place[:end])
	return below == nil || visitValues(kind.JoinField(at, place[:end]), below, strings.TrimPrefix(place[end:], "."), yield)
}

// cdnField returns the field of the schema at a place of the spec of a CDN.
func cdnField(place string) *kind.Field {
	k, _ := kind.FindKind(cdn)
	f, _ := k.Spec().FieldAt(strings.Split(strings.Trim(strings.ReplaceAll(place, "[]", ""), "."), "."))
	return f
}

// rangeCheck returns the check that text fields of the mappings at a place are whole numbers in the range
// of the schema. The fix ends with more.
func rangeCheck(place, more string, names ...string) func(*RuleSubject) {
	fields := diag.MapList(names, func(name string) *kind.Field { return cdnField(place + "." + name) })
	return func(s *RuleSubject) {
		for at, owner := range s.eachMapping(place) {
			for _, f := range fields {
				value, ok := owner[f.Name].(string)
				if !ok {
					continue
				}
				n, err := strconv.ParseUint(value, 10, 63)
				if err == nil && n >= f.Range[0] && (len(f.Range) == 1 || n <= f.Range[1]) {
					continue
				}
				limits := fmt.Sprintf("from %d", f.Range[0])
				if len(f.Range) > 1 {
					limits += fmt.Sprintf(" to %d", f.Range[1])
				}
				s.report(kind.JoinField(at, f.Name), fmt.Sprintf("%s is %q, which is not a whole number %s", f.Name, value, limits),
					fmt.Sprintf("write digits in quotes, such as %s: %q", f.Name, f.Examples[0])+more)
			}
		}
	}
}

// duplicateCheck returns the check that no two elements of a list have the same key, whose fields the
// schema lists. It ignores empty keys, and compares only elements of the same owner.
func duplicateCheck(owners, list, fix string) func(*RuleSubject) {
	f := cdnField(owners + "." + list)
	key := func(e map[string]any) string {
		parts := make([]string, 0, 4)
		for _, name := range f.List.Key {
			part := canon.TextAt(e, name)
			switch {
			case name != "host":
			case part == "" && f.List.Join != "":
				return "" // a server without a host, which may be any
			default:
				part = strings.ToLower(part)
			}
			parts = append(parts, part)
		}
		return strings.TrimSuffix(strings.Join(parts, f.List.Join), f.List.Join)
	}
	return func(s *RuleSubject) {
		for at, owner := range s.eachMapping(owners) {
			unique := s.newDuplicateCheck("the "+strings.ToLower(f.Item.Title), fix)
			for at, e := range valuesAt[map[string]any](at, owner, list+"[]") {
				unique(at, key(e))
			}
		}
	}
}

// newDuplicateCheck returns a function to call with each element of a list. It reports an element whose key an
// earlier one has, and ignores empty keys.
func (s *RuleSubject) newDuplicateCheck(noun, fix string) func(at, key string) {
	first := map[string]string{}
	return func(at, key string) {
		before, again := first[key]
		switch {
		case key == "":
		case again && s.isFull():
		case again:
			s.report(at, fmt.Sprintf("%s %s is already on line %d", noun, key, s.Line(before)), fix)
		default:
			first[key] = at
		}
	}
}

// pathOddities lists what a path has that the platform does not document.
func pathOddities(path string) []string {
	before, _, _ := strings.Cut(path, "?")
	before, _, _ = strings.Cut(before, "#")
	segments := "/" + before + "/"
	_, badEscape := url.PathUnescape(path)
	var odd []string
	for _, o := range []struct {
		found bool
		what  string
	}{
		{strings.Contains(before, "//"), "an empty segment"},
		// clients resolve these before they request a path (RFC 3986, 5.2.4)
		{strings.Contains(segments, "/./") || strings.Contains(segments, "/../"), ". or .. as a segment"},
		{strings.Contains(path, "?"), "a query"},
		{strings.Contains(path, "#"), "a fragment"},
		{strings.ContainsFunc(path, func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) }), "white space or a control character"},
		{strings.ContainsFunc(path, func(r rune) bool { return r > unicode.MaxASCII }), "a character that is not ASCII"},
		{badEscape != nil, "a % without two hexadecimal digits"},
	} {
		if o.found {
			odd = append(odd, o.what)
		}
	}
	const never = "\"<>\\^`{|}" // in URLs (RFC 3986, 2)
	if strings.ContainsAny(path, never) {
		raw := slices.DeleteFunc(strings.Split(never, ""), func(c string) bool { return !strings.Contains(path, c) })
		noun := "the character "
		if len(raw) > 1 {
			noun = "the characters "
		}
		odd = append(odd, noun+strings.Join(raw, " ")+", which clients encode")
	}
	return odd
}

func oddPathMessage(path string, odd []string) string {
	return fmt.Sprintf("the path %q has %s: the platform does not document how it treats that", path, strings.Join(odd, " and "))
}

// namingFields are the fields whose values name something.
const namingFields = " name namespace hostname subdomains host persistentVolumeClaimName tokenName expireName "

// reportPlaceholders reports placeholders in fields that name something, or in all others.
func (s *RuleSubject) reportPlaceholders(inNames bool) {
	if !mayHavePlaceholder(s.JSON) { // paths of texts are expensive
		return
	}
	s.eachText("", "", s.Doc, func(at, field, text string) {
		if found := diag.FindPlaceholder(text); found != "" && inNames == strings.Contains(namingFields, " "+field+" ") {
			s.report(at, "the placeholder "+diag.Quote(found)+" was not filled in", "write the value, or render the template first")
		}
	})
}

// eachText calls visit with every text below v, in the order of keys, its path, and the name of its field.
func (s *RuleSubject) eachText(at, field string, v any, visit func(at, field, text string)) {
	switch t := v.(type) {
	case string:
		visit(at, field, t)
	case []any:
		for i, e := range t {
			s.eachText(kind.JoinIndex(at, i), field, e, visit)
		}
	case map[string]any:
		for _, name := range canon.SortedKeys(t) {
			s.eachText(kind.JoinField(at, name), name, t[name], visit)
		}
	}
}

// mayHavePlaceholder reports whether a JSON text has what a placeholder begins with.
func mayHavePlaceholder(json []byte) bool {
	return bytes.IndexByte(json, '$') >= 0 || bytes.IndexByte(json, '%') >= 0 || bytes.IndexByte(json, '<') >= 0 || bytes.Contains(json, []byte("{{"))
}
