package report

import (
	"cmp"

	"trueup/internal/diag"
	"trueup/internal/doctor"
)

// Doctor returns the document of trueup doctor.
func Doctor(r doctor.Report) Document {
	doc := Document{ExitCode: r.ExitCode, Data: r, Text: func(out Lines, opts Options) { writeChecks(out, r, opts) }}
	for _, c := range r.Checks {
		f := diag.Finding{Rule: "run/check", Field: c.Group + "/" + c.Name, Message: c.Group + " " + c.Name + ": " + c.Says, Fix: c.Fix}
		switch c.Status {
		case doctor.Failed:
			f.Severity = diag.Error
		case doctor.Warning:
			f.Severity = diag.Warning
		case doctor.OK, doctor.Skipped:
			continue
		}
		doc.Annotations = append(doc.Annotations, f)
	}
	return doc
}

// writeChecks writes two tables: settings that somebody chose or has to choose, and checks with what to
// do below each that needs it. -v also shows what follows from other lines.
func writeChecks(out Lines, r doctor.Report, opts Options) {
	var rows [][]string
	for _, s := range r.Settings {
		if s.Value != "" || !s.Optional || opts.Verbose {
			rows = append(rows, []string{s.Name, cmp.Or(s.Value, "none"), s.Origin})
		}
	}
	if len(rows) > 0 {
		_ = out.Marked(rows, opts)
		_ = out.Printf("\n")
	}
	_ = out.Marked(checkRows(r.Checks, opts.Verbose), opts)
	_ = out.Printf("\n%s\n", checkTotals(r.Checks))
}

func checkRows(checks []doctor.Check, all bool) [][]string {
	marks := map[doctor.Status]string{doctor.OK: "ok", doctor.Warning: "warn", doctor.Failed: "FAIL", doctor.Skipped: "-"}
	var rows [][]string
	group := ""
	for _, f := range checks {
		if f.Follows && !all {
			continue
		}
		shown := f.Group
		if shown == group {
			shown = ""
		}
		group = f.Group
		rows = append(rows, []string{marks[f.Status], shown, f.Name, f.Says})
		if f.Fix != "" {
			rows = append(rows, []string{"", "", "", "fix: " + f.Fix})
		}
	}
	return rows
}

func checkTotals(checks []doctor.Check) string {
	count := map[doctor.Status]int{}
	for _, f := range checks {
		count[f.Status]++
	}
	failed := diag.Plural(count[doctor.Failed], "check", "checks") + " failed"
	warnings := diag.Plural(count[doctor.Warning], "warning", "warnings")
	switch {
	case count[doctor.Failed] > 0 && count[doctor.Warning] > 0:
		return failed + ", and " + warnings + "."
	case count[doctor.Failed] > 0:
		return failed + "."
	case count[doctor.Warning] > 0:
		return "Nothing failed, with " + warnings + "."
	}
	return "Nothing is wrong."
}
