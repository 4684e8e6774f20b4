package ledger_test

import (
	"os/exec"
	"strings"
	"testing"

	"trueup/internal/e2e/long"
)

// foldMistakes are mistakes in folding, each of which a test of folds must find.
var foldMistakes = []struct {
	name  string
	edits []edit
}{
	{"the index before the blocks", []edit{
		{"log.go", "\tblocks map[string][]foldedRecord // by id\n", "\tblocks map[string][]foldedRecord\n\tlater func() error\n"},
		{"block.go", "\treturn f.index, s.createBlocks(ctx, &f)\n", "\ts.later = func() error { return s.createBlocks(ctx, &f) }\n\treturn f.index, nil\n"},
		{"fold.go", "_ = s.blobs.Remove(ctx, entries...)", "_ = errors.Join(s.later(), s.blobs.Remove(ctx, entries...))"},
	}},
	{"entries are removed too early", []edit{{"fold.go", "entry >= s.state.folded.Entry", "entry > s.state.last"}}},
	{"a block of the index is removed", []edit{{"fold.go", "used[b.fileName()] = true", "used[b.ID] = true"}}},
	{"the digest is lost", []edit{{"fold.go", "SpecDigest: r.SpecDigest, ", ""}}},
	{"the block before is read", []edit{{"fold.go", "\tif found {\n", "\tif found && i < 0 {\n"}}},
	{"a folded purge is free", []edit{{"batch.go", "have = folded.Seq", "have = 0"}}},
	{"a change meanwhile is lost", []edit{{"fold.go", "l == nil || l.Seq != rec.Seq", "false"}, {"fold.go", "\t\t\tif l := s.state.lines[rec.Key]; ", "\t\t\tif "}}},
	{"a listing moves what an entry is compared with", []edit{{"fold.go", "err = s.readNewEntries(ctx) // a store", "err = nil // a store"}}},
	{"another fold is lost", []edit{{"fold.go", "s.state.folded.Entry != was {", "s.state.folded.Entry < was {"}}},
	{"an open request is folded", []edit{
		{"fold.go", "return r.isFinal() && l.mayFold(since)", "return l.mayFold(since)"},
		{"fold.go", "k.IsRequestOnly() && !l.isSince(since)", "k.IsRequestOnly()"},
	}},
	{"a block loses a record", []edit{{"block.go", "all = slices.Insert(all, i, r)", "all = slices.Insert(all, i, r)[max(0, len(all)-4):]"}}},
	{"the sum is of what was written", []edit{
		{"block.go", "all = slices.Insert(all, i, r)", "all = slices.Insert(all, i, r)[max(0, len(all)-4):]"},
		{"block.go", "if sum != f.sum {", "if false {"},
	}},
	{"a number that a fold removed is free", []edit{{"batch.go", "s.state.folded.Begin.Entry > entry", "false"}}},
	{"who has created an entry does not look again", []edit{{"batch.go", "err == nil && newest != entry", "err == nil && newest < entry"}}},
	{"entries are removed before the index", []edit{{"fold.go", "	if err := s.publishFold(ctx, index, records); err != nil {", "	_ = s.blobs.Remove(ctx, entries...)\n	if err := s.publishFold(ctx, index, records); err != nil {"}}},
	{"a slow clock says when a fold was", []edit{{"fold.go", "s.foldSince(ctx, late, since)", "s.foldSince(ctx, early, since)"}}},
	{"a fast clock says how old a fold is", []edit{{"order.go", "log.fold(ctx, now.Add(min(0, ", "log.fold(ctx, now.Add(max(0, "}}},
	{"a fold does not wait for the window", []edit{{"fold.go", "early.Sub(s.state.folded.At).Abs() < foldAge", "false"}}},
	{"what never folds is a reason to fold", []edit{{"fold.go", "max(len(records), ", "max(len(records)+len(s.state.lines), "}}},
}

// TestFoldsFindMistakes runs the tests of folds with one mistake in the code, for each mistake.
func TestFoldsFindMistakes(t *testing.T) {
	long.SkipUnlessSet(t)
	for _, m := range foldMistakes {
		t.Run(m.name, func(t *testing.T) {
			cmd := exec.CommandContext(t.Context(), "go", "test", "-overlay", overlay(t, m.edits), "-vet=off", "-timeout", "3m",
				"-run", "^Test(EveryFold|KilledFold|Fold.*|WriteOfAnOldState|VerifyOfFolds)$", ".")
			cmd.Env = append(cmd.Environ(), "TRUEUP_LONG=")
			out, err := cmd.CombinedOutput()
			if err == nil || !strings.Contains(string(out), "--- FAIL: Test") {
				t.Errorf("no test finds it: %v\n%.1500s", err, out)
			}
		})
	}
}
