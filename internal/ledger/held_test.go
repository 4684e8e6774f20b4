package ledger

import (
	"bytes"
	"testing"
	"unsafe"

	"trueup/internal/kind"
)

// TestASpecThatIsHeldIsNotHeldTwice: in each store, and only where it is the same.
func TestASpecThatIsHeldIsNotHeldTwice(t *testing.T) {
	same, other := testRecord("same", 1), testRecord("other", 1)
	for _, rec := range []*Record{&same, &other} {
		rec.Kind, rec.State, rec.SpecDigest, rec.Spec = "CDN", "", nil, nil
		rec.Applied = JSON(`{"hostname":"` + rec.Name + `.example"}`)
	}
	specs := map[kind.Key][]byte{same.Key: bytes.Clone(same.Applied), other.Key: []byte(`{"hostname":"new.example"}`)}
	hold := func(k kind.Key) []byte { return specs[k] }
	blobs := newMemoryBlobs()
	{
		s := newLogStore(blobs, hold, 0)
		if err := s.WriteGenesis(t.Context(), 0, testGenesis()); err != nil {
			t.Fatal(err)
		}
		mustPut(t, s, 0, same)
		mustPut(t, s, 0, other)
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
}
