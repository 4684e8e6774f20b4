package report

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"trueup/internal/diag"
	"trueup/internal/doctor"
	"trueup/internal/exit"
	"trueup/internal/generate"
	"trueup/internal/kind"
	"trueup/internal/plan"
	"trueup/internal/safetext"
	"trueup/internal/view"
)

// Pull returns the document of trueup pull.
func Pull(r *generate.PullResult, diff, sandbox bool) Document {
	doc := Document{
		ExitCode: r.ExitCode(diff), Annotations: pullFindings(r, diff),
		Text: func(out LineWriter, shown view.TextOptions) { writePull(out, r, diff, sandbox, shown) },
	}
	doc.Data = pullDocument{
		Format: "trueup.pull/v1", Command: "pull", Result: exit.NameOf(doc.ExitCode), ExitCode: doc.ExitCode, Sandbox: sandbox,
		Objects: append([]*generate.PulledObject{}, r.Items...), Ledger: r.Problem, Notes: r.Doubts,
	}
	return doc
}

// pullDocument is the result as JSON (schemas/pull.schema.json).
type pullDocument struct {
	Format   string                   `json:"format"`
	Command  string                   `json:"command"`
	Result   string                   `json:"result"`
	ExitCode int                      `json:"exitCode"`
	Sandbox  bool                     `json:"sandbox"`
	Objects  []*generate.PulledObject `json:"objects"`
	// Ledger says why nothing was adopted, or is empty.
	Ledger string `json:"ledger,omitempty"`
	// Notes ask whether the workspace is right.
	Notes []string `json:"notes,omitempty"`
}

// pullFindings returns the objects that pull did not write or that differ from git, and its notes.
func pullFindings(r *generate.PullResult, diff bool) (found diag.List) {
	for _, i := range r.Items {
		f := diag.Finding{
			Rule: "pull/object", Path: i.File, Line: i.Line, Field: i.Key().String(), Fix: i.Fix,
			Message: fmt.Sprintf("%s is %s: %s", i.Key(), i.Verdict, i.Reason),
		}
		switch {
		case i.Verdict == generate.Refused:
			f.Severity = diag.Error
		case i.Verdict == generate.Differs:
			f.Message, f.Fix = i.Key().String()+" differs from live", takeLive(i, diff)
		case i.Verdict == generate.New && diff:
			f.Message = i.Key().String() + " is not in git"
		case i.Verdict != generate.LeftOut:
			continue
		}
		found = append(found, f)
	}
	if text := unknownFields(r); text != "" {
		found = append(found, diag.Finding{Rule: "run/note", Severity: diag.Advice, Message: text})
	}
	for _, text := range r.Doubts {
		found = append(found, diag.Finding{Rule: "run/note", Message: text})
	}
	return found
}

// pullReason is the reason of a verdict, with what to do.
func pullReason(i *generate.PulledObject, diff bool) string {
	switch {
	case i.Verdict == generate.Differs && diff && len(i.Lost) > 0:
		return "--replace would lose its " + strings.Join(i.Lost, " and ")
	case i.Verdict == generate.Differs && !diff:
		return "live differs from it: " + takeLive(i, false)
	case i.Verdict == generate.Replaced && i.InPlace:
		return "its comments stay"
	case i.Verdict == generate.Replaced && len(i.Lost) > 0:
		return "its " + strings.Join(i.Lost, " and ") + " are lost"
	case i.Fix != "":
		return i.Reason + "; " + i.Fix
	}
	return i.Reason
}

// takeLive says what to do about a manifest that differs from live.
func takeLive(i *generate.PulledObject, diff bool) string {
	if diff {
		return fmt.Sprintf("pull %s --replace takes it", i.ShortKey())
	}
	return fmt.Sprintf("pull %s --diff shows how, --replace takes it", i.ShortKey())
}

// writePull writes a line for each object, the differences, a summary, and what to do next.
func writePull(out LineWriter, r *generate.PullResult, diff, sandbox bool, shown view.TextOptions) {
	if sandbox {
		_ = out.Printf("%s\n\n", Banner)
	}
	rows := pullRows(r.Items, diff)
	_ = out.Marked(rows, shown)
	for _, i := range r.Items {
		if diff && i.Verdict == generate.Differs {
			_ = out.Printf("\n")
			_ = out.Diff(Versions{i.File, i.Before, i.After, i.LeftOut}, shown)
		}
	}
	if len(rows) > 0 {
		_ = out.Printf("\n")
	}
	if text := unknownFields(r); text != "" {
		_ = out.Printf("%s\n", text)
	}
	_ = out.Printf("Pull: %s.\n", pullSummary(r))
	for _, text := range r.Doubts {
		_ = out.Printf("%s\n", text)
	}
	writePulledNext(out, r, diff)
}

// writePulledNext says what follows from what was written.
func writePulledNext(out LineWriter, r *generate.PullResult, diff bool) {
	switch {
	case r.Problem != "" && !diff:
		_ = out.Printf("The ledger does not know of this yet, so apply won't drop list elements: %s; %s. Then run pull again.\n", r.Problem, r.Fix)
	case r.Adopted > 0:
		_ = out.Printf("Git now owns these objects: removing a field from a manifest removes it from the platform.\nA field that was never in a manifest stays as it is.\n")
	}
	if r.Unread != "" && r.CountVerdicts(generate.Written) > 0 {
		_ = out.Printf("A plan does not read %s: add it to manifests: in trueup.yaml, or name it as a PATH.\n", r.Unread)
	}
}

func pullRows(items []*generate.PulledObject, diff bool) (rows [][]string) {
	for _, i := range items {
		file := cmp.Or(i.File, "-")
		if i.Line > 0 {
			file = fmt.Sprintf("%s:%d", file, i.Line)
		}
		rows = append(rows, []string{string(i.Verdict), i.Key().String(), file, pullReason(i, diff)})
		if len(i.Dropped) > 0 && (i.Verdict == generate.Replaced || i.Verdict == generate.Differs) {
			text := map[bool]string{true: "drops", false: "--replace would drop"}[i.Verdict == generate.Replaced]
			rows = append(rows, []string{"", "", "", text + " changes of git that are not applied: " + strings.Join(i.Dropped, ", ")})
		}
	}
	return rows
}

// unknownFields says which fields of live are in no manifest that was written.
func unknownFields(r *generate.PullResult) string {
	found := map[string]bool{}
	for _, i := range r.Items {
		if slices.Contains([]generate.PullVerdict{generate.Written, generate.Replaced, generate.New}, i.Verdict) && !i.InPlace {
			for _, field := range i.Unknown {
				found[field] = true
			}
		}
	}
	if len(found) == 0 {
		return ""
	}
	const most = 12
	return fmt.Sprintf("Left out, because the schema does not know them (apply leaves them alone): %s. --all-fields writes them.",
		diag.First(slices.Sorted(maps.Keys(found)), most))
}

// pullSummary counts the verdicts.
func pullSummary(r *generate.PullResult) string {
	var parts []string
	for _, v := range generate.AllVerdicts() {
		if n := r.CountVerdicts(v); n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, v))
		}
	}
	if r.Adopted > 0 {
		parts = append(parts, fmt.Sprintf("%d adopted into the ledger", r.Adopted))
	}
	return cmp.Or(strings.Join(parts, ", "), "nothing is live")
}

// Doctor returns the document of trueup doctor.
func Doctor(r doctor.Report) Document {
	doc := Document{ExitCode: r.ExitCode, Data: r, Text: func(out LineWriter, opts view.TextOptions) { writeChecks(out, r, opts) }}
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
func writeChecks(out LineWriter, r doctor.Report, opts view.TextOptions) {
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
	marks := map[doctor.CheckStatus]string{doctor.OK: "ok", doctor.Warning: "warn", doctor.Failed: "FAIL", doctor.Skipped: "-"}
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
	count := map[doctor.CheckStatus]int{}
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

// statusFormat is the version of the JSON form of trueup status (schemas/status.schema.json).
const statusFormat = "trueup.status/v1"

// status is what trueup status writes as JSON.
type status struct {
	Format  string               `json:"format"`
	Sandbox bool                 `json:"sandbox"`
	Problem string               `json:"ledgerProblem,omitempty"`
	Unread  map[kind.Area]string `json:"unread,omitempty"`
	Objects []plan.ObjectState   `json:"objects"`
	Notes   []string             `json:"notes,omitempty"`
	counts  string
}

// Status turns the document of a plan into that of trueup status: a line for each object. The plan is of the areas
// that were read.
func Status(doc Document, all []plan.ObjectState, unread map[kind.Area]error) Document {
	pl, why := *doc.Plan, map[kind.Area]string{}
	for _, area := range kind.Areas() {
		if err := unread[area]; err != nil {
			why[area] = err.Error()
			pl.Notes = append(pl.Notes, fmt.Sprintf("the %s area could not be read, so this does not show what is live there", area))
		}
	}
	for _, f := range doc.Findings {
		if f.Severity == diag.Error {
			pl.Notes = append(pl.Notes, f.String())
		}
	}
	_, _, drift := summaryOf(doc)
	parts := append(view.PlanParts(&pl), view.Count{N: len(unread), Words: view.Nouns(len(unread), "area") + " not read"})
	counts := view.Sentences(view.Counted("nothing to do", parts), drift)
	doc.Data = status{Format: statusFormat, Sandbox: pl.Sandbox, Problem: pl.LedgerProblem, Unread: why, Objects: all, Notes: pl.Notes, counts: counts.String()}
	doc.Text = func(out LineWriter, opts view.TextOptions) {
		if pl.Sandbox {
			_ = out.Printf("%s\n\n", Banner)
		}
		rows := make([][]string, len(all))
		for i, o := range all {
			state := string(o.State)
			if o.State == plan.Drifted {
				state = string(plan.ToChange) + ", drifted" // the sentence counts it so
			}
			rows[i] = []string{o.String(), state, statusText(o, opts), o.AppliedBy()}
		}
		if len(rows) > 0 {
			_ = out.Marked(rows, view.TextOptions{Width: opts.Width})
			_ = out.Printf("\n")
		}
		for _, n := range pl.Notes {
			_ = out.Printf("Note: %s\n", n)
		}
		_ = out.Printf("Status: %s\n", counts)
	}
	doc.Plan, doc.Findings, doc.Silenced = nil, nil, nil
	return doc
}

// statusText says what git says of an object, or else why it is as it is.
func statusText(o plan.ObjectState, opts view.TextOptions) string {
	where := ""
	if o.Path != "" {
		where = fmt.Sprintf("%s:%d", o.Path, o.Line)
	}
	switch {
	case o.State == plan.LeftGit:
		gone := strings.TrimPrefix(view.Removal(o.By, o.Commit, opts).String(), string(plan.LeftGit)+", ") // the state says that
		return fmt.Sprintf("%s; %s", gone, o.Reason)
	case o.Reason != "":
		return o.Reason
	case o.State == plan.Drifted:
		return fmt.Sprintf("%s, %s outside git", where, diag.Plural(o.Outside, "change", "changes"))
	case o.State == plan.ToCreate && o.Outside > 0:
		return where + ", deleted outside git"
	case o.State == plan.ToChange:
		where = fmt.Sprintf("%s, %s", where, diag.Plural(o.Changes, "change", "changes"))
		if n := o.Outside - o.Conflicts; n > 0 {
			where += fmt.Sprintf(", %d outside git", n)
		}
		if o.Conflicts > 0 {
			where += fmt.Sprintf(", %d in conflict", o.Conflicts)
		}
	}
	return where
}

// Log returns the entries of a ledger as a document. values is set if it shows what changed with its values.
func Log(entries []plan.Logged, values bool) Document {
	return Document{
		Data: map[string]any{"format": "trueup.log/v1", "entries": entries},
		Text: func(out LineWriter, shown view.TextOptions) { writeLog(out, entries, values, shown) },
	}
}

func writeLog(out LineWriter, entries []plan.Logged, values bool, shown view.TextOptions) {
	p := newPrinter(out.w, shown)
	for n, e := range entries {
		if n > 0 {
			p.printGap()
		}
		p.printWrapped(indent, styledText{safetext.F("entry %d  ", e.Entry), faint}, styledText{view.Message(e.Title()), strong})
		p.printBelow(plain, view.Message(e.Who()))
		textRows(p, view.ObjectView{Changes: view.LoggedRows(e, values)})
	}
	if len(entries) == 0 {
		p.printLine(styledText{clean("no entries"), plain})
	}
	_ = p.flush() // the output keeps its own error
}
