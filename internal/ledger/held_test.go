package ledger

import (
	"bytes"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"unsafe"

	"trueup/internal/kind"
)

// TestASpecThatIsHeldIsNotHeldTwice: in each store, and only where it is the same.
func TestASpecThatIsHeldIsNotHeldTwice(t *testing.T) {
	same, other := testRecord("same", 1), testRecord("other", 1)
	for _, rec := range []*Record{&same, &other} {
		rec.Kind, rec.State, rec.SpecDigest, rec.Spec = "CDN", "", nil, nil
		rec.Applied = CanonicalJSON(`{"hostname":"` + rec.Name + `.example"}`)
	}
	specs := map[kind.Key][]byte{same.Key: bytes.Clone(same.Applied), other.Key: []byte(`{"hostname":"new.example"}`)}
	hold := func(k kind.Key) []byte { return specs[k] }
	blobs := newMemoryBlobs()
	s := newLogStore(blobs, hold, 0)
	if err := s.WriteGenesis(t.Context(), 0, testGenesis()); err != nil {
		t.Fatal(err)
	}
	mustPut(t, s, 0, same)
	mustPut(t, s, 0, other)
	if text := s.state.lines[same.Key].text; bytes.Contains(text, same.Applied) {
		t.Errorf("after a write, %s is held twice", text)
	}
	s = newLogStore(blobs, hold, 0)
	got, err := s.Read(t.Context(), []kind.Key{same.Key, other.Key})
	if err != nil {
		t.Fatal(err)
	}
	if shared := got[same.Key].Applied; unsafe.SliceData([]byte(shared)) != unsafe.SliceData(specs[same.Key]) {
		t.Errorf("%s is held twice", shared)
	}
	if own := got[other.Key].Applied; !bytes.Equal(own, other.Applied) {
		t.Errorf("%s became %s", other.Applied, own)
	}
}

// TestARecordWithoutItsSpecReadsTheSame: whatever its text has, and wherever the spec is in it.
func TestARecordWithoutItsSpecReadsTheSame(t *testing.T) {
	const held = `{"hostname":"a.example"}`
	var fields []string
	for _, name := range []string{"applied", "spec", "APPLIED", "uid", "unknown"} {
		for _, value := range []string{
			held, `{"hostname":"b.example"}`, heldMark, strings.Replace(heldMark, "t", `\u0074`, 1), "null", held + held,
			`{"applied":` + held + `}`, `{"spec":` + held + `}`, `"\"applied\":` + strings.ReplaceAll(held, `"`, `\"`) + `"`,
		} {
			fields = append(fields, fmt.Sprintf(`,%q:%s`, name, value))
		}
	}
	shortened := 0
	for _, first := range fields {
		for _, second := range append(fields, "") {
			text := `{"schema":"` + Schema + `","workspace":"w","kind":"CDN","name":"a","seq":1,"nonce":"n"` + first + second + "}"
			plain := indexLine{Key: kind.Key{Kind: "CDN", Name: "a"}, Seq: 1, text: []byte(text)}
			short := plain
			if short.setText([]byte(text), []byte(held)); short.held != nil {
				shortened++
			}
			if got := string(slices.Concat(short.textParts()...)); got != text {
				t.Fatalf("%s became %s", text, got)
			}
			want, wantErr := plain.decodeRecord()
			got, err := short.decodeRecord()
			if !reflect.DeepEqual(got, want) || fmt.Sprint(err) != fmt.Sprint(wantErr) {
				t.Errorf("%s reads as %+v, %v, and in whole as %+v, %v", text, got, err, want, wantErr)
			}
		}
	}
	if shortened == 0 {
		t.Error("no text was shortened")
	}
}
