package canon

import (
	"encoding/json"
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
	for _, in := range []string{"", "{", "{} {}", "[1,]", "\"\xff\"", "nul", "{\"a\":1}x"} {
		if v, err := Decode([]byte(in)); err == nil {
			t.Errorf("Decode(%q) = %v, want an error", in, v)
		}
	}
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
