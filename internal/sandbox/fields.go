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

// fieldTable is what this platform knows of a CDN's spec, one field a line:
// path, documented type (docs/platform.md 2.2), the type that the quirk
// typed-scalars answers in (docs/platform.md 10), and the default that the quirk
// defaults fills in, as JSON. A dash is none; @hostname is the CDN's own
// hostname. The type "any" is an object or value whose inside is not known.
//
//go:embed fields.txt
var fieldTable string

// field is a node of the tree that the table makes.
type field struct {
	wire, typed, def string
	members          map[string]*field
	item             *field
}

// cdnFields returns the tree of the table.
var cdnFields = sync.OnceValue(func() *field {
	root := &field{wire: "object"}
	for line := range strings.Lines(fieldTable) {
		col := strings.Fields(line)
		f := root.at(col[0])
		f.wire, f.typed, f.def = col[1], col[2], col[3]
	}
	return root
})

// at returns the node of a path, making what is missing.
func (f *field) at(path string) *field {
	for seg := range strings.SplitSeq(path, ".") {
		name, items, _ := strings.Cut(seg, "[")
		if f.members == nil {
			f.members = map[string]*field{}
		}
		if f.members[name] == nil {
			f.members[name] = &field{wire: "any", def: "-"}
		}
		f = f.members[name]
		for range strings.Count(items, "]") {
			if f.item == nil {
				f.item = &field{wire: "any", def: "-"}
			}
			f = f.item
		}
	}
	return f
}

// mismatch returns the name of the documented type if a value is not of it, else
// "". A node that the table names only through its members or items takes their
// container.
func (f *field) mismatch(v any) string {
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

// children calls visit for each member or item of a value that the table knows; of
// the other members f is nil.
func (f *field) children(path string, v any, visit func(f *field, path string, v any)) {
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

// checkTypes refuses every value below path whose type is not the documented one and,
// where a quirk says so, ids of elements, which only the server sets.
func (f *field) checkTypes(a *admission, path string, v any) {
	if want := f.mismatch(v); want != "" {
		a.refuse("TypeInvalid", path, "Invalid value: %s: %s must be of type %s", jsonText(v), path, want)
		return
	}
	f.children(path, v, func(f *field, path string, v any) {
		switch {
		case f != nil:
			f.checkTypes(a, path, v)
		case a.c.on["readonly-rejects"] && strings.HasSuffix(path, "].id") && !strings.HasPrefix(path, "spec.firewall"):
			a.refuse("Forbidden", path, "Forbidden: %s is set by the server", jsonText(v))
		}
	})
}

// dropUnknown removes members that the table does not know and returns their
// paths, sorted within each object.
func (f *field) dropUnknown(path string, v any) (dropped []string) {
	f.children(path, v, func(f *field, at string, inner any) {
		if f != nil {
			dropped = append(dropped, f.dropUnknown(at, inner)...)
			return
		}
		delete(asObject(v), strings.TrimPrefix(at, path+"."))
		dropped = append(dropped, at)
	})
	return dropped
}

// fillDefaults adds the default of every missing member whose parent is there.
func (f *field) fillDefaults(v any, hostname string) {
	for name, member := range f.members {
		obj := asObject(v)
		if _, has := obj[name]; obj == nil || has || member.def == "-" {
			continue
		}
		obj[name] = hostname
		if member.def != "@hostname" {
			obj[name] = decode([]byte(member.def))
		}
	}
	f.children("", v, func(f *field, _ string, inner any) {
		if f != nil {
			f.fillDefaults(inner, hostname)
		}
	})
}

// retype changes text below a value to the type that the platform keeps it in, where
// the text is the canonical one ("443", not "0443").
func (f *field) retype(v any) {
	f.children("", v, func(f *field, path string, inner any) {
		text, isText := inner.(string)
		switch parent := asObject(v); {
		case f == nil:
		case isText && parent != nil:
			parent[path[1:]] = f.typedText(text)
		default:
			f.retype(inner)
		}
	})
}

func (f *field) typedText(text string) any {
	n, err := strconv.ParseInt(text, 10, 64)
	switch {
	case f.typed == "int" && err == nil && strconv.FormatInt(n, 10) == text:
		return json.Number(text)
	case f.typed == "bool" && (text == "true" || text == "false"):
		return text == "true"
	}
	return text
}
