package kind

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"trueup/internal/canon"
)

// isUnquotedRune reports whether a character stands in a path without quotes.
func isUnquotedRune(r rune) bool {
	return 'a' <= r|0x20 && r|0x20 <= 'z' || '0' <= r && r <= '9' || r == '_' || r == '-'
}

func needsQuotes(r rune) bool { return !isUnquotedRune(r) }

// JoinField returns the path of a field below a path: cache.edgeTTL, headers["X.Y"].
func JoinField(path, name string) string {
	switch {
	case name == "" || strings.ContainsFunc(name, needsQuotes):
		return path + "[" + strconv.Quote(name) + "]"
	case path == "":
		return name
	}
	return path + "." + name
}

// JoinIndex returns the path of an element of a list, from 0: locations[2].
func JoinIndex(list string, i int) string { return list + "[" + strconv.Itoa(i) + "]" }

// IsWithin reports whether a path is another one, or leads below it.
func IsWithin(path, other string) bool {
	rest, ok := strings.CutPrefix(path, other)
	return ok && (rest == "" || rest[0] == '.' || rest[0] == '[')
}

// QuoteElement returns what names an element of a list in the brackets of a path, in quotes if it has other
// characters than names usually have: limit, /static/*, "a b". key has the fields that the name is made of. A path,
// host or port has separators, too.
func QuoteElement(key []string, name string) string {
	separators := "."
	if len(key) == 0 || key[len(key)-1] != "name" {
		separators = "./*:"
	}
	if name == "" || strings.ContainsFunc(name, func(r rune) bool { return !isUnquotedRune(r) && !strings.ContainsRune(separators, r) }) {
		return strconv.Quote(name)
	}
	return name
}

// SplitPath returns the steps of a path. Those to list elements, and to fields whose names are quoted, have their
// brackets: rewrite, ["X.Y"], [/static/*]. ok is false if a bracket or a quote is not closed where it has to be.
func SplitPath(path string) (steps []string, ok bool) {
	for path != "" {
		end := strings.IndexAny(path+".", ".[")
		if strings.HasPrefix(path, "[") {
			if end = bracketEnd(path); end < 0 {
				return nil, false
			}
		}
		if steps = append(steps, path[:end]); end == 0 || path[0] != '[' && strings.ContainsAny(path[:end], `]"`) {
			return nil, false
		}
		if path = path[end:]; strings.HasPrefix(path, ".") && len(path) > 1 && path[1] != '[' {
			path = path[1:]
		} else if path != "" && path[0] != '[' {
			return nil, false
		}
	}
	return steps, true
}

// PathSteps returns the steps of a path, or the whole of one that SplitPath can't read.
func PathSteps(path string) []string {
	if steps, ok := SplitPath(path); ok && steps != nil {
		return steps
	}
	return []string{path}
}

// bracketEnd returns the length of the brackets that a path starts with, or -1.
func bracketEnd(path string) int {
	end := strings.IndexAny(path[1:], `[]"`) + 1
	if end == 1 && path[1] == '"' {
		quoted, err := strconv.QuotedPrefix(path[1:])
		if end = 1 + len(quoted); err != nil || end == len(path) {
			return -1
		}
	}
	if end == 0 || path[end] != ']' {
		return -1
	}
	return end + 1
}

// StepName returns the name in a step of SplitPath, and reports whether it has brackets.
func StepName(step string) (name string, inBrackets bool) {
	inside, inBrackets := strings.CutPrefix(step, "[")
	inside = strings.TrimSuffix(inside, "]")
	if text, err := strconv.Unquote(inside); err == nil && inBrackets {
		return text, true
	}
	return inside, inBrackets
}

// SplitAtDots splits a path at its dots, but not at those in brackets: locations[/a.b/*].cache has two parts.
func SplitAtDots(path string) []string {
	var parts []string
	for _, step := range PathSteps(path) {
		if parts != nil && strings.HasPrefix(step, "[") {
			parts[len(parts)-1] += step
		} else {
			parts = append(parts, step)
		}
	}
	return parts
}

// FindField returns the field at a path below f. What no schema has, and a path that can't be read, is a field without
// documentation.
func (f *Field) FindField(path string) *Field {
	steps, ok := SplitPath(path)
	if !ok {
		return &Field{inherited: inherited{Sensitive: true}}
	}
	for _, step := range steps {
		if name, inBrackets := StepName(step); inBrackets && (f.Item != nil || step[1] != '"') {
			f = f.Element()
		} else {
			f = f.Member(name)
		}
	}
	return f
}

// Member returns a field of an object.
func (f *Field) Member(name string) *Field {
	if known := f.Fields[name]; known != nil {
		return known
	}
	if f.Any != nil {
		return f.Any
	}
	return f.newUndocumentedField()
}

// Element returns the field of the elements of a list.
func (f *Field) Element() *Field {
	if f.Item != nil {
		return f.Item
	}
	return f.newUndocumentedField()
}

func (f *Field) newUndocumentedField() *Field {
	return &Field{inherited: f.inherited, rows: f.belowRows}
}

// DocumentedMember returns the documented field of an object, or nil. f may be nil.
func DocumentedMember(f *Field, name string) *Field {
	if f == nil {
		return nil
	}
	return f.Fields[name]
}

// DocumentedItem returns the documented field of the elements of a list, or nil. f may be nil.
func DocumentedItem(f *Field) *Field {
	if f == nil {
		return nil
	}
	return f.Item
}

// PartCount counts the things of one sort in a value: list elements such as rules, with their names, or fields.
type PartCount struct {
	Noun  string
	N     int
	Names []string
}

// CountParts returns what a value at a path of the spec consists of, the most named things first. Elements of a list that have a title are not taken apart.
func (k *Kind) CountParts(path string, v any) []PartCount {
	parts := map[string]*PartCount{}
	if list, element := k.SplitElementPath(path); element != "" {
		return []PartCount{{Noun: strings.ToLower(list.Item.Title), N: 1}}
	}
	k.Spec().FindField(path).countParts(parts, v)
	if len(parts) == 0 {
		return []PartCount{{Noun: "field", N: 1}}
	}
	var all []PartCount
	for _, p := range parts {
		all = append(all, *p)
	}
	slices.SortFunc(all, func(a, b PartCount) int {
		return cmp.Or(cmp.Compare(len(b.Names), len(a.Names)), cmp.Compare(a.Noun, b.Noun))
	})
	return all
}

// SplitElementPath returns the list whose element has the path, and the text in the brackets, which is empty for other paths.
func (k *Kind) SplitElementPath(path string) (list *Field, element string) {
	parts := SplitAtDots(path)
	last := len(parts) - 1
	name, element, _ := strings.Cut(parts[last], "[")
	list, known := k.Spec().FieldAt(append(parts[:last:last], name))
	if !known || list.List == nil {
		return nil, ""
	}
	return list, strings.TrimSuffix(element, "]")
}

func (f *Field) countParts(parts map[string]*PartCount, v any) {
	noun, names := "field", []string{""}
	switch v := v.(type) {
	case map[string]any:
		for _, name := range canon.SortedKeys(v) {
			f.Member(name).countParts(parts, v[name])
		}
		return
	case []any:
		if f.Item == nil || f.Item.Title == "" || f.List == nil || len(v) == 0 {
			break
		}
		noun, names = strings.ToLower(f.Item.Title), make([]string, len(v))
		for i, e := range v {
			_, names[i] = f.List.NameOf(e)
		}
	}
	if parts[noun] == nil {
		parts[noun] = &PartCount{Noun: noun}
	}
	parts[noun].N += len(names)
	parts[noun].Names = append(parts[noun].Names, slices.DeleteFunc(names, func(s string) bool { return s == "" })...)
}
