package merge

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"trueup/internal/e2e/long"
)

// mutation is a mistake: it stands in the place of a piece of code.
type mutation struct{ name, file, code, mistake string }

// mutations are mistakes that a comparison can have: the first eight are those
// of docs/design.md B7, the others what section 0 adds.
var mutations = []mutation{
	{"removal not sent", "walk.go", "case n.base.isKnown() && !n.rules.isEmpty(n.have):\n\t\treturn w.recordDifference(n)", "case n.base.isKnown():\n\t\treturn nil, false"},
	{"live-only element fields dropped", "walk.go", "w.whole && !n.byKey:", "w.whole:"},
	{"removed element fields kept", "walk.go", "case n.base.isKnown() && !n.rules.isEmpty(n.have):\n\t\treturn w.recordDifference(n)", "case !w.whole && n.base.isKnown():\n\t\treturn w.recordDifference(n)"},
	{"no scalar rule", "settled.go", "return xKind == yKind || xKind == isText || yKind == isText", "return xKind == yKind"},
	{
		"lists compared literally", "settled.go",
		"if !needsNoPatch(item, bases.baseAt(i), w, have[j]) {",
		"if !isSame(item, w, have[j]) || !needsNoPatch(item, bases.baseAt(i), w, have[j]) {",
	},
	{"order ignored", "settled.go", "if j < 0 || j != i && !r.isSet() {", "if j < 0 {"},
	{"nulls in created objects", "form.go", "(e != nil || f.nulls) && !f.leaveOut(child)", "!f.leaveOut(child)"},
	{
		"null sent for absent", "walk.go", "case n.rules.isExcluded() || n.want == nil && n.rules.isEmpty(n.have):\n\t\treturn w.carryUnmanaged(n), false\n\tcase n.rules.areEmpty(n.want, n.have):",
		"case n.rules.isExcluded():\n\t\treturn w.carryUnmanaged(n), false\n\tcase n.want != nil && n.rules.areEmpty(n.want, n.have):",
	},
	{"no wildcard keys", "pair.go", "if xKeys.wild || yKeys.wild {", "if false {"},
	{"elements dropped at first contact", "verdict.go", "if w.takeOver || l.isTakenOver() {", "if true {"},
	{"overrides not heard", "merge.go", "r != nil && (r.Ignore || r.ReadOnly || r.Omit)", "r != nil && (r.ReadOnly || r.Omit)"},
	{"documented types not used", "form.go", "return convertScalar(r.scalarType(), v)", "return v"},
	{"pending not judged", "node.go", "c.addPendingRecord(fieldOf(p, name))", "_ = p"},
	{
		"unknown paths compared strictly", "settled.go",
		"\tif r.scalarType() == kind.Number {", "\tif r.scalarType() == kind.AnyType && a != b {\n\t\treturn false\n\t}\n\tif r.scalarType() == kind.Number {",
	},
}

// hidden are mistakes by which a request does what no line shows, or a line shows
// what no request does: the check of the request alone stops each of them.
var hidden = []mutation{
	{
		"ignored fields from git", "walk.go", "case n.rules.isExcluded() || n.want == nil && n.rules.isEmpty(n.have):\n\t\treturn w.carryUnmanaged(n), false",
		"case n.rules.isExcluded() && !n.byKey:\n\t\treturn SendableValue(n.rules, n.want), false",
	},
	{"read-only fields left out", "walk.go", "if !w.whole || n.have == nil {", "if !w.whole || n.have == nil || n.rules.isServerOwned() {"},
	{"sets sent in git's order", "walk.go", "0, l.rules.isSet()", "0, false"},
	{"what is omitted is not listed", "walk.go", "if n.rules.hasAnywhere((*Rules).isOmitted) {", "if false {"},
	{"moved elements not shown", "walk.go", "if len(elsewhere) == 0 {", "if len(elsewhere) < 3 {"},
	{"moved elements of the wrong index", "walk.go", "c := l.desiredNode(i, i)", "c := l.elementNode(l.names.nameOf(l.git[i], i), i, i, i)"},
	{"dropped elements not shown", "walk.go", "\t\tw.recordChange(c, class)\n", "\t\tif c.base.isKnown() {\n\t\t\tw.recordChange(c, class)\n\t\t}\n"},
	{"what only live has in a positional element goes unseen", "walk.go", "\t\tw.recordCollateral(n)\n\t\treturn nil, false", "\t\treturn nil, false"},
	{"a discriminator's old sibling goes unseen", "walk.go", "case stale:\n\t\tw.recordCollateral(n)", "case stale:"},
	{"removed fields not shown", "walk.go", "\tw.recordChange(n, class)\n", "\tif n.want != nil {\n\t\tw.recordChange(n, class)\n\t}\n"},
	{"a class that is not shown", "walk.go", "\tw.recordChange(n, class)\n", "\tif class != TakeOver {\n\t\tw.recordChange(n, class)\n\t}\n"},
	{"the last value shown for the new one", "verdict.go", "Base: n.recordedValue(), Live: n.have, Desired: SendableValue(n.rules, n.want),", "Base: n.recordedValue(), Live: n.have, Desired: n.recordedValue(),"},
	{
		"elements under another's name", "walk.go", "c := l.desiredNode(i, order[i])",
		"c := l.desiredNode(i, order[i])\n\t\tc.path = l.path + \"[\" + l.names.nameOf(l.git[0], order[i]) + \"]\"",
	},
	{"drift said to be left that is sent", "walk.go", "w.res.Mixed = append(w.res.Mixed, path)\n\t\treturn false", "changes[0].Left = true\n\t\treturn false"},
	{"a line without the element's place", "node.go", "Index: index, Live: live, After: after", "Index: index, Live: live, After: live"},
}

// blind are mistakes by which the check after a write overlooks what a server did, or finds what it did not do.
var blind = []mutation{
	{"removals are not checked", "check.go", "\t\tc.checkRemoved(n, was)\n", "\t\tc.noteFilled(n)\n"},
	{"defaults are removals that failed", "check.go", "if LiveCovers(n.rules, was, n.have) && ", "if "},
	{"what was not sent is not checked", "check.go", "was := fieldOf(was, k)\n", "was := fieldOf(was, k)\n\t\t\t\tif _, ok := sent.fields[k]; !ok && !sent.isWhole {\n\t\t\t\t\tcontinue\n\t\t\t\t}\n"},
	{"everything was asked for", "check.go", "return sentPart{isWhole: s.isWhole}", "return sentPart{isWhole: true}"},
	{"nothing was asked for", "check.go", "\treturn sentPart{isWhole: true}\n", "\treturn sentPart{}\n"},
	{"order is not checked", "check.go", "!l.rules.isSet() && len(findDisplaced(l.of)) > 0", "false"},
	{"dropped elements go unseen", "check.go", "case j < 0:\n\t\t\tc.reportMismatch(e, sent.isWhole)", "case j < 0:"},
	{"added elements are filled in", "check.go", "case isOld || isSent || len(was) > 0:", "case isOld && !isSent:"},
	{"elements that stay are filled in", "check.go", "case isOld && isSent:\n\t\tc.reportNotRemoved(e)", "case isOld && isSent:\n\t\tc.noteFilled(e)"},
	{"elements lose what was before", "check.go", "c.checkPlace(e, was[b], sent)", "c.checkPlace(e, nil, sent)"},
	{"dropped objects go unseen", "check.go", "have = map[string]any{} // the request asked for some of its fields only", "return"},
	{"excluded fields are checked", "check.go", "case n.rules.isExcluded() || n.rules.areEmpty(n.want, n.have):", "case n.rules.areEmpty(n.want, n.have):"},
	{"lost values may not come back", "check.go", "return isWithin(n.path, v.Path)", "return false && isWithin(n.path, v.Path)"},
	{"an element that stays is not owed", "check.go", "return append(list, value)", "return list"},
	{"a field of an element is owed elsewhere", "check.go", "list[i] = putAt(r.elementRules(), list[i], withoutNulls(after)[step.Index], at[1:], value)\n\t\t\treturn list", "return list"},
}

// TestMutationsAreCaught runs other tests on the package with one mistake in it; they must fail, and not for want of
// compiling. Because each takes a build, it draws one mistake, and tries all of them with TRUEUP_LONG.
func TestMutationsAreCaught(t *testing.T) {
	if testing.Short() {
		t.Skip("builds the package")
	}
	drawn := rand.IntN(len(mutations) + len(hidden) + len(blind))
	for _, c := range []struct {
		mistakes []mutation
		tests    []string
	}{
		{mutations, []string{"^TestProperties$", "^(TestDesignCases|TestFirstContact|TestSectionZero|TestOverrides)$"}},
		{hidden, []string{"^TestEveryChangeHasALine$"}}, // the check alone catches them
		{blind, []string{"^(TestDisturbedWrites|TestHonestServers|TestRemovalsThatAreOwed)$", "^(TestCheck|TestLostValuesMayComeBack)$"}},
	} {
		for i, m := range c.mistakes {
			if long.IsSet() || i == drawn {
				catches(t, m, c.tests...)
			}
		}
		drawn -= len(c.mistakes)
	}
}

// elsewhere are mistakes about what the small universe lacks: discriminators, keys with wildcards, numbers, fields without
// a documented type, and objects that are created.
var elsewhere = []string{
	"a discriminator's old sibling goes unseen", "no wildcard keys", "documented types not used", "unknown paths compared strictly", "nulls in created objects",
}

// TestComparisonsFindMistakes: all comparisons of a small universe find what others find by chance.
func TestComparisonsFindMistakes(t *testing.T) {
	all := slices.DeleteFunc(slices.Concat(mutations, hidden), func(m mutation) bool { return slices.Contains(elsewhere, m.name) })
	design, err := os.ReadFile("../../docs/design.md")
	if words := fmt.Sprintf("each of %d mistakes", len(all)); err != nil || !strings.Contains(string(design), words) {
		t.Errorf("docs/design.md does not say %q: %v", words, err)
	}
	long.SkipUnlessSet(t)
	for _, m := range all {
		catches(t, m, "^TestEveryComparison$")
	}
}

// catches requires that one of the tests fails with a mistake.
func catches(t *testing.T, m mutation, tests ...string) {
	t.Run(m.name, func(t *testing.T) {
		t.Parallel()
		for _, tests := range tests {
			out, failed := runMutated(t, m, tests)
			if failed && !strings.Contains(out, "--- FAIL: ") {
				t.Fatalf("the mutated package does not run:\n%s", out)
			}
			if failed {
				return
			}
		}
		t.Error("no test fails")
	})
}

// runMutated runs some tests of this package with one piece of code replaced,
// through an overlay: nothing is written but below the test's own folder.
func runMutated(t *testing.T, m mutation, tests string) (string, bool) {
	t.Helper()
	source, err := os.ReadFile(m.file)
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(string(source), m.code); n != 1 {
		t.Fatalf("%s has the code of this mutation %d times", m.file, n)
	}
	path, err := filepath.Abs(m.file)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	mutant, overlay := filepath.Join(dir, m.file), filepath.Join(dir, "overlay.json")
	write(t, mutant, []byte(strings.Replace(string(source), m.code, m.mistake, 1)))
	b, err := json.Marshal(map[string]any{"Replace": map[string]string{path: mutant}})
	if err != nil {
		t.Fatal(err)
	}
	write(t, overlay, b)
	cmd := exec.CommandContext(t.Context(), "go", "test", "-overlay", overlay, "-vet=off", "-ldflags=-s -w", "-run", tests,
		".", "-rapid.checks=1000", "-rapid.shrinktime=1ms", "-rapid.nofailfile", "-rapid.seed=1")
	cmd.Env = append(os.Environ(), "TRUEUP_LONG=1")
	out, err := cmd.CombinedOutput()
	return string(out), err != nil
}

func write(t *testing.T, path string, b []byte) {
	t.Helper()
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
}
