package report

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"trueup/internal/view"

	"trueup/internal/apply"
	"trueup/internal/diag"
	"trueup/internal/exit"
	"trueup/internal/kind"
	"trueup/internal/plan"
	"trueup/internal/requesttest"
	"trueup/internal/routing"
	"trueup/internal/safetext"
)

// MergedProject is the result of one project in a merged Document.
type MergedProject struct {
	Origin
	// Result and ExitCode are those of its own run.
	Result   string `json:"result"`
	ExitCode int    `json:"exitCode"`
	// Digest is that of its own plan, or empty. A merged plan has none.
	Digest string `json:"digest,omitempty"`
}

// projectResults counts the projects by their results; empty if all are ok.
func projectResults(projects []MergedProject) safe {
	counts, codes := map[string]int{}, map[string]int{}
	for _, p := range projects {
		result := cmp.Or(exit.Name(p.ExitCode), exit.Name(exit.Error))
		if p.Result == NotStarted {
			result = NotStarted
		}
		counts[result]++
		codes[result] = p.ExitCode
	}
	if len(projects) == counts[exit.Name(exit.OK)] {
		return safe{}
	}
	byCode := func(a, b string) int { return cmp.Or(exit.Rank(codes[a])-exit.Rank(codes[b]), strings.Compare(a, b)) }
	var parts []safe
	for _, result := range slices.SortedFunc(maps.Keys(counts), byCode) {
		parts = append(parts, safetext.F("%d %s", counts[result], clean(result)))
	}
	return safetext.F("Results of the projects: %s.", safetext.Join(parts, ", "))
}

// projectLines returns a line for each project and its result, the worst first.
func projectLines(projects []MergedProject) []safe {
	sorted := slices.Clone(projects)
	slices.SortStableFunc(sorted, func(a, b MergedProject) int { return exit.Rank(a.ExitCode) - exit.Rank(b.ExitCode) })
	lines := make([]safe, len(sorted))
	for i, p := range sorted {
		lines[i] = safetext.F("%s: %s", clean(p.Path).CutLeft(view.MaxPath), clean(p.Result).Cut(view.MaxName))
	}
	return lines
}

// Merger joins the results of many projects. It counts what is unchanged, and keeps the rest.
type Merger struct {
	doc   Document
	plan  plan.Plan
	plans int
	apply *apply.Result
	// settings maps what is equal in many projects to its index in the plan.
	settings map[string]int
	also     [][]string
	// notes and errors are sentences, and the projects that have them.
	notes, errors shared
	fleet         *Fleet
	// touched are the projects that this change changes.
	touched map[string]bool
}

// shared has sentences in the order in which they came, and the projects of each.
type shared struct {
	texts    []string
	projects map[string][]string
}

func (s *shared) add(text, project string) {
	if s.projects == nil {
		s.projects = map[string][]string{}
	}
	if s.projects[text] == nil {
		s.texts = append(s.texts, text)
	}
	s.projects[text] = append(s.projects[text], project)
}

// lines returns each sentence with its projects, of so many in all.
func (s *shared) lines(all int) (lines []string) {
	for _, text := range s.texts {
		if projects := s.projects[text]; len(projects) > 1 {
			lines = append(lines, text+" ("+inProjects(projects, all)+")")
		} else {
			lines = append(lines, projects[0]+": "+text)
		}
	}
	return lines
}

// inProjects counts several projects, of so many in all, and names them.
func inProjects(projects []string, all int) string {
	if len(projects) == all {
		return "in all " + diag.Plural(all, "project", "projects")
	}
	return "in " + diag.Plural(len(projects), "project", "projects") + ": " + nameProjects(projects)
}

// Add adds the result of a project, which has its Project.
func (m *Merger) Add(doc Document) {
	at := doc.Project.Path
	entry := MergedProject{Origin: *doc.Project, Result: doc.Result, ExitCode: doc.ExitCode}
	switch {
	case doc.Plan != nil:
		entry.Digest = doc.Plan.Digest
		m.addPlan(doc.Plan, at)
	case m.fleet == nil:
	case doc.Result == NotStarted:
		m.fleet.NotReached = append(m.fleet.NotReached, at)
	case slices.Contains([]string{"plan", "apply", "drift"}, doc.Command) && doc.ExitCode != exit.OK:
		m.fleet.NotPlanned = append(m.fleet.NotPlanned, at)
	}
	m.doc.Projects = append(m.doc.Projects, entry)
	m.doc.Command, m.doc.ExitCode = doc.Command, exit.Worst(m.doc.ExitCode, doc.ExitCode)
	m.doc.Sandbox = m.doc.Sandbox || doc.Sandbox
	m.doc.Objects += doc.Objects
	m.doc.Findings = append(m.doc.Findings, findingsIn(at, doc.Findings)...)
	m.doc.Silenced = append(m.doc.Silenced, findingsIn(at, doc.Silenced)...)
	for _, e := range doc.Errors {
		m.errors.add(e, at)
	}
	for _, text := range doc.Messages {
		m.doc.Messages = append(m.doc.Messages, at+": "+text)
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
	if m.plans++; m.plans == 1 {
		m.touched = map[string]bool{}
		m.plan = plan.Plan{Format: pl.Format, Tool: pl.Tool, Blame: pl.Blame, Target: plan.Target{Origins: pl.Target.Origins}}
	}
	m.plan.Sandbox, m.plan.Offline = m.plan.Sandbox || pl.Sandbox, m.plan.Offline || pl.Offline
	if !maps.Equal(m.plan.Target.Origins, pl.Target.Origins) {
		m.plan.Target.Origins = nil
	}
	if problem := pl.LedgerProblem; problem != "" && m.plan.LedgerProblem == "" {
		m.plan.LedgerProblem = at + ": " + problem
	}
	m.addBlame(pl.Blame, at)
	for _, s := range pl.Settings {
		m.addSetting(s, at)
	}
	for _, item := range pl.Items {
		if isTouched(item) {
			m.touched[at] = true
		}
		if view.Hidden(item, view.Options{}) {
			continue
		}
		item.Project, item.Path = at, fileIn(at, item.Path)
		item.After = keysIn(at, item.After)
		m.plan.Items = append(m.plan.Items, item)
	}
	m.addRequests(pl, at)
	m.plan.Unmanaged = append(m.plan.Unmanaged, keysIn(at, pl.Unmanaged)...)
	for _, n := range pl.Notes {
		m.notes.add(n, at)
	}
	m.plan.Advice = append(m.plan.Advice, findingsIn(at, pl.Advice)...)
	m.plan.Silenced = append(m.plan.Silenced, findingsIn(at, pl.Silenced)...)
	m.plan.Summary.Add(pl.Summary)
}

func (m *Merger) addRequests(pl *plan.Plan, at string) {
	for _, l := range pl.Requests {
		l.Objects = keysIn(at, l.Objects)
		m.plan.Requests = append(m.plan.Requests, l)
	}
	m.plan.HidesRequests = m.plan.HidesRequests || pl.HidesRequests
}

func (m *Merger) addApply(r *apply.Result, at string) {
	if m.apply == nil {
		m.apply = &apply.Result{Outcomes: []apply.Outcome{}, Summary: map[string]int{}}
	}
	for what, n := range r.Summary {
		m.apply.Summary[what] += n
	}
	for _, o := range r.Outcomes {
		if !untouched(o) {
			o.Project = at
			m.apply.Outcomes = append(m.apply.Outcomes, o)
		}
	}
}

// addBlame keeps the base that all plans have in common. Problems of others become notes.
func (m *Merger) addBlame(b *plan.Blame, at string) {
	first := m.plan.Blame
	if first != nil && b != nil && *first == *b {
		return
	}
	if first != nil && b != nil && (first.Ref != b.Ref || first.Base != b.Base || first.Head != b.Head || first.Merge != b.Merge) {
		m.plan.Blame = &plan.Blame{Problem: first.Problem, Fix: first.Fix}
	}
	if b != nil && b.Problem != "" {
		m.notes.add("base: "+strings.TrimSuffix(b.Problem+" - fix: "+b.Fix, " - fix: "), at)
	}
}

// addSetting adds a setting that differs from the base. An equal one of another project is named with it.
func (m *Merger) addSetting(s plan.Setting, at string) {
	key, err := json.Marshal([]any{s.Field, s.Was, s.Now, s.Consequence})
	if i, known := m.settings[string(key)]; err == nil && known && s.Hides == nil {
		m.also[i] = append(m.also[i], at)
		return
	}
	if m.settings == nil {
		m.settings = map[string]int{}
	}
	if s.Hides == nil { // what is hidden belongs to one project
		m.settings[string(key)] = len(m.plan.Settings)
	}
	s.Path, s.Hides = fileIn(at, s.Path), slices.Clone(s.Hides)
	for i := range s.Hides {
		s.Hides[i].Project = at
	}
	m.plan.Settings, m.also = append(m.plan.Settings, s), append(m.also, []string{at})
}

func (m *Merger) addTests(t *requesttest.Result, at string) {
	if m.doc.Tests == nil {
		m.doc.Tests = &requesttest.Result{Cases: []requesttest.Case{}}
	}
	all := m.doc.Tests
	all.Passed, all.Failed, all.Skipped = all.Passed+t.Passed, all.Failed+t.Failed, all.Skipped+t.Skipped
	for _, c := range t.Cases {
		c.File = fileIn(at, c.File)
		all.Cases = append(all.Cases, c)
	}
	if t.Coverage == nil {
		return
	}
	if all.Coverage == nil {
		all.Coverage = &requesttest.Coverage{Missing: []requesttest.Missing{}}
	}
	all.Coverage.Locations.Add(t.Coverage.Locations)
	all.Coverage.Upstreams.Add(t.Coverage.Upstreams)
	for _, missing := range t.Coverage.Missing {
		missing.File = fileIn(at, missing.File)
		all.Coverage.Missing = append(all.Coverage.Missing, missing)
	}
}

// finish returns the joined results, with what can't be merged. Its exit code is the worst of all.
func (m *Merger) finish(wrong []string) Document {
	doc, pl := m.doc, m.plan
	f := cmp.Or(m.fleet, &Fleet{})
	doc.Errors = slices.Concat(f.Missing, wrong, m.errors.lines(len(m.doc.Projects)))
	doc.ExitCode = exit.Worst(doc.ExitCode, f.code(doc.Command))
	if len(f.Missing) > 0 {
		doc.ExitCode = exit.Worst(doc.ExitCode, exit.Partial)
	}
	if len(wrong) > 0 {
		doc.ExitCode = exit.Worst(doc.ExitCode, exit.Error)
	}
	doc.Result, doc.Apply, doc.Fleet = exit.Name(doc.ExitCode), m.apply, f
	doc.Findings = append(doc.Findings, f.warnings()...)
	facts := f.lines(doc.Command)
	if m.plans == 0 {
		doc.Messages = append(facts, doc.Messages...)
		return doc
	}
	pl.Requests = routing.JoinLines(pl.Requests, false)
	pl.Settings = slices.Clone(pl.Settings)
	for i, projects := range m.also {
		if s := &pl.Settings[i]; len(projects) > 1 {
			s.Consequence = strings.TrimPrefix(s.Consequence+"; "+inProjects(projects, len(m.doc.Projects)), "; ")
		}
	}
	if waiting := m.orderByChange(&pl); len(waiting) > 0 {
		facts = append(facts, "waits in projects that this change does not change: "+strings.Join(waiting, "; "))
	}
	doc.Findings = append(doc.Findings, movedObjects(pl.Items)...)
	pl.Notes = append(facts, m.notes.lines(len(m.doc.Projects))...)
	doc.Plan = &pl
	return doc
}

// orderByChange puts the projects that this change changes before all others, if it is known which. It counts what waits in
// each of the others.
func (m *Merger) orderByChange(pl *plan.Plan) (waiting []string) {
	if pl.Blame == nil || pl.Blame.Base == "" {
		return nil
	}
	of := map[string]*plan.Plan{}
	var order []string
	for i := range pl.Items {
		item := &pl.Items[i]
		if item.Elsewhere = !m.touched[item.Project]; !item.Elsewhere {
			continue
		}
		if of[item.Project] == nil {
			of[item.Project], order = &plan.Plan{}, append(order, item.Project)
		}
		of[item.Project].Items = append(of[item.Project].Items, *item)
	}
	for _, project := range order {
		one := of[project]
		one.Summary = one.Counts()
		counts := view.Counted("", view.PlanParts(one))
		if one.Summary.Drifted > 0 {
			counts = view.Sentences(counts, view.Counted("", view.DriftParts(one)))
		}
		waiting = append(waiting, project+": "+strings.TrimSuffix(counts.String(), "."))
	}
	return waiting
}

// isTouched reports whether this change has a part in an item.
func isTouched(item plan.Item) bool {
	return item.By == plan.ByThisChange || slices.ContainsFunc(item.Lines(), func(l plan.Line) bool { return l.By == plan.ByThisChange })
}

// movedObjects returns a warning for each object that is created in one project and stays live in another: both have one
// hostname.
func movedObjects(items []plan.Item) (list diag.List) {
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
		k, _ := kind.Named(item.Kind)
		if err := json.Unmarshal(item.Request.Body, &body); err != nil {
			continue // it is sensitive, and not shown
		}
		host, _ := body.Spec[k.HostField].(string)
		if other, ok := kept[kind.HostKey(host)]; ok && host != "" && other.Project != item.Project {
			list = append(list, diag.Finding{
				Path: item.Path, Line: item.Line, Column: 1, Rule: view.ProjectRule, Severity: diag.Warning,
				Message: fmt.Sprintf("%s moves from %s to %s, where it is created, and the one in %s stays live: both have the hostname %s",
					item.String(), other.Project, item.Project, other.Project, host),
				Fix: "delete the one in " + other.Project + " when the new one serves",
			})
		}
	}
	return list
}

// fileIn returns the path of a project's file from where the search of projects began.
func fileIn(project, file string) string {
	if file == "" || file == "-" || path.IsAbs(file) {
		return file
	}
	return path.Join(project, file)
}

func findingsIn(project string, found diag.List) diag.List {
	out := slices.Clone(found)
	for i := range out {
		if out[i].Path = fileIn(project, out[i].Path); strings.Contains(out[i].Fix, "trueup ") {
			out[i].Fix = "in " + project + ": " + out[i].Fix
		}
	}
	return out
}

func keysIn(project string, keys []kind.Key) []kind.Key {
	out := slices.Clone(keys)
	for i := range out {
		out[i].Project = project
	}
	return out
}
