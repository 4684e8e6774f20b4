package ledger

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
)

// benchSize is how many objects the tree of a benchmark has, all with records,
// and how many purges were done long ago. A hundred purges are of now.
type benchSize struct{ objects, old int }

func (n benchSize) String() string { return fmt.Sprintf("objects=%d/old=%d", n.objects, n.old) }

var benchSizes = []benchSize{{1000, 0}, {10_000, 0}, {1000, 100_000}}

const benchPurges = 100

// benchTree are the records of the tree, with specs of 3 kB.
func benchTree(objects int) []Record {
	var records []Record
	for i := range objects {
		rec := testRecord(fmt.Sprint("site-", i), 1)
		rec.Kind, rec.State, rec.SpecDigest, rec.Spec = "CDN", "", nil, nil
		const location = `{"action":"proxy_http","cache":{"edgeTTL":"3600","level":"standard"},"path":"/static/%d/*","upstream":"origin-%d"},`
		rec.Applied = JSON(`{"locations":[` + strings.Repeat(fmt.Sprintf(location, i, i), 25) + `{}]}`)
		records = append(records, rec)
	}
	for i := range benchPurges {
		records = append(records, testRecord(fmt.Sprint("new-", i), 1).after(life{Posted, time.Hour, time.Hour}))
	}
	return records
}

// benchView is the ledger's part of a plan: fresh gives the store of a new run.
func benchView(b *testing.B, objects int, fresh func() Store) {
	var keys []Key
	for _, rec := range benchTree(objects) {
		keys = append(keys, rec.key())
	}
	b.ReportAllocs()
	for b.Loop() {
		s := fresh()
		_, err := s.ReadGenesis(b.Context())
		must(b, err)
		recent, err := s.Recent(b.Context(), testWorkspace, testLately)
		must(b, err)
		got, err := s.Read(b.Context(), keys)
		must(b, err)
		if len(recent) != benchPurges || len(got) != len(keys) {
			b.Fatalf("%d are recent, and %d of %d were read", len(recent), len(got), len(keys))
		}
	}
}

func bucketVersion(rec Record) string {
	return path.Join(recordDir(rec.key()), versionName(rec.Seq))
}

// fill gives put what the tree, and a number of old purges, left in a store.
func fill(b *testing.B, place func(Record) string, n benchSize, put func(name string, content []byte)) {
	b.Helper()
	for _, rec := range benchTree(n.objects) {
		content, err := encode(rec)
		must(b, err)
		put(place(rec), content)
		for _, entry := range rec.entries() {
			put(entry, nil)
		}
	}
	eachOld(b, place, n.old, put)
}

// eachOld gives put what old purges left in a store.
func eachOld(t testing.TB, place func(Record) string, n int, put func(name string, content []byte)) {
	t.Helper()
	// Packing 100,000 specs takes long, and none of these is read.
	var packed [][]byte
	for _, rec := range oldPurge(0) {
		content, err := encode(rec)
		must(t, err)
		packed = append(packed, content)
	}
	for i := range n {
		steps := oldPurge(i)
		for n, rec := range steps {
			put(place(rec), bytes.ReplaceAll(packed[n], []byte("old-0"), []byte(rec.Name)))
		}
		for _, entry := range steps[1].entries() {
			put(entry, nil)
		}
	}
}

// writeBelow writes files, not durably, and makes the folders that they need.
func writeBelow(b *testing.B, dir string) func(name string, content []byte) {
	made := map[string]bool{}
	return func(name string, content []byte) {
		file := filepath.Join(dir, filepath.FromSlash(name))
		if at := filepath.Dir(file); !made[at] {
			must(b, os.MkdirAll(at, 0o777))
			made[at] = true
		}
		must(b, os.WriteFile(file, content, 0o666))
	}
}

func BenchmarkFileView(b *testing.B) {
	for _, n := range benchSizes {
		b.Run(n.String(), func(b *testing.B) {
			dir := b.TempDir()
			s := fileStore{dir: dir}
			must(b, s.WriteGenesis(b.Context(), 0, testGenesis()))
			fill(b, func(rec Record) string { return recordPath(rec.key()) }, n, writeBelow(b, dir))
			benchView(b, n.objects, func() Store { return s })
		})
	}
}

func BenchmarkBucketView(b *testing.B) {
	for _, n := range benchSizes {
		b.Run(n.String(), func(b *testing.B) {
			f := newFakeBucket(b)
			s := f.born(b)
			fill(b, bucketVersion, n, func(name string, content []byte) { f.objects[s.at(name)] = object{body: content} })
			f.set(func() { f.calls, f.bytes = nil, 0 })
			benchView(b, n.objects, func() Store { return s.another() })
			f.set(func() {
				b.ReportMetric(float64(len(f.calls))/float64(b.N), "requests/op")
				b.ReportMetric(float64(f.bytes)/float64(b.N), "answered-B/op")
			})
		})
	}
}

// BenchmarkServerView is BenchmarkBucketView on the server of
// TestBucketOnServer, where TRUEUP_TEST_S3_DIR is the folder in which it keeps
// the bucket as files.
func BenchmarkServerView(b *testing.B) {
	where, dir := os.Getenv("TRUEUP_TEST_S3_URL"), os.Getenv("TRUEUP_TEST_S3_DIR")
	if where == "" || dir == "" {
		b.Skip("TRUEUP_TEST_S3_URL and TRUEUP_TEST_S3_DIR name no server")
	}
	address, query, _ := strings.Cut(where, "?")
	for _, n := range benchSizes {
		b.Run(n.String(), func(b *testing.B) {
			s, err := openBucket(b.Context(), address+"/"+uuid.NewString()+"?"+query, true)
			must(b, err)
			must(b, s.WriteGenesis(context.Background(), 0, testGenesis()))
			fill(b, bucketVersion, n, writeBelow(b, filepath.Join(dir, s.prefix)))
			benchView(b, n.objects, func() Store { return s.another() })
		})
	}
}
