package canon

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestNumberByValue(t *testing.T) {
	for in, want := range map[string]string{
		"10.0": "10", "1e2": "100", "1E+2": "100", "-0": "0", "0.10": "0.1", "1.5e-3": "0.0015",
		"123456789012345678901234567890": "123456789012345678901234567890",
		"1e999999999":                    "1e999999999", "-7": "-7", "0": "0",
	} {
		if got := Number(json.Number(in)); string(got) != want {
			t.Errorf("Number(%s) = %s, want %s", in, got, want)
		}
	}
}

func TestDecodeRefuses(t *testing.T) {
	for _, in := range []string{
		"", "{", "{} {}", "[1,]", "\"\xff\"", "nul", "{\"a\":1}x",
		`{"a":1,"a":1}`, `{"a":1,"b":{},"\u0061":2}`, `[{"x":{"":1, "" :2}}]`, `{"\ud800":1,"\ud801":2}`, `{"a\"":1,"a\u0022":2}`,
		strings.Repeat("[", maxDepth+1) + strings.Repeat("]", maxDepth+1), strings.Repeat(`{"a":`, maxDepth+1) + "1" + strings.Repeat("}", maxDepth+1),
	} {
		if v, err := Decode([]byte(in)); err == nil {
			t.Errorf("Decode(%.100q) = %v, want an error", in, v)
		}
	}
	for _, in := range []string{
		`{"a":{"a":[{"a":1},{"a":2}]},"A":"a","b":"a:","c":":"}`, `{"a\\":1,"a":"\\","b":["a","a"]}`,
		strings.Repeat("[", maxDepth) + strings.Repeat("]", maxDepth),
	} {
		if _, err := Decode([]byte(in)); err != nil {
			t.Errorf("Decode(%.100q): %v", in, err)
		}
	}
}

func TestALongNumberCostsNothing(t *testing.T) {
	long := "1." + strings.Repeat("1", 5_000_000)
	if got := Number(json.Number(long)); string(got) != long {
		t.Errorf("it became %.20s", got)
	}
}

// FuzzDecode: what is decoded is valid, loses nothing, and keeps its meaning in
// its canonical form.
func FuzzDecode(f *testing.F) {
	for _, seed := range []string{
		`{"a":[1,2.50,-0,1e3],"b":null}`, `"\ud83d\ude00\n"`, `{"a":1,"\u0061":2}`, "[[[[]]]]", `{"":{"":""}}`, ` 1e999999999 `, "\"\xff\"", `{"a":{"a":1},"b":"a:"}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		v, err := Decode(b)
		if err != nil {
			return
		}
		if !json.Valid(b) {
			t.Fatalf("%q is decoded", b)
		}
		canonical := Bytes(v)
		again, err := Decode(canonical)
		if err != nil || !bytes.Equal(Bytes(again), canonical) || members(again) != members(v) {
			t.Fatalf("%q became %q, then %q, %v", b, canonical, Bytes(again), err)
		}
		tokens, pairs := json.NewDecoder(bytes.NewReader(b)), 0
		var inObject []bool
		isKey := false
		for {
			token, err := tokens.Token()
			if err != nil {
				break
			}
			inside := len(inObject) > 0 && inObject[len(inObject)-1]
			switch {
			case token == json.Delim('{') || token == json.Delim('['):
				inObject, isKey = append(inObject, token == json.Delim('{')), true
				continue
			case token == json.Delim('}') || token == json.Delim(']'):
				inObject = inObject[:len(inObject)-1]
			case inside && isKey:
				pairs, isKey = pairs+1, false
				continue
			}
			isKey = true
		}
		if pairs != members(v) {
			t.Fatalf("%q has %d pairs, and %d were kept", b, pairs, members(v))
		}
	})
}

// members counts the keys of all objects.
func members(v any) int {
	n := 0
	switch t := v.(type) {
	case map[string]any:
		n = len(t)
		for _, e := range t {
			n += members(e)
		}
	case []any:
		for _, e := range t {
			n += members(e)
		}
	}
	return n
}

func TestCanonicalBytesAreStableAndMeanTheSame(t *testing.T) {
	value := rapid.Deferred(jsonValue)
	rapid.Check(t, func(t *rapid.T) {
		v := value.Draw(t, "value")
		plain, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		decoded, err := Decode(plain)
		if err != nil {
			t.Fatal(err)
		}
		b := Bytes(decoded)
		again, err := Decode(b)
		if err != nil {
			t.Fatalf("canonical bytes %s: %v", b, err)
		}
		if string(Bytes(again)) != string(b) {
			t.Fatalf("%s became %s", b, Bytes(again))
		}
	})
}

func jsonValue() *rapid.Generator[any] {
	return rapid.OneOf(
		rapid.Just[any](nil),
		rapid.Map(rapid.Bool(), func(b bool) any { return b }),
		rapid.Map(rapid.String(), func(s string) any { return s }),
		rapid.Map(rapid.Float64Range(-1e9, 1e9), func(f float64) any { return f }),
		rapid.Map(rapid.SliceOfN(rapid.Deferred(jsonValue), 0, 3), func(s []any) any { return s }),
		rapid.Map(rapid.MapOfN(rapid.String(), rapid.Deferred(jsonValue), 0, 3), func(m map[string]any) any { return m }),
	)
}
