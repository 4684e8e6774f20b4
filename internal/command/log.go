package command

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"trueup/internal/config"
	"trueup/internal/diag"
	"trueup/internal/kind"
	"trueup/internal/ledger"
	"trueup/internal/manifest"
	"trueup/internal/plan"
	"trueup/internal/report"
)

func newLog(run *Run) *cobra.Command {
	var most int
	var values bool
	var since, commit string
	cmd := newCommand(run, "log [KIND/NAME...]", func(ctx context.Context, args []string) (doc report.Document, err error) {
		wants, err := kind.ParseFilter(args...)
		if err != nil {
			return doc, err
		}
		begin, err := parseSince(run, since)
		err = cmp.Or(err, errorIf(most < 1, "-n %d: write 1 or more", most),
			errorIf(commit != "" && !commitID().MatchString(commit), "--commit is %s: write the id of a commit, at least 7 digits, as git log --oneline prints it", diag.Quote(commit)))
		if err != nil {
			return doc, err
		}
		p, err := run.FindProject()
		if err != nil {
			return doc, err
		}
		err = run.WithLedger(ctx, p, &manifest.Set{}, func(w *config.Platform, l *ledger.Ledger) error {
			entries := []plan.LoggedChanges{}
			_, err := l.ReadLog(ctx, wants, func(e ledger.LogEntry) bool {
				if e.At.Before(begin) {
					return false
				}
				if commit == "" || e.Claim != nil && strings.HasPrefix(e.Claim.Commit, commit) {
					entries = append(entries, plan.ChangesOf(w.Workspace, e))
				}
				return len(entries) < most
			})
			if err == nil || len(entries) > 0 {
				doc = report.LogDocument(entries, values)
			}
			return err
		})
		return doc, err
	})
	f := cmd.Flags()
	f.IntVarP(&most, "number", "n", 20, "show the newest `N` entries")
	f.BoolVarP(&values, "patch", "p", false, "show old and new values")
	f.StringVar(&since, "since", "", "show entries since `TIME`: 2026-11-29, 2026-11-29T14:00:00Z, or 36h for that long ago")
	f.StringVar(&commit, "commit", "", "show entries of the commit whose id starts with `ID`")
	return cmd
}

// parseSince reads a time, or how long ago it was.
func parseSince(run *Run, text string) (time.Time, error) {
	if ago, err := time.ParseDuration(text); err == nil {
		return run.Now().Add(-ago), nil
	}
	at, err := parseTimeOrDate(text)
	if err != nil {
		err = fmt.Errorf("%w, or 36h for that long ago", err)
	}
	return at, err
}

// parseTimeOrDate reads a time, or a date for its beginning in UTC. An empty text is the zero time.
func parseTimeOrDate(text string) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	for _, layout := range []string{time.RFC3339, time.DateOnly} {
		if at, err := time.Parse(layout, text); err == nil {
			return at, nil
		}
	}
	return time.Time{}, fmt.Errorf("%q is not a time: write one such as 2026-11-29T14:00:00Z, or 2026-11-29 for 00:00 UTC of that day", text)
}
