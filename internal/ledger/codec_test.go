package ledger

import (
	"bytes"
	"compress/gzip"
	"io"
	"reflect"
	"strings"
	"testing"
)

func TestUntrustworthyRecords(t *testing.T) {
	for name, harm := range map[string]func(*Record){
		"schema":          func(r *Record) { r.Schema = "" },
		"newer schema":    func(r *Record) { r.Schema = "trueup.ledger/v9" },
		"no workspace":    func(r *Record) { r.Workspace = "" },
		"workspace":       func(r *Record) { r.Workspace = "a/b" },
		"no kind":         func(r *Record) { r.Kind = "" },
		"kind":            func(r *Record) { r.Kind = ".." },
		"no name":         func(r *Record) { r.Name = "" },
		"name":            func(r *Record) { r.Name = "\xff" },
		"seq":             func(r *Record) { r.Seq = 0 },
		"no nonce":        func(r *Record) { r.Nonce = "" },
		"state":           func(r *Record) { r.State = "sent" },
		"no digest":       func(r *Record) { r.SpecDigest = nil },
		"no claim time":   func(r *Record) { r.State, r.ClaimedAt = Claimed, nil },
		"no first claim":  func(r *Record) { r.State, r.FirstClaimAt = Unknown, nil },
		"spec":            func(r *Record) { r.Spec = CanonicalJSON("{") },
		"a spec too many": func(r *Record) { r.Pending = []CanonicalJSON{CanonicalJSON("{} {}")} },
	} {
		rec := inState(Posted)
		if _, err := encodeLine(rec); err != nil {
			t.Fatal(err)
		}
		harm(&rec)
		if b, err := encodeLine(rec); err == nil {
			t.Errorf("%s: wrote %s", name, b)
		}
	}
}

func TestUntrustworthyGenesis(t *testing.T) {
	for name, harm := range map[string]func(*Genesis){
		"schema": func(g *Genesis) { g.Schema = "" }, "id": func(g *Genesis) { g.LedgerID = "" },
		"workspace": func(g *Genesis) { g.Workspace = "" }, "seq": func(g *Genesis) { g.Seq = 0 },
	} {
		g := testGenesis()
		harm(&g)
		if b, err := encodeLine(g); err == nil {
			t.Errorf("%s: wrote %s", name, b)
		}
	}
}

func TestWhatIsNoRecord(t *testing.T) {
	whole, err := encodeLine(testRecord("a", 1))
	must(t, err)
	for name, c := range map[string]struct{ in, want string }{
		"newer, same fields": {strings.Replace(string(whole), Schema, "trueup.ledger/v9", 1), ErrNewer.Error()},
		"newer, all else":    {`{"schema":"trueup.ledger/v9","entirely":"else"}`, ErrNewer.Error()},
		"older":              {`{"schema":"trueup.ledger/v2","entirely":"else"}`, errOlder.Error()},
		"no schema":          {`{"seq":1}`, `schema "" is not`},
		"another's":          {`{"schema":"v1","kind":3}`, `schema "v1" is not`},
		"cut":                {string(whole[:len(whole)/2]), "truncated"},
		"something after":    {string(whole) + "{}", "content after"},
		"garbage after":      {string(whole) + "x", "content after"},
		"a list":             {"[]", "damaged"},
		"later field":        {strings.Replace(string(whole), `"seq"`, `"later":1,"seq"`, 1), `unknown field "later"`},
	} {
		rec, err := decodeRecord([]byte(c.in))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: read %+v, %v", name, rec, err)
		}
	}
}

func addChecksum(text []byte) []byte {
	var b bytes.Buffer
	writeSealed(&b, text)
	return b.Bytes()
}

// resealed gives each line the checksum of what it says now, as if trueup had written it so.
func resealed(text []byte) []byte {
	var out []byte
	for line := range bytes.Lines(text) {
		line = bytes.TrimSuffix(line, []byte("\n"))
		if at := bytes.LastIndex(line, []byte(sealMark)); at > 0 {
			line = addChecksum(append(bytes.Clone(line[:at]), '}'))
		}
		out = append(append(out, line...), '\n')
	}
	return out
}

// TestSeal: whichever one byte changes, the line is damaged or says the same; and one without a checksum is read.
func TestSeal(t *testing.T) {
	text, err := encodeLine(testRecord("a", 1))
	must(t, err)
	whole, err := decodeRecord(bytes.Clone(text))
	must(t, err)
	line := addChecksum(text)
	if is, err := decodeRecord(bytes.Clone(line)); err != nil || !reflect.DeepEqual(is, whole) {
		t.Fatalf("%+v, %v", is, err)
	}
	for i := range line {
		for bit := range 8 {
			changed := bytes.Clone(line)
			changed[i] ^= 1 << bit
			if is, err := decodeRecord(changed); err == nil && !reflect.DeepEqual(is, whole) {
				t.Errorf("%q is read as %+v", changed, is)
			}
		}
	}
}

// unpacked is the text of a file of the log.
func unpacked(t testing.TB, content []byte) []byte {
	t.Helper()
	if !bytes.HasPrefix(content, []byte{0x1f, 0x8b}) {
		return content
	}
	zip, err := gzip.NewReader(bytes.NewReader(content))
	must(t, err)
	text, err := io.ReadAll(zip)
	must(t, err)
	return text
}
