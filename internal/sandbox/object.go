package sandbox

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"time"
)

// object is a decoded JSON object; numbers are json.Number.
type object map[string]any

// decodeObject reads exactly one JSON object.
func decodeObject(raw []byte) (object, error) {
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	var obj object
	if err := dec.Decode(&obj); err != nil {
		return nil, fmt.Errorf("decode object: %w", err)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("decode object: text after the end of the object")
	}
	if obj == nil {
		return nil, errors.New("decode object: null is not an object")
	}
	return obj, nil
}

// child returns the member that is an object, or nil.
func (o object) child(name string) map[string]any {
	m, _ := o[name].(map[string]any)
	return m
}

func (o object) meta() map[string]any { return o.child("metadata") }
func (o object) spec() map[string]any { return o.child("spec") }
func (o object) name() string         { return text(o.meta()["name"]) }

// stamp returns a time of metadata, or the zero time.
func (o object) stamp(member string) time.Time {
	t, err := time.Parse(time.RFC3339, text(o.meta()[member]))
	if err != nil {
		return time.Time{}
	}
	return t
}

func text(v any) string {
	s, _ := v.(string)
	return s
}

func list(v any) []any {
	l, _ := v.([]any)
	return l
}

// settle brings a value to what the platform keeps: nulls are dropped, also
// inside arrays, and numbers are kept by value (10.0 as 10, 1e2 as 100).
func settle(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for name, member := range v {
			if member == nil {
				delete(v, name)
				continue
			}
			v[name] = settle(member)
		}
		return v
	case []any:
		kept := make([]any, 0, len(v))
		for _, item := range v {
			if item != nil {
				kept = append(kept, settle(item))
			}
		}
		return kept
	case json.Number:
		return settleNumber(v)
	default:
		return v
	}
}

// exact is the largest whole number that a float64 holds exactly.
const exact = 1 << 53

func settleNumber(n json.Number) json.Number {
	if !strings.ContainsAny(n.String(), ".eE") {
		return n
	}
	f, err := n.Float64()
	if err != nil || f != math.Trunc(f) || math.Abs(f) > exact {
		return n
	}
	return json.Number(strconv.FormatInt(int64(f), 10))
}

// copyTree returns a deep copy of decoded JSON.
func copyTree(v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := make(map[string]any, len(v))
		for name, member := range v {
			out[name] = copyTree(member)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, item := range v {
			out[i] = copyTree(item)
		}
		return out
	default:
		return v
	}
}
