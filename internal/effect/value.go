package effect

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// equal compares two JSON values. A null member or element is absent, and text that
// spells a number or a boolean is that: servers answer 443 for "443".
func equal(a, b any) bool {
	switch x := a.(type) {
	case map[string]any:
		y, ok := b.(map[string]any)
		if !ok {
			return false
		}
		for name, value := range x {
			if !equal(value, y[name]) {
				return false
			}
		}
		for name, value := range y {
			if value != nil && x[name] == nil {
				return false
			}
		}
		return true
	case []any:
		y, ok := b.([]any)
		return ok && slices.EqualFunc(withoutNulls(x), withoutNulls(y), equal)
	}
	x, xOK := text(a)
	y, yOK := text(b)
	return a == nil && b == nil || xOK && yOK && x == y
}

// text returns a scalar without quotes.
func text(v any) (string, bool) {
	switch v := v.(type) {
	case string:
		return v, true
	case json.Number:
		return v.String(), true
	case bool, int:
		return fmt.Sprint(v), true
	}
	return "", false
}

func withoutNulls(list []any) []any {
	if !slices.Contains(list, nil) {
		return list
	}
	return slices.DeleteFunc(slices.Clone(list), func(v any) bool { return v == nil })
}

// lookUp returns what stands at a place, nil for nothing.
func lookUp(v any, at []any) any {
	if at == nil {
		return nil
	}
	for _, step := range at {
		switch step := step.(type) {
		case string:
			fields, _ := v.(map[string]any)
			v = fields[step]
		case int:
			list, _ := v.([]any)
			list = withoutNulls(list)
			if step >= len(list) {
				return nil
			}
			v = list[step]
		}
	}
	return v
}

// reads reports whether a path, as people read it, is a name of the place.
func reads(path string, at []any, v any) bool {
	if len(at) == 0 {
		return path == ""
	}
	if name, ok := at[0].(string); ok {
		fields, _ := v.(map[string]any)
		rest, plain := strings.CutPrefix(path, name)
		if !plain || strings.ContainsAny(name, ".[]") || name == "" {
			if rest, plain = strings.CutPrefix(path, "["+strconv.Quote(name)+"]"); !plain {
				return false
			}
		}
		return reads(strings.TrimPrefix(rest, "."), at[1:], fields[name])
	}
	list, _ := v.([]any)
	index := at[0].(int)
	if list = withoutNulls(list); index >= len(list) || !strings.HasPrefix(path, "[") {
		return false
	}
	for end := range path {
		if path[end] == ']' && names(path[1:end], list[index], index) && reads(strings.TrimPrefix(path[end+1:], "."), at[1:], list[index]) {
			return true
		}
	}
	return false
}

// names reports whether a list element is called so: by its index, its text, or the
// texts of some of its fields one after the other, with or without a colon.
func names(name string, element any, index int) bool {
	if s, ok := text(element); ok && s == name || name == strconv.Itoa(index) {
		return true
	}
	fields, _ := element.(map[string]any)
	read := make([]bool, len(name)+1) // read[n]: the first n bytes are such texts
	read[0] = true
	for n := range name {
		for _, v := range fields {
			s, ok := text(v)
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
