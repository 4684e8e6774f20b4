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

// Shown returns the plan with digests of sensitive values. A digest changes with the value and with
// its place. Apply sends the values of the plan itself.
func Shown(p *Plan) *Plan {
	secret := map[string]bool{}
	for _, k := range kind.All() {
		secret[k.Name] = hides(k.Spec())
	}
	if !slices.ContainsFunc(kind.All(), func(k *kind.Kind) bool { return secret[k.Name] }) {
		return p
	}
	out := *p
	out.Settings = each(p.Settings, func(s Setting) Setting {
		s.Hides = each(s.Hides, func(h Hidden) Hidden {
			h.Git, h.Live = Conceal(p.Target.Workspace, h.Key, h.Path, h.Git), Conceal(p.Target.Workspace, h.Key, h.Path, h.Live)
			return h
		})
		return s
	})
	out.Requests, out.outside, out.HidesRequests = nil, nil, true // they have values of any field
	out.Items = slices.Clone(p.Items)
	for i := range out.Items {
		if it := &out.Items[i]; secret[it.Kind] {
			concealerOf(p.Target.Workspace, it.Key).item(it)
		}
	}
	return &out
}

// Conceal returns the value at a path of the object's spec, with digests of sensitive values.
func Conceal(ws kind.Workspace, key kind.Key, path string, value any) any {
	if c := concealerOf(ws, key); hides(c.spec) {
		return c.at(path, value)
	}
	return value
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
	// spec is nil for an unknown kind.
	spec *kind.Field
	// salt keeps the digests of equal values of different objects apart.
	salt string
}

func concealerOf(ws kind.Workspace, key kind.Key) concealer {
	c := concealer{salt: ws.UUID + "/" + key.String()}
	if k, ok := kind.Named(key.Kind); ok {
		c.spec = k.Spec()
	}
	return c
}

func (c concealer) item(it *Item) {
	it.Changes, it.Notes = slices.Clone(it.Changes), slices.Clone(it.Notes)
	for ch := range it.all() {
		ch.Base, ch.Live, ch.Desired = c.at(ch.Path, ch.Base), c.at(ch.Path, ch.Live), c.at(ch.Path, ch.Desired)
	}
	for _, list := range []*[]merge.Value{&it.Preserved, &it.Collateral, &it.FirstContact} {
		*list = each(*list, func(v merge.Value) merge.Value {
			v.Value = c.at(v.Path, v.Value)
			return v
		})
	}
	if it.Spec != nil {
		it.Spec = canon.Bytes(c.value(c.spec, "", canon.MustDecode(it.Spec)))
	}
	if it.Request == nil || it.Request.Body == nil {
		return
	}
	request := *it.Request
	body := canon.MustDecode(request.Body).(map[string]any)
	body["spec"] = c.value(c.spec, "", body["spec"])
	request.Body = canon.Bytes(body)
	it.Request = &request
}

// at hides what is sensitive in the value at a path as people read it.
func (c concealer) at(path string, value any) any {
	return c.value(c.spec.Find(path), path, value)
}

// value hides what is sensitive below one place.
func (c concealer) value(at *kind.Field, path string, value any) any {
	if value == nil {
		return nil
	}
	if at.Sensitive {
		mac := hmac.New(sha256.New, []byte(c.salt+"\x00"+path))
		mac.Write(canon.Bytes(value))
		return "sensitive, sha256:" + hex.EncodeToString(mac.Sum(nil))
	}
	switch v := value.(type) {
	case map[string]any:
		out := make(map[string]any, len(v))
		for name, e := range v {
			out[name] = c.value(at.Below(name), path+"."+name, e)
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
