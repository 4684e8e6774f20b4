package kind

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"

	"trueup/internal/canon"
)

// NewObject is ReadObject of an envelope as canon.Decode gives it.
func (k *Kind) NewObject(doc map[string]any) (Object, error) { return k.ReadObject(canon.Bytes(doc)) }

// ReadObject reduces one answer of the platform, an envelope in canonical JSON, to what is compared
// and shown; it keeps nothing of it. It is tolerant of what the platform's document does not show
// (a list's items without kind, null for what is absent, workspace for namespace) and refuses only
// what can't be the object: another kind, no name, a spec that is no object.
func (k *Kind) ReadObject(doc []byte) (Object, error) {
	o := Object{Kind: k}
	var spec []byte
	var meta map[string]any
	for key, value := range canon.Members(doc) {
		if string(value) == "null" {
			continue
		}
		switch string(key) {
		case "kind":
			if string(value) != `"`+k.Name+`"` {
				return Object{}, fmt.Errorf("kind is %.40s, not %q", value, k.Name)
			}
		case "metadata":
			meta, _ = canon.MustDecode(value).(map[string]any)
		case "spec":
			spec = value
		case "status":
			o.Status = bytes.Clone(value)
		}
	}
	o.Name, o.Namespace, o.UID = text(meta["name"]), cmp.Or(text(meta["namespace"]), text(meta["workspace"])), text(meta["uid"])
	o.ResourceVersion, o.CreationTimestamp = text(meta["resourceVersion"]), text(meta["creationTimestamp"])
	o.Terminating, o.Keep = text(meta["deletionTimestamp"]) != "", Kept(meta)
	if name, _ := meta["name"].(string); name == "" {
		return Object{}, errors.New("metadata.name is missing")
	}
	return o, o.setSpec(spec)
}

// setSpec takes a spec, canonical JSON or nil.
func (o *Object) setSpec(spec []byte) error {
	if spec == nil {
		return nil
	}
	if spec[0] != '{' {
		return fmt.Errorf("spec of %s is not an object", o.Key())
	}
	o.Spec = bytes.Clone(spec)
	o.Digest = canon.Digest(o.Spec)
	for key, value := range canon.Members(spec) {
		if o.Kind.HostField != "" && string(key) == o.Kind.HostField {
			o.Host = text(canon.MustDecode(value))
		}
	}
	return nil
}

// text returns a text, the digits of a number, or "".
func text(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case json.Number:
		return v.String()
	}
	return ""
}

// Ready reads the status of an object, canonical JSON or nil: whether the object has become what it
// is for, or the server's own words of why it has not. A kind that documents no such state is ready
// at once. An error beside readiness is an earlier attempt's and is not reported.
func (k *Kind) Ready(status []byte) (ready bool, failure string) {
	if k.ReadyField == "" {
		return true, ""
	}
	v, err := canon.Decode(status)
	if err != nil {
		return false, ""
	}
	tree, _ := v.(map[string]any)
	switch reason := tree["error"].(type) {
	case string:
		return false, reason
	case map[string]any:
		return false, cmp.Or(text(reason["message"]), string(canon.Bytes(reason)))
	}
	return tree[k.ReadyField] == true || tree[k.ReadyField] == "true", ""
}

// Envelope returns the canonical JSON of an object as it is sent to create it: the envelope of the
// API whatever the manifest's was, metadata with the name and, where the kind has one, the
// namespace (docs/platform.md 2). The spec must be canonical JSON.
func (k *Kind) Envelope(ws Workspace, name string, spec []byte) []byte {
	meta := map[string]any{"name": name}
	if k.NamespaceOnWire && ws.Name != "" {
		meta["namespace"] = ws.Name
	}
	head := canon.Bytes(map[string]any{"apiVersion": k.APIVersion, "kind": k.Name, "metadata": meta})
	b := append(head[:len(head)-1], `,"spec":`...)
	return append(append(b, spec...), '}')
}
