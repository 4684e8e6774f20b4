package ledger_test

import (
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"trueup/internal/e2e/long"
)

// seeded are more mistakes that the exploration must find alone.
var seeded = []mistake{
	{"a claim is not asked for its age", "", []edit{{"journal.go", "&& held < Lease", "&& (held < Lease || true)"}}},
	{"a take-over is a claim of its own", "", []edit{{"machine.go", "r.EarlierUnknown, r.Left = i.TakeOver, false", "r.EarlierUnknown, r.Left = false, false"}}},
	{"an unknown request is free", "", []edit{
		{"standing.go", "case \"\", Rejected:\n", "case \"\", Rejected, Unknown:\n"},
		{"standing.go", "\tcase Unknown:\n\t\treturn Lost\n", ""},
		{"machine.go", "evClaim:      {from: []RequestState{\"\", Rejected}}", "evClaim:      {from: []RequestState{\"\", Rejected, Unknown}}"},
	}},
	{"a claim whose write failed is sent", "", []edit{{"journal.go", "\t\tl.undoClaim(ctx, rec)\n\t\treturn OwnClaim{}, err\n", "\t\tif rec.Nonce == \"\" {\n\t\t\treturn OwnClaim{}, err\n\t\t}\n"}}},
	{"the store's order is not kept", "", []edit{{"change.go", "l.putRecord(ctx, m.event, RecordChange{ExpectSeq: old.Seq, Rec: rec})", "func() error { now, _ := l.store.Read(ctx, []kind.Key{key}); old.Seq = now[key].Seq; rec.Seq = old.Seq + 1; return l.putRecord(ctx, m.event, RecordChange{ExpectSeq: old.Seq, Rec: rec}) }()"}}},
	{"the clock is not read before a send", "", []edit{{"../apply/send_once.go", "case s.hold.MaySend(now):", "case true:"}}},
	{"the window is counted by one clock", "", []edit{{"standing.go", "return now.Late.Before(t.WindowEnd(first, now))", "return now.Early.Before(t.WindowEnd(first, now))"}}},
	{"the first claim is the later clock's", "", []edit{{"machine.go", "first, at := i.At.Early.UTC(), i.At.Now.UTC()", "first, at := i.At.Late.UTC(), i.At.Now.UTC()"}}},
	{"without a proof, dead claims are sent again", "", []edit{{"standing.go", "case t.Proven && t.MaySend(*r.FirstClaimAt, now):", "case t.MaySend(*r.FirstClaimAt, now):"}}},
	{"every claim is young", "", []edit{{"standing.go", "&& now.Now.Sub(*r.ClaimedAt) < Lease", ""}}},
	{"no claim is young", "", []edit{{"standing.go", "return r.State == Claimed && !r.Left && now.Now.Sub(*r.ClaimedAt) < Lease", "return false"}}},
	{"an outcome needs no claim", "", []edit{{"journal.go", "requires: holder, detail: o.Message.String()", "requires: anyone, detail: o.Message.String()"}}},
	{"a request that was posted is free", "", []edit{
		{"standing.go", "case \"\", Rejected:\n", "case \"\", Rejected, Posted:\n"},
		{"standing.go", "case Posted, Adopted, Abandoned:", "case Adopted, Abandoned:"},
		{"machine.go", "evClaim:      {from: []RequestState{\"\", Rejected}}", "evClaim:      {from: []RequestState{\"\", Rejected, Posted}}"},
	}},
	{"what is overdue is released", "", []edit{{"../apply/send_once.go", "case a.result == overdue && s.certain:", "case a.result == overdue:"}}},
	{"a request that was abandoned is free", "", []edit{
		{"standing.go", "case \"\", Rejected:\n", "case \"\", Rejected, Abandoned:\n"},
		{"standing.go", "case Posted, Adopted, Abandoned:", "case Posted, Adopted:"},
		{"machine.go", "evClaim:      {from: []RequestState{\"\", Rejected}}", "evClaim:      {from: []RequestState{\"\", Rejected, Abandoned}}"},
	}},
	{"an open request is folded", "", []edit{
		{"fold.go", "return r.isFinal() && l.mayFold(since)", "return r.State != \"\" && l.mayFold(since)"},
		{"fold.go", "k.IsRequestOnly() && !l.isSince(since)", "k.IsRequestOnly()"},
	}},
	{"a fold forgets the outcome", "", []edit{{"fold.go", "State: r.State, Folded: true,", "Folded: true,"}}},
	{"a claim that was sent is given back", "", []edit{{"../apply/send_once.go", "\twasCertain := s.certain\n\ts.certain = false\n", "\twasCertain := s.certain\n"}}},
}

// TestInterleavingsFindMistakes explores with one mistake in the code, for each mistake.
func TestInterleavingsFindMistakes(t *testing.T) {
	long.SkipUnlessSet(t)
	for _, m := range slices.Concat(mistakes, seeded) {
		t.Run(m.name, func(t *testing.T) {
			cmd := exec.CommandContext(t.Context(), "go", "test", "-overlay", overlay(t, m.edits), "-vet=off", "-timeout", "10m",
				"-run", "^TestEveryInterleaving$", ".")
			cmd.Env = append(os.Environ(), "TRUEUP_LONG=1")
			out, err := cmd.CombinedOutput()
			if err == nil || !strings.Contains(string(out), "--- FAIL: TestEveryInterleaving/all/") {
				t.Errorf("no interleaving finds it: %v\n%.1500s", err, out)
			}
		})
	}
}
