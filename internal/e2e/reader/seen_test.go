// Package reader reads what each format prints as a person does, and looks for everything grave in a plan. It shares no code
// with what makes the lines and what prints them.
package reader

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"trueup/internal/e2e/long"
	"trueup/internal/plan"
	"trueup/internal/report"
)

func write(t rapid.TB, format string, pl *plan.Plan, opts report.FormatOptions) []byte {
	var b bytes.Buffer
	if err := report.Write(&b, format, report.Document{Command: "plan", Plan: pl}, opts); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// omitted matches the sentence at the top of a report that is not whole.
var omitted = regexp.MustCompile(`not whole.*?leaves out (\d+) `)

// unseen returns the units of the facts that a reader of the sections does not see, with what is missing.
func unseen(sections []section, facts []fact) map[string]string {
	texts := map[string]string{}
	all := make([]string, len(sections))
	for i, s := range sections {
		all[i] = s.seen()
	}
	of := func(object string) string {
		if text, ok := texts[object]; ok {
			return text
		}
		var b strings.Builder
		for _, s := range all {
			if strings.Contains(s, bare(object)) {
				b.WriteString(s + "\n")
			}
		}
		texts[object] = b.String()
		return b.String()
	}
	lost := map[string]string{}
	for _, f := range facts {
		text := of(f.object)
		for _, want := range slices.Concat(f.keys, f.before, f.after) {
			if !strings.Contains(text, bare(want)) {
				lost[f.unit] = fmt.Sprintf("%q of %q in %s", want, f.unit, text)
			}
		}
		if before, after := len(f.before)-1, len(f.after)-1; before > 0 && after > 0 && lost[f.unit] == "" {
			if a, b := bare(f.before[before]), bare(f.after[after]); a != b && strings.Index(text, a) > strings.LastIndex(text, b) {
				lost[f.unit] = "the old value before the new one"
			}
		}
	}
	return lost
}

// others matches the sentence of the last annotation of a level that has no room for all.
var others = regexp.MustCompile(`the others have (\d+) change`)

// checkSeen looks for each fact in a format. Only Markdown and annotations may leave some out, and say how many; the outputs say
// so of Markdown, too.
func checkSeen(t rapid.TB, tb testing.TB, format string, pl *plan.Plan, opts report.FormatOptions) {
	out := write(t, format, pl, opts)
	lost, said := unseen(formats[format](tb, out), factsOf(pl)), 0
	if format == "markdown" {
		top, _, _ := strings.Cut(string(out), "<details")
		if m := omitted.FindStringSubmatch(top); m != nil {
			said, _ = strconv.Atoi(m[1])
		}
	}
	if format == "github" {
		for _, m := range others.FindAllStringSubmatch(strings.ReplaceAll(string(out), "%0A", " "), -1) {
			n, _ := strconv.Atoi(m[1])
			said += n
		}
	}
	if format == "markdown" && opts.Room == 0 {
		outputs := string(write(t, "outputs", pl, report.FormatOptions{}))
		if want := fmt.Sprintf("whole=%t\n", said == 0); !strings.Contains(outputs, want) {
			t.Fatalf("the comment leaves out %d, and no %q in the outputs:\n%s", said, want, outputs)
		}
	}
	whole := report.FormatOptions{Room: report.SummaryRoom(0)}
	if said > 0 && format != "github" && len(write(t, format, pl, whole)) < cmp.Or(opts.Room, 65_000)-1000 {
		t.Fatalf("%s: %d facts are not seen, although there is room", format, said)
	}
	if len(lost) > said {
		unit := slices.Sorted(maps.Keys(lost))[0]
		t.Fatalf("%s at %d columns: %d facts are not seen, and %d are counted. One is %s", format, opts.Width, len(lost), said, lost[unit])
	}
}

// TestEverythingGraveIsSeen: whatever a plan is, a reader of any format sees the name and both values of everything that may
// change what is served, what is protected, or what is reachable.
func TestEverythingGraveIsSeen(t *testing.T) {
	long.SetChecks(t, 20)
	rapid.Check(t, func(rt *rapid.T) {
		pl := drawPlan(rt)
		for _, format := range slices.Sorted(maps.Keys(formats)) {
			checkSeen(rt, t, format, pl, report.FormatOptions{Width: 80})
		}
		checkSeen(rt, t, "markdown", pl, report.FormatOptions{Room: rapid.IntRange(2500, 60_000).Draw(rt, "room")})
		checkSeen(rt, t, "text", pl, rapid.SampledFrom([]report.FormatOptions{
			{Width: 200}, {}, {Width: 80, Verbose: true},
		}).Draw(rt, "options"))
	})
}
