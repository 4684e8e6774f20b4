package cli

import (
	"trueup/internal/diag"
	"trueup/internal/report"
)

// show writes what became of the files.
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
	return r.sum(changed)
}

// showFile writes what became of a file, if anything did.
func (r *fmtRun) showFile(f *fmtFile) error {
	repaired, formatted := "repaired", "formatted"
	if r.opts.check {
		repaired, formatted = "would be repaired", "would be formatted"
	}
	for _, x := range f.repaired {
		if err := r.out.Printf("%s\n", repairOf(x, repaired)); err != nil {
			return err
		}
	}
	if f.kept != nil {
		if err := r.out.Printf("%s\n", f.left()); err != nil {
			return err
		}
	}
	if !f.changes() {
		return nil
	}
	if err := r.out.Printf("%s: %s\n", f.text.Path, formatted); err != nil {
		return err
	}
	if !r.opts.diff && !r.global.verbose {
		return nil
	}
	return r.out.Diff(f.text.Path, f.text.Data, f.to, report.Options{Color: r.useColor(r.env.Width > 0), Width: r.env.Width})
}

// sum says how many files there are and how many changed.
func (r *fmtRun) sum(changed int) error {
	if r.global.quiet {
		return nil
	}
	done := "changed"
	if r.opts.check {
		done = "to change"
	}
	return r.out.Printf("%d of %s %s\n", changed, diag.Plural(len(r.files), "file", "files"), done)
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

// fmtFileJSON is a file that changes, or whose layout is left as it is.
type fmtFileJSON struct {
	Path     string    `json:"path"`
	Changed  bool      `json:"changed"`
	Repaired diag.List `json:"repaired,omitempty"`
	Left     string    `json:"left,omitempty"`
	Error    string    `json:"error,omitempty"`
}

func (r *fmtRun) document() fmtDocument {
	doc := fmtDocument{
		Format: "trueup.fmt/v1", Command: "fmt", Result: resultName(r.code), ExitCode: r.code,
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
