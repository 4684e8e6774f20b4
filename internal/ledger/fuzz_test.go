package ledger

import (
	"bytes"
	"encoding/json"
	"path"
	"reflect"
	"strings"
	"testing"
	"testing/fstest"
	"time"
)

// FuzzBackup: whatever is given to an import is refused or understood, and what
// is understood is the same when it is written and read again.
func FuzzBackup(f *testing.F) {
	rec, err := json.Marshal(testRecord("a", 1))
	if err != nil {
		f.Fatal(err)
	}
	head := `{"schema":"` + Schema + `","exportedAt":"2026-11-21T10:00:00Z","records":1,"genesis":{"schema":"` + Schema + `","seq":1,"ledgerId":"l","workspace":"w"}}`
	for _, seed := range []string{
		"trueup: something\n" + RescuePrefix + string(rec) + "\nmore\n", RescuePrefix + string(rec), RescuePrefix + "{}", string(rec),
		head + "\n" + string(rec) + "\n", head, head + "\n\n" + RescuePrefix + string(rec), "", "\n\n", "{", RescuePrefix + RescuePrefix + string(rec),
		strings.Replace(string(rec), `"seq"`, `"SEQ"`, 1), `{"schema":"trueup.ledger/v9"}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		if folder, err := ReadBackupFolder(fstest.MapFS{"a.json": {Data: in}}); err == nil && len(folder.Records) != 1 {
			t.Fatalf("a file holds %d records", len(folder.Records))
		}
		b, err := ReadBackup(bytes.NewReader(in))
		if err != nil {
			return
		}
		var out bytes.Buffer
		for _, rec := range b.Records {
			if err := rec.sound(); err != nil {
				t.Fatalf("%q is read, and %v", in, err)
			}
			Explain(rec)
			line, err := json.Marshal(rec)
			if err != nil {
				t.Fatalf("read, but can't write: %v\n%s", err, in)
			}
			out.WriteString("text before: " + RescuePrefix + string(line) + "\n")
		}
		if len(b.Records) == 0 {
			return
		}
		again, err := ReadBackup(&out)
		if err != nil || len(again.Records) != len(b.Records) {
			t.Fatalf("%q became %q: %v", in, out.Bytes(), err)
		}
		for i, rec := range again.Records {
			if first, err := json.Marshal(b.Records[i]); err != nil || !bytes.Equal(first, mustJSON(t, rec)) {
				t.Fatalf("%s became %s, %v", first, mustJSON(t, rec), err)
			}
		}
		_, _ = latest(b.Records)
	})
}

func mustJSON(t *testing.T, v any) []byte {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// FuzzStored: what a store holds beside records is refused or understood, and
// leads nowhere else.
func FuzzStored(f *testing.F) {
	rec, err := encode(testRecord("a", 1))
	if err != nil {
		f.Fatal(err)
	}
	line := `{"workspace":"w","kind":"Purge","name":"a","open":true,"claimedAt":"2026-11-21T10:00:00Z"}` + "\n"
	hints := gitHints{genesis: strings.Repeat("a", 40), recent: strings.Repeat("b", 40), records: 7}
	for _, seed := range []struct{ content, name string }{
		{string(rec), recordPath(testRecord("a", 1).key())},
		{string(rec), gitRecordPath(testRecord("a", 1).key())},
		{line + line, "ledger/recent.jsonl"},
		{"x\n" + hints.String(), "index/w/2026-11-21T10/Purge/a"},
		{`{"schema":"` + Schema + `","seq":1,"ledgerId":"l","workspace":"w"}`, "s3://bucket/prefix?region=eu&endpoint=http://evil.example"},
		{"", "s3://user:password@bucket"},
		{"{}", "../../etc/passwd"},
		{"\xff", "index/w/open/UHVyZ2UKYQ"},
	} {
		f.Add([]byte(seed.content), seed.name)
	}
	f.Fuzz(func(t *testing.T, content []byte, name string) {
		if rec, err := gitRecord(content, name); err == nil && gitRecordPath(rec.key()) != name {
			t.Fatalf("the record of %s is read at %q", rec.Key, name)
		}
		if rec, err := decodeRecordAt(content, name); err == nil && recordPath(rec.key()) != name {
			t.Fatalf("the record of %s is read at %q", rec.Key, name)
		}
		if g, err := decodeGenesis(content); err == nil {
			if b, err := encode(g); err != nil {
				t.Fatalf("%s: %v", b, err)
			}
		}
		checkIndex(t, content)
		if h := readHints(string(content)); h.genesis != "" && !strings.HasSuffix(string(content), h.String()) && h.records >= 0 {
			t.Fatalf("%q has the hints %+v", content, h)
		}
		for _, key := range indexedKeys("w", []string{name, string(content), path.Join(indexDir, "w", name)}) {
			if key.Workspace != "w" || key.Kind == "" || key.Name == "" {
				t.Fatalf("%q holds %+v", name, key)
			}
		}
		if at, err := parseBucket(name, false); err == nil && at.endpoint != "" {
			t.Fatalf("%q names an endpoint, and who says so is a repository", name)
		}
	})
}

func checkIndex(t *testing.T, content []byte) {
	t.Helper()
	x, err := decodeIndex(content)
	if err != nil {
		return
	}
	b, err := x.encode()
	if err != nil {
		t.Fatalf("%q: %v", content, err)
	}
	again, err := decodeIndex(b)
	if err != nil || len(again) != len(x) || len(x) > 0 && !reflect.DeepEqual(mustJSON(t, again), mustJSON(t, x)) {
		t.Fatalf("%q became %q, %v", content, b, err)
	}
	x.since("w", time.Time{})
	again.trimmed().with(testRecord("b", 2))
}
