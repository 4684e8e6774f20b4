package ledger

import (
	"strings"
	"testing"
)

func TestUntrustworthyRecords(t *testing.T) {
	for name, harm := range map[string]func(*Record){
		"schema":          func(r *Record) { r.Schema = "" },
		"newer schema":    func(r *Record) { r.Schema = "trueup.ledger/v2" },
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
		"spec":            func(r *Record) { r.Spec = JSON("{") },
		"a spec too many": func(r *Record) { r.Pending = []JSON{JSON("{} {}")} },
	} {
		rec := inState(Posted)
		if _, err := encode(rec); err != nil {
			t.Fatal(err)
		}
		harm(&rec)
		if b, err := encode(rec); err == nil {
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
		if b, err := encode(g); err == nil {
			t.Errorf("%s: wrote %s", name, b)
		}
	}
}

func TestWhatIsNoRecord(t *testing.T) {
	whole, err := encode(testRecord("a", 1))
	must(t, err)
	for name, c := range map[string]struct{ in, want string }{
		"newer, same fields": {strings.Replace(string(whole), Schema, "trueup.ledger/v2", 1), ErrNewer.Error()},
		"newer, all else":    {`{"schema":"trueup.ledger/v2","entirely":"else"}`, ErrNewer.Error()},
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
