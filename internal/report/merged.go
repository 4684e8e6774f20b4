package report

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"trueup/internal/apply"
	"trueup/internal/diag"
	"trueup/internal/kind"
	"trueup/internal/plan"
	"trueup/internal/requesttest"
	"trueup/internal/routing"
	"trueup/internal/safetext"
	"trueup/internal/view"
)

// projectResults counts the projects by their results; empty if all are ok.
func projectResults(projects []ProjectResult) safeText {
	counts, codes := map[string]int{}, map[string]int{}
	for _, p := range projects {
		result := cmp.Or(diag.ExitName(p.ExitCode), diag.ExitName(diag.ExitError))
		if p.Result == NotStarted {
			result = NotStarted
		}
		counts[result]++
		codes[result] = p.ExitCode
	}
	if len(projects) == counts[diag.ExitName(diag.ExitOK)] {
		return safeText{}
	}
	byCode := func(a, b string) int {
		return cmp.Or(diag.ExitRank(codes[a])-diag.ExitRank(codes[b]), strings.Compare(a, b))
	}
	var parts []safeText
	for _, result := range slices.SortedFunc(maps.Keys(counts), byCode) {
		parts = append(parts, safetext.F("%d %s", counts[result], clean(result)))
	}
	return safetext.F("Results of the projects: %s.", safetext.Join(parts, ", "))
}

// projectLines returns a line for each project and its result, the worst first.
func projectLines(projects []ProjectResult) []safeText {
	sorted := slices.Clone(projects)
	slices.SortStableFunc(sorted, func(a, b ProjectResult) int { return diag.ExitRank(a.ExitCode) - diag.ExitRank(b.ExitCode) })
	lines := make([]safeText, len(sorted))
	for i, p := range sorted {
		lines[i] = safetext.F("%s: %s", clean(p.Path).TruncateLeft(view.MaxPath), clean(p.Result).Truncate(view.MaxName))
	}
	return lines
}

// Merger joins the results of many projects. It counts what is unchanged, and keeps the rest.
type Merger struct {
	doc   Document
	fleet FleetFacts
	wrong []string // what can't be merged, with the file
	// notes and errors are sentences, and the projects that have them. settings has those of the plan's settings.
	notes, errors, settings sharedSentences
	// touched are the projects that this change changes.
	touched map[string]bool
}

// sharedSentences has sentences in the order in which they came, and the projects of each.
type sharedSentences struct {
	texts    []string
	projects map[string][]string
}

func (s *sharedSentences) addText(text, project string) {
	if s.projects == nil {
		s.projects = map[string][]string{}
	}
	if s.projects[text] == nil {
		s.texts = append(s.texts, text)
	}
	s.projects[text] = append(s.projects[text], project)
}

// lines returns each sentence with its projects, of so many in all.
func (s *sharedSentences) lines(all int) (lines []string) {
	for _, text := range s.texts {
		if projects := s.projects[text]; len(projects) > 1 {
			lines = append(lines, text+" ("+describeProjects(projects, all)+")")
		} else {
			lines = append(lines, projects[0]+": "+text)
		}
	}
	return lines
}

// describeProjects counts several projects, of so many in all, and names them.
func describeProjects(projects []string, all int) string {
	if len(projects) == all {
		return "in all " + diag.Plural(all, "project", "projects")
	}
	return "in " + diag.Plural(len(projects), "project", "projects") + ": " + nameProjects(projects)
}

// NewMerger returns a Merger for the projects that one process runs.
func NewMerger(shard ShardHead) *Merger {
	return &Merger{doc: Document{Command: shard.Command, Projects: []ProjectResult{}}, fleet: FleetFacts{FleetRun: shard.FleetRun, FleetChanges: shard.Facts}}
}

// AddResult adds the result of a project, as ResultOf returns it. The caller adds them in the order of their paths.
func (m *Merger) AddResult(doc Document) {
	all, at := &m.doc, doc.Project.Path
	entry := *doc.Project
	switch {
	case doc.Plan != nil:
		entry.Digest = doc.Plan.Digest
		m.addPlan(doc.Plan, at)
	case doc.Result == NotStarted:
		m.fleet.NotReached = append(m.fleet.NotReached, at)
	case slices.Contains([]string{"plan", "apply", "drift"}, doc.Command) && doc.ExitCode != diag.ExitOK:
		m.fleet.NotPlanned = append(m.fleet.NotPlanned, at)
	}
	all.Projects = append(all.Projects, entry)
	all.Command, all.ExitCode = doc.Command, diag.WorstExit(all.ExitCode, doc.ExitCode)
	all.Sandbox = all.Sandbox || doc.Sandbox
	all.Objects += doc.Objects
	all.Findings = append(all.Findings, findingsInProject(at, doc.Findings)...)
	all.Silenced = append(all.Silenced, findingsInProject(at, doc.Silenced)...)
	for _, e := range doc.Errors {
		m.errors.addText(e, at)
	}
	for _, text := range doc.Messages {
		all.Messages = append(all.Messages, at+": "+text)
	}
	if doc.Apply != nil {
		m.addApply(doc.Apply, at)
	}
	if doc.Tests != nil {
		m.addTests(doc.Tests, at)
	}
}

// addPlan adds the items of a plan, except those that need no action.
func (m *Merger) addPlan(pl *plan.Plan, at string) {
	all := m.doc.Plan
	if all == nil {
		all = &plan.Plan{Format: pl.Format, Tool: pl.Tool, Blame: pl.Blame, Target: plan.Destination{Origins: pl.Target.Origins}}
		m.doc.Plan, m.touched = all, map[string]bool{}
	}
	all.Sandbox, all.Offline = all.Sandbox || pl.Sandbox, all.Offline || pl.Offline
	if !maps.Equal(all.Target.Origins, pl.Target.Origins) {
		all.Target.Origins = nil
	}
	if pl.LedgerProblem != "" {
		all.LedgerProblem = cmp.Or(all.LedgerProblem, at+": "+pl.LedgerProblem)
	}
	m.addBlame(pl.Blame, at)
	for _, s := range pl.Settings {
		m.addSetting(s, at)
	}
	for _, item := range pl.Items {
		if isOfThisChange(item) {
			m.touched[at] = true
		}
		if view.IsHidden(item, FormatOptions{}) {
			continue
		}
		item.Project, item.Path = at, fileInProject(at, item.Path)
		item.After = keysInProject(at, item.After)
		all.Items = append(all.Items, item)
	}
	all.Requests = append(all.Requests, requestsInProject(at, pl.Requests)...)
	all.HidesRequests = all.HidesRequests || pl.HidesRequests
	all.Unmanaged = append(all.Unmanaged, keysInProject(at, pl.Unmanaged)...)
	for _, n := range pl.Notes {
		m.notes.addText(n, at)
	}
	all.Advice = append(all.Advice, findingsInProject(at, pl.Advice)...)
	all.Silenced = append(all.Silenced, findingsInProject(at, pl.Silenced)...)
	all.Summary.Add(pl.Summary)
}

func (m *Merger) addApply(r *apply.Result, at string) {
	if m.doc.Apply == nil {
		m.doc.Apply = &apply.Result{Outcomes: []apply.ItemOutcome{}, Summary: map[string]int{}}
	}
	for what, n := range r.Summary {
		m.doc.Apply.Summary[what] += n
	}
	for _, o := range r.Outcomes {
		if !isUntouched(o) {
			o.Project = at
			m.doc.Apply.Outcomes = append(m.doc.Apply.Outcomes, o)
		}
	}
}

// addBlame keeps the base that all plans have in common. Problems of others become notes.
func (m *Merger) addBlame(b *plan.ComparedCommits, at string) {
	first := m.doc.Plan.Blame
	if first != nil && b != nil && *first == *b {
		return
	}
	if first != nil && b != nil && (first.Ref != b.Ref || first.Base != b.Base || first.Head != b.Head || first.Merge != b.Merge) {
		m.doc.Plan.Blame = &plan.ComparedCommits{Problem: first.Problem, Fix: first.Fix}
	}
	if b != nil && b.Problem != "" {
		m.notes.addText("base: "+strings.TrimSuffix(b.Problem+" - fix: "+b.Fix, " - fix: "), at)
	}
}

// addSetting adds a setting that differs from the base. An equal one of another project is named with it, unless it hides
// something, which belongs to one project.
func (m *Merger) addSetting(s plan.ChangedSetting, at string) {
	key := fmt.Sprintf("%q %#v %#v %q", s.Field, s.Was, s.Now, s.Consequence)
	if s.Hides != nil {
		key += " in " + at
	}
	if m.settings.addText(key, at); len(m.settings.projects[key]) > 1 {
		return
	}
	s.Path, s.Hides = fileInProject(at, s.Path), slices.Clone(s.Hides)
	for i := range s.Hides {
		s.Hides[i].Project = at
	}
	m.doc.Plan.Settings = append(m.doc.Plan.Settings, s)
}

func (m *Merger) addTests(t *requesttest.TestResults, at string) {
	if m.doc.Tests == nil {
		m.doc.Tests = &requesttest.TestResults{Cases: []requesttest.Case{}}
	}
	all := m.doc.Tests
	all.Passed, all.Failed, all.Skipped = all.Passed+t.Passed, all.Failed+t.Failed, all.Skipped+t.Skipped
	for _, c := range t.Cases {
		c.File = fileInProject(at, c.File)
		all.Cases = append(all.Cases, c)
	}
	if t.Coverage == nil {
		return
	}
	if all.Coverage == nil {
		all.Coverage = &requesttest.Coverage{Missing: []requesttest.UncoveredPart{}}
	}
	all.Coverage.Locations.Add(t.Coverage.Locations)
	all.Coverage.Upstreams.Add(t.Coverage.Upstreams)
	for _, missing := range t.Coverage.Missing {
		missing.File = fileInProject(at, missing.File)
		all.Coverage.Missing = append(all.Coverage.Missing, missing)
	}
}

// Finish returns the joined results. Their exit code is the worst of all.
func (m *Merger) Finish() Document {
	doc, f, all := m.doc, &m.fleet, len(m.doc.Projects)
	doc.Errors = slices.Concat(f.Missing, m.wrong, m.errors.lines(all))
	doc.ExitCode = diag.WorstExit(doc.ExitCode, f.exitCode())
	if len(m.wrong) > 0 {
		doc.ExitCode = diag.WorstExit(doc.ExitCode, diag.ExitError)
	}
	doc.Result, doc.Fleet = diag.ExitName(doc.ExitCode), f
	doc.Findings = append(doc.Findings, f.warnings()...)
	facts, pl := f.lines(), doc.Plan
	if pl == nil {
		doc.Messages = append(facts, doc.Messages...)
		return doc
	}
	pl.Requests = routing.MergeLines(pl.Requests, false)
	for i, key := range m.settings.texts {
		if s, projects := &pl.Settings[i], m.settings.projects[key]; len(projects) > 1 {
			s.Consequence = strings.TrimPrefix(s.Consequence+"; "+describeProjects(projects, all), "; ")
		}
	}
	if pl.Blame != nil && pl.Blame.Base != "" {
		for i := range pl.Items { // what this change does not change comes last, if it is known
			pl.Items[i].Elsewhere = !m.touched[pl.Items[i].Project]
		}
	}
	doc.Findings = append(doc.Findings, movedObjectWarnings(pl.Items)...)
	pl.Notes = append(facts, m.notes.lines(all)...)
	return doc
}

// isOfThisChange reports whether this change has a part in an item.
func isOfThisChange(item plan.Item) bool {
	return item.By == plan.ByThisChange || slices.ContainsFunc(item.Lines(), func(l plan.ChangeLine) bool { return l.By == plan.ByThisChange })
}

// movedObjectWarnings returns a warning for each object that is created in one project and stays live in another: both have one
// hostname.
func movedObjectWarnings(items []plan.Item) (list diag.List) {
	kept := map[string]kind.Key{}
	for _, item := range items {
		if item.Hostname != "" {
			kept[kind.HostKey(item.Hostname)] = item.Key
		}
	}
	for _, item := range items {
		if item.Op != plan.Create || len(kept) == 0 || item.Request == nil {
			continue
		}
		var body struct{ Spec map[string]any }
		k, _ := kind.FindKind(item.Kind)
		if err := json.Unmarshal(item.Request.Body, &body); err != nil {
			continue // it is sensitive, and not shown
		}
		host, _ := body.Spec[k.HostField].(string)
		if other, ok := kept[kind.HostKey(host)]; ok && host != "" && other.Project != item.Project {
			list = append(list, diag.Finding{
				Path: item.Path, Line: item.Line, Column: 1, Rule: view.ProjectRule, Severity: diag.Warning,
				Message: fmt.Sprintf("%s is created in %s and stays live in %s: both have the hostname %s",
					item.String(), item.Project, other.Project, host),
				Fix: "delete the one in " + other.Project + " when the new one serves",
			})
		}
	}
	return list
}

// fileInProject returns the path of a project's file from where the search of projects began.
func fileInProject(project, file string) string {
	if file == "" || file == "-" || path.IsAbs(file) {
		return file
	}
	return path.Join(project, file)
}

func findingsInProject(project string, found diag.List) diag.List {
	out := slices.Clone(found)
	for i := range out {
		if out[i].Path = fileInProject(project, out[i].Path); strings.Contains(out[i].Fix, "trueup ") {
			out[i].Fix = "in " + project + ": " + out[i].Fix
		}
	}
	return out
}

func requestsInProject(project string, lines []routing.RequestChange) []routing.RequestChange {
	out := slices.Clone(lines)
	for i := range out {
		out[i].Objects = keysInProject(project, out[i].Objects)
	}
	return out
}

func keysInProject(project string, keys []kind.Key) []kind.Key {
	out := slices.Clone(keys)
	for i := range out {
		out[i].Project = project
	}
	return out
}
