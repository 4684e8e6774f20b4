// Package canon converts JSON to one canonical form (sorted keys, no space, numbers by value) and
// digests it, so that manifests, live objects, ledger and plans compare by bytes. All four need the
// same bytes, and none may import another.
package canon

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"math/big"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// Sum is a SHA-256.
type Sum [sha256.Size]byte

// String returns "sha256:" and 64 hexadecimal digits.
func (s Sum) String() string { return "sha256:" + hex.EncodeToString(s[:]) }

// MarshalText writes what String returns.
func (s Sum) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText reads what MarshalText writes.
func (s *Sum) UnmarshalText(b []byte) error {
	text, ok := strings.CutPrefix(string(b), "sha256:")
	if !ok || len(text) != hex.EncodedLen(len(s)) {
		return fmt.Errorf("digest %q is not sha256:<64 hexadecimal digits>", b)
	}
	_, err := hex.Decode(s[:], []byte(text))
	return err
}

// Digest returns the SHA-256 of canonical bytes.
func Digest(canonical []byte) Sum { return sha256.Sum256(canonical) }

// Encode returns the canonical form of a decoded JSON value: nil, bool, string,
// json.Number, float64, int, []any and map[string]any.
func Encode(v any) []byte { return Append(nil, v) }

// Append appends the canonical form of v to b.
func Append(b []byte, v any) []byte {
	switch t := v.(type) {
	case nil:
		return append(b, "null"...)
	case bool:
		return strconv.AppendBool(b, t)
	case string:
		return appendString(b, t)
	case json.Number:
		return append(b, Number(t)...)
	case int:
		return strconv.AppendInt(b, int64(t), 10)
	case float64:
		return append(b, Number(json.Number(strconv.FormatFloat(t, 'g', -1, 64)))...)
	case []any:
		b = append(b, '[')
		for i, element := range t {
			if i > 0 {
				b = append(b, ',')
			}
			b = Append(b, element)
		}
		return append(b, ']')
	case map[string]any:
		return appendObject(b, t)
	default:
		panic(fmt.Sprintf("canon: %T is not decoded JSON", v))
	}
}

func appendObject(b []byte, fields map[string]any) []byte {
	b = append(b, '{')
	var few [16]string // without memory of their own
	keys := slices.AppendSeq(few[:0], maps.Keys(fields))
	slices.Sort(keys)
	for i, k := range keys {
		if i > 0 {
			b = append(b, ',')
		}
		b = Append(append(appendString(b, k), ':'), fields[k])
	}
	return append(b, '}')
}

// SortedKeys returns the keys of m in byte order.
func SortedKeys(m map[string]any) []string {
	keys := slices.AppendSeq(make([]string, 0, len(m)), maps.Keys(m))
	slices.Sort(keys)
	return keys
}

func appendString(b []byte, s string) []byte {
	b = append(b, '"')
	start := 0
	for i := 0; i < len(s); i++ {
		c := s[i]
		if c >= 0x20 && c != '"' && c != '\\' {
			continue
		}
		b = append(b, s[start:i]...)
		if at := strings.IndexByte("\"\\\n\t\r\b\f", c); at >= 0 {
			b = append(b, '\\', `"\ntrbf`[at])
		} else {
			b = fmt.Appendf(b, `\u%04x`, c)
		}
		start = i + 1
	}
	return append(append(b, s[start:]...), '"')
}

// maxExponent and maxDigits limit the numbers that compare by value, so that a hostile 1e999999999, or
// one of a million digits, costs nothing. Beyond them, the text counts.
const (
	maxExponent = 40
	maxDigits   = 1000
)

// Number returns the canonical text of a number: an integer without point or exponent, anything
// else as the shortest exact decimal.
func Number(n json.Number) json.Number {
	s := string(n)
	if isCanonicalInteger(s) || isCanonicalDecimal(s) || len(s) > maxDigits {
		return n
	}
	if i := strings.IndexAny(s, "eE"); i >= 0 {
		if strings.Trim(s[:i], "-0.") == "" {
			return "0"
		}
		if exp, err := strconv.Atoi(s[i+1:]); err != nil || exp > maxExponent || exp < -maxExponent {
			return n
		}
	}
	r, ok := new(big.Rat).SetString(s)
	if !ok {
		return n
	}
	digits, exact := r.FloatPrec()
	if !exact {
		return n
	}
	return json.Number(r.FloatString(digits))
}

// isCanonicalDecimal reports whether a number is canonical: an integer with a fraction that has no zero at its end.
func isCanonicalDecimal(s string) bool {
	whole, fraction, _ := strings.Cut(s, ".")
	if fraction == "" || fraction[len(fraction)-1] == '0' || !isCanonicalInteger(whole) && whole != "-0" {
		return false
	}
	return strings.Trim(fraction, "0123456789") == ""
}

// isCanonicalInteger reports whether a number is canonical: digits without a leading zero, perhaps after a minus.
func isCanonicalInteger(s string) bool {
	digits := strings.TrimPrefix(s, "-")
	if digits == "" || len(digits) > 1 && digits[0] == '0' || s == "-0" {
		return false
	}
	for i := range len(digits) {
		if digits[i] < '0' || digits[i] > '9' {
			return false
		}
	}
	return true
}

// Decode reads a text like Canonicalize; numbers are json.Number in canonical text.
func Decode(text []byte) (any, error) {
	b, err := Canonicalize(text)
	if err != nil {
		return nil, err
	}
	return DecodeTrusted(b), nil
}

// MustDecode reads canonical JSON, and panics on anything else.
func MustDecode(canonical []byte) any {
	v, err := Decode(canonical)
	if err != nil {
		panic(fmt.Sprintf("not canonical JSON: %v", err))
	}
	return v
}

// DecodeTrusted is MustDecode for what is known to be canonical JSON: it checks nothing.
func DecodeTrusted(canonical []byte) any {
	v, _ := decodeTree(canonical, 0)
	return v
}

// AreSameInMemory reports whether two objects or lists are the same one, not only equal: trees may share parts.
func AreSameInMemory(a, b any) bool {
	x, y := reflect.ValueOf(a), reflect.ValueOf(b)
	isTree := x.Kind() == reflect.Map || x.Kind() == reflect.Slice
	return isTree && x.Kind() == y.Kind() && x.Len() == y.Len() && x.UnsafePointer() == y.UnsafePointer()
}

// DecodeSharing is DecodeTrusted, given a similar text and its tree. The result shares equal fields with that tree.
func DecodeSharing(canonical, other []byte, tree any) any {
	if bytes.Equal(canonical, other) {
		return tree
	}
	was, isObject := tree.(map[string]any)
	if !isObject || canonical[0] != '{' {
		return DecodeTrusted(canonical)
	}
	texts, fields := make(map[string][]byte, len(was)), make(map[string]any, len(was))
	for key, text := range Members(other) {
		texts[string(key)] = text
	}
	for key, text := range Members(canonical) {
		name := UnquoteKey(key)
		fields[name] = DecodeSharing(text, texts[string(key)], was[name])
	}
	return fields
}

// decodeTree reads the value at a place of canonical JSON, and returns its end.
func decodeTree(b []byte, at int) (v any, end int) {
	switch b[at] {
	case '{':
		fields := map[string]any{}
		for b[at+1] != '}' {
			colon := valueEnd(b, at+1)
			fields[unquoteString(b[at+1:colon])], at = decodeTree(b, colon+1)
			if b[at] == '}' {
				return fields, at + 1
			}
		}
		return fields, at + 2
	case '[':
		elements := []any{}
		for b[at+1] != ']' {
			v, at = decodeTree(b, at+1)
			if elements = append(elements, v); b[at] == ']' {
				return elements, at + 1
			}
		}
		return elements, at + 2
	}
	end = valueEnd(b, at)
	switch word := b[at:end]; word[0] {
	case '"':
		return unquoteString(word), end
	case 't', 'f':
		return word[0] == 't', end
	case 'n':
		return nil, end
	default:
		return json.Number(word), end
	}
}

func unquoteString(quoted []byte) string {
	if bytes.IndexByte(quoted, '\\') < 0 {
		return string(quoted[1 : len(quoted)-1])
	}
	var text string
	_ = json.Unmarshal(quoted, &text)
	return text
}
