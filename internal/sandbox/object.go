package sandbox

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"math"
	"strconv"
	"strings"
	"time"

	"trueup/internal/sandbox/fault"
)

// object is a decoded JSON object; numbers are json.Number.
type object map[string]any

// decodeObject decodes a text that is exactly one JSON object.
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
	return obj, wrap(err, "decode object")
}

func (o object) meta() map[string]any { return fault.Map(o["metadata"]) }
func (o object) spec() map[string]any { return fault.Map(o["spec"]) }
func (o object) name() string         { return fault.Text(o.meta()["name"]) }

// stamp returns a time in metadata; it is zero if it can't be read.
func (o object) stamp(member string) time.Time {
	t, _ := time.Parse(time.RFC3339, fault.Text(o.meta()[member]))
	return t
}

// normalize returns a value as the platform stores it: without nulls, also inside
// arrays, and with whole numbers in one form (10.0 as 10, 1e2 as 100).
func normalize(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for name, member := range v {
			if member == nil {
				delete(v, name)
				continue
			}
			v[name] = normalize(member)
		}
	case []any:
		kept := make([]any, 0, len(v))
		for _, item := range v {
			if item != nil {
				kept = append(kept, normalize(item))
			}
		}
		return kept
	case json.Number:
		return normalizeNumber(v)
	}
	return v
}

func normalizeNumber(n json.Number) json.Number {
	const exact = 1 << 53 // a float64 holds all whole numbers up to it
	f, err := n.Float64()
	if !strings.ContainsAny(n.String(), ".eE") || err != nil || f != math.Trunc(f) || math.Abs(f) > exact {
		return n
	}
	return json.Number(strconv.FormatInt(int64(f), 10))
}
