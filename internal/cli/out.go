package cli

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"strings"

	"trueup/internal/exit"
	"trueup/internal/files"
	"trueup/internal/plan"
	"trueup/internal/report"
)

// planFile is the file that a plan is kept in. It is emptied before anything is
// looked at, so that an earlier run's plan is not taken for this one's.
type planFile struct {
	name string
	file *os.File
}

// openPlanFile opens the file of --out; nil where there is none.
func (a *app) openPlanFile(name string) (*planFile, error) {
	switch name {
	case "":
		return nil, nil
	case onStdout:
		return nil, errors.New("--out: - is no file: name one, for apply --expect and show")
	}
	if mayBeSource(name) {
		return nil, fmt.Errorf("--out %s: %w", name, errSource)
	}
	for _, r := range a.global.reports {
		if _, file, _ := strings.Cut(r, "="); a.full(file) == a.full(name) {
			return nil, fmt.Errorf("both --out and --report %s write that file: name two", r)
		}
	}
	f, err := files.OpenOutput(a.dir(), name, os.O_TRUNC)
	if err != nil {
		return nil, fmt.Errorf("--out: %w", err)
	}
	return &planFile{name, f}, nil
}

// keep writes the plan of a document, if it has one that could be applied, and
// closes the file.
func (a *app) keep(f *planFile, doc *report.Document) {
	if f == nil {
		return
	}
	err := f.write(a, doc)
	if err = errors.Join(err, f.file.Close()); err != nil {
		doc.ExitCode = cmp.Or(doc.ExitCode, exit.Error)
		doc.Errors = append(doc.Errors, fmt.Sprintf("--out: %s: %v", f.name, files.WithoutPath(err)))
	}
}

func (f *planFile) write(a *app, doc *report.Document) error {
	if doc.Plan == nil || doc.Findings.HasErrors() {
		return nil
	}
	content, err := plan.Encode(doc.Plan, a.env.Now())
	if err != nil {
		return err
	}
	_, err = f.file.Write(content)
	return err
}
