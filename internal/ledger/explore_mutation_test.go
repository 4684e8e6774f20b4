package ledger_test

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"trueup/internal/e2e/long"
)

// seeded are mistakes that the exploration must find alone.
var seeded = []struct {
	name  string
	edits []edit
}{
	{"a claim is not asked for its age", []edit{{"journal.go", "&& held < Lease", "&& (held < Lease || true)"}}},
	{"a take-over is a claim of its own", []edit{{"machine.go", "r.EarlierUnknown, r.Left = i.TakeOver, false", "r.EarlierUnknown, r.Left = false, false"}}},
	{"a take-over counts from itself", []edit{{"machine.go", "first, i.Before = *r.FirstClaimAt", "_, i.Before = *r.FirstClaimAt"}}},
	{"an unknown request is free", []edit{
		{"standing.go", "case \"\", Rejected:\n", "case \"\", Rejected, Unknown:\n"},
		{"standing.go", "\tcase Unknown:\n\t\treturn Lost\n", ""},
		{"machine.go", "evClaim:      {from: []RequestState{\"\", Rejected}}", "evClaim:      {from: []RequestState{\"\", Rejected, Unknown}}"},
	}},
	{"the last answer frees what an earlier send may have done", []edit{
		{"machine.go", "if (e == evReject || e == evRelease) && r.EarlierUnknown {", "if false {"},
		{"../apply/send_once.go", "case a.result == unsent && s.certain:", "case a.result == unsent:"},
		{"../apply/send_once.go", "case a.result == refused && s.certain:", "case a.result == refused:"},
	}},
	{"sent again without proof", []edit{{"../apply/send_once.go", "a.result == unclear && s.hold.Terms.Proven && sends < maxSends", "a.result == unclear && sends < maxSends"}}},
	{"no answer is a refusal", []edit{{"../apply/send_once.go", "a.result = unclear", "a.result = refused"}}},
	{"no answer is consent", []edit{{"../apply/send_once.go", "a.result = unclear", "a.result = executed"}}},
	{"a claim whose write failed is sent", []edit{{"journal.go", "\t\tl.undoClaim(ctx, rec)\n\t\treturn Hold{}, err\n", "\t\tif rec.Nonce == \"\" {\n\t\t\treturn Hold{}, err\n\t\t}\n"}}},
	{"the store's order is not kept", []edit{{"change.go", "l.putRecord(ctx, m.event, recordChange{expectSeq: old.Seq, rec: rec})", "func() error { now, _ := l.store.Read(ctx, []kind.Key{key}); old.Seq = now[key].Seq; rec.Seq = old.Seq + 1; return l.putRecord(ctx, m.event, recordChange{expectSeq: old.Seq, rec: rec}) }()"}}},
	{"the clock is not read before a send", []edit{{"../apply/send_once.go", "case s.hold.MaySend(now):", "case true:"}}},
	{"the window is counted by one clock", []edit{{"standing.go", "return now.Late.Before(t.WindowEnd(first, now))", "return now.Early.Before(t.WindowEnd(first, now))"}}},
	{"the first claim is the later clock's", []edit{{"machine.go", "first, at := i.At.Early.UTC(), i.At.Now.UTC()", "first, at := i.At.Late.UTC(), i.At.Now.UTC()"}}},
	{"without a proof, dead claims are sent again", []edit{{"standing.go", "case t.Proven && t.MaySend(*r.FirstClaimAt, now):", "case t.MaySend(*r.FirstClaimAt, now):"}}},
	{"an open request is folded", []edit{{"fold.go", "final := r.State == Posted || r.State == Adopted || r.State == Abandoned", "final := r.State != \"\""}, {"fold.go", "k.RequestOnly() && !l.isSince(since)", "k.RequestOnly()"}}},
	{"a fold forgets the outcome", []edit{{"fold.go", "State: r.State, Folded: true,", "Folded: true,"}}},
	{"every claim is young", []edit{{"standing.go", "&& now.Now.Sub(*r.ClaimedAt) < Lease", ""}}},
	{"no claim is young", []edit{{"standing.go", "return r.State == Claimed && !r.Left && now.Now.Sub(*r.ClaimedAt) < Lease", "return false"}}},
}

// TestInterleavingsFindMistakes explores with one mistake in the code, for each mistake.
func TestInterleavingsFindMistakes(t *testing.T) {
	long.SkipUnlessSet(t)
	for _, m := range seeded {
		t.Run(m.name, func(t *testing.T) {
			cmd := exec.CommandContext(t.Context(), "go", "test", "-overlay", overlay(t, m.edits), "-vet=off", "-timeout", "2m",
				"-run", "^TestEveryInterleaving$", ".")
			cmd.Env = append(os.Environ(), "TRUEUP_LONG=1")
			out, err := cmd.CombinedOutput()
			if err == nil || !strings.Contains(string(out), "--- FAIL: TestEveryInterleaving/all/") {
				t.Errorf("no interleaving finds it: %v\n%.1500s", err, out)
			}
		})
	}
}
