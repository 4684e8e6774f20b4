package merge_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"trueup/internal/canon"
	"trueup/internal/e2e/long"
	"trueup/internal/effect"
	"trueup/internal/merge"
)

var update = flag.Bool("update", false, "write the number of comparisons to the docs")

// TestEveryComparison compares all specs, lives and records of the small universes, under each override: each patch reaches
// git's goal, is the smallest, leaves nothing to a second one, and has a line for each change. Without TRUEUP_LONG it draws
// one in four of them.
func TestEveryComparison(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes long under the race detector")
	}
	var count atomic.Int64
	t.Run("all", func(t *testing.T) {
		for _, u := range universes() {
			for _, o := range u.overrides {
				t.Run(u.name+"/"+o.name, func(t *testing.T) {
					t.Parallel()
					count.Add(int64(u.compareAll(t, o)))
				})
			}
		}
	})
	t.Logf("%d comparisons", count.Load())
	if !t.Failed() && !isLong() && !strings.Contains(flag.Lookup("test.run").Value.String(), "/") {
		wantInDocs(t, int(count.Load()))
	}
}

// wantInDocs compares the number of comparisons with docs/design.md, or writes it there.
func wantInDocs(t *testing.T, count int) {
	t.Helper()
	const path = "../../docs/design.md"
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	line := regexp.MustCompile(`tries all [0-9,]+ comparisons`)
	now := line.ReplaceAllString(string(text), "tries all "+withCommas(count)+" comparisons")
	switch {
	case !line.Match(text):
		t.Errorf("%s does not say how many comparisons there are", path)
	case now == string(text):
	case !*update:
		t.Errorf("%s has another number than %d: run go test ./internal/merge -run TestEveryComparison -update", path, count)
	default:
		if err := os.WriteFile(path, []byte(now), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

func withCommas(n int) string {
	text := fmt.Sprint(n)
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}

// compareAll makes every comparison under a law.
func (u universe) compareAll(t *testing.T, o override) (count int) {
	l := u.law()
	o.do(l)
	rules, combined := l.rules(), [][2]bool{{false, false}, {true, false}, {false, true}, {true, true}}
	switch {
	case isLong():
	case o.name == noOverride:
		combined = combined[:3]
	default:
		combined = combined[:1]
	}
	step := long.Choose(4, 1)
	first := rand.IntN(step)
	for _, want := range u.git {
		for _, live := range u.live {
			for _, record := range u.withRecords() {
				in := merge.Input{Rules: rules, Applied: record[0], Desired: want, Live: live}
				if record[1] != nil {
					in.Pending = []any{record[1]}
				}
				for _, options := range combined {
					in.TakeOver, in.LeaveDrift = options[0], options[1]
					if count++; count%step != first {
						continue
					}
					if wrong := judge(l, in); wrong != "" {
						t.Fatalf("%s\n git     %s\n live    %s\n applied %s\n pending %s\n take over %v, leave drift %v\n patch   %s", wrong,
							encode(want), encode(live), encode(record[0]), encode(record[1]), in.TakeOver, in.LeaveDrift, encode(merge.Compare(in).Patch))
					}
				}
			}
		}
	}
	return count
}

func encode(v any) string { return string(canon.Encode(v)) }

// judge returns what is wrong with a comparison, or "".
func judge(l *law, in merge.Input) string {
	res := merge.Compare(in)
	if len(res.Mixed)+len(res.Unplaced) > 0 {
		return "" // nothing is sent
	}
	v := verdict{law: l, in: in, res: res, after: patched(anyPatch(res.Patch), in.Live)}
	v.records = append(had{in.Applied}, in.Pending...)
	v.goal = l.goal(git{true, in.Desired}, in.Live, v.records)
	for _, check := range []func(verdict) string{verdict.unreached, verdict.needless, verdict.unsettled, verdict.unasked, verdict.misjudged, verdict.unshown} {
		if wrong := check(v); wrong != "" {
			return wrong
		}
	}
	return ""
}

func anyPatch(patch map[string]any) any {
	if patch == nil {
		return map[string]any{}
	}
	return patch
}

// patched is live after a merge patch, as RFC 7396 says it.
func patched(patch, live any) any {
	fields, ok := patch.(map[string]any)
	if !ok {
		return patch
	}
	out := map[string]any{}
	old, _ := live.(map[string]any)
	for name, v := range old {
		out[name] = v
	}
	for name, v := range fields {
		if out[name] = patched(v, out[name]); v == nil {
			delete(out, name)
		}
	}
	return out
}

// verdict is what a comparison found, and what it should have.
type verdict struct {
	law         *law
	in          merge.Input
	res         merge.Comparison
	records     had
	goal, after any
}

// unreached: after the request, live is git's goal; what is left is as it was.
func (v verdict) unreached() string {
	for name, l := range v.law.fields {
		goal, live, after := fieldOf(v.goal, name), fieldOf(v.in.Live, name), fieldOf(v.after, name)
		resent := *l
		resent.resend = true
		other := resent.goal(git{v: v.in.Desired}.field(name), live, v.records.field(name))
		left := slices.ContainsFunc(v.res.Changes, func(c merge.Difference) bool { return c.Left && c.At[0].Field == name })
		reached := l.reaches(goal, after) || l.mayResend(v.records.field(name)) && l.reaches(other, after)
		if !reached && (!left || !l.reaches(live, after)) {
			return fmt.Sprintf("%s is %s after the request, and should be %s", name, encode(after), encode(goal))
		}
	}
	return ""
}

// needless: each part of the patch changes something.
func (v verdict) needless() (wrong string) {
	leaves(anyPatch(v.res.Patch), nil, func(at []string) {
		l, goal, live := v.law, v.goal, v.in.Live
		for _, name := range at {
			l, goal, live = l.fields[name], fieldOf(goal, name), fieldOf(live, name)
		}
		if l.reaches(goal, live) && v.res.Patch != nil && !l.mayResend(v.records.field(at[0])) {
			wrong = "the patch has a needless " + strings.Join(at, ".")
		}
	})
	return wrong
}

// unsettled: a second comparison sends nothing and shows nothing but what was left.
func (v verdict) unsettled() string {
	if v.in.LeaveDrift {
		return ""
	}
	next := v.in
	next.Live = v.after
	for _, records := range []struct {
		applied any
		pending []any
	}{{v.in.Applied, v.in.Pending}, {v.in.Desired, nil}, {v.in.Applied, []any{v.in.Desired}}} {
		next.Applied, next.Pending = records.applied, records.pending
		if second := merge.Compare(next); second.Patch != nil || len(second.Changes) > 0 {
			return fmt.Sprintf("a second request would send %s", encode(second.Patch))
		}
	}
	return ""
}

// unasked: a person is asked before a list element is dropped that no record has, and only then.
func (v verdict) unasked() string {
	if v.in.LeaveDrift {
		return ""
	}
	l := v.law.fields["l"]
	if l == nil || l.key == "" {
		return ""
	}
	_, owned := fieldOf(v.in.Applied, "l").([]any)
	must := !v.in.TakeOver && !owned && l.foreign(fieldOf(v.goal, "l"), fieldOf(v.in.Live, "l"), v.records.field("l"))
	if asks := len(v.res.FirstContact) > 0; asks != must {
		return fmt.Sprintf("asks a person about list elements: %v, and should: %v", asks, must)
	}
	return ""
}

// misjudged: each change of a field has the class that the table of docs/design.md gives it.
func (v verdict) misjudged() string {
	if v.in.Applied == nil || v.in.Pending != nil {
		return ""
	}
	base, want, live := fieldOf(v.in.Applied, "f"), git{v: v.in.Desired}.field("f"), fieldOf(v.in.Live, "f")
	class := merge.Conflict
	switch {
	case want.v != nil && base != nil && means(base, want.v):
		class = merge.DriftOverwrite
	case want.v == nil && (base == nil || means(base, live)):
		class = merge.Removed
	case want.v == nil:
		class = merge.RemovedConflict
	case base == nil && live != nil:
		class = merge.TakeOver
	case base == nil, means(base, live):
		class = merge.Changed
	}
	for _, c := range v.res.Changes {
		if c.Path == "f" && c.Class != class {
			return fmt.Sprintf("f is %s, and should be %s", c.Class, class)
		}
	}
	return ""
}

// unshown: the lines show all that the request does. One line less, and the check of the request finds it.
func (v verdict) unshown() string {
	var lines []effect.ShownChange
	for _, c := range v.res.Changes {
		if !c.Left {
			lines = append(lines, effect.ShownChange{Path: c.Path, At: c.At, Live: c.Live, After: c.Desired, Moved: c.Moved})
		}
	}
	changes := len(lines)
	for _, c := range v.res.Collateral {
		if c.Value == nil {
			continue // a null says nothing
		}
		lines = append(lines, effect.ShownChange{Path: c.Path, At: c.At, Live: c.Value})
	}
	if v.res.Patch == nil {
		if len(lines) > 0 {
			return "a line for nothing"
		}
		return ""
	}
	body, err := json.Marshal(map[string]any{"spec": v.res.Patch})
	if err != nil {
		return err.Error()
	}
	if found := effect.UnshownChanges(body, v.in.Live, lines); len(found) > 0 {
		return strings.Join(found, "; ")
	}
	for i := range changes {
		if less := slices.Delete(slices.Clone(lines), i, i+1); len(effect.UnshownChanges(body, v.in.Live, less)) == 0 && (lines[i].Moved || !means(lines[i].Live, lines[i].After)) {
			return "nobody misses the line " + lines[i].Path
		}
	}
	return ""
}
