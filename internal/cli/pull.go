package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"trueup/internal/adopt"
	"trueup/internal/exit"
	"trueup/internal/report"
)

func newPull(a *app) *cobra.Command {
	var opts adopt.Options
	cmd := &cobra.Command{
		Use:               "pull [KIND[/NAME]...]",
		ValidArgsFunction: a.completePull,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := checkGiven(cmd, "dir", "file"); err != nil {
				return err
			}
			return runPull(cmd.Context(), a, opts, args)
		},
	}
	f := cmd.Flags()
	f.StringVar(&opts.Dir, "dir", "", "write one file per object in `DIR` (default the project's folder of manifests)")
	f.StringVar(&opts.File, "file", "", "write all objects to one new `FILE`, or - for standard output")
	f.BoolVar(&opts.AllFields, "all-fields", false, "write every live field, including those that the schema does not know")
	f.BoolVar(&opts.Diff, "diff", false, "write nothing, and show how the objects in git differ from live")
	f.BoolVar(&opts.Replace, "replace", false, "overwrite manifests that differ from live; their comments, labels and annotations are lost")
	return cmd
}

// checkPull refuses flags that contradict each other.
func checkPull(o adopt.Options, g globalOptions) error {
	for _, refused := range []struct {
		given bool
		says  string
	}{
		{o.Dir != "" && (o.File != "" || o.Stdout), "--dir writes one file per object and --file one for all: use one of them"},
		{o.Diff && o.Replace, "--diff writes nothing and --replace overwrites manifests: use one of them"},
		{o.Stdout && (o.Diff || o.Replace), "--file - reads no file: remove --diff and --replace"},
		{o.Stdout && g.output != "text", "--file - writes manifests to standard output: remove -o"},
		{o.File != "" && !mayBeSource(o.File), "--file must end in .yaml or .yml"},
		{len(g.reports) > 0, "pull writes no report: remove --report; for programs, use -o json"},
		{g.output != "text" && g.output != "json", "pull writes text or json: use one of them with -o"},
	} {
		if refused.given {
			return errors.New(refused.says)
		}
	}
	return nil
}

func runPull(ctx context.Context, a *app, opts adopt.Options, args []string) error {
	if opts.File == onStdout {
		opts.File, opts.Stdout = "", true
	}
	if err := checkPull(opts, a.global); err != nil {
		return err
	}
	asked, err := adopt.Select(args)
	if err != nil {
		return err
	}
	p, err := a.findProject()
	if err != nil {
		return err
	}
	env := adopt.Env{Options: a.config(), Open: a.enter, Begin: a.beginPhase}
	r, err := adopt.Run(ctx, env, p, asked, opts)
	if r == nil {
		return err
	}
	switch a.code = r.ExitCode(opts.Diff); {
	case opts.Stdout:
		return errors.Join(err, a.writePulled(r))
	case a.global.output == "json":
		return errors.Join(err, a.out.JSON(pullDocument{
			Format: "trueup.pull/v1", Command: "pull", Result: exit.Name(a.code), ExitCode: a.code, Sandbox: a.global.sandbox,
			Objects: append([]*adopt.Item{}, r.Items...), Ledger: r.Problem,
		}))
	}
	a.showPull(r, opts.Diff)
	return err
}

// writePulled writes the manifests to standard output, and what else there is to say to standard error.
func (a *app) writePulled(r *adopt.Result) error {
	for _, i := range r.Items {
		if i.Verdict != adopt.New {
			a.log(slog.LevelWarn, fmt.Sprintf("%s is %s: %s", i.Key(), i.Verdict, pullReason(i)))
		}
	}
	if text := unknownFields(r); text != "" {
		a.log(slog.LevelInfo, text)
	}
	return a.out.Source(r.Text)
}

// pullReason is the reason of a verdict, with what to do.
func pullReason(i *adopt.Item) string {
	switch {
	case i.Verdict == adopt.Differs:
		return fmt.Sprintf("live differs from it: see pull %s --diff", i.ShortKey())
	case i.Verdict == adopt.Replaced:
		return "its comments, labels and annotations are lost"
	case i.Fix != "":
		return i.Reason + "; " + i.Fix
	}
	return i.Reason
}

// showPull writes a line for each object, the differences, a summary, and what to do next.
func (a *app) showPull(r *adopt.Result, diff bool) {
	look := report.Options{Color: a.useColor(a.env.Width > 0), Width: a.env.Width}
	if a.global.sandbox {
		a.printf("%s\n\n", report.Banner)
	}
	rows := pullRows(r.Items)
	_ = a.out.Marked(rows, look)
	for _, i := range r.Items {
		if diff && i.Verdict == adopt.Differs {
			a.printf("\n")
			_ = a.out.Diff(i.File, i.Before, i.After, look)
		}
	}
	if len(rows) > 0 {
		a.printf("\n")
	}
	if text := unknownFields(r); text != "" {
		a.printf("%s\n", text)
	}
	a.printf("Pull: %s.\n", pullSummary(r))
	switch {
	case r.Problem != "" && !diff:
		a.printf("The ledger does not know of this yet, so apply won't drop list elements: %s; %s. Then run pull again.\n", r.Problem, r.Fix)
	case r.Adopted > 0:
		a.printf("Git now owns these objects: removing a field from a manifest\nremoves it from the platform.\n")
	}
	if r.Unread != "" && r.Count(adopt.Written) > 0 {
		a.printf("A plan does not read %s: add it to manifests: in trueup.yaml, or name it as a PATH.\n", r.Unread)
	}
}

func pullRows(items []*adopt.Item) (rows [][]string) {
	for _, i := range items {
		file := cmp.Or(i.File, "-")
		if i.Line > 0 {
			file = fmt.Sprintf("%s:%d", file, i.Line)
		}
		rows = append(rows, []string{string(i.Verdict), i.Key().String(), file, pullReason(i)})
	}
	return rows
}

// unknownFields says which fields of live are in no manifest that was written.
func unknownFields(r *adopt.Result) string {
	found := map[string]bool{}
	for _, i := range r.Items {
		if slices.Contains([]adopt.Verdict{adopt.Written, adopt.Replaced, adopt.New}, i.Verdict) {
			for _, field := range i.Unknown {
				found[field] = true
			}
		}
	}
	if len(found) == 0 {
		return ""
	}
	const most = 12
	fields, more := slices.Sorted(maps.Keys(found)), ""
	if len(fields) > most {
		more = fmt.Sprintf(", and %d more", len(fields)-most)
		fields = fields[:most]
	}
	return fmt.Sprintf("Left out, because the schema does not know them (apply leaves them alone): %s%s. --all-fields writes them.",
		strings.Join(fields, ", "), more)
}

// pullSummary counts the verdicts.
func pullSummary(r *adopt.Result) string {
	var parts []string
	for _, v := range adopt.Verdicts() {
		if n := r.Count(v); n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, v))
		}
	}
	if r.Adopted > 0 {
		parts = append(parts, fmt.Sprintf("%d adopted into the ledger", r.Adopted))
	}
	return cmp.Or(strings.Join(parts, ", "), "nothing is live")
}

// pullDocument is the result as JSON (schemas/pull.schema.json).
type pullDocument struct {
	Format   string        `json:"format"`
	Command  string        `json:"command"`
	Result   string        `json:"result"`
	ExitCode int           `json:"exitCode"`
	Sandbox  bool          `json:"sandbox"`
	Objects  []*adopt.Item `json:"objects"`
	// Ledger says why nothing was adopted, or is empty.
	Ledger string `json:"ledger,omitempty"`
}

// completePull offers the kinds that can be pulled, and behind a slash the objects in git: completion
// reads nothing of the platform.
func (a *app) completePull(cmd *cobra.Command, _ []string, toComplete string) ([]string, cobra.ShellCompDirective) {
	if strings.Contains(toComplete, "/") {
		return keysOf(a.known(cmd.Context(), nil), toComplete), noFiles
	}
	var out []string
	for _, k := range adopt.Kinds() {
		out = offer(out, k.Plural(), k.Root().Title)
	}
	return out, noFiles
}
