package command

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"trueup/internal/diag"
	"trueup/internal/kind"
	"trueup/internal/ledger"
	"trueup/internal/report"
)

// holdOptions are the flags of trueup hold.
type holdOptions struct {
	until, reason string
	lasts         time.Duration
	end           bool
}

func newHold(run *Run) *cobra.Command {
	var o holdOptions
	cmd := newLedgerCommand(run, "hold [KIND/NAME...]", func(ctx context.Context, l *ledger.Ledger, args []string) (doc report.Document, err error) {
		objects := make([]string, len(args))
		for i, arg := range args {
			if objects[i], err = parseHeldObject(ctx, run, arg); err != nil {
				return doc, err
			}
		}
		slices.Sort(objects)
		o.reason = strings.TrimSpace(o.reason)
		return runHold(ctx, run, l, o, slices.Compact(objects))
	})
	f := cmd.Flags()
	f.StringVar(&o.until, "until", "", "hold until `TIME`, such as 2026-11-30T09:00:00Z, or 2026-11-30 for 00:00 UTC of that day")
	f.DurationVar(&o.lasts, "for", 0, "hold for `TIME`, such as 2h")
	f.StringVar(&o.reason, "reason", "", "why: plan and apply show this `TEXT`")
	f.BoolVar(&o.end, "end", false, "end the hold of these objects, or without any the hold of all")
	cmd.MarkFlagsMutuallyExclusive("until", "for", "end")
	return cmd
}

// parseHeldObject reads the name of an object to hold. It warns if no manifest is of it: a hold of a misspelt name holds nothing.
func parseHeldObject(ctx context.Context, run *Run, arg string) (string, error) {
	key, err := kind.ParseKey(arg)
	if err != nil {
		return "", err
	}
	if strings.ContainsAny(arg, "*?[") {
		return "", fmt.Errorf("%s is a pattern: name each object, or none to hold all", diag.Quote(arg))
	}
	known := diag.MapList(kind.KeysOf(run.KnownObjects(ctx, nil).Objects), kind.Key.String)
	if !slices.Contains(known, key.String()) {
		run.Warn("no manifest is of %s%s", key, diag.DidYouMean(key.String(), known))
	}
	return key.String(), nil
}

// check rejects flags that say too little, or nothing.
func (o holdOptions) check(until, now time.Time, objects []string) error {
	sets := o.until != "" || o.lasts != 0
	return cmp.Or(
		errorIf(!sets && !o.end && (o.reason != "" || len(objects) > 0), "say how long: --until TIME or --for TIME; or --end"),
		errorIf(sets && o.reason == "", "add --reason TEXT: plan and apply show it"),
		errorIf(sets && !until.After(now), "%s is over: a hold needs a time to come", until.UTC().Format(time.RFC3339)),
	)
}

// runHold sets a hold, ends one, or lists those that hold.
func runHold(ctx context.Context, run *Run, l *ledger.Ledger, o holdOptions, objects []string) (doc report.Document, err error) {
	now := run.Now()
	until, err := parseTimeOrDate(o.until)
	if o.lasts != 0 {
		until = now.Add(o.lasts)
	}
	if err = cmp.Or(err, o.check(until, now, objects)); err != nil {
		return doc, err
	}
	holds := make([]ledger.Hold, 1)
	switch {
	case !until.IsZero():
		var replaced ledger.Hold
		if holds[0], replaced, err = l.SetHold(ctx, objects, until, o.reason); err == nil && replaced.Seq > 0 {
			run.Warn("it replaces a hold: %s", replaced)
		}
	case o.end:
		holds[0], err = l.EndHold(ctx, objects)
	default:
		var view ledger.View
		view, err = l.ReadView(ctx, nil)
		holds, err = ledger.ActiveHolds(view.Holds, now), cmp.Or(err, view.ProblemError())
	}
	if err != nil {
		return doc, err
	}
	doc.Data = map[string]any{"format": "trueup.holds/v1", "holds": holds}
	for _, h := range holds {
		addMessage(&doc, "%s", h)
	}
	if len(holds) == 0 {
		addMessage(&doc, "no hold")
	}
	return doc, nil
}
