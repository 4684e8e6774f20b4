package command

import (
	"cmp"
	"context"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"github.com/spf13/cobra"

	"trueup/internal/generate"
	"trueup/internal/kind"
	"trueup/internal/manifest"
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
		if opts.Dir == onStdout {
			opts.Dir, opts.Stdout = "", true
		}
		err := parsePast(run, &opts, before, runOf)
		return cmp.Or(err,
			refuse(opts.File != "" && (opts.Dir != "" || opts.Stdout), "--dir writes one file per object and --file one for all: use one of them"),
			refuse(opts.Diff && opts.Replace, "--diff writes nothing and --replace overwrites manifests: use one of them"),
			refuse(opts.Stdout && (opts.Diff || opts.Replace), "--dir - reads no file: remove --diff and --replace"),
			refuse(opts.Stdout && run.Format != "text", "--dir - writes manifests to standard output: remove -o"),
			refuse(opts.File != "" && !manifest.IsYAML(opts.File), "--file must end in .yaml or .yml; --dir - writes to standard output"),
		)
	}
	cmd.ValidArgsFunction = func(cmd *cobra.Command, _ []string, toComplete string) ([]string, cobra.ShellCompDirective) {
		return completePull(cmd.Context(), run, toComplete)
	}
	f := cmd.Flags()
	f.StringVar(&opts.Dir, "dir", "", "write one file per object in `DIR`, or all to standard output with - (default the project's folder of manifests)")
	f.StringVar(&opts.File, "file", "", "write all objects to one new `FILE`")
	f.BoolVar(&opts.AllFields, "all-fields", false, "write every live field, including those that the schema does not know")
	f.BoolVar(&opts.Diff, "diff", false, "write nothing, and show how the objects in git differ from live")
	f.BoolVar(&opts.Replace, "replace", false, "take live into manifests that differ; if more than values differs, their comments, labels and annotations are lost")
	f.StringVar(&before, "before", "", "write what live was before `ENTRY|COMMIT|TIME` of trueup log, as --replace does")
	f.IntVar(&runOf, "run", 0, "write what live was before the run of this `ENTRY`, of all objects that it wrote")
	cmd.MarkFlagsMutuallyExclusive("before", "run")
	return cmd
}

// parsePast reads --before and --run.
func parsePast(run *Run, opts *generate.PullOptions, before string, runOf int) (err error) {
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
		past.Time, err = parseTime(run, before)
	}
	opts.Replace = !opts.Diff
	return cmp.Or(err, refuse(opts.Stdout || opts.Dir != "" || opts.File != "", "--before and --run write the manifests that are there: remove --dir and --file"))
}

// commitID matches the beginning of a commit's id.
var commitID = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[0-9a-f]{7,64}$`) })

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
	doc = report.Pull(r, opts.Diff, run.Sandbox)
	if opts.Stdout { // it has the manifests alone
		for _, f := range doc.Annotations {
			run.Log(levelOf(f), strings.TrimSuffix(f.Message+"; "+f.Fix, "; "))
		}
		doc.Text = sourceText(r.Text).Text
	}
	return doc, err
}

// completePull offers the kinds that can be pulled, and behind a slash the objects in git: completion
// reads nothing of the platform.
func completePull(ctx context.Context, run *Run, toComplete string) ([]string, cobra.ShellCompDirective) {
	if strings.Contains(toComplete, "/") {
		return KeysOf(run.Known(ctx, nil), toComplete), NoFiles
	}
	return Offers(generate.ReadableKinds(), func(k *kind.Kind) (string, string) { return k.Plural(), k.Root().Title }), NoFiles
}
