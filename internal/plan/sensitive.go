package plan

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strconv"
	"strings"

	"trueup/internal/canon"
	"trueup/internal/kind"
	"trueup/internal/merge"
)

// Shown returns the plan as it may be shown and kept: where the schema marks a
// field as sensitive, a digest of the value stands for it, which changes with the
// value and with its place. Apply sends what the plan itself holds.
func Shown(p *Plan) *Plan {
	secret := map[string]bool{}
	for _, k := range kind.All() {
		if specOf(k.Name).hides() {
			secret[k.Name] = true
		}
	}
	if len(secret) == 0 {
		return p
	}
	out := *p
	out.Items = slices.Clone(p.Items)
	for i := range out.Items {
		if it := &out.Items[i]; secret[it.Kind] {
			concealer{specOf(it.Kind), p.Target.Workspace.UUID + "/" + it.String()}.item(it)
		}
	}
	return &out
}

// Conceal returns the value at a path of the object's spec as it may be shown.
func Conceal(ws kind.Workspace, key kind.Key, path string, value any) any {
	spec := specOf(key.Kind)
	if !spec.hides() {
		return value
	}
	return concealer{spec, ws.UUID + "/" + key.String()}.at(path, value)
}

// secretive is the tree of a kind's fields.
type secretive struct{ *kind.Field }

func specOf(kindName string) secretive {
	k, ok := kind.Named(kindName)
	if !ok {
		return secretive{}
	}
	return secretive{k.Spec()}
}

// hides tells whether any field is sensitive.
func (s secretive) hides() bool {
	if s.Field == nil || s.Sensitive {
		return s.Field != nil
	}
	for _, child := range s.Fields {
		if (secretive{child}).hides() {
			return true
		}
	}
	return secretive{s.Item}.hides()
}

// concealer hides the sensitive values of one object.
type concealer struct {
	spec secretive
	// salt keeps the digests of equal values of different objects apart.
	salt string
}

func (c concealer) item(it *Item) {
	it.Changes, it.Notes = c.changes(it.Changes), c.changes(it.Notes)
	it.Preserved, it.Collateral, it.FirstContact = c.values(it.Preserved), c.values(it.Collateral), c.values(it.FirstContact)
	if it.Spec != nil {
		it.Spec = canon.Bytes(c.value([]*kind.Field{c.spec.Field}, "", canon.MustDecode(it.Spec)))
	}
	if it.Request == nil || it.Request.Body == nil {
		return
	}
	request := *it.Request
	body := canon.MustDecode(request.Body).(map[string]any)
	body["spec"] = c.value([]*kind.Field{c.spec.Field}, "", body["spec"])
	request.Body = canon.Bytes(body)
	it.Request = &request
}

func (c concealer) changes(changes []Change) []Change {
	out := slices.Clone(changes)
	for i := range out {
		ch := &out[i]
		ch.Base, ch.Live, ch.Desired = c.at(ch.Path, ch.Base), c.at(ch.Path, ch.Live), c.at(ch.Path, ch.Desired)
	}
	return out
}

func (c concealer) values(values []merge.Value) []merge.Value {
	out := slices.Clone(values)
	for i := range out {
		out[i].Value = c.at(out[i].Path, out[i].Value)
	}
	return out
}

// at hides what is sensitive in the value at a path as people read it.
func (c concealer) at(path string, value any) any {
	return c.value(fieldsAt(c.spec.Field, path), path, value)
}

// value hides what is sensitive below one place, which may be any of the fields.
func (c concealer) value(fields []*kind.Field, path string, value any) any {
	if value == nil {
		return nil
	}
	if slices.ContainsFunc(fields, func(f *kind.Field) bool { return f.Sensitive }) {
		mac := hmac.New(sha256.New, []byte(c.salt+"\x00"+path))
		mac.Write(canon.Bytes(value))
		return "sensitive, sha256:" + hex.EncodeToString(mac.Sum(nil))
	}
	switch v := value.(type) {
	case map[string]any:
		out := make(map[string]any, len(v))
		for name, e := range v {
			out[name] = c.value(below(fields, name), path+"."+name, e)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, e := range v {
			out[i] = c.value(itemsOf(fields), path+"."+strconv.Itoa(i), e)
		}
		return out
	}
	return value
}

func below(fields []*kind.Field, name string) (out []*kind.Field) {
	for _, f := range fields {
		if child := f.Fields[name]; child != nil {
			out = append(out, child)
		}
	}
	return out
}

func itemsOf(fields []*kind.Field) (out []*kind.Field) {
	for _, f := range fields {
		if f.Item != nil {
			out = append(out, f.Item)
		}
	}
	return out
}

// maxBrackets bounds the ways to read a path.
const maxBrackets = 30

// fieldsAt returns the fields that a path as people read it may mean: what stands
// in brackets names an element, or a field with signs in its name, and may itself
// have brackets. A field that is passed on the way and is sensitive is one of
// them.
func fieldsAt(f *kind.Field, path string) []*kind.Field {
	path = strings.TrimPrefix(path, ".")
	switch {
	case f == nil:
		return nil
	case path == "" || f.Sensitive:
		return []*kind.Field{f}
	case strings.Count(path, "]") > maxBrackets:
		return []*kind.Field{{Sensitive: true}} // too many ways to read it
	case path[0] == '[':
		return inBrackets(f, path)
	}
	end := strings.IndexAny(path, ".[")
	if end < 0 {
		end = len(path)
	}
	return fieldsAt(f.Fields[path[:end]], path[end:])
}

// inBrackets is fieldsAt of a path that begins with a bracket, which any later one
// may close.
func inBrackets(f *kind.Field, path string) (out []*kind.Field) {
	for i := range path {
		rest := path[i+1:]
		if path[i] != ']' || rest != "" && rest[0] != '.' && rest[0] != '[' {
			continue
		}
		next := f.Item
		if name, err := strconv.Unquote(path[1:i]); next == nil && err == nil {
			next = f.Fields[name]
		}
		out = append(out, fieldsAt(next, rest)...)
	}
	return out
}
