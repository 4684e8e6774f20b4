package cli

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"trueup/internal/adopt"
	"trueup/internal/diag"
	"trueup/internal/exit"
	"trueup/internal/kind"
	"trueup/internal/manifest"
	"trueup/internal/report"
)

func newPull(a *app) *cobra.Command {
	var opts adopt.Options
	cmd := a.command("pull [KIND[/NAME]...]", func(ctx context.Context, args []string) (report.Document, error) {
		return a.pull(ctx, opts, args)
	})
	cmd.PreRunE = func(*cobra.Command, []string) error {
		if opts.File == onStdout {
			opts.File, opts.Stdout = "", true
		}
		return cmp.Or(
			refuse(opts.Dir != "" && (opts.File != "" || opts.Stdout), "--dir writes one file per object and --file one for all: use one of them"),
			refuse(opts.Diff && opts.Replace, "--diff writes nothing and --replace overwrites manifests: use one of them"),
			refuse(opts.Stdout && (opts.Diff || opts.Replace), "--file - reads no file: remove --diff and --replace"),
			refuse(opts.Stdout && a.global.output != "text", "--file - writes manifests to standard output: remove -o"),
			refuse(opts.File != "" && !manifest.IsYAML(opts.File), "--file must end in .yaml or .yml"),
		)
	}
	cmd.ValidArgsFunction = a.completePull
	f := cmd.Flags()
	f.StringVar(&opts.Dir, "dir", "", "write one file per object in `DIR` (default the project's folder of manifests)")
	f.StringVar(&opts.File, "file", "", "write all objects to one new `FILE`, or - for standard output")
	f.BoolVar(&opts.AllFields, "all-fields", false, "write every live field, including those that the schema does not know")
	f.BoolVar(&opts.Diff, "diff", false, "write nothing, and show how the objects in git differ from live")
	f.BoolVar(&opts.Replace, "replace", false, "overwrite manifests that differ from live; their comments, labels and annotations are lost")
	return cmd
}

func (a *app) pull(ctx context.Context, opts adopt.Options, args []string) (doc report.Document, err error) {
	asked, err := adopt.Select(args)
	if err != nil {
		return doc, err
	}
	p, err := a.findProject()
	if err != nil {
		return doc, err
	}
	r, err := adopt.Run(ctx, a.config(), p, asked, opts)
	if r == nil {
		return doc, err
	}
	if opts.Stdout {
		doc = sourceText(r.Text)
		a.tellPulled(r)
	} else {
		doc.Text = func(out report.Lines, shown report.Options) { writePull(out, r, opts.Diff, a.global.sandbox, shown) }
	}
	doc.ExitCode = r.ExitCode(opts.Diff)
	doc.Data = pullDocument{
		Format: "trueup.pull/v1", Command: "pull", Result: exit.Name(doc.ExitCode), ExitCode: doc.ExitCode, Sandbox: a.global.sandbox,
		Objects: append([]*adopt.Item{}, r.Items...), Ledger: r.Problem, Notes: r.Doubts,
	}
	return doc, err
}

// tellPulled logs what standard output, which has the manifests, can't say.
func (a *app) tellPulled(r *adopt.Result) {
	for _, i := range r.Items {
		if i.Verdict != adopt.New {
			a.log(slog.LevelWarn, fmt.Sprintf("%s is %s: %s", i.Key(), i.Verdict, pullReason(i)))
		}
	}
	if text := unknownFields(r); text != "" {
		a.log(slog.LevelInfo, text)
	}
	for _, text := range r.Doubts {
		a.log(slog.LevelWarn, text)
	}
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

// writePull writes a line for each object, the differences, a summary, and what to do next.
func writePull(out report.Lines, r *adopt.Result, diff, sandbox bool, shown report.Options) {
	if sandbox {
		out.Printf("%s\n\n", report.Banner)
	}
	rows := pullRows(r.Items)
	out.Marked(rows, shown)
	for _, i := range r.Items {
		if diff && i.Verdict == adopt.Differs {
			out.Printf("\n")
			out.Diff(i.File, i.Before, i.After, shown)
		}
	}
	if len(rows) > 0 {
		out.Printf("\n")
	}
	if text := unknownFields(r); text != "" {
		out.Printf("%s\n", text)
	}
	out.Printf("Pull: %s.\n", pullSummary(r))
	writeLines(out, r.Doubts)
	switch {
	case r.Problem != "" && !diff:
		out.Printf("The ledger does not know of this yet, so apply won't drop list elements: %s; %s. Then run pull again.\n", r.Problem, r.Fix)
	case r.Adopted > 0:
		out.Printf("Git now owns these objects: removing a field from a manifest removes it from the platform.\nA field that was never in a manifest stays as it is.\n")
	}
	if r.Unread != "" && r.Count(adopt.Written) > 0 {
		out.Printf("A plan does not read %s: add it to manifests: in trueup.yaml, or name it as a PATH.\n", r.Unread)
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
	return fmt.Sprintf("Left out, because the schema does not know them (apply leaves them alone): %s. --all-fields writes them.",
		diag.First(slices.Sorted(maps.Keys(found)), most))
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
	// Notes ask whether the workspace is right.
	Notes []string `json:"notes,omitempty"`
}

// completePull offers the kinds that can be pulled, and behind a slash the objects in git: completion
// reads nothing of the platform.
func (a *app) completePull(cmd *cobra.Command, _ []string, toComplete string) ([]string, cobra.ShellCompDirective) {
	if strings.Contains(toComplete, "/") {
		return keysOf(a.known(cmd.Context(), nil), toComplete), noFiles
	}
	return offers(adopt.Kinds(), func(k *kind.Kind) (string, string) { return k.Plural(), k.Root().Title }), noFiles
}
