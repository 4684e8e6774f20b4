package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"trueup/internal/diag"
	"trueup/internal/exit"
	"trueup/internal/files"
	"trueup/internal/manifest"
	"trueup/internal/report"
)

type fmtOptions struct{ check, fix, diff bool }

func newFmt(a *app) *cobra.Command {
	var opts fmtOptions
	cmd := &cobra.Command{
		Use:               "fmt [PATH...]",
		ValidArgsFunction: a.completePaths,
		RunE: func(cmd *cobra.Command, args []string) error {
			return runFmt(cmd.Context(), a, opts, args)
		},
	}
	cmd.Flags().BoolVar(&opts.check, "check", false, "change nothing, and exit with 2 if a file would change")
	cmd.Flags().BoolVar(&opts.fix, "fix", false, "also apply fixes that are certain")
	cmd.Flags().BoolVar(&opts.diff, "diff", false, "show the changes")
	return cmd
}

// fmtRun is a run of fmt.
type fmtRun struct {
	*app
	opts     fmtOptions
	manifest manifest.Options
	files    []fmtFile
	objects  int
	findings diag.List
}

type fmtFile struct {
	text manifest.Text
	// to is the new content.
	to       []byte
	repaired diag.List
	// kept says why the layout stays as it is, and failed why the file was not written.
	kept   *manifest.LeftError
	failed error
}

func (f *fmtFile) changes() bool { return !bytes.Equal(f.text.Data, f.to) }

// unformatted says where and why the layout of a file stays as it is.
func (f *fmtFile) unformatted() string {
	at := f.text.Path
	if f.kept.Line > 0 {
		at = fmt.Sprintf("%s:%d", at, f.kept.Line)
	}
	return at + ": not formatted: " + f.kept.Reason
}

func runFmt(ctx context.Context, a *app, opts fmtOptions, paths []string) error {
	if err := a.checkFmt(opts, paths); err != nil {
		return err
	}
	p, err := a.findProject()
	if err != nil {
		return err
	}
	texts, findings, err := a.texts(p, paths)
	if err != nil {
		return err
	}
	run := &fmtRun{app: a, opts: opts, manifest: p.ManifestOptions(false, a.global.parallelism), findings: findings}
	if err := run.read(ctx, texts); err != nil {
		return err
	}
	if len(run.files) == 0 && len(run.findings) == 0 && len(paths) > 0 {
		return fmt.Errorf("there is no manifest in %s", strings.Join(paths, ", "))
	}
	if slices.Contains(paths, onStdout) && !opts.check {
		return run.pipe()
	}
	run.write()
	return run.show()
}

// checkFmt refuses what fmt can't do.
func (a *app) checkFmt(opts fmtOptions, paths []string) error {
	switch piped := slices.Contains(paths, onStdout); {
	case !slices.Contains([]string{"text", "json"}, a.global.output):
		return fmt.Errorf("-o is %q: fmt writes text or json; validate shows findings in every format", a.global.output)
	case len(a.global.reports) > 0:
		return errors.New("--report: fmt writes none; validate --report has the findings")
	case piped && len(paths) > 1:
		return errors.New("- goes to standard output, so it can't be combined with other names")
	case piped && !opts.check && a.global.output != "text":
		return errors.New("-o json: standard output is the manifest itself; add --check")
	}
	return nil
}

// read decides on the new content of each file.
func (r *fmtRun) read(ctx context.Context, texts []manifest.Text) error {
	for _, t := range texts {
		objects, sound := manifest.Count(t.Data)
		if objects == 0 && sound && t.FS != nil {
			continue
		}
		r.objects += objects
		r.files = append(r.files, fmtFile{text: t, to: t.Data})
	}
	if r.opts.fix {
		if err := r.fix(ctx); err != nil {
			return err
		}
	}
	formatting := r.begin("formatting manifests")
	defer formatting.end()
	for i := range r.files {
		formatting.reached(i, len(r.files))
		if err := r.format(&r.files[i]); err != nil {
			return err
		}
	}
	if !r.opts.fix {
		return nil
	}
	set, findings, err := manifest.Load(ctx, r.sources(), r.manifest)
	if err != nil {
		return err
	}
	r.findings = slices.Concat(r.findings, findings, manifest.Check(set, r.manifest))
	r.findings.Sort()
	return nil
}

// sources are the files with their new content.
func (r *fmtRun) sources() []manifest.Source {
	sources := make([]manifest.Source, len(r.files))
	for i, f := range r.files {
		sources[i] = manifest.Source{Data: f.to, Display: f.text.Path}
	}
	return sources
}

// format formats a file. With --fix, the findings of a file that can't be read come from the check at
// the end.
func (r *fmtRun) format(f *fmtFile) error {
	text, err := manifest.Format(f.to)
	var why *manifest.LeftError
	switch {
	case err == nil:
		f.to = text
	case !errors.As(err, &why):
		return err
	case len(why.Findings) == 0:
		f.kept = why
	case !r.opts.fix:
		for _, x := range why.Findings {
			x.Path = f.text.Path
			r.findings = append(r.findings, x)
		}
	}
	return nil
}

// fix applies fixes to the files that have findings with one.
func (r *fmtRun) fix(ctx context.Context) error {
	_, findings, err := manifest.Load(ctx, r.sources(), r.manifest)
	if err != nil {
		return err
	}
	fixer := manifest.NewFixer(r.manifest)
	fixable := map[string]bool{}
	for _, x := range findings {
		fixable[x.Path] = fixable[x.Path] || manifest.Fixable(x)
	}
	for i := range r.files {
		if f := &r.files[i]; fixable[f.text.Path] {
			if f.to, f.repaired, err = fixer.Fix(ctx, f.text); err != nil {
				return err
			}
		}
	}
	return nil
}

// write replaces the files that change.
func (r *fmtRun) write() {
	for i := range r.files {
		f := &r.files[i]
		if r.opts.check || !f.changes() {
			continue
		}
		if f.failed = replaceText(f.text, f.to); f.failed != nil {
			r.log(slog.LevelError, f.failed.Error())
		}
	}
}

// replaceText changes the content of a file that was read, unless it was written to since.
func replaceText(t manifest.Text, content []byte) error {
	root := files.Root(t.FS)
	if root == nil {
		return fmt.Errorf("%s: it is not writable", t.Path)
	}
	if !files.Same(root, files.File{Name: t.Name, Content: t.Data}) {
		return fmt.Errorf("%s changed while it was read: run trueup again when nothing writes to it", t.Path)
	}
	if err := files.Replace(root, files.File{Name: t.Name, Content: content}); err != nil {
		return fmt.Errorf("%s: %w", t.Path, errors.Unwrap(err))
	}
	return nil
}

// pipe writes what came from standard input to standard output, and messages to standard error.
func (r *fmtRun) pipe() error {
	for _, x := range r.findings {
		r.log(levelOf(x), x.String())
	}
	if r.code = r.result(); len(r.files) == 0 || r.code == exit.Invalid && !r.opts.fix {
		return exit.With(r.code, errors.New("standard input can't be read"))
	}
	f := &r.files[0]
	for _, x := range f.repaired {
		r.log(slog.LevelInfo, repairOf(x, "repaired"))
	}
	if f.kept != nil {
		r.log(slog.LevelWarn, f.unformatted())
	}
	return r.out.Source(f.to)
}

func levelOf(f diag.Finding) slog.Level {
	if f.Severity == diag.Error {
		return slog.LevelError
	}
	return slog.LevelWarn
}

func repairOf(x diag.Finding, done string) string {
	return fmt.Sprintf("%s:%d:%d: %s: %s [%s]", x.Path, x.Line, x.Column, done, x.Fix, x.Rule)
}

// result is the exit code.
func (r *fmtRun) result() int {
	changes := false
	for _, f := range r.files {
		if f.failed != nil {
			return exit.Error
		}
		changes = changes || f.changes()
	}
	switch {
	case r.findings.HasErrors():
		return exit.Invalid
	case changes && r.opts.check:
		return exit.Changes
	}
	return exit.OK
}

// show writes what was done to the files.
func (r *fmtRun) show() error {
	r.code = r.result()
	if r.global.output == "json" {
		return r.out.JSON(r.document())
	}
	changed := 0
	for i := range r.files {
		f := &r.files[i]
		if f.failed != nil {
			continue
		}
		if f.changes() {
			changed++
		}
		if err := r.showFile(f); err != nil {
			return err
		}
	}
	if len(r.findings) > 0 {
		return r.emit(report.Document{Command: "fmt", Findings: r.findings, Objects: r.objects, ExitCode: r.code})
	}
	if !r.global.quiet {
		done := map[bool]string{true: "to change", false: "changed"}[r.opts.check]
		r.printf("%d of %s %s\n", changed, diag.Plural(len(r.files), "file", "files"), done)
	}
	return nil
}

func (r *fmtRun) showFile(f *fmtFile) error {
	repaired, formatted := "repaired", "formatted"
	if r.opts.check {
		repaired, formatted = "would be repaired", "would be formatted"
	}
	for _, x := range f.repaired {
		r.printf("%s\n", repairOf(x, repaired))
	}
	if f.kept != nil {
		r.printf("%s\n", f.unformatted())
	}
	if !f.changes() {
		return nil
	}
	r.printf("%s: %s\n", f.text.Path, formatted)
	if !r.opts.diff && !r.global.verbose {
		return nil
	}
	return r.out.Diff(f.text.Path, f.text.Data, f.to, report.Options{Color: r.useColor(r.env.Width > 0), Width: r.env.Width})
}

// fmtDocument is the result of fmt as JSON (schemas/fmt.schema.json).
type fmtDocument struct {
	Format   string        `json:"format"`
	Command  string        `json:"command"`
	Result   string        `json:"result"`
	ExitCode int           `json:"exitCode"`
	Files    []fmtFileJSON `json:"files"`
	Findings diag.List     `json:"findings"`
}

// fmtFileJSON is a file that changes, or whose layout stays as it is.
type fmtFileJSON struct {
	Path     string    `json:"path"`
	Changed  bool      `json:"changed"`
	Repaired diag.List `json:"repaired,omitempty"`
	Left     string    `json:"left,omitempty"`
	Error    string    `json:"error,omitempty"`
}

func (r *fmtRun) document() fmtDocument {
	doc := fmtDocument{
		Format: "trueup.fmt/v1", Command: "fmt", Result: exit.Name(r.code), ExitCode: r.code,
		Files: []fmtFileJSON{}, Findings: append(diag.List{}, r.findings...),
	}
	for _, f := range r.files {
		if !f.changes() && f.kept == nil {
			continue
		}
		row := fmtFileJSON{Path: f.text.Path, Changed: f.changes() && f.failed == nil, Repaired: f.repaired}
		if f.kept != nil {
			row.Left = f.kept.Error()
		}
		if f.failed != nil {
			row.Error = f.failed.Error()
		}
		doc.Files = append(doc.Files, row)
	}
	return doc
}
