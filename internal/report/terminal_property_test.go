package report

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"trueup/internal/merge"
	"trueup/internal/plan"
)

// TestTextFitsAnyTerminal: whatever a plan is and however it is shown, no line
// is wider than the terminal, and none is obeyed.
func TestTextFitsAnyTerminal(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		doc := anyDocument().Draw(rt, "document")
		columns := rapid.SampledFrom([]int{40, 60, 80, 120, 200}).Draw(rt, "columns")
		opts := Options{Width: columns, Diff: rapid.SampledFrom(Diffs()).Draw(rt, "diff"), Verbose: true, ShowUnmanaged: true}
		out := render(t, "text", doc, opts)
		checkPlain(rt, "text", out)
		for line := range strings.Lines(string(out)) {
			if line = strings.TrimSuffix(line, "\n"); clean(line).Width() > columns {
				rt.Fatalf("%d columns of %d: %q", clean(line).Width(), columns, line)
			}
		}
	})
}

// TestWrapLosesNothing: a text that is set on several lines has all its visible
// characters, and each line fits.
func TestWrapLosesNothing(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		var spans []span
		for i, s := range rapid.SliceOfN(anyText(), 1, 4).Draw(rt, "texts") {
			spans = append(spans, span{clean(s), style(i)})
		}
		columns := rapid.IntRange(4, 120).Draw(rt, "columns")
		var got strings.Builder
		for _, line := range wrap(spans, columns, rapid.IntRange(0, 20).Draw(rt, "hang")) {
			if n := flat(line).Width(); n > columns {
				rt.Fatalf("%d columns of %d: %q", n, columns, flat(line))
			}
			got.WriteString(flat(line).String())
		}
		if want := strings.ReplaceAll(flat(spans).String(), " ", ""); strings.ReplaceAll(got.String(), " ", "") != want {
			rt.Fatalf("%q became %q", want, got.String())
		}
	})
}

// TestUnifiedIsAPatch: the unified form of an object, applied to the text of
// live, gives the text of git.
func TestUnifiedIsAPatch(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		item := anyItem().Draw(rt, "item")
		tree := objectTree(item, Options{})
		before, after := textOf(tree, fromSide), textOf(tree, toSide)
		out := printed(func(p *printer) { textDiff(p, &plan.Plan{}, item, Options{Diff: DiffUnified}) })
		i, j := 0, 0
		skip := func(to int) {
			for ; i < to; i, j = i+1, j+1 {
				if j >= len(after) || before[i].text != after[j].text {
					rt.Fatalf("line %d is left out and differs", i+1)
				}
			}
		}
		for _, text := range out[min(2, len(out)):] {
			line := text.String()
			is := func(l textLine) bool {
				return strings.HasPrefix(line, clean(strings.TrimRight(line[:1]+l.text.String(), " ")).Guarded().String())
			}
			var a, n, b, m int
			switch {
			case strings.HasPrefix(line, "    … "):
				return // more than a diff may have
			case strings.HasPrefix(line, "@@"):
				if _, err := fmt.Sscanf(line, "@@ -%d,%d +%d,%d", &a, &n, &b, &m); err != nil {
					rt.Fatalf("%q: %v", line, err)
				}
				skip(a - min(n, 1))
				if j != b-min(m, 1) {
					rt.Fatalf("%q is at line %d of git", line, j)
				}
			case strings.HasPrefix(line, "-") && is(before[i]):
				i++
			case strings.HasPrefix(line, "+") && is(after[j]):
				j++
			// Of an empty line that both have, the sign is no more than a space at its end.
			case (line == "" || strings.HasPrefix(strings.TrimPrefix(line, `\`), " ")) && before[i].text == after[j].text:
				i, j = i+1, j+1
			default:
				rt.Fatalf("%q is not line %d of live, nor line %d of git, in %q", line, i+1, j+1, out)
			}
		}
		skip(len(before))
		if j != len(after) {
			rt.Fatalf("%d lines of git are missing in %q", len(after)-j, out)
		}
	})
}

// TestDiffSaysWhatIsCompared: a plan from git alone does not speak of live.
func TestDiffSaysWhatIsCompared(t *testing.T) {
	pl := plan.Plan{Format: plan.Format, Items: []plan.Item{changedItem()}}
	for _, offline := range []bool{false, true} {
		pl.Offline = offline
		for diff, want := range map[string][]string{DiffUnified: {"--- CDN/shop (live)", "+++ CDN/shop (git)"}, DiffSides: {"    live  ", " │ git\n"}} {
			text := string(render(t, "text", Document{Command: "plan", Plan: &pl}, Options{Diff: diff, Width: 120}))
			for _, w := range want {
				if offline {
					w = strings.NewReplacer("live", "base", "git", "head").Replace(w)
				}
				if !strings.Contains(text, w) {
					t.Errorf("%s, offline %t: %q is not in %s", diff, offline, w, text)
				}
			}
		}
	}
}

// TestDiffSaysWhatIsLeftOut: an object's diff is bounded, and says so.
func TestDiffSaysWhatIsLeftOut(t *testing.T) {
	item := plan.Item{Key: key("CDN", "x"), Op: plan.Patch}
	for i := range 2 * maxDiffLines {
		item.Changes = append(item.Changes, changes([]merge.Change{{Path: fmt.Sprintf("headers.h%04d", i), Class: merge.Changed, Live: strings.Repeat("a ", 80), Desired: strings.Repeat("b ", 80)}})...)
	}
	for _, style := range []string{DiffUnified, DiffSides} {
		out := string(render(t, "text", Document{Plan: &plan.Plan{Items: []plan.Item{item}}}, Options{Diff: style, Width: 120}))
		if n := strings.Count(out, "\n"); n > 5*maxDiffLines || !strings.Contains(out, " more lines: -o json has them all") {
			t.Errorf("%s: %d lines, and the end is %q", style, n, out[len(out)-300:])
		}
	}
}

// TestDiffOfLongTexts: what differs at the end of long texts is shown, and a text
// of several lines is compared by them.
func TestDiffOfLongTexts(t *testing.T) {
	same := strings.Repeat("same ", 3000)
	lines := strings.Repeat("line\n", 50)
	for name, c := range map[string]struct {
		live, git string
		want      []string
	}{
		"one line":      {same + "old", same + "new", []string{"same old", "same new"}},
		"several lines": {lines + "old\n" + lines, lines + "new\n" + lines, []string{"-  old\n", "+  new", "@@ -49,7 +49,7 @@"}},
		"an empty line": {"a\n", "a\n\n", []string{"-x: |\n", "+x: |+", "\n+\n"}},
		"the end alone": {lines, strings.TrimSuffix(lines, "\n"), []string{"-x: |\n", "+x: |-"}},
	} {
		item := plan.Item{Key: key("CDN", "x"), Op: plan.Patch, Changes: changes([]merge.Change{{Path: "x", Class: merge.Changed, Live: c.live, Desired: c.git}})}
		out := string(render(t, "text", Document{Plan: &plan.Plan{Items: []plan.Item{item}}}, Options{Diff: DiffUnified}))
		for _, want := range c.want {
			if !strings.Contains(out, want) {
				t.Errorf("%s: no %q in %q", name, want, out)
			}
		}
		if len(out) > 2000 {
			t.Errorf("%s: %d bytes", name, len(out))
		}
	}
}

// TestSidesNeedRoom: where a terminal is too narrow for two columns it is said.
func TestSidesNeedRoom(t *testing.T) {
	for columns, want := range map[int]bool{0: false, 60: true, 79: true, 80: false} {
		out := string(render(t, "text", Document{Plan: explainedPlan()}, Options{Diff: DiffSides, Width: columns}))
		if got := strings.Contains(out, "Note: side by side needs 80 columns") && strings.Contains(out, "@@ -"); got != want || got == strings.Contains(out, " │ ") {
			t.Errorf("%d columns: %t:\n%s", columns, got, out)
		}
	}
}
