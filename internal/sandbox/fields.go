package sandbox

import (
	_ "embed" // for the table of fields
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// fieldTable has one line for each field of a CDN's spec: its path, its documented type (docs/platform.md
// 2.2), the type that the quirk typed-scalars returns (docs/platform.md 10), and, as JSON, the default that
// the quirk defaults adds. A dash means none, @hostname the CDN's hostname, and "any" an unknown type.
//
//go:embed fields.tsv
var fieldTable string

// tableField is a field of the table, with its members or items.
type tableField struct {
	wire, typed, def string
	members          map[string]*tableField
	item             *tableField
}

// cdnFields returns the table as a tree.
var cdnFields = sync.OnceValue(func() *tableField {
	root := &tableField{wire: "object"}
	for line := range strings.Lines(fieldTable) {
		col := strings.Fields(line)
		f := root.fieldAt(col[0])
		f.wire, f.typed, f.def = col[1], col[2], col[3]
	}
	return root
})

// fieldAt returns the field at a path. It adds fields that are missing.
func (f *tableField) fieldAt(path string) *tableField {
	for seg := range strings.SplitSeq(path, ".") {
		name, items, _ := strings.Cut(seg, "[")
		if f.members == nil {
			f.members = map[string]*tableField{}
		}
		if f.members[name] == nil {
			f.members[name] = &tableField{wire: "any", def: "-"}
		}
		f = f.members[name]
		for range strings.Count(items, "]") {
			if f.item == nil {
				f.item = &tableField{wire: "any", def: "-"}
			}
			f = f.item
		}
	}
	return f
}

// wrongType returns the documented type if v has another one, else "". A field that
// the table names only in longer paths must be an object or array.
func (f *tableField) wrongType(v any) string {
	name, ok := "", true
	switch {
	case f.wire == "list" || f.item != nil:
		name = "array"
		_, ok = v.([]any)
	case f.wire == "object" || f.members != nil:
		name = "object"
		_, ok = v.(map[string]any)
	case f.wire == "text":
		name = "string"
		_, ok = v.(string)
	case f.wire == "bool":
		name = "boolean"
		_, ok = v.(bool)
	case f.wire == "number":
		name = "number"
		_, ok = v.(json.Number)
	}
	if ok {
		return ""
	}
	return name
}

// visitChildren calls visit for each member or item of v. f is nil for members that are not in the table.
func (f *tableField) visitChildren(path string, v any, visit func(f *tableField, path string, v any)) {
	switch v := v.(type) {
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			if f.members != nil {
				visit(f.members[name], path+"."+name, v[name])
			}
		}
	case []any:
		for i, item := range v {
			if f.item != nil {
				visit(f.item, path+"["+strconv.Itoa(i)+"]", item)
			}
		}
	}
}

// checkTypes rejects values of the wrong type.
func (f *tableField) checkTypes(a *admission, path string, v any) {
	if want := f.wrongType(v); want != "" {
		a.addRefusal("TypeInvalid", path, "Invalid value: %s: %s must be of type %s", EncodeJSON(v), path, want)
		return
	}
	f.visitChildren(path, v, func(f *tableField, path string, v any) {
		if f != nil {
			f.checkTypes(a, path, v)
		}
	})
}

// fillDefaults adds the default of each missing member of an existing object.
func (f *tableField) fillDefaults(v any, hostname string) {
	for name, member := range f.members {
		obj := AsMap(v)
		if _, has := obj[name]; obj == nil || has || member.def == "-" {
			continue
		}
		obj[name] = hostname
		if member.def != "@hostname" {
			obj[name] = DecodeJSON([]byte(member.def))
		}
	}
	f.visitChildren("", v, func(f *tableField, _ string, inner any) {
		if f != nil {
			f.fillDefaults(inner, hostname)
		}
	})
}

// toDocumentedType converts text to the platform's type, if it is in the canonical form ("443", not "0443").
func (f *tableField) toDocumentedType(v any) {
	f.visitChildren("", v, func(f *tableField, path string, inner any) {
		text, isText := inner.(string)
		switch parent := AsMap(v); {
		case f == nil:
		case isText && parent != nil:
			parent[path[1:]] = f.typedText(text)
		default:
			f.toDocumentedType(inner)
		}
	})
}

func (f *tableField) typedText(text string) any {
	n, err := strconv.ParseInt(text, 10, 64)
	switch {
	case f.typed == "int" && err == nil && strconv.FormatInt(n, 10) == text:
		return json.Number(text)
	case f.typed == "bool" && (text == "true" || text == "false"):
		return text == "true"
	}
	return text
}
