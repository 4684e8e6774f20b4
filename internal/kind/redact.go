package kind

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"strconv"

	"trueup/internal/canon"
)

// HidesValue reports whether the field, or any below it, is sensitive.
func (f *Field) HidesValue() bool {
	if f == nil || f.Sensitive {
		return f != nil
	}
	for _, child := range f.Fields {
		if child.HidesValue() {
			return true
		}
	}
	return f.Item.HidesValue()
}

// Redactor replaces the sensitive values of one object by digests. A digest changes with the value and with its place.
type Redactor struct {
	// Spec is nil if nothing is sensitive.
	Spec *Field
	// Salt keeps the digests of equal values of different objects apart.
	Salt string
}

// NewRedactor returns the redactor of an object.
func NewRedactor(ws Workspace, key Key) Redactor {
	r := Redactor{Salt: ws.UUID + "/" + key.String()}
	if k, ok := FindKind(key.Kind); ok && k.Spec().HidesValue() {
		r.Spec = k.Spec()
	}
	return r
}

// RedactAt redacts the value at a path as people read it, "" for the whole spec.
func (r Redactor) RedactAt(path string, value any) any {
	switch {
	case r.Spec == nil:
		return value
	case path == "":
		return r.redactValue(r.Spec, "", value)
	}
	return r.redactValue(r.Spec.FindField(path), path, value)
}

// redactValue redacts what is below one place.
func (r Redactor) redactValue(at *Field, path string, value any) any {
	if value == nil {
		return nil
	}
	if at.Sensitive {
		mac := hmac.New(sha256.New, []byte(r.Salt+"\x00"+path))
		mac.Write(canon.Encode(value))
		return "sensitive, sha256:" + hex.EncodeToString(mac.Sum(nil))
	}
	switch v := value.(type) {
	case map[string]any:
		out := make(map[string]any, len(v))
		for name, e := range v {
			out[name] = r.redactValue(at.Member(name), path+"."+name, e)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, e := range v {
			out[i] = r.redactValue(at.Element(), path+"."+strconv.Itoa(i), e)
		}
		return out
	}
	return value
}
