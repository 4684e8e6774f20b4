package plan

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strconv"

	"trueup/internal/canon"
	"trueup/internal/kind"
	"trueup/internal/merge"
)

// Shown returns the plan with a digest in place of the value of each field that the
// schema marks as sensitive. The digest changes with the value and with its place.
// Apply sends the values of the plan itself.
func Shown(p *Plan) *Plan {
	secret := map[string]bool{}
	for _, k := range kind.All() {
		if hides(k.Spec()) {
			secret[k.Name] = true
		}
	}
	if len(secret) == 0 {
		return p
	}
	out := *p
	out.Settings = slices.Clone(p.Settings)
	for i := range out.Settings {
		s := &out.Settings[i]
		s.Hides = slices.Clone(s.Hides)
		for j := range s.Hides {
			h := &s.Hides[j]
			h.Git = Conceal(p.Target.Workspace, h.Key, h.Path, h.Git)
			h.Live = Conceal(p.Target.Workspace, h.Key, h.Path, h.Live)
		}
	}
	out.Items = slices.Clone(p.Items)
	for i := range out.Items {
		if it := &out.Items[i]; secret[it.Kind] {
			concealer{specOf(it.Kind), p.Target.Workspace.UUID + "/" + it.String()}.item(it)
		}
	}
	return &out
}

// Conceal returns the value at a path of the object's spec, with digests in place of
// sensitive values.
func Conceal(ws kind.Workspace, key kind.Key, path string, value any) any {
	spec := specOf(key.Kind)
	if !hides(spec) {
		return value
	}
	return concealer{spec, ws.UUID + "/" + key.String()}.at(path, value)
}

// specOf returns the tree of a kind's fields, nil for an unknown kind.
func specOf(kindName string) *kind.Field {
	if k, ok := kind.Named(kindName); ok {
		return k.Spec()
	}
	return nil
}

// hides reports whether the field, or any below it, is sensitive.
func hides(f *kind.Field) bool {
	if f == nil || f.Sensitive {
		return f != nil
	}
	for _, child := range f.Fields {
		if hides(child) {
			return true
		}
	}
	return hides(f.Item)
}

// concealer hides the sensitive values of one object.
type concealer struct {
	spec *kind.Field
	// salt keeps the digests of equal values of different objects apart.
	salt string
}

func (c concealer) item(it *Item) {
	it.Changes, it.Notes = c.changes(it.Changes), c.changes(it.Notes)
	it.Preserved, it.Collateral, it.FirstContact = c.values(it.Preserved), c.values(it.Collateral), c.values(it.FirstContact)
	if it.Spec != nil {
		it.Spec = canon.Bytes(c.value(kind.Places{c.spec}, "", canon.MustDecode(it.Spec)))
	}
	if it.Request == nil || it.Request.Body == nil {
		return
	}
	request := *it.Request
	body := canon.MustDecode(request.Body).(map[string]any)
	body["spec"] = c.value(kind.Places{c.spec}, "", body["spec"])
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
	return c.value(c.spec.Places(path), path, value)
}

// value hides what is sensitive below one place.
func (c concealer) value(at kind.Places, path string, value any) any {
	if value == nil {
		return nil
	}
	if at.Sensitive() {
		mac := hmac.New(sha256.New, []byte(c.salt+"\x00"+path))
		mac.Write(canon.Bytes(value))
		return "sensitive, sha256:" + hex.EncodeToString(mac.Sum(nil))
	}
	switch v := value.(type) {
	case map[string]any:
		out := make(map[string]any, len(v))
		for name, e := range v {
			out[name] = c.value(at.Field(name), path+"."+name, e)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, e := range v {
			out[i] = c.value(at.Element(), path+"."+strconv.Itoa(i), e)
		}
		return out
	}
	return value
}
