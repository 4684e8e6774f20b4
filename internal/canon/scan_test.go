package canon_test

import (
	"bytes"
	"strings"
	"testing"

	"trueup/internal/canon"
)

// slowly is what Canonical must give.
func slowly(text []byte) ([]byte, error) {
	v, err := canon.Decode(text)
	if err != nil {
		return nil, err
	}
	return canon.Encode(v), nil
}

// texts are JSON, and what is not.
func texts() []string {
	return []string{
		`{}`, `[]`, ` { } `, `[ ]`, `null`, `true`, `false`, `0`, `-0`, `1e3`, `1.50`, `01`, `-`, `1.`, `.5`, `1e999999999`, `"a"`, ``, ` `,
		`{"b":1,"a":2}`, `{"a":{"d":1,"c":[{"f":1,"e":2}]},"B":null}`, `{"a":1,"a":2}`, `{"b":1,"a":1,"b":1}`, `{"a":1 , "ab":2,"":3}`,
		`{"\u0061":1}`, `{"\u0061":1,"a":2}`, `{"a\n":1,"a":2,"a\\":3}`, `{"é":1,"e":2}`,
		`"\u003ca href=\"x\"\/\u003e \b\f\n\r\t\u0001"`, `"\ud800"`, `"\ud83d\ude00"`, `"\u12"`, `"\x"`, "\"\x01\"", "\"\xff\"", "\"\xe2\x82", `"\`, `"a`, "\"\u2028\"", "\x00", "{\x00}",
		`[1,]`, `[,1]`, `[1 2]`, `{"a"}`, `{"a":}`, `{"a":1,}`, `{a:1}`, `{"a":1]`, `[1}`, `{} {}`, `[1]x`, `nul`, `nulls`, `[nulls]`, `[tru]`, `[0x1]`, `[--1]`, `[1-1]`, `[1e]`,
		strings.Repeat("[", 200) + strings.Repeat("]", 200), strings.Repeat("[", 201) + strings.Repeat("]", 201),
		strings.Repeat(`{"b":1,"a":`, 200) + "1" + strings.Repeat("}", 200), strings.Repeat(`{"a":`, 201) + "1" + strings.Repeat("}", 201),
	}
}

// sameAsSlowly holds the scanner to what the tree gives, and Members to what the tree has.
func sameAsSlowly(t *testing.T, text []byte) {
	t.Helper()
	want, wantErr := slowly(text)
	got, err := canon.Canonicalize(text)
	if !bytes.Equal(got, want) || (err == nil) != (wantErr == nil) || err != nil && err.Error() != wantErr.Error() {
		t.Fatalf("%q became %q, %v, want %q, %v", text, got, err, want, wantErr)
	}
	if tree, _ := canon.Decode(text); wantErr == nil {
		sameMembers(t, tree, want)
	}
}

func sameMembers(t *testing.T, tree any, text []byte) {
	t.Helper()
	fields, ok := tree.(map[string]any)
	if !ok {
		return
	}
	n := 0
	for key, value := range canon.Members(text) {
		name := canon.MustDecode([]byte(`"` + string(key) + `"`)).(string)
		field, found := fields[name]
		if !found || !bytes.Equal(value, canon.Encode(field)) {
			t.Fatalf("member %q of %q is %q", key, text, value)
		}
		n++
		sameMembers(t, field, value)
	}
	if n != len(fields) {
		t.Fatalf("%q has %d members, want %d", text, n, len(fields))
	}
}

func TestScannerIsAsTheTree(t *testing.T) {
	for _, text := range texts() {
		sameAsSlowly(t, []byte(text))
		sameAsSlowly(t, []byte(`{"x":`+text+`,"a":`+text+`}`))
		sameAsSlowly(t, []byte("[ "+text+" ,\t"+text+"\r\n]"))
	}
}

func FuzzScanner(f *testing.F) {
	for _, text := range texts() {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) { sameAsSlowly(t, text) })
}

// TestScannerAllocatesNothing: what it needs it keeps.
func TestScannerAllocatesNothing(t *testing.T) {
	text := []byte(sample(50))
	var s canon.Converter
	read := func() {
		if _, err := s.Canonicalize(text); err != nil {
			t.Fatal(err)
		}
	}
	read()
	if n := testing.AllocsPerRun(10, read); n > 0 {
		t.Errorf("%v allocations", n)
	}
}

// sample is an object with its keys in no order, as servers write them.
func sample(locations int) string {
	one := `{"path":"/static/css/","upstream":"assets","cache":{"ttl":86400,"bypass":false},"headers":{"X-Frame-Options":"DENY","Cache-Control":"public"},"weight":1.5}`
	return `{"kind":"Site","apiVersion":"v1","metadata":{"name":"shop","uid":"7d44"},"spec":{"locations":[` + one + strings.Repeat(","+one, locations-1) + `],"hostname":"shop.example.com"}}`
}

func BenchmarkCanonical(b *testing.B) {
	text := []byte(sample(25))
	var s canon.Converter
	for name, do := range map[string]func() error{
		"scanner": func() error { _, err := s.Canonicalize(text); return err },
		"tree":    func() error { _, err := slowly(text); return err },
		"decode":  func() error { _, err := canon.Decode(text); return err },
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				if err := do(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// TestCountValues: each value is counted once, however deep it is.
func TestCountValues(t *testing.T) {
	for text, want := range map[string]int{
		`1`: 1, `"a,{"`: 1, `{}`: 1, `[]`: 1, `[1]`: 2, `{"a":{"b":[1,{},"]"]}}`: 6, `[[],[[]],{"a":"\"[,"}]`: 6,
	} {
		if got := canon.CountValues([]byte(text)); got != want {
			t.Errorf("%s has %d values, want %d", text, got, want)
		}
	}
}

// TestTreeLike: a tree made from another text's is that of its own text, and shares equal parts.
func TestTreeLike(t *testing.T) {
	texts := []string{`{}`, `[]`, `1`, `{"a":1}`, `{"a":[{"b":1},{"c":2}],"d":{"e":"x"}}`, `{"a":[{"b":1},{"c":3},4],"d":{"e":"x"}}`, `{"\"":"\\","a":{"b":1}}`, `[{"\"":1}]`}
	for _, other := range texts {
		tree := canon.DecodeTrusted([]byte(other))
		for _, text := range texts {
			got := canon.DecodeSharing([]byte(text), []byte(other), tree)
			if string(canon.Encode(got)) != text || string(canon.Encode(tree)) != other {
				t.Errorf("%s beside %s is %s", text, other, canon.Encode(got))
			}
		}
	}
	was := canon.DecodeTrusted([]byte(texts[4])).(map[string]any)
	is := canon.DecodeSharing([]byte(texts[5]), []byte(texts[4]), was).(map[string]any)
	if !canon.AreSameInMemory(was["d"], is["d"]) || canon.AreSameInMemory(was["a"], is["a"]) {
		t.Errorf("%v does not share what it can with %v", is, was)
	}
}
