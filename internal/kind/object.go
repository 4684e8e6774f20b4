package kind

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"trueup/internal/canon"
)

// Object is a live object, reduced to what trueup compares and shows: canonical bytes and a digest.
type Object struct {
	Kind      *Kind
	Name      string
	Namespace string
	// UID, ResourceVersion and CreationTimestamp may be empty.
	UID               string
	ResourceVersion   string
	CreationTimestamp string
	Terminating       bool // true if metadata.deletionTimestamp is set
	Keep              bool // true if the object has the KeepAnnotation
	// Spec and Status are canonical JSON, or nil; Digest is that of Spec.
	Spec   []byte
	Digest canon.Sum
	Status []byte
	Host   string // the value of the kind's HostField, or empty
}

// Key returns the identity of the object.
func (o Object) Key() Key { return Key{Kind: o.Kind.Name, Name: o.Name} }

// KeepAnnotation protects an object from being deleted (docs/design.md C6), in a manifest and on a live object.
const KeepAnnotation = "trueup.dev/keep"

// Kept reports whether metadata has the KeepAnnotation with any value except false.
func Kept(metadata map[string]any) bool {
	annotations, _ := metadata["annotations"].(map[string]any)
	value, marked := annotations[KeepAnnotation]
	return marked && value != nil && value != "false" && value != false
}

// HostKey returns a hostname as a map key: in lower case and without a final dot (RFC 4343).
// trueup never shows or sends it.
func HostKey(hostname string) string {
	return strings.ToLower(strings.TrimSuffix(hostname, "."))
}

// ListInfo is what is known of the answer to a list.
type ListInfo struct {
	Complete bool // false if the server said that items are missing
	Items    int
	Requests int
}

// ReadObject reduces an envelope in canonical JSON to an Object, which keeps nothing of it. It accepts
// what the platform's document does not show: items without kind, null for an absent field, workspace
// for namespace. It returns an error only for another kind, a missing name, or a spec that is no object.
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
	if spec == nil {
		return o, nil
	}
	return o, o.setSpec(spec)
}

func (o *Object) setSpec(spec []byte) error {
	if spec[0] != '{' {
		return fmt.Errorf("spec of %s is not an object", o.Key())
	}
	o.Spec, o.Digest = bytes.Clone(spec), canon.Digest(spec)
	for key, value := range canon.Members(spec) {
		if o.Kind.HostField != "" && string(key) == o.Kind.HostField {
			o.Host = text(canon.MustDecode(value))
		}
	}
	return nil
}

// text returns a text or the digits of a number, else "".
func text(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case json.Number:
		return v.String()
	}
	return ""
}

// Ready reports whether an object with this status, canonical JSON or nil, is ready, or returns the
// server's error message. Objects of a kind without ReadyField are ready at once.
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

// Envelope returns the canonical JSON that creates an object: the envelope of the API, and metadata with
// the name and, if the kind has one, the namespace (docs/platform.md 2). spec must be canonical JSON.
func (k *Kind) Envelope(ws Workspace, name string, spec []byte) []byte {
	meta := map[string]any{"name": name}
	if k.NamespaceOnWire && ws.Name != "" {
		meta["namespace"] = ws.Name
	}
	head := canon.Bytes(map[string]any{"apiVersion": k.APIVersion, "kind": k.Name, "metadata": meta})
	b := append(head[:len(head)-1], `,"spec":`...)
	return append(append(b, spec...), '}')
}
