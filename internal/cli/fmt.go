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
	"trueup/internal/files"
	"trueup/internal/manifest"
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

// fmtFile is what becomes of a file.
type fmtFile struct {
	text manifest.Text
	// to is what the file is to hold.
	to       []byte
	repaired diag.List
	// kept says why its layout is left as it is.
	kept *manifest.LeftError
	// failed says why it could not be written.
	failed error
}

func (f *fmtFile) changes() bool { return !bytes.Equal(f.text.Data, f.to) }

// left says where and why the layout of a file is left as it is.
func (f *fmtFile) left() string {
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
	list, closeAll, err := a.sources(p, paths)
	if err != nil {
		return err
	}
	defer closeAll()
	texts, findings, err := manifest.Texts(list, manifest.Limits{})
	if err != nil {
		return err
	}
	run := &fmtRun{app: a, opts: opts, manifest: a.manifestOptions(p, false), findings: findings}
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

// checkFmt refuses what fmt could not do before it begins.
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

// read decides what becomes of each file.
func (r *fmtRun) read(ctx context.Context, texts []manifest.Text) error {
	var sources []manifest.Source
	for _, t := range texts {
		objects, sound := manifest.Count(t.Data)
		if objects == 0 && sound && t.FS != nil {
			continue
		}
		r.objects += objects
		r.files = append(r.files, fmtFile{text: t, to: t.Data})
		sources = append(sources, manifest.Source{Data: t.Data, Display: t.Path})
	}
	if r.opts.fix {
		if err := r.fix(ctx, sources); err != nil {
			return err
		}
	}
	formatting := r.begin("formatting manifests")
	defer formatting.end()
	for i := range r.files {
		formatting.reached(i, len(r.files))
		if err := r.lay(&r.files[i]); err != nil {
			return err
		}
	}
	if r.opts.fix {
		return r.check(ctx)
	}
	return nil
}

// lay decides on the layout of a file. What keeps one from being read is told
// here, or else with all that is left to repair.
func (r *fmtRun) lay(f *fmtFile) error {
	laid, err := manifest.Format(f.to)
	var why *manifest.LeftError
	switch {
	case err == nil:
		f.to = laid
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

// fix repairs the files in which something can be.
func (r *fmtRun) fix(ctx context.Context, sources []manifest.Source) error {
	_, findings, err := manifest.Load(ctx, sources, r.manifest)
	if err != nil {
		return err
	}
	fixer := manifest.NewFixer(r.manifest)
	wrong := map[string]bool{}
	for _, x := range findings {
		wrong[x.Path] = wrong[x.Path] || manifest.Fixable(x)
	}
	for i := range r.files {
		if f := &r.files[i]; wrong[f.text.Path] {
			if f.to, f.repaired, err = fixer.Fix(ctx, f.text); err != nil {
				return err
			}
		}
	}
	return nil
}

// check collects the findings that are left.
func (r *fmtRun) check(ctx context.Context) error {
	sources := make([]manifest.Source, len(r.files))
	for i, f := range r.files {
		sources[i] = manifest.Source{Data: f.to, Display: f.text.Path}
	}
	set, findings, err := manifest.Load(ctx, sources, r.manifest)
	if err != nil {
		return err
	}
	r.findings = slices.Concat(r.findings, findings, manifest.Check(set, r.manifest))
	r.findings.Sort()
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

// replaceText gives a file that was read another content, if nobody else has
// written to it.
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

// pipe writes what came from standard input to standard output, and says what
// there is to say on standard error.
func (r *fmtRun) pipe() error {
	for _, x := range r.findings {
		level := slog.LevelWarn
		if x.Severity == diag.Error {
			level = slog.LevelError
		}
		r.log(level, x.String())
	}
	if r.code = r.result(); len(r.files) == 0 || r.code == exitInvalid && !r.opts.fix {
		return withCode(r.code, errors.New("standard input can't be read"))
	}
	f := &r.files[0]
	r.note(f)
	return r.out.Source(f.to)
}

// note says on standard error what was repaired in a file and what was left.
func (r *fmtRun) note(f *fmtFile) {
	for _, x := range f.repaired {
		r.log(slog.LevelInfo, repairOf(x, "repaired"))
	}
	if f.kept != nil {
		r.log(slog.LevelWarn, f.left())
	}
}

func repairOf(x diag.Finding, done string) string {
	return fmt.Sprintf("%s:%d:%d: %s: %s [%s]", x.Path, x.Line, x.Column, done, x.Fix, x.Rule)
}

// result is the exit code.
func (r *fmtRun) result() int {
	changes := false
	for _, f := range r.files {
		if f.failed != nil {
			return exitError
		}
		changes = changes || f.changes()
	}
	switch {
	case r.findings.HasErrors():
		return exitInvalid
	case changes && r.opts.check:
		return exitChanges
	}
	return exitOK
}
