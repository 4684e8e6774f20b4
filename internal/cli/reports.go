package cli

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"

	"trueup/internal/exit"
	"trueup/internal/files"
	"trueup/internal/forge"
	"trueup/internal/report"
)

// emit writes the document in every format that was asked for. The exit code of the run is the
// document's, unless that is OK and the result could not be written. If standard output could not
// be, the files of --report say so.
func (a *app) emit(doc report.Document) error {
	a.code, a.emitted = doc.ExitCode, true
	opts := a.shown()
	opts.Color, opts.Width = a.useColor(a.env.Width > 0), a.env.Width
	err := report.Write(a.stdout, a.global.output, a.stamped(doc), opts)
	if err != nil {
		doc.ExitCode = cmp.Or(doc.ExitCode, exit.Error)
		doc.Errors = append(doc.Errors, "write the result: "+err.Error())
	}
	if err = errors.Join(err, a.writeReports(doc)); err != nil {
		return exit.With(cmp.Or(doc.ExitCode, exit.Error), fmt.Errorf("write the result: %w", err))
	}
	return nil
}

// stamped returns the document with what all commands add: the name of its exit code, its place, and
// where else to read about the run.
func (a *app) stamped(doc report.Document) report.Document {
	doc.Result, doc.Sandbox, doc.Place = exit.Name(doc.ExitCode), doc.Sandbox || a.global.sandbox, a.place()
	// The page of the run is in the environment: the file of the event says no more of it.
	ci, _ := forge.Detect(a.env.Getenv, func(string) ([]byte, error) { return nil, fs.ErrNotExist })
	doc.RunURL, doc.Files = ci.RunURL, nil
	for _, r := range a.global.reports {
		if format, file, _ := strings.Cut(r, "="); file != onStdout {
			if doc.RunURL != "" && filepath.IsAbs(file) {
				file = filepath.Base(file) // the runner's folders are gone by then
			}
			doc.Files = append(doc.Files, report.File{Format: format, Path: file})
		}
	}
	return doc
}

// writeReports writes the document to each file of --report.
func (a *app) writeReports(doc report.Document) error {
	if len(a.global.reports) == 0 {
		return nil
	}
	doc = a.stamped(doc)
	var failures []error
	for _, r := range a.global.reports {
		format, file, _ := strings.Cut(r, "=")
		failures = append(failures, a.writeReport(format, file, doc))
	}
	return errors.Join(failures...)
}

// shown returns how much of a document is written, in any format.
func (a *app) shown() report.Options {
	return report.Options{Verbose: a.global.verbose, ShowUnmanaged: a.global.verbose, Diff: a.global.diff}
}

// onStdout is the name of standard output among the files of --report.
const onStdout = "-"

func (a *app) writeReport(format, file string, doc report.Document) error {
	opts := a.shown()
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

// sharedFile reports whether all commands of a CI step add to a file: the one of its summary or of
// its outputs. trueup never empties it.
func (a *app) sharedFile(file string) bool {
	for _, name := range []string{"GITHUB_STEP_SUMMARY", "GITHUB_OUTPUT"} {
		if shared := a.env.Getenv(name); shared != "" && a.full(file) == a.full(shared) {
			return true
		}
	}
	return false
}

// minRoom is the least room for a report, in bytes.
const minRoom = 4096

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

// fail shows an error in the result if the format is for machines, and otherwise on standard error.
// The files of --report have it either way, so that nobody takes an earlier run's for this one's.
func (a *app) fail(doc report.Document, err error) error {
	if a.checkFormats() != nil {
		return err
	}
	doc.ExitCode = exit.Of(err)
	doc.Errors = append(doc.Errors, err.Error())
	if a.global.output == "text" {
		if werr := a.writeReports(doc); werr != nil {
			return errors.Join(err, fmt.Errorf("write the result: %w", werr))
		}
		return err
	}
	if werr := a.emit(doc); werr != nil {
		return errors.Join(err, werr)
	}
	return &shownError{err}
}
