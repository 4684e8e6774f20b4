package command

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"trueup/internal/config"
	"trueup/internal/diag"
	"trueup/internal/files"
	"trueup/internal/report"
)

// shownError is an error that the result on standard output already shows.
type shownError struct{ error }

func (e *shownError) Unwrap() error { return e.error }

// writeResult writes the document to standard output and to each file of --report, so that nobody mistakes an
// earlier run's report for this one's. An error of the command is in the result, or on standard error if
// the result is text. The run exits with the document's code, or with 1 if that is 0 and a write failed.
func (run *Run) writeResult(doc report.Document, failed error) (err error) {
	doc.Command = cmp.Or(doc.Command, run.Name)
	text, errs := run.Format == "text", doc.Errors
	if failed != nil {
		doc.ExitCode, doc.Errors = diag.ExitOf(failed), append(slices.Clone(errs), failed.Error())
	}
	shown := doc
	switch {
	case text:
		shown.Errors = errs
	case failed != nil && (doc.Data == nil || run.Format != "json"):
		failed = &shownError{failed}
	}
	if run.member != nil {
		run.code, run.emitted = doc.ExitCode, true
	} else if failed == nil || !text || doc.HasOwnText() {
		run.code, run.emitted = doc.ExitCode, true
		err = report.Write(run.stdout, run.Format, run.withRunInfo(shown), run.stdoutFormatOptions())
	}
	if err != nil {
		doc.ExitCode = cmp.Or(doc.ExitCode, diag.ExitError)
		doc.Errors = append(doc.Errors, "write the result: "+err.Error())
	}
	if err = errors.Join(err, run.writeReports(doc)); err != nil {
		err = diag.WithExit(cmp.Or(doc.ExitCode, diag.ExitError), fmt.Errorf("write the result: %w", err))
	}
	return errors.Join(failed, err)
}

// stdoutFormatOptions returns the options of what standard output shows.
func (run *Run) stdoutFormatOptions() report.FormatOptions {
	opts := run.formatOptions()
	opts.Color, opts.Width = run.useColor(run.Width > 0), run.Width
	if run.Format == "text" && opts.Width > 0 {
		opts.Brief = !opts.Verbose && !run.InCI()
	}
	return opts
}

// withRunInfo adds what all commands report: the name of the exit code, the project's place, the page of the
// run and the report files.
func (run *Run) withRunInfo(doc report.Document) report.Document {
	doc.Result, doc.Sandbox, doc.Place = diag.ExitName(doc.ExitCode), doc.Sandbox || run.Sandbox, run.folderInRepo()
	doc.RunURL, doc.Files = run.NewClaim().RunURL, nil
	for _, r := range run.Reports {
		if format, file, _ := strings.Cut(r, "="); file != onStdout {
			if run.isSharedFile(file) {
				file = ""
			} else if doc.RunURL != "" && filepath.IsAbs(file) {
				file = filepath.Base(file) // the runner's folders are gone by then
			}
			doc.Files = append(doc.Files, report.SideReport{Format: format, Path: file})
		}
	}
	return doc
}

// folderInRepo returns where in its repository the run is. The repository is the nearest folder with an
// entry .git, which no commit can have.
func (run *Run) folderInRepo() report.FolderInRepo {
	dir, place := config.ResolveLinks(run.Dir()), report.FolderInRepo{}
	if file, ok := files.FindAbove(dir, config.ProjectFile); ok && (run.Chdir == "" || filepath.Dir(file) == dir) {
		place.Project = filepath.ToSlash(files.ShownPath(dir, file))
	}
	if entry, ok := files.FindAbove(dir, ".git"); ok {
		place.Top = filepath.ToSlash(filepath.Dir(entry))
		place.Folder = filepath.ToSlash(files.ShownPath(filepath.Dir(entry), dir))
	}
	return place
}

// formatOptions returns the options that say how much of a document to write, in any format.
func (run *Run) formatOptions() report.FormatOptions {
	return report.FormatOptions{Verbose: run.Verbose}
}

// writeReports writes the document to each file of --report. One of many projects hands it over, too.
func (run *Run) writeReports(doc report.Document) error {
	if len(run.Reports) == 0 && run.member == nil {
		return nil
	}
	doc = run.withRunInfo(doc)
	var failures []error
	if run.member != nil {
		run.member.result = &doc
	}
	for _, r := range run.Reports {
		format, file, _ := strings.Cut(r, "=")
		failures = append(failures, run.writeReport(format, file, doc))
	}
	return errors.Join(failures...)
}

// onStdout is the name of standard output among the files of --report.
const onStdout = "-"

// minRoom is the least room for a report in a file that others write to as well, in bytes.
const minRoom = 4096

func (run *Run) writeReport(format, file string, doc report.Document) error {
	opts := run.formatOptions()
	opts.Variables = filepath.Ext(file) == ".env"
	if file == onStdout {
		return report.Write(run.stdout, format, doc, opts)
	}
	isShared, how := run.isSharedFile(file), os.O_TRUNC
	if isShared {
		how = os.O_APPEND
	}
	f, err := files.OpenOutput(run.Dir(), file, how)
	if err != nil {
		return err
	}
	if isShared {
		if opts.Room, err = startNewLine(f); err != nil {
			return errors.Join(fmt.Errorf("%s: %w", file, files.WithoutPath(err)), f.Close())
		}
		if opts.Room < minRoom {
			run.Warn("%s is full (code hosts show 1 MB of it), so the %s report of this run is not added", file, format)
			return f.Close()
		}
	}
	return errors.Join(report.Write(f, format, doc, opts), f.Close())
}

// isSharedFile reports whether file is the summary or the outputs of a CI step, to which other commands
// write, too. trueup never empties it.
func (run *Run) isSharedFile(file string) bool {
	return slices.ContainsFunc([]string{"GITHUB_STEP_SUMMARY", "GITHUB_OUTPUT"}, func(name string) bool {
		shared := run.Getenv(name)
		return shared != "" && run.FullPath(file) == run.FullPath(shared)
	})
}

// startNewLine begins a new line after what others wrote into a file, and returns how many bytes still
// fit.
func startNewLine(f *os.File) (int, error) {
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

// addMessage adds a message to a result.
func addMessage(doc *report.Document, format string, args ...any) {
	doc.Messages = append(doc.Messages, fmt.Sprintf(format, args...))
}

// addMessageLines adds each line of a text as a message.
func addMessageLines(doc *report.Document, text string) {
	for line := range strings.Lines(text) {
		doc.Messages = append(doc.Messages, strings.TrimSuffix(line, "\n"))
	}
}

// messageDocument returns a result of one line.
func messageDocument(format string, args ...any) report.Document {
	return report.Document{Messages: []string{fmt.Sprintf(format, args...)}}
}

// table returns a list as a result: rows as text, and elements as JSON.
func table(format, name string, elements any, rows [][]string) report.Document {
	return report.Document{
		Data: map[string]any{"format": format, name: elements},
		Text: func(out report.LineWriter, _ report.FormatOptions) { out.Table("", rows) },
	}
}

// fileDocument returns a file as a result. A pipe gets it unchanged.
func fileDocument(text []byte) report.Document {
	return report.Document{Text: func(out report.LineWriter, _ report.FormatOptions) { out.Source(text) }}
}
