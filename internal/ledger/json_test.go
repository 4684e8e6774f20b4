package ledger

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
)

func TestJSONIsWholeAndReadable(t *testing.T) {
	for _, spec := range []CanonicalJSON{nil, CanonicalJSON(`{}`), CanonicalJSON(`{"a":"<b>&"}`), bigSpec()} {
		rec := testRecord("rel", 1)
		rec.Applied = spec
		b, err := encodeLine(rec)
		if err != nil {
			t.Fatal(err)
		}
		back, err := decodeRecord(b)
		if err != nil {
			t.Fatal(err)
		}
		if (back.Applied == nil) != (spec == nil) || !bytes.Equal(back.Applied, spec) {
			t.Errorf("%.40s became %.40s", spec, back.Applied)
		}
		if strings.Contains(string(spec), "<b>") && !strings.Contains(string(b), "<b>&") {
			t.Errorf("it can't be read: %s", b)
		}
	}
}

func TestJSONRefuses(t *testing.T) {
	for name, in := range map[string]string{
		"a key twice": `{"a":1,"a":2}`, "cut": `{"a":`, "too deep": strings.Repeat("[", 300) + strings.Repeat("]", 300),
	} {
		var spec CanonicalJSON
		if err := json.Unmarshal([]byte(in), &spec); err == nil {
			t.Errorf("%s: read as %.40s", name, spec)
		}
		if _, err := json.Marshal(CanonicalJSON(in)); err == nil {
			t.Errorf("%s: written", name)
		}
	}
}
