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
	err := dec.Decode(&obj)
	if err == nil && obj == nil {
		err = errors.New("null is not an object")
	}
	if _, more := dec.Token(); err == nil && !errors.Is(more, io.EOF) {
		err = errors.New("text after the end of the object")
	}
	if err != nil {
		return nil, fmt.Errorf("decode object: %w", err)
	}
	return obj, nil
}

// decode reads JSON that is known to be right.
func decode(raw []byte) any {
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	var v any
	_ = dec.Decode(&v)
	return v
}

func (o object) meta() map[string]any { return asObject(o["metadata"]) }
func (o object) spec() map[string]any { return asObject(o["spec"]) }
func (o object) name() string         { return text(o.meta()["name"]) }

// stamp returns a time of metadata, or the zero time.
func (o object) stamp(member string) time.Time {
	t, err := time.Parse(time.RFC3339, text(o.meta()[member]))
	if err != nil {
		return time.Time{}
	}
	return t
}

func asObject(v any) map[string]any {
	m, _ := v.(map[string]any)
	return m
}

func text(v any) string {
	s, _ := v.(string)
	return s
}

func list(v any) []any {
	l, _ := v.([]any)
	return l
}

func jsonText(v any) string {
	raw, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	return string(raw)
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
	}
	return v
}

// exact is the largest whole number that a float64 holds exactly.
const exact = 1 << 53

func settleNumber(n json.Number) json.Number {
	f, err := n.Float64()
	if !strings.ContainsAny(n.String(), ".eE") || err != nil || f != math.Trunc(f) || math.Abs(f) > exact {
		return n
	}
	return json.Number(strconv.FormatInt(int64(f), 10))
}
