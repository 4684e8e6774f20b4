package ledger

import (
	"errors"
	"testing"
)

func TestRecordsThatNobodyMayRelyOn(t *testing.T) {
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
		"spec":            func(r *Record) { r.Spec = GzipJSON("{") },
		"a spec too many": func(r *Record) { r.Pending = GzipJSON("{} {}") },
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

func TestGenesisThatNobodyMayRelyOn(t *testing.T) {
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

func TestNewerSchemaSaysWhatToDo(t *testing.T) {
	_, err := decodeRecord([]byte(`{"schema":"trueup.ledger/v2","entirely":"else"}`))
	if !errors.Is(err, ErrNewer) {
		t.Errorf("a newer record gave %v", err)
	}
}
