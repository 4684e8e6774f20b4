package command

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"trueup/internal/diag"
	"trueup/internal/generate"
	"trueup/internal/plan"
	"trueup/internal/reconcile"
	"trueup/internal/report"
)

func newStatus(run *Run) *cobra.Command {
	opts := reconcile.Options{ReadOnly: true, PastErrors: true}
	return newCommand(run, "status [PATH|KIND/NAME...]", func(ctx context.Context, paths []string) (doc report.Document, err error) {
		opts.All, opts.EachArea = len(paths) == 0, true
		doc, err = run.withPlan(ctx, opts, paths, func(s *reconcile.Session, doc *report.Document) error {
			*doc = report.StatusDocument(*doc, s.States(doc.Plan), s.Unread)
			return s.Unread.Err()
		})
		doc.Plan = nil // findings say what is wrong
		return doc, err
	})
}

func newStatusPurge(run *Run) *cobra.Command {
	var all bool
	cmd := newCommand(run, "purge [PATH|KIND/NAME...]", func(ctx context.Context, paths []string) (doc report.Document, err error) {
		l, err := run.LoadValid(ctx, paths, "nothing is listed")
		if err != nil {
			return doc, err
		}
		list := generate.ListPurges(ctx, generate.PurgeEnv{Options: run.Options, LoadedProject: l}, paths, all)
		return report.Document{Data: list, Text: func(out report.LineWriter, opts report.FormatOptions) { writePurges(out, list, opts) }}, nil
	})
	cmd.Flags().BoolVar(&all, "all", false, "also list old purges that are only in the ledger")
	return cmd
}

// writePurges writes a list as tables, and below them what a person must do.
func writePurges(out report.LineWriter, l generate.PurgeListing, opts report.FormatOptions) {
	if l.Sandbox {
		out.Printf("%s\n\n", report.Banner)
	}
	rows := diag.MapList(l.Purges, func(p generate.PurgeListEntry) []string { return purgeRow(l, p) })
	if len(rows) == 0 {
		rows = [][]string{{"no purges"}}
	}
	out.MarkedTable(rows, report.FormatOptions{Width: opts.Width})
	for _, p := range l.Purges {
		if p.Fix != "" {
			out.Printf("\n%s\n  fix: %s\n", p.Says, p.Fix)
		}
	}
	switch {
	case l.Problem != "":
		out.Printf("\nledger: %s\n  fix: %s\n", l.Problem, l.Fix)
	case len(l.Hosts) > 0:
		out.Printf("\n")
		out.Table("", usageRows(l.Hosts))
		for _, h := range l.Hosts {
			if text := generate.ExceededLimits(h.HostUsage); text != "" {
				out.Printf("  %s\n", text)
			}
		}
	}
}

// purgeRow shows the state of a purge, what it invalidates, when it was sent and until when it counts, and where its manifest is.
func purgeRow(l generate.PurgeListing, p generate.PurgeListEntry) []string {
	state, place := string(p.Status), diag.Place(p.File, p.Line)
	var times []string
	if !p.AcceptedAt.IsZero() {
		times = append(times, "accepted "+p.AcceptedAt.UTC().Format(generate.Clock))
	}
	if p.Active {
		times = append(times, "counts until "+p.Until.UTC().Format(generate.Clock))
	}
	if p.Active && p.Status == plan.Accepted {
		state = "active" // it counts against limits
	}
	switch {
	case p.File == "" && l.PartOfTree:
		place = "(not in the manifests that were read)"
	case p.File == "":
		place = "(not in git)"
	case p.Edited:
		place += " (edited since)"
	}
	return []string{state, p.Name, p.String(), strings.Join(times, ", "), place}
}

// usageRows shows what the purges of each hostname use of its limits.
func usageRows(hosts []generate.HostUsage) [][]string {
	rows := [][]string{{"limits, with active purges", "requests", "paths", "prefixes"}}
	of := func(n, most int) string { return fmt.Sprintf("%d of %d", n, most) }
	for _, h := range hosts {
		rows = append(rows, []string{
			"  " + h.Hostname, of(h.Active.Requests, h.Limits.Requests), of(h.Active.Paths, h.Limits.Paths), of(h.Active.Prefixes, h.Limits.Prefixes),
		})
		if h.WithDue != h.Active {
			rows = append(rows, []string{
				"    with due purges", strconv.Itoa(h.WithDue.Requests), strconv.Itoa(h.WithDue.Paths), strconv.Itoa(h.WithDue.Prefixes),
			})
		}
	}
	return rows
}
