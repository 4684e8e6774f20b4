package kind

import (
	"encoding/json"
	"errors"
	"fmt"

	"trueup/internal/canon"
)

// NewObject reduces one answer of the platform, an envelope as canon.Decode
// gives it, to what is compared and shown. It is tolerant of what the
// platform's document does not show (a list's items without kind, null for
// what is absent, workspace for namespace) and refuses only what can't be the
// object: another kind, no name, a spec that is no object.
func (k *Kind) NewObject(doc map[string]any) (Object, error) {
	if got := doc["kind"]; got != nil && got != k.Name {
		name, _ := got.(string)
		return Object{}, fmt.Errorf("kind is %.40q, not %q", name, k.Name)
	}
	meta, _ := doc["metadata"].(map[string]any)
	o := Object{
		Kind:              k,
		Name:              text(meta, "name"),
		Namespace:         text(meta, "namespace"),
		UID:               text(meta, "uid"),
		ResourceVersion:   text(meta, "resourceVersion"),
		CreationTimestamp: text(meta, "creationTimestamp"),
		Terminating:       text(meta, "deletionTimestamp") != "",
		Keep:              Kept(meta),
	}
	if _, ok := meta["name"].(string); !ok || o.Name == "" {
		return Object{}, errors.New("metadata.name is missing")
	}
	if o.Namespace == "" {
		o.Namespace = text(meta, "workspace")
	}
	if status := doc["status"]; status != nil {
		o.Status = canon.Bytes(status)
	}
	return o, o.setSpec(doc["spec"])
}

func (o *Object) setSpec(v any) error {
	if v == nil {
		return nil
	}
	spec, ok := v.(map[string]any)
	if !ok {
		return fmt.Errorf("spec of %s is not an object", o.Key())
	}
	o.Spec = canon.Bytes(spec)
	o.Digest = canon.Digest(o.Spec)
	if o.Kind.HostField != "" {
		o.Host = text(spec, o.Kind.HostField)
	}
	return nil
}

// text returns a field that is text, or a number's digits, or "".
func text(m map[string]any, field string) string {
	switch v := m[field].(type) {
	case string:
		return v
	case json.Number:
		return v.String()
	}
	return ""
}

// Ready reads the status of an object, canonical JSON or nil: whether the
// object has become what it is for, or the server's own words of why it has
// not. A kind that documents no such state is ready at once. An error beside
// readiness is an earlier attempt's and is not reported.
func (k *Kind) Ready(status []byte) (ready bool, failure string) {
	if k.ReadyField == "" {
		return true, ""
	}
	v, err := canon.Decode(status)
	if err != nil {
		return false, ""
	}
	tree, _ := v.(map[string]any)
	if tree[k.ReadyField] == true || tree[k.ReadyField] == "true" {
		return true, ""
	}
	switch reason := tree["error"].(type) {
	case string:
		return false, reason
	case map[string]any:
		if message := text(reason, "message"); message != "" {
			return false, message
		}
		return false, string(canon.Bytes(reason))
	}
	return false, ""
}

// Envelope returns the canonical JSON of an object as it is sent to create it:
// the envelope of the API whatever the manifest's was, metadata with the name
// and, where the kind has one, the namespace (platform-api 2). The spec must
// be canonical JSON.
func (k *Kind) Envelope(ws Workspace, name string, spec []byte) []byte {
	meta := map[string]any{"name": name}
	if k.NamespaceOnWire && ws.Name != "" {
		meta["namespace"] = ws.Name
	}
	head := canon.Bytes(map[string]any{"apiVersion": k.APIVersion, "kind": k.Name, "metadata": meta})
	b := append(head[:len(head)-1], `,"spec":`...)
	return append(append(b, spec...), '}')
}
