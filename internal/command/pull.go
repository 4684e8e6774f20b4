package command

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"trueup/internal/diag"
	"trueup/internal/generate"
	"trueup/internal/kind"
	"trueup/internal/report"
)

func newPull(run *Run) *cobra.Command {
	var opts generate.PullOptions
	var before string
	var runOf int
	cmd := newCommand(run, "pull [KIND[/NAME]...]", func(ctx context.Context, args []string) (report.Document, error) {
		return runPull(ctx, run, opts, args)
	})
	cmd.PreRunE = func(*cobra.Command, []string) error {
		err, toStdout := parsePastFlags(run, &opts, before, runOf), opts.Dir == generate.ToStdout
		return cmp.Or(err,
			errorIf(opts.Diff && opts.Replace, "--diff writes nothing and --replace overwrites manifests: use one of them"),
			errorIf(toStdout && (opts.Diff || opts.Replace), "--dir - reads no file: remove --diff and --replace"),
			errorIf(toStdout && run.Format != "text", "--dir - writes manifests to standard output: remove -o"),
		)
	}
	cmd.ValidArgsFunction = func(cmd *cobra.Command, _ []string, toComplete string) ([]string, cobra.ShellCompDirective) {
		if strings.Contains(toComplete, "/") { // completion reads nothing of the platform
			return CompleteKeys(run.KnownObjects(cmd.Context(), nil), toComplete), NoFiles
		}
		return Candidates(generate.ReadableKinds(), func(k *kind.Kind) (string, string) { return k.Plural(), k.Root().Title }), NoFiles
	}
	f := cmd.Flags()
	f.StringVar(&opts.Dir, "dir", "", "write one file per object in `DIR`, or all to standard output with - (default the project's folder of manifests)")
	f.BoolVar(&opts.AllFields, "all-fields", false, "write every live field, including those that the schema does not know")
	f.BoolVar(&opts.Diff, "diff", false, "write nothing, and show how the objects in git differ from live")
	f.BoolVar(&opts.Replace, "replace", false, "take live into manifests that differ; if more than values differs, their comments, labels and annotations are lost")
	f.StringVar(&before, "before", "", "write what live was before `ENTRY|COMMIT|TIME` of trueup log, as --replace does")
	f.IntVar(&runOf, "run", 0, "write what live was before the run of this `ENTRY`, of all objects that it wrote")
	cmd.MarkFlagsMutuallyExclusive("before", "run")
	return cmd
}

// parsePastFlags reads --before and --run.
func parsePastFlags(run *Run, opts *generate.PullOptions, before string, runOf int) (err error) {
	past := &opts.Past
	entry, notNumber := strconv.Atoi(before)
	switch past.Text = before; {
	case runOf != 0:
		*past = generate.PastMoment{Text: fmt.Sprint("entry ", runOf), Entry: runOf, Run: true}
	case before == "":
		return nil
	case notNumber == nil:
		past.Entry = entry
	case commitID().MatchString(before):
		past.Commit = before
	default:
		past.Time, err = parseSince(run, before)
	}
	opts.Replace = !opts.Diff
	return cmp.Or(err, errorIf(opts.Dir != "", "--before and --run write the manifests that are there: remove --dir"))
}

// commitID matches the beginning of a commit's id.
var commitID = diag.Pattern(`^[0-9a-f]{7,64}$`)

func runPull(ctx context.Context, run *Run, opts generate.PullOptions, args []string) (doc report.Document, err error) {
	asked, err := generate.ParseSelection(args)
	if err != nil {
		return doc, err
	}
	p, err := run.FindProject()
	if err != nil {
		return doc, err
	}
	r, err := generate.PullManifests(ctx, run.Options, p, asked, opts)
	if r == nil {
		return doc, err
	}
	doc = pullResult(r, opts.Diff, run.Sandbox)
	if opts.Dir == generate.ToStdout { // it has the manifests alone
		for _, f := range doc.Annotations {
			run.Log(levelOf(f), strings.TrimSuffix(f.Message+"; "+f.Fix, "; "))
		}
		doc.Text = func(out report.LineWriter, _ report.FormatOptions) {
			for n, i := range r.New() {
				if n > 0 {
					out.Source([]byte("---\n"))
				}
				out.Source(i.After)
			}
		}
	}
	return doc, err
}

// pullResult returns the document of trueup pull.
func pullResult(r *generate.PullResult, diff, sandbox bool) report.Document {
	doc := report.Document{
		ExitCode: r.ExitCode(diff), Annotations: pullFindings(r, diff),
		Text: func(out report.LineWriter, shown report.FormatOptions) { writePull(out, r, diff, sandbox, shown) },
	}
	data := map[string]any{ // schemas/pull.schema.json
		"format": "trueup.pull/v1", "command": "pull", "result": diag.ExitName(doc.ExitCode), "exitCode": doc.ExitCode, "sandbox": sandbox,
		"objects": append([]*generate.PulledObject{}, r.Items...),
	}
	if r.Problem != "" {
		data["ledger"] = r.Problem // why nothing was adopted
	}
	if r.Doubts != nil {
		data["notes"] = r.Doubts
	}
	doc.Data = data
	return doc
}

// pullFindings returns the objects that pull did not write or that differ from git, and its notes.
func pullFindings(r *generate.PullResult, diff bool) (found diag.List) {
	for _, i := range r.Items {
		f := diag.Finding{
			Rule: "pull/object", Path: i.File, Line: i.Line, Field: i.Key().String(), Fix: i.Fix,
			Message: fmt.Sprintf("%s is %s: %s", i.Key(), i.Verdict, i.Reason),
		}
		switch {
		case i.Verdict == generate.Refused:
			f.Severity = diag.Error
		case i.Verdict == generate.Differs:
			f.Message, f.Fix = i.Key().String()+" differs from live", pullAdvice(i, diff)
		case i.Verdict == generate.New && diff:
			f.Message = i.Key().String() + " is not in git"
		case i.Verdict != generate.LeftOut:
			continue
		}
		found = append(found, f)
	}
	if text := unknownFields(r); text != "" {
		found = append(found, diag.Finding{Rule: "run/note", Severity: diag.Advice, Message: text})
	}
	for _, text := range r.Doubts {
		found = append(found, diag.Finding{Rule: "run/note", Message: text})
	}
	return found
}

// pullReason is the reason of a verdict, with what to do.
func pullReason(i *generate.PulledObject, diff bool) string {
	switch {
	case i.Verdict == generate.Differs && diff && len(i.Lost) > 0:
		return "--replace would lose its " + strings.Join(i.Lost, " and ")
	case i.Verdict == generate.Differs && !diff:
		return "live differs from it: " + pullAdvice(i, false)
	case i.Verdict == generate.Replaced && i.InPlace:
		return "its comments stay"
	case i.Verdict == generate.Replaced && len(i.Lost) > 0:
		return "its " + strings.Join(i.Lost, " and ") + " are lost"
	case i.Fix != "":
		return i.Reason + "; " + i.Fix
	}
	return i.Reason
}

// pullAdvice says what to do about a manifest that differs from live.
func pullAdvice(i *generate.PulledObject, diff bool) string {
	if diff {
		return fmt.Sprintf("pull %s --replace takes it", i.ShortKey())
	}
	return fmt.Sprintf("pull %s --diff shows how, --replace takes it", i.ShortKey())
}

// writePull writes a line for each object, the differences, a summary, and what to do next.
func writePull(out report.LineWriter, r *generate.PullResult, diff, sandbox bool, shown report.FormatOptions) {
	if sandbox {
		out.Printf("%s\n\n", report.Banner)
	}
	rows := pullRows(r.Items, diff)
	out.MarkedTable(rows, shown)
	for _, i := range r.Items {
		if diff && i.Verdict == generate.Differs {
			out.Printf("\n")
			out.Diff(report.FileVersions{Path: i.File, Before: i.Before, After: i.After, LeftOut: i.LeftOut}, shown)
		}
	}
	if len(rows) > 0 {
		out.Printf("\n")
	}
	if text := unknownFields(r); text != "" {
		out.Printf("%s\n", text)
	}
	out.Printf("Pull: %s.\n", pullSummary(r))
	for _, text := range r.Doubts {
		out.Printf("%s\n", text)
	}
	switch {
	case r.Problem != "" && !diff:
		out.Printf("The ledger does not know of this yet, so apply won't drop list elements: %s; %s. Then run pull again.\n", r.Problem, r.Fix)
	case r.Adopted > 0:
		out.Printf("Git now owns these objects: removing a field from a manifest removes it from the platform.\nA field that was never in a manifest stays as it is.\n")
	}
	if r.Unread != "" && r.CountVerdicts(generate.Written) > 0 {
		out.Printf("A plan does not read %s: add it to manifests: in trueup.yaml, or name it as a PATH.\n", r.Unread)
	}
}

func pullRows(items []*generate.PulledObject, diff bool) (rows [][]string) {
	for _, i := range items {
		rows = append(rows, []string{string(i.Verdict), i.Key().String(), diag.Place(cmp.Or(i.File, "-"), i.Line), pullReason(i, diff)})
		if len(i.Dropped) > 0 && (i.Verdict == generate.Replaced || i.Verdict == generate.Differs) {
			text := map[bool]string{true: "drops", false: "--replace would drop"}[i.Verdict == generate.Replaced]
			rows = append(rows, []string{"", "", "", text + " changes of git that are not applied: " + strings.Join(i.Dropped, ", ")})
		}
	}
	return rows
}

// unknownFields says which fields of live are in no manifest that was written.
func unknownFields(r *generate.PullResult) string {
	found := map[string]bool{}
	for _, i := range r.Items {
		if slices.Contains([]generate.PullVerdict{generate.Written, generate.Replaced, generate.New}, i.Verdict) && !i.InPlace {
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
		diag.JoinFirst(slices.Sorted(maps.Keys(found)), most))
}

// pullSummary counts the verdicts.
func pullSummary(r *generate.PullResult) string {
	var parts []string
	for _, v := range []generate.PullVerdict{
		generate.Written, generate.Replaced, generate.New, generate.InGit, generate.Differs, generate.LeftOut, generate.Refused,
	} {
		if n := r.CountVerdicts(v); n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, v))
		}
	}
	if r.Adopted > 0 {
		parts = append(parts, fmt.Sprintf("%d adopted into the ledger", r.Adopted))
	}
	return cmp.Or(strings.Join(parts, ", "), "nothing is live")
}
