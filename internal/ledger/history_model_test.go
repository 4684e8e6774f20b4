package ledger_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"trueup/internal/api"
	"trueup/internal/e2e/long"
	"trueup/internal/ledger"
	"trueup/internal/manifest"
)

// modelEvent is an action of testdata/once.pml, with the run that does it and up to three values.
type modelEvent struct {
	what   string
	run    int
	values []any
}

// nobody does what no run does.
const nobody = -1

func (e modelEvent) String() string {
	run := fmt.Sprint(e.run)
	if e.run == nobody {
		run = "RUNS"
	}
	text := "happens!" + e.what + "," + run
	for i := range 3 {
		if i < len(e.values) {
			text += fmt.Sprintf(",%v", e.values[i])
		} else {
			text += ",0"
		}
	}
	return text
}

func (w *world) tellModel(e modelEvent) { w.model = append(w.model, e) }

// milliseconds are those since the history began.
func milliseconds(t time.Time) int64 { return t.Sub(historyStart).Milliseconds() }

// lookEvent is a run that reads the clocks.
func (r *run) lookEvent(at ledger.Instant) modelEvent {
	return modelEvent{"looks", r.id, []any{milliseconds(at.Now), milliseconds(at.Early), milliseconds(at.Late)}}
}

// heardOf is what a run hears of a request.
func heardOf(err error) []any {
	switch said := api.AsError(err); {
	case err == nil:
		return []any{"executed_"}
	case errors.Is(err, errWaits):
		return []any{"unclear"}
	case said.Class == api.Taken:
		return []any{"duplicate"}
	case said.Class == api.Unsent:
		return []any{"unsent"}
	}
	return []any{"refused"}
}

// writeEvent is a record that was written.
func (w *world) writeEvent(run int, rec ledger.Record) modelEvent {
	state := string(rec.State)
	if state == "" {
		state = "absent"
	}
	switch event := rec.History[len(rec.History)-1].Event; {
	case run == nobody:
		return modelEvent{"answers", run, []any{state}}
	case event == "claimed" || event == "taken over":
		return modelEvent{"claims", run, []any{milliseconds(*rec.FirstClaimAt), milliseconds(*rec.ClaimedAt), rec.EarlierUnknown}}
	}
	return modelEvent{"ends", run, []any{state}}
}

// followed returns "" if the model can do what happened, or else what Spin says.
func (w *world) followed(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	var events strings.Builder
	for _, e := range w.model {
		fmt.Fprintf(&events, "\t%s;\n", e)
	}
	write(t, filepath.Join(dir, "history"), []byte(events.String()))
	for _, name := range []string{"once.pml", "follow.pml"} {
		copyFile(t, filepath.Join("testdata", name), filepath.Join(dir, name))
	}
	window := w.nature.window
	if w.nature.dateless {
		window -= min(time.Hour, window/2)
	}
	proven := map[bool]int{true: 1}[w.nature.proven]
	cmd := exec.CommandContext(t.Context(), "spin", "-u100000", fmt.Sprintf("-DPROVEN=%d", proven),
		fmt.Sprintf("-DWINDOW=%d", window.Milliseconds()), fmt.Sprintf("-DRUNS=%d", len(w.runs)), "follow.pml")
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	if err == nil && strings.Contains(string(out), "accepted") {
		return ""
	}
	return fmt.Sprintf("%v\n%s\n%s", err, out, events.String())
}

// TestHistoriesFollowTheModel: the model can do what the code does in histories.
func TestHistoriesFollowTheModel(t *testing.T) {
	needSpin(t)
	th := newTheory(t)
	set, err := treeOf(1)
	if err != nil {
		t.Fatal(err)
	}
	th.plain, th.sets = true, []*manifest.Set{set}
	first := rand.IntN(1 << 30)
	for n := range long.Times(100) {
		var w *world
		synctest.Test(t, func(*testing.T) { w = rapid.Custom(th.live).Example(first + n) })
		if wrong := w.followed(t); wrong != "" {
			t.Fatalf("history %d is none of the model: %s\n%s", first+n, w.tell(), wrong)
		}
	}
}

// stalls are mistakes that only keep a run from doing something. The model lets a run do nothing.
var stalls = []string{"every claim is young"}

// TestTheModelRejectsMistakes: with a mistake in the code, there is a history that the model can't follow.
func TestTheModelRejectsMistakes(t *testing.T) {
	long.SkipUnlessSet(t)
	needSpin(t)
	for _, m := range slices.Concat(mistakes, seeded) {
		if slices.Contains(stalls, m.name) {
			continue
		}
		t.Run(m.name, func(t *testing.T) {
			cmd := exec.CommandContext(t.Context(), "go", "test", "-overlay", overlay(t, m.edits), "-vet=off", "-timeout", "30m", "-run", "^TestHistoriesFollowTheModel$", ".")
			cmd.Env = append(os.Environ(), "TRUEUP_LONG=300")
			if out, err := cmd.CombinedOutput(); err == nil || !strings.Contains(string(out), "is none of the model") {
				t.Errorf("the model follows all histories: %v\n%.1500s", err, out)
			}
		})
	}
}

func needSpin(t *testing.T) {
	t.Helper()
	if _, err := exec.LookPath("spin"); err == nil {
		return
	} else if os.Getenv("CI") == "true" {
		t.Fatal(err)
	}
	t.Skip("spin is not installed")
}
