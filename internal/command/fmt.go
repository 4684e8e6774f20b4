package command

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"trueup/internal/diag"
	"trueup/internal/ledger"
	"trueup/internal/report"
	"trueup/internal/yamledit"
)

type fmtOptions struct {
	check, fix, diff bool
	envelope         string
}

func newFmt(run *Run) *cobra.Command {
	var opts fmtOptions
	cmd := newCommand(run, "fmt [PATH|KIND/NAME...]", func(ctx context.Context, paths []string) (doc report.Document, err error) {
		piped := slices.Contains(paths, onStdout)
		opts.check = opts.check || opts.diff
		if err := cmp.Or(
			errorIf(piped && len(paths) > 1, "- goes to standard output, so it can't be combined with other names"),
			errorIf(piped && !opts.check && run.Format != "text", "standard output is the manifest itself: remove -o, or add --check"),
		); err != nil {
			return doc, err
		}
		list, findings, err := formatFiles(ctx, run, opts, paths)
		if err != nil {
			return doc, err
		}
		doc.Findings = findings
		for _, f := range list {
			doc.Objects += f.Objects
		}
		if piped && !opts.check {
			return formatStdin(run, doc.Findings, list, opts)
		}
		doc.Annotations = writeFormatted(run, list, opts.check)
		doc.ExitCode = fmtCode(doc.Findings, list, opts.check)
		doc.Data = map[string]any{ // schemas/fmt.schema.json
			"format": "trueup.fmt/v1", "command": "fmt", "result": diag.ExitName(doc.ExitCode), "exitCode": doc.ExitCode, "findings": append(diag.List{}, findings...),
			"files": slices.DeleteFunc(slices.Clone(list), func(f fmtFile) bool { return !f.Changes() && f.Left == nil }),
		}
		doc.Text = func(out report.LineWriter, shown report.FormatOptions) {
			writeFmt(run, out, opts, doc.Findings, list, shown)
		}
		return doc, nil
	})
	f := cmd.Flags()
	f.BoolVar(&opts.check, "check", false, "change nothing, and exit with 2 if a file would change")
	f.BoolVar(&opts.fix, "fix", false, "also apply fixes that are certain, and write the envelope of the API")
	f.StringVar(&opts.envelope, "envelope", "", "write purges for the command-line route of `VENDOR`, with the workspace as metadata.namespace")
	f.BoolVar(&opts.diff, "diff", false, "show the changes, and change nothing, as --check")
	return cmd
}

// fmtFile is a file with what was done to it. Changed is false if it could not be written, which Error
// explains; Unformatted says why the layout stays as it is.
type fmtFile struct {
	yamledit.TidiedFile `json:"-"`
	Path                string    `json:"path"`
	Changed             bool      `json:"changed"`
	Repaired            diag.List `json:"repaired,omitempty"`
	Unformatted         string    `json:"left,omitempty"`
	Error               string    `json:"error,omitempty"`
}

// unformattedReason says where and why the layout of a file stays as it is.
func (f fmtFile) unformattedReason() string {
	return diag.Place(f.Path, f.Left.Line) + ": not formatted: " + f.Left.Reason
}

// formatFiles reads files, and decides on their new content.
func formatFiles(ctx context.Context, run *Run, opts fmtOptions, paths []string) ([]fmtFile, diag.List, error) {
	p, err := run.FindProject()
	how := yamledit.TidyOptions{Fix: opts.fix}
	if opts.fix || opts.envelope != "" {
		how.Route = &yamledit.SubmitRoute{Vendor: opts.envelope, Workspace: p.Workspace.Name}
	}
	if opts.envelope != "" {
		err = cmp.Or(err, yamledit.CheckVendor(opts.envelope))
	}
	if err != nil {
		return nil, nil, err
	}
	texts, unread, err := run.ReadFileTexts(ctx, p, paths)
	if err != nil {
		return nil, nil, err
	}
	formatting := run.startPhase("formatting manifests")
	defer formatting.end()
	reading := p.ManifestOptions(run.API.Parallelism)
	reading.Progress = formatting.setProgress
	tidied, findings, err := yamledit.FormatFiles(ctx, texts, how, reading)
	if err != nil {
		return nil, nil, err
	}
	findings = append(unread, findings...)
	findings.Sort()
	if len(tidied) == 0 && len(findings) == 0 && len(paths) > 0 {
		return nil, nil, fmt.Errorf("there is no manifest in %s", strings.Join(paths, ", "))
	}
	list := make([]fmtFile, len(tidied))
	for i, t := range tidied {
		list[i] = fmtFile{TidiedFile: t, Path: t.Path, Changed: t.Changes(), Repaired: t.Fixed}
		if t.Left != nil {
			list[i].Unformatted = t.Left.Error()
		}
	}
	return list, findings, nil
}

// writeFormatted replaces the files that change. With check, it returns them instead.
func writeFormatted(run *Run, list []fmtFile, check bool) (found diag.List) {
	for i := range list {
		switch f := &list[i]; {
		case !f.Changed:
		case check:
			found = append(found, diag.Finding{
				Rule: "fmt/file", Path: f.Path, Message: "trueup fmt would change this file", Fix: "run trueup fmt " + ledger.ShellQuote(f.Path),
			})
		default:
			if err := f.Replace(f.To); err != nil {
				f.Changed, f.Error = false, err.Error()
				run.Log(slog.LevelError, f.Error)
			}
		}
	}
	return found
}

// formatStdin returns the formatted text of standard input. Messages go to standard error.
func formatStdin(run *Run, findings diag.List, list []fmtFile, opts fmtOptions) (doc report.Document, err error) {
	for _, f := range findings {
		run.Log(levelOf(f), f.String())
	}
	code := fmtCode(findings, list, false)
	if len(list) == 0 || code == diag.ExitInvalid && !opts.fix {
		return doc, diag.WithExit(code, errors.New("standard input can't be read"))
	}
	for _, f := range list[0].Fixed {
		run.Inform("%s", fixText(f, "repaired"))
	}
	if list[0].Left != nil {
		run.Warn("%s", list[0].unformattedReason())
	}
	doc = fileDocument(list[0].To)
	doc.ExitCode = code
	return doc, nil
}

func levelOf(f diag.Finding) slog.Level {
	if f.Severity == diag.Error {
		return slog.LevelError
	}
	return slog.LevelWarn
}

func fixText(f diag.Finding, done string) string {
	return fmt.Sprintf("%s:%d:%d: %s: %s [%s]", f.Path, f.Line, f.Column, done, f.Fix, f.Rule)
}

func fmtCode(findings diag.List, list []fmtFile, check bool) int {
	switch {
	case slices.ContainsFunc(list, func(f fmtFile) bool { return f.Error != "" }):
		return diag.ExitError
	case findings.HasErrors():
		return diag.ExitInvalid
	case check && slices.ContainsFunc(list, func(f fmtFile) bool { return f.Changed }):
		return diag.ExitChanges
	}
	return diag.ExitOK
}

// writeFmt writes what was done to the files.
func writeFmt(run *Run, out report.LineWriter, opts fmtOptions, findings diag.List, list []fmtFile, shown report.FormatOptions) {
	fixed, formatted, done := "repaired", "formatted", "changed"
	if opts.check {
		fixed, formatted, done = "would be repaired", "would be formatted", "to change"
	}
	changed := 0
	for _, f := range list {
		if f.Error != "" {
			continue
		}
		for _, x := range f.Fixed {
			out.Printf("%s\n", fixText(x, fixed))
		}
		if f.Left != nil {
			out.Printf("%s\n", f.unformattedReason())
		}
		if !f.Changed {
			continue
		}
		changed++
		if f.Left == nil {
			out.Printf("%s: %s\n", f.Path, formatted)
		}
		if opts.diff || shown.Verbose {
			out.Diff(report.FileVersions{Path: f.Path, Before: f.Data, After: f.To}, shown)
		}
	}
	if len(findings) == 0 && !run.Quiet {
		out.Printf("%d of %s %s\n", changed, diag.Plural(len(list), "file", "files"), done)
	}
}
