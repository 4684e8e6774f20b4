package ledger

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"testing/fstest"
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
			if err := rec.checkTransitions(); err != nil {
				t.Fatalf("%q is read, and %v", in, err)
			}
			ExplainRecord(rec)
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
		_, _ = latestRecords(b.Records)
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
	rec, err := encodeLine(testRecord("a", 1))
	if err != nil {
		f.Fatal(err)
	}
	for _, seed := range []struct{ content, name string }{
		{segmentText, entryFile(1)},
		{string(rec), "a"},
		{`{"schema":"` + Schema + `","seq":1,"ledgerId":"l","workspace":"w"}`, "log/9999999/9999999997-2.jsonl"},
		{"{}", "../../etc/passwd"},
		{"\xff", "log/9999999/9999999995-4.jsonl"},
	} {
		f.Add([]byte(seed.content), seed.name)
	}
	f.Fuzz(func(t *testing.T, content []byte, name string) {
		checkSegment(t, content, name)
	})
}

// segmentText is an entry of a log.
const segmentText = `{"schema":"` + Schema + `","entry":1,"entries":1,"id":"x","records":1}
{"at":1,"seq":1,"workspace":"w","kind":"Purge","name":"a"}
{"schema":"` + Schema + `","workspace":"w","kind":"Purge","name":"a","seq":1,"nonce":"n"}
`

// checkSegment: what is read as a segment of a log is written as one that reads the same.
func checkSegment(t *testing.T, content []byte, name string) {
	t.Helper()
	want, err := entryOfFile(name)
	if err != nil {
		want = 1
	}
	store := newLogStore(&memoryBlobs{}, nil, 0)
	p, err := store.decodeSegment(content, want)
	if err != nil {
		return
	}
	for i := range p.lines {
		if rec, err := p.lines[i].decodeRecord(); err == nil && rec.Key != p.lines[i].Key {
			t.Fatalf("the record of %s is read for %s", rec.Key, p.lines[i].Key)
		}
	}
	b, err := p.encodeSegment(true)
	if err != nil {
		return
	}
	again, err := store.decodeSegment(b, want)
	if err != nil || len(again.lines) != len(p.lines) || again.ID != p.ID {
		t.Fatalf("%q became %q, %v", content, b, err)
	}
}
