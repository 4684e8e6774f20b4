package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"trueup/internal/config"
	"trueup/internal/exit"
	"trueup/internal/files"
	"trueup/internal/forge"
	"trueup/internal/manifest"
	"trueup/internal/report"
)

// runFunc executes a command. It returns its result, with or without an error, and prints nothing.
type runFunc func(ctx context.Context, args []string) (report.Document, error)

// command returns a command that runs do and writes its result. The usage line sets the number of
// arguments and their completion.
func (a *app) command(use string, do runFunc) *cobra.Command {
	return &cobra.Command{Use: use, Args: argsOf(use), RunE: func(cmd *cobra.Command, args []string) error {
		doc, err := do(cmd.Context(), args)
		if a.emitted { // as a stream
			return err
		}
		return a.emit(doc, err)
	}}
}

// say adds a message to a result.
func say(doc *report.Document, format string, args ...any) {
	doc.Messages = append(doc.Messages, fmt.Sprintf(format, args...))
}

// sayLines adds each line of a text as a message.
func sayLines(doc *report.Document, text string) {
	for line := range strings.Lines(text) {
		doc.Messages = append(doc.Messages, strings.TrimSuffix(line, "\n"))
	}
}

// said returns a result of one line.
func said(format string, args ...any) report.Document {
	return report.Document{Messages: []string{fmt.Sprintf(format, args...)}}
}

// table returns a list as a result: rows as text, and elements as JSON.
func table(format, name string, elements any, rows [][]string) report.Document {
	return report.Document{
		Data: map[string]any{"format": format, name: elements},
		Text: func(out report.LineWriter, _ report.FormatOptions) { out.Table("", rows) },
	}
}

// sourceText returns a file as a result. A pipe gets it unchanged.
func sourceText(text []byte) report.Document {
	return report.Document{Text: func(out report.LineWriter, _ report.FormatOptions) { out.Source(text) }}
}

// argsOf returns the check of a command's number of arguments.
func argsOf(use string) cobra.PositionalArgs {
	list := placeholders(use)
	least := slices.IndexFunc(list, func(p placeholder) bool { return p.optional })
	if least < 0 {
		least = len(list)
	}
	switch {
	case len(list) == 0:
		return cobra.NoArgs
	case list[len(list)-1].repeated:
		return cobra.MinimumNArgs(least)
	case least == len(list):
		return cobra.ExactArgs(least)
	}
	return cobra.MaximumNArgs(len(list))
}

// refuse returns an error with the formatted text if wrong is true.
func refuse(wrong bool, format string, args ...any) error {
	if !wrong {
		return nil
	}
	return fmt.Errorf(format, args...)
}

// placeholder is an argument in a line of usage.
type placeholder struct {
	name               string
	optional, repeated bool
}

// placeholders returns the arguments of a line of usage, without its flags.
func placeholders(use string) (list []placeholder) {
	for _, word := range strings.Fields(use)[1:] {
		bare, optional := strings.CutPrefix(word, "[")
		if strings.HasPrefix(bare, "-") {
			break
		}
		bare, repeated := strings.CutSuffix(strings.TrimSuffix(bare, "]"), "...")
		bare, _, _ = strings.Cut(bare, "|")
		list = append(list, placeholder{bare, optional, repeated})
	}
	return list
}

// words is the annotation that has the allowed values of a flag.
const words = "trueup_words"

// oneOfFlag limits a flag to some words. Completion offers them, and start refuses others.
func oneOfFlag(f *pflag.FlagSet, name string, allowed ...string) {
	_ = f.SetAnnotation(name, words, allowed) // the flag exists
}

// start checks flags and formats, and begins the time limit, before any command runs.
func (a *app) start(cmd *cobra.Command) error {
	a.running = strings.TrimPrefix(cmd.CommandPath(), "trueup ")
	wrong := []error{a.settingsErr}
	cmd.Flags().Visit(func(f *pflag.Flag) { wrong = append(wrong, a.checkUse(cmd, f)) })
	if err := cmp.Or(errors.Join(wrong...), a.checkFormats()); err != nil {
		return err
	}
	if limit := a.settings.timeout; limit > 0 {
		ctx, cancel := context.WithTimeoutCause(cmd.Context(), limit, fmt.Errorf(
			"the run took longer than its time limit, %s (%s): %w", limit, timeoutVar, context.DeadlineExceeded))
		a.cancel = cancel
		cmd.SetContext(ctx)
	}
	a.env.Stdin = &input{ctx: cmd.Context(), r: a.env.Stdin}
	return nil
}

// checkUse refuses a flag that does nothing in the command, and a value that the flag does not allow.
func (a *app) checkUse(cmd *cobra.Command, f *pflag.Flag) error {
	return errors.Join(a.checkFlag(f), refuse(!useful(cmd, f), "--%s does nothing in %s: remove it", f.Name, cmd.CommandPath()))
}

// checkFlag refuses a value that the flag does not allow. It also refuses an empty value of -C and of a
// command's own flags, because a script's unset variable is a likely cause.
func (a *app) checkFlag(f *pflag.Flag) error {
	values, isGlobal := []string{f.Value.String()}, a.root.PersistentFlags().Lookup(f.Name) != nil
	if list, ok := f.Value.(pflag.SliceValue); ok {
		values = list.GetSlice()
	}
	name := "--" + f.Name
	if f.Name == "output" {
		name = "-o"
	}
	for _, value := range values {
		switch allowed := f.Annotations[words]; {
		case value == "" && f.Name == "chdir":
			return errors.New("-C is empty: name the folder of a project, or remove it")
		case value == "" && !isGlobal:
			return fmt.Errorf("%s is empty: give it a value, or remove it", name)
		case allowed != nil:
			if err := oneOf(name, value, allowed); err != nil {
				return err
			}
		}
	}
	return nil
}

// checkFormats refuses a report that can't be written.
func (a *app) checkFormats() error {
	known := report.Formats()
	for _, r := range a.global.reports {
		format, file, ok := strings.Cut(r, "=")
		if !ok || file == "" {
			return fmt.Errorf("--report is %q: write FORMAT=FILE with a format of %s", r, strings.Join(known, ", "))
		}
		if err := oneOf("--report "+r+": the format", format, known); err != nil {
			return err
		}
		if manifest.IsYAML(file) {
			return fmt.Errorf("--report %s: %w", r, errSource)
		}
	}
	return nil
}

// emit writes the document to standard output and to each file of --report, so that nobody mistakes an
// earlier run's report for this one's. An error of the command is in the result, or on standard error if
// the result is text. The run exits with the document's code, or with 1 if that is 0 and a write failed.
func (a *app) emit(doc report.Document, failed error) (err error) {
	doc.Command = cmp.Or(doc.Command, a.running)
	text, errs := a.global.output == "text", doc.Errors
	if failed != nil {
		doc.ExitCode, doc.Errors = exit.Of(failed), append(slices.Clone(errs), failed.Error())
	}
	shown := doc
	switch {
	case text:
		shown.Errors = errs
	case failed != nil && (doc.Data == nil || a.global.output != "json"):
		failed = &shownError{failed}
	}
	if a.member != nil {
		a.code, a.emitted = doc.ExitCode, true
	} else if failed == nil || !text || doc.HasOwnText() {
		a.code, a.emitted = doc.ExitCode, true
		err = report.Write(a.stdout, a.global.output, a.stamped(shown), a.onTerminal())
	}
	if err != nil {
		doc.ExitCode = cmp.Or(doc.ExitCode, exit.Error)
		doc.Errors = append(doc.Errors, "write the result: "+err.Error())
	}
	if err = errors.Join(err, a.writeReports(doc)); err != nil {
		err = exit.WithCode(cmp.Or(doc.ExitCode, exit.Error), fmt.Errorf("write the result: %w", err))
	}
	return errors.Join(failed, err)
}

// onTerminal returns the options of what standard output shows.
func (a *app) onTerminal() report.FormatOptions {
	opts := a.shown()
	opts.Color, opts.Width = a.useColor(a.env.Width > 0), a.env.Width
	if a.global.output == "text" && opts.Width > 0 {
		opts.Now, opts.Brief = a.env.Now(), !opts.Verbose && !a.inCI()
	}
	return opts
}

// stamped adds what all commands report: the name of the exit code, the project's place, the page of the
// run and the report files.
func (a *app) stamped(doc report.Document) report.Document {
	doc.Result, doc.Sandbox, doc.Place = exit.NameOf(doc.ExitCode), doc.Sandbox || a.global.sandbox, a.place()
	// The environment has the page of the run, so don't read the event file.
	ci, _ := forge.Detect(a.env.Getenv, func(string) ([]byte, error) { return nil, fs.ErrNotExist })
	doc.RunURL, doc.Files = ci.RunURL, nil
	for _, r := range a.global.reports {
		if format, file, _ := strings.Cut(r, "="); file != onStdout {
			if a.sharedFile(file) {
				file = ""
			} else if doc.RunURL != "" && filepath.IsAbs(file) {
				file = filepath.Base(file) // the runner's folders are gone by then
			}
			doc.Files = append(doc.Files, report.SideReport{Format: format, Path: file})
		}
	}
	return doc
}

// place returns where in its repository the run is. The repository is the nearest folder with an
// entry .git, which no commit can have.
func (a *app) place() report.Place {
	dir, err := filepath.EvalSymlinks(a.dir())
	if err != nil {
		dir = a.dir()
	}
	var place report.Place
	if file, ok := files.FindAbove(dir, config.ProjectFile); ok && (a.global.dir == "" || filepath.Dir(file) == dir) {
		place.Project = filepath.ToSlash(files.ShownPath(dir, file))
	}
	if entry, ok := files.FindAbove(dir, ".git"); ok {
		place.Top = filepath.ToSlash(filepath.Dir(entry))
		place.Folder = filepath.ToSlash(files.ShownPath(filepath.Dir(entry), dir))
	}
	return place
}

// shown returns the options that say how much of a document to write, in any format.
func (a *app) shown() report.FormatOptions {
	return report.FormatOptions{Verbose: a.global.verbose, ShowUnmanaged: a.global.verbose}
}

// writeReports writes the document to each file of --report. One of many projects hands it over, too.
func (a *app) writeReports(doc report.Document) error {
	if len(a.global.reports) == 0 && a.member == nil {
		return nil
	}
	doc = a.stamped(doc)
	var failures []error
	if a.member != nil {
		a.member.result = &doc
	}
	for _, r := range a.global.reports {
		format, file, _ := strings.Cut(r, "=")
		failures = append(failures, a.writeReport(format, file, doc))
	}
	return errors.Join(failures...)
}

// onStdout is the name of standard output among the files of --report.
const onStdout = "-"

// minRoom is the least room for a report in a file that others write to as well, in bytes.
const minRoom = 4096

func (a *app) writeReport(format, file string, doc report.Document) error {
	opts := a.shown()
	opts.Variables = filepath.Ext(file) == ".env"
	if file == onStdout {
		return report.Write(a.stdout, format, doc, opts)
	}
	isShared, how := a.sharedFile(file), os.O_TRUNC
	if isShared {
		how = os.O_APPEND
	}
	f, err := files.OpenOutput(a.dir(), file, how)
	if err != nil {
		return err
	}
	if isShared {
		if opts.Room, err = beginAfter(f); err != nil {
			return errors.Join(fmt.Errorf("%s: %w", file, files.WithoutPath(err)), f.Close())
		}
		if opts.Room < minRoom {
			a.log(slog.LevelWarn, file+" is full (code hosts show 1 MB of it), so the "+format+" report of this run is not added")
			return f.Close()
		}
	}
	return errors.Join(report.Write(f, format, doc, opts), f.Close())
}

// sharedFile reports whether file is the summary or the outputs of a CI step, to which other commands
// write, too. trueup never empties it.
func (a *app) sharedFile(file string) bool {
	return slices.ContainsFunc([]string{"GITHUB_STEP_SUMMARY", "GITHUB_OUTPUT"}, func(name string) bool {
		shared := a.env.Getenv(name)
		return shared != "" && a.full(file) == a.full(shared)
	})
}

// beginAfter begins a new line after what others wrote into a file, and returns how many bytes still
// fit.
func beginAfter(f *os.File) (int, error) {
	info, err := f.Stat()
	if err != nil {
		return 0, err
	}
	size := info.Size()
	if size > 0 && report.SummaryRoom(size) > minRoom {
		_, err = f.WriteString("\n")
		size++
	}
	return report.SummaryRoom(size), err
}
