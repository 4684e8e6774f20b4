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

// hides reports whether any field is sensitive.
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
		it.Spec = canon.Bytes(c.value(kind.Places{c.spec.Field}, "", canon.MustDecode(it.Spec)))
	}
	if it.Request == nil || it.Request.Body == nil {
		return
	}
	request := *it.Request
	body := canon.MustDecode(request.Body).(map[string]any)
	body["spec"] = c.value(kind.Places{c.spec.Field}, "", body["spec"])
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
