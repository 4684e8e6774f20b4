package cli

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"trueup/internal/kind"
	"trueup/internal/ledger"
	"trueup/internal/report"
)

type doctorOptions struct {
	probe       string
	autoApprove bool
}

func newDoctor(a *app) *cobra.Command {
	var opts doctorOptions
	cmd := &cobra.Command{
		Use:   "doctor [--probe-duplicates HOSTNAME]",
		Short: "Show which workspace, addresses and ledger are in use, and what is proven of the platform",
		Long: "Show which workspace, addresses and ledger are in use, and whether the platform was seen to refuse a second request of\n" +
			"the same name. Where it was, a request that got no answer is sent again under its name; where not, a person is asked.\n" +
			"With --probe-duplicates one harmless request, for a path that does not exist below HOSTNAME, is sent twice to see that.\n" +
			"It shows no secret. Exit codes: 0 done, 1 could not run, or nothing was proven, 4 manifests are invalid, 5 the probe\n" +
			"was not sent now, 6 the ledger can't be used, or what became of the probe is not known, 8 authentication or\n" +
			"authorization.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if opts.probe != "" {
				return runProbe(cmd.Context(), a, opts)
			}
			return runDoctor(cmd.Context(), a)
		},
	}
	cmd.Flags().StringVar(&opts.probe, "probe-duplicates", "", "send one harmless request for `HOSTNAME` twice: does the platform refuse the second?")
	cmd.Flags().BoolVar(&opts.autoApprove, "auto-approve", false, "do not ask before sending")
	return cmd
}

// facts are what doctor shows.
type facts struct {
	Workspace kind.Workspace       `json:"workspace"`
	Origins   map[kind.Area]string `json:"origins"`
	Ledger    struct {
		Store   string `json:"store,omitempty"`
		ID      string `json:"id,omitempty"`
		Problem string `json:"problem,omitempty"`
		Fix     string `json:"fix,omitempty"`
	} `json:"ledger"`
	// Proofs say where a refusal of duplicates was seen.
	Proofs map[kind.Area]ledger.Proof `json:"proofs"`
}

func runDoctor(ctx context.Context, a *app) error {
	_, w, err := a.enterHere(ctx)
	if err != nil {
		return err
	}
	defer w.close()
	found := facts{Workspace: w.workspace, Origins: w.origins}
	found.Ledger.Store = w.ledger.Store
	l, err := ledger.Open(ctx, w.ledger)
	if err != nil {
		return err
	}
	w.closers = append(w.closers, l.Close)
	g, err := l.Genesis(ctx)
	found.Ledger.ID, found.Proofs = g.LedgerID, g.Proofs
	if problem := ledger.Problem(err); problem != nil {
		found.Ledger.Problem, found.Ledger.Fix = problem.Problem, problem.Fix
		a.code = exitNeedsPerson
	} else if err != nil {
		view := ledger.Unreadable(err)
		found.Ledger.Problem, found.Ledger.Fix = view.Problem, view.Fix
		a.code = exitOf(err)
	}
	if a.global.output == "json" {
		return a.out.JSON(found)
	}
	return found.write(a.out)
}

func (f facts) write(out report.Lines) error {
	lines := []string{fmt.Sprintf("workspace  %s (%s)", f.Workspace.Name, f.Workspace.UUID)}
	for _, area := range []kind.Area{kind.Compute, kind.Delivery} {
		lines = append(lines, fmt.Sprintf("%-9s  %s", area, cmp.Or(f.Origins[area], "no address")))
	}
	lines = append(lines, strings.TrimSpace("ledger     "+cmp.Or(f.Ledger.Store, "none")+" "+f.Ledger.ID))
	if f.Ledger.Problem != "" {
		lines = append(lines, "ledger     "+f.Ledger.Problem, "  fix: "+f.Ledger.Fix)
	} else {
		for _, area := range []kind.Area{kind.Compute, kind.Delivery} {
			lines = append(lines, fmt.Sprintf("a second request of the same name, %s: %s", area, proofText(area, f.Proofs)))
		}
	}
	for _, line := range lines {
		if err := out.Printf("%s\n", line); err != nil {
			return err
		}
	}
	return nil
}

// proofText says what is known of duplicates in an area.
func proofText(area kind.Area, proofs map[kind.Area]ledger.Proof) string {
	if proof, ok := proofs[area]; ok {
		return "refused" + proven(proof)
	}
	text := "not known, so a request without an answer is a question for a person"
	if _, ok := probed(area); ok {
		return text + "; trueup doctor --probe-duplicates HOSTNAME finds out"
	}
	return text + "; there is no harmless way to try"
}

func proven(p ledger.Proof) string {
	text := fmt.Sprintf(", as seen at %s with %s (HTTP %d)", p.At.UTC().Format(time.RFC3339), p.Name, p.HTTP)
	if p.By != "" {
		text += " by " + p.By
	}
	return text
}

// probed is the kind of an area of which one more request does no harm: it
// leaves nothing behind.
func probed(area kind.Area) (*kind.Kind, bool) {
	for _, k := range kind.All() {
		if k.Area == area && k.Policy == kind.Once {
			return k, true
		}
	}
	return nil, false
}
