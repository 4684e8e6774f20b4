package report

import (
	"strings"
	"testing"

	"trueup/internal/e2e/long"
	"trueup/internal/view"

	"pgregory.net/rapid"
)

// TestTextFitsAnyTerminal: whatever a plan is and however it is shown, no line
// is wider than the terminal, and none is obeyed.
func TestTextFitsAnyTerminal(t *testing.T) {
	long.SetChecks(t, 40)
	rapid.Check(t, func(rt *rapid.T) {
		doc := anyDocument().Draw(rt, "document")
		columns := rapid.SampledFrom([]int{40, 60, 80, 120, 200}).Draw(rt, "columns")
		opts := view.TextOptions{Width: columns, Verbose: true}
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
		var spans []styledText
		for i, s := range rapid.SliceOfN(anyText(), 1, 4).Draw(rt, "texts") {
			spans = append(spans, styledText{clean(s), style(i)})
		}
		columns := rapid.IntRange(4, 120).Draw(rt, "columns")
		var got strings.Builder
		for _, line := range wrapSpans(spans, columns, rapid.IntRange(0, 20).Draw(rt, "hang")) {
			if n := joinSpans(line).Width(); n > columns {
				rt.Fatalf("%d columns of %d: %q", n, columns, joinSpans(line))
			}
			got.WriteString(joinSpans(line).String())
		}
		if want := strings.ReplaceAll(joinSpans(spans).String(), " ", ""); strings.ReplaceAll(got.String(), " ", "") != want {
			rt.Fatalf("%q became %q", want, got.String())
		}
	})
}
