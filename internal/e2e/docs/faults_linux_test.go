package docs

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"trueup/internal/e2e/harness"
	"trueup/internal/e2e/long"
)

// faults are serious faults that trueup had: how each was found, the edit that puts it back, and the test that finds it.
var faults = []struct{ fault, foundBy, file, code, before, pkg, test string }{
	{
		"What a run heard last released a request that an earlier send may have carried out", "review",
		"internal/ledger/machine.go", "if (e == evReject || e == evRelease) && r.EarlierUnknown {", "if false {", "./internal/ledger", "TestTakeOver",
	},
	{
		"A claim lasted as long as a cache answered with an old time, and another run could take it over meanwhile", "review",
		"internal/ledger/journal.go", "held := max(now.Now.Sub(*h.ClaimedAt), now.Late.Sub(h.Late))", "held := now.Now.Sub(*h.ClaimedAt)", "./internal/ledger", "TestAClaimIsHeldByBothClocks",
	},
	{
		"A run that learned late that its purge was executed ended with an error, although another run had recorded that", "random histories",
		"internal/ledger/journal.go", "ok && state.Record.State == Posted {", "ok && false && state != nil {", "./internal/ledger", "TestTwoRunsLearnOfOneSend",
	},
	{
		"A snapshot that another client made counted as made by trueup, and --prune could delete it", "review",
		"internal/apply/send_once.go", "made.How = ledger.Found // by reading, which does not prove who created it", "_ = made", "./internal/apply", "TestASnapshotWithoutAnAnswer",
	},
	{
		"After a person's wrong answer, trueup took its own purge for another client's", "review",
		"internal/apply/send_once.go", "if s.hold.RepostedFrom != nil {", "if false {", "./internal/e2e/script", "TestScripts$/^a-reposted-purge-was-executed",
	},
	{
		"A purge was sent again after its record was lost from a damaged ledger", "review",
		"internal/plan/once.go", "if d.rec.Seq > 0 || !finished.HadRequest(d.item.Key) {", "if true {", "./internal/e2e/script", "TestScripts$/^a-lost-record-is-a-question",
	},
	{
		"An answer in which a key stands twice was read in one of its two ways", "review",
		"internal/canon/scan.go", "s.compareKeys(members[i-1], m) == 0", "s.compareKeys(members[i-1], m) > 0", "./internal/canon", "TestDecodeRefuses",
	},
	{
		"A request that was being written while the connection broke counted as not sent", "review",
		"internal/api/transport.go", "\tc.written.Add(int64(len(p)))\n\tn, err := c.Conn.Write(p)\n\tc.written.Add(int64(n - len(p)))\n", "\tn, err := c.Conn.Write(p)\n\tc.written.Add(int64(n))\n", "./internal/api", "TestWhatIsBeingWrittenCounts",
	},
	{
		"A policy's 403 about one object ended the whole run", "review",
		"internal/api/answers.go", "return r.permitted || policy().MatchString(r.message)", "return false", "./internal/e2e/script", "TestScripts$/^a-policy-refuses-one-object",
	},
	{
		"A run that waited out a pause sent a token that the platform had refused meanwhile", "review",
		"internal/api/gate.go", "\t\tg.endPause()\n", "", "./internal/api", "TestARefusalEndsThePause",
	},
	{
		"A write that was lost was reported as drift by somebody else", "review",
		"internal/merge/node.go", "case n.have == nil && b.gone:", "case false:", "./internal/merge", "TestOurOwnDoingIsNoDrift",
	},
	{
		"A list that lagged behind trueup's own write was reported as drift, and git took the write back", "review",
		"internal/ledger/record.go", "now.Sub(s.At).Abs() < listLag", "false", "./internal/e2e/script", "TestScripts$/^a-list-that-lags",
	},
	{
		"apply --expect accepted a plan although purge.duplicate, which decides what counts as executed, had changed", "review",
		"internal/plan/inputs.go", "\t\t\"duplicate\": project.Purge.Duplicate.String(), // it decides whether a purge counts as executed\n", "", "./internal/plan", "TestWhatAPlanAsserts",
	},
	{
		"A live object that is being deleted was called as git says", "review",
		"internal/plan/converge.go", "\t\td.item.blockForNow(\"live is being deleted\", \"run trueup again when it is gone\")\n\t\td.item.Deleted = true\n", "\t\td.item.blockForNow(\"live is being deleted\", \"run trueup again when it is gone\")\n", "./internal/plan", "TestTerminatingAndBareObjectsAreLeftAlone",
	},
	{
		"A nested repository could take the pin of another project", "review",
		"internal/config/pins.go", "if err != nil || !strings.Contains(filepath.ToSlash(string(text)), \"/modules/\") {", "if text = nil; err != nil || text == nil {", "./internal/e2e/script", "TestScripts$/^a-nested-repository-takes-no-pin",
	},
	{
		"A part of a token was printed if an answer repeated it in Base64", "review",
		"internal/diag/answer.go", "return hasSecretPart(t) || moreBase64 > 0 && t != \"\" && hasSecret(decodeBase64Parts(t), moreBase64-1)", "return hasSecretPart(t)", "./internal/diag", "TestNoAnswerHasAPartOfASecret",
	},
	{
		"Results of one shard that were there twice were counted twice", "review",
		"internal/report/fleet.go", "case other != \"\":", "case other != \"\" && false:", "./internal/report", "TestCollectRejects",
	},
	{
		"A null in a live list blocked every change of that list", "all comparisons of a small universe",
		"internal/plan/shown.go", "if v.Value != nil {", "if true {", "./internal/plan", "TestANullThatAListDropsHasALine",
	},
	{
		"A plan sent an empty object for fields that belong to the server, again and again", "all comparisons of a small universe",
		"internal/merge/settled.go", "r.isEmpty(SendableValue(r, want))", "r.isEmpty(want)", "./internal/merge", "TestEveryComparison",
	},
}

// TestFaults holds docs/reference/faults.md.
func TestFaults(t *testing.T) {
	var page strings.Builder
	page.WriteString("# Faults\n\n<!-- written by go test ./internal/e2e/docs -run TestFaults -update -->\n\n" +
		"Serious faults that trueup had, and the command that finds each if it comes back. CI puts each back every week. " +
		"Where no record says how a fault was found, the table says review.\n\n" +
		"| fault | found by | command |\n|---|---|---|\n")
	for _, f := range faults {
		fmt.Fprintf(&page, "| %s | %s | `go test %s -run '^%s$'` |\n", f.fault, f.foundBy, f.pkg, f.test)
		if n := strings.Count(harness.ReadText(t, f.file), f.code); n != 1 {
			t.Errorf("%s has the code of %q %d times", f.file, f.fault, n)
		}
	}
	compareFile(t, filepath.Join("docs", "reference", "faults.md"), []byte(page.String()))
}

// TestFaultsAreFound puts each fault back, and runs its command.
func TestFaultsAreFound(t *testing.T) {
	long.SkipUnlessSet(t)
	for _, f := range faults {
		t.Run(f.fault, func(t *testing.T) {
			mutant, overlay := filepath.Join(t.TempDir(), "mutant.go"), filepath.Join(t.TempDir(), "overlay.json")
			text, err := json.Marshal(map[string]any{"Replace": map[string]string{harness.FromRoot(t, f.file): mutant}})
			if err != nil {
				t.Fatal(err)
			}
			for name, text := range map[string]string{mutant: strings.Replace(harness.ReadText(t, f.file), f.code, f.before, 1), overlay: string(text)} {
				if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			cmd := exec.CommandContext(t.Context(), "go", "test", "-overlay", overlay, "-vet=off", "-run", "^"+f.test+"$", f.pkg)
			cmd.Env = append(os.Environ(), "TRUEUP_LONG=1", "RAPID_NOFAILFILE=true")
			cmd.Dir = harness.FromRoot(t, ".")
			if out, err := cmd.CombinedOutput(); err == nil || !strings.Contains(string(out), "--- FAIL: ") {
				t.Errorf("its command does not find it: %v\n%.1500s", err, out)
			}
		})
	}
}
