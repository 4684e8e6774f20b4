package canon

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

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

// TestManyNumbersTakeTheRoomOfTheirText, or some times that: a text within the
// bound of an answer would else be more than a machine holds.
func TestManyNumbersTakeTheRoomOfTheirText(t *testing.T) {
	for _, number := range []string{"1e21", "1e40", "1e-40", "1.5E+40", "1e41", "1e308", "1e-308", "1e400"} {
		text := "[" + strings.Repeat(number+",", 1000) + "1]"
		got, err := Canonicalize([]byte(text))
		if err != nil || len(got) > 10*len(text) {
			t.Errorf("%s: %d bytes became %d, %v", number, len(text), len(got), err)
		}
	}
}

// FuzzDecode: what is decoded is what encoding/json makes of it, but for an
// object with a key twice, and keeps its meaning in its canonical form.
func FuzzDecode(f *testing.F) {
	for _, seed := range []string{
		`{"a":[1,2.50,-0,1e3],"b":null}`, `"\ud83d\ude00\n"`, `{"a":1,"\u0061":2}`, "[[[[]]]]", `{"":{"":""}}`, ` 1e999999999 `, "\"\xff\"", `{"a":{"a":1},"b":"a:"}`,
		"[ ]", "{ }", " [ 1 , true , {\"a\" : [ null ] } ] ", `"\ud800"`, `{"\ud800":1,"\udc00":2}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		v, err := Decode(b)
		var want any
		numbers := json.NewDecoder(bytes.NewReader(b))
		numbers.UseNumber()
		if valid := utf8.Valid(b) && json.Valid(b) && numbers.Decode(&want) == nil; !valid || err != nil {
			if text := fmt.Sprint(err); err == nil || valid && !strings.Contains(text, "twice") && !strings.Contains(text, "nested") {
				t.Fatalf("%q: %v", b, err)
			}
			return
		}
		canonical := Encode(v)
		if !bytes.Equal(canonical, Encode(want)) {
			t.Fatalf("%q became %s, and is %s", b, canonical, Encode(want))
		}
		if keys := bytes.Count(b, []byte(":")); keys < members(v) {
			t.Fatalf("%q has %d members", b, members(v))
		}
		again, err := Decode(canonical)
		if err != nil || !bytes.Equal(Encode(again), canonical) || members(again) != members(v) {
			t.Fatalf("%q became %q, then %q, %v", b, canonical, Encode(again), err)
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
		b := Encode(decoded)
		again, err := Decode(b)
		if err != nil {
			t.Fatalf("canonical bytes %s: %v", b, err)
		}
		if string(Encode(again)) != string(b) {
			t.Fatalf("%s became %s", b, Encode(again))
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
