package ledger

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"strings"
	"testing"
)

func TestGzipJSONIsWholeAndDeterministic(t *testing.T) {
	for _, spec := range []GzipJSON{nil, GzipJSON(`{}`), GzipJSON(`null`), bigSpec()} {
		b, err := json.Marshal(spec)
		if err != nil {
			t.Fatal(err)
		}
		again, err := json.Marshal(spec)
		if err != nil || !bytes.Equal(b, again) {
			t.Errorf("the same spec gave other bytes: %v", err)
		}
		back := GzipJSON(`"before"`)
		if err := json.Unmarshal(b, &back); err != nil {
			t.Fatal(err)
		}
		if (back == nil) != (spec == nil) || !bytes.Equal(back, spec) {
			t.Errorf("%.20s became %.20s", spec, back)
		}
	}
}

func packed(t *testing.T, content string) string {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	if _, err := w.Write([]byte(content)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestGzipJSONRefuses(t *testing.T) {
	text := func(s string) string { return `"` + base64.StdEncoding.EncodeToString([]byte(s)) + `"` }
	whole := packed(t, `{"a":1}`)
	for name, in := range map[string]string{
		"a number":    `1`,
		"no base64":   `"*"`,
		"no gzip":     text(`{"a":1}`),
		"cut":         text(whole[:len(whole)-6]),
		"bad sum":     text(whole[:len(whole)-5] + "x" + whole[len(whole)-4:]),
		"nothing":     text(packed(t, "")),
		"no JSON":     text(packed(t, `{"a":`)),
		"two values":  text(packed(t, `{} {}`)),
		"a key twice": text(packed(t, `{"a":1,"a":2}`)),
		"too deep":    text(packed(t, strings.Repeat("[", 300)+strings.Repeat("]", 300))),
		"not UTF-8":   text(packed(t, "\"\xff\"")),
		"after it":    text(whole + "x"),
		"empty bytes": `""`,
	} {
		var g GzipJSON
		if err := json.Unmarshal([]byte(in), &g); err == nil {
			t.Errorf("%s: read %q", name, g)
		}
	}
	for _, g := range []GzipJSON{{}, GzipJSON("{"), GzipJSON("\"\xff\""), GzipJSON(`{"a":1,"a":2}`), make([]byte, maxSpec+1)} {
		if b, err := json.Marshal(g); err == nil {
			t.Errorf("wrote %.20q as %.20s", g, b)
		}
	}
}

func TestUnpackStopsAtItsLimit(t *testing.T) {
	in := []byte(packed(t, `"123456"`))
	if _, err := unpack(in, 8); err != nil {
		t.Error(err)
	}
	if _, err := unpack(in, 7); err == nil {
		t.Error("unpacked more than allowed")
	}
}

// FuzzRecord holds that whatever can be read can be written, and reads back the
// same.
func FuzzRecord(f *testing.F) {
	for _, rec := range []Record{testRecord("a", 1), {
		Schema: Schema, Workspace: "w", Key: testRecord("b", 1).Key, Seq: 2, Nonce: "n", Applied: GzipJSON(`{}`),
	}} {
		b, err := encode(rec)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
		f.Add(b[:len(b)/2])
	}
	f.Add([]byte(`{"schema":"trueup.ledger/v2"}`))
	f.Fuzz(func(t *testing.T, in []byte) {
		rec, err := decodeRecord(in)
		if err != nil {
			return
		}
		b, err := encode(rec)
		if err != nil {
			t.Fatalf("read, but can't write: %v\n%s", err, in)
		}
		again, err := decodeRecord(b)
		if err != nil {
			t.Fatalf("wrote, but can't read: %v\n%s", err, b)
		}
		if b2, err := encode(again); err != nil || !bytes.Equal(b, b2) {
			t.Fatalf("%s became %s (%v)", b, b2, err)
		}
		Explain(rec)
	})
}
