package report

import (
	"cmp"
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

// projectResults counts the projects by their results, the worst first; empty if all are ok.
func projectResults(projects []ProjectResult) safeText {
	resultOf := func(p ProjectResult) string {
		if p.Result == NotStarted {
			return NotStarted
		}
		return cmp.Or(diag.ExitName(p.ExitCode), diag.ExitName(diag.ExitError))
	}
	groups := diag.GroupBy(projects, resultOf)
	slices.SortFunc(groups, func(a, b []ProjectResult) int {
		return cmp.Or(diag.ExitRank(a[0].ExitCode)-diag.ExitRank(b[0].ExitCode), strings.Compare(resultOf(a[0]), resultOf(b[0])))
	})
	if len(groups) == 0 || len(groups) == 1 && resultOf(projects[0]) == diag.ExitName(diag.ExitOK) {
		return safeText{}
	}
	parts := diag.MapList(groups, func(same []ProjectResult) safeText { return safetext.F("%d %s", len(same), resultOf(same[0])) })
	return safetext.F("Results of the projects: %s.", safetext.Join(parts, ", "))
}

// projectLines returns a line for each project and its result, the worst first.
func projectLines(projects []ProjectResult) []safeText {
	sorted := slices.Clone(projects)
	slices.SortStableFunc(sorted, func(a, b ProjectResult) int { return diag.ExitRank(a.ExitCode) - diag.ExitRank(b.ExitCode) })
	return diag.MapList(sorted, func(p ProjectResult) safeText {
		return safetext.F("%s: %s", clean(p.Path).TruncateLeft(view.MaxPath), clean(p.Result).Truncate(view.MaxName))
	})
}

// sharedSentences has sentences in the order in which they came, and the projects of each.
type sharedSentences struct {
	texts    []string
	projects map[string][]string
}

// addText adds a sentence of a project, and reports whether it is new.
func (s *sharedSentences) addText(text, project string) (isNew bool) {
	if s.projects == nil {
		s.projects = map[string][]string{}
	}
	if isNew = s.projects[text] == nil; isNew {
		s.texts = append(s.texts, text)
	}
	s.projects[text] = append(s.projects[text], project)
	return isNew
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

// ResultOf returns the document of one of many projects: places start from where the search of projects began, objects have
// their project, and what needs no action is only counted. A command with a form of its own, such as status, becomes a message
// that counts what it has.
func ResultOf(at, workspace string, doc Document) Document {
	if s, ok := doc.Data.(statusDocument); ok {
		doc.Messages = append(doc.Messages, s.counts)
	}
	doc.Data, doc.Text = nil, nil
	pl, result := cmp.Or(doc.Plan, &plan.Plan{}), cmp.Or(doc.Apply, &apply.Result{})
	tests := cmp.Or(doc.Tests, &requesttest.TestResults{})
	doc.Project = &ProjectResult{Path: at, Workspace: workspace, Result: doc.Result, ExitCode: doc.ExitCode, Digest: pl.Digest}
	for _, list := range []*diag.List{&doc.Findings, &doc.Silenced, &pl.Advice, &pl.Silenced} {
		*list = slices.Clone(*list) // the plan has some of the run
		for i := range *list {
			f := &(*list)[i]
			if f.Path = fileInProject(at, f.Path); strings.Contains(f.Fix, "trueup ") {
				f.Fix = "in " + at + ": " + f.Fix
			}
		}
	}
	for i := range doc.Messages {
		doc.Messages[i] = at + ": " + doc.Messages[i]
	}
	placePlanInProject(at, pl)
	result.Outcomes = slices.DeleteFunc(result.Outcomes, isUntouched)
	for i := range result.Outcomes {
		result.Outcomes[i].Project = at
	}
	for i := range tests.Cases {
		tests.Cases[i].File = fileInProject(at, tests.Cases[i].File)
	}
	if tests.Coverage != nil {
		for i := range tests.Coverage.Missing {
			tests.Coverage.Missing[i].File = fileInProject(at, tests.Coverage.Missing[i].File)
		}
	}
	return doc
}

// placePlanInProject is ResultOf for a plan.
func placePlanInProject(at string, pl *plan.Plan) {
	isElsewhere := !slices.ContainsFunc(pl.Items, func(item plan.Item) bool { // this change has no part in any item
		return item.By == plan.ByThisChange || slices.ContainsFunc(item.Lines(), func(l plan.ChangeLine) bool { return l.By == plan.ByThisChange })
	})
	pl.Items = slices.Clone(slices.DeleteFunc(pl.Items, func(item plan.Item) bool { return view.IsHidden(item, view.TextOptions{}) }))
	for i := range pl.Items {
		item := &pl.Items[i]
		item.Project, item.Path, item.Elsewhere = at, fileInProject(at, item.Path), isElsewhere
		placeKeysInProject(at, item.After)
	}
	for i := range pl.Settings {
		s := &pl.Settings[i]
		s.Path = fileInProject(at, s.Path)
		for j := range s.Hides {
			s.Hides[j].Project = at
		}
	}
	for _, r := range pl.Requests {
		placeKeysInProject(at, r.Objects)
	}
	placeKeysInProject(at, pl.Unmanaged)
}

func placeKeysInProject(project string, keys []kind.Key) {
	for i := range keys {
		keys[i].Project = project
	}
}

// merger joins the results of projects.
type merger struct {
	Document
	failures, notes, settings sharedSentences
}

// MergeResults joins the results of projects, in the order of their paths. wrong says what can't be merged. The exit code is the
// worst of all.
func MergeResults(f FleetFacts, docs []Document, wrong []string) Document {
	all := merger{Document: Document{Command: f.Command, Projects: []ProjectResult{}, Fleet: &f}}
	for _, doc := range docs {
		at := doc.Project.Path
		switch {
		case doc.Plan != nil:
			all.addPlan(doc.Plan, at)
		case doc.Result == NotStarted:
			f.NotReached = append(f.NotReached, at)
		case slices.Contains([]string{"plan", "apply", "drift"}, doc.Command) && doc.ExitCode != diag.ExitOK:
			f.NotPlanned = append(f.NotPlanned, at)
		}
		all.Projects = append(all.Projects, *doc.Project)
		all.Command, all.ExitCode = doc.Command, diag.WorstExit(all.ExitCode, doc.ExitCode)
		all.Sandbox = all.Sandbox || doc.Sandbox
		all.Objects += doc.Objects
		all.Findings = append(all.Findings, doc.Findings...)
		all.Silenced = append(all.Silenced, doc.Silenced...)
		all.Messages = append(all.Messages, doc.Messages...)
		for _, e := range doc.Errors {
			all.failures.addText(e, at)
		}
		all.addApply(doc.Apply)
		all.addTests(doc.Tests)
	}
	slices.Sort(f.NotReached)
	all.Errors = slices.Concat(f.Missing, wrong, all.failures.lines(len(docs)))
	all.ExitCode = diag.WorstExit(all.ExitCode, f.exitCode())
	if len(wrong) > 0 {
		all.ExitCode = diag.WorstExit(all.ExitCode, diag.ExitError)
	}
	all.Result = diag.ExitName(all.ExitCode)
	all.Findings = append(all.Findings, f.warnings()...)
	if pl := all.Plan; pl != nil {
		for i, text := range all.settings.texts {
			if projects := all.settings.projects[text]; len(projects) > 1 {
				pl.Settings[i].Consequence = strings.TrimPrefix(pl.Settings[i].Consequence+"; "+describeProjects(projects, len(docs)), "; ")
			}
		}
		pl.Requests = routing.MergeLines(pl.Requests, false)
		pl.Notes = slices.Concat(f.lines(), noteElsewhere(pl), all.notes.lines(len(docs)))
		all.Findings = append(all.Findings, movedObjectWarnings(pl.Items)...)
	} else {
		all.Messages = append(f.lines(), all.Messages...)
	}
	return all.Document
}

// addPlan adds the plan of a project. A setting that differs from the base as in another project is named with the first, unless
// it hides something, which belongs to one project.
func (m *merger) addPlan(pl *plan.Plan, at string) {
	m.Plan = cmp.Or(m.Plan, &plan.Plan{Format: pl.Format, Tool: pl.Tool, Blame: pl.Blame, Target: plan.Destination{Origins: pl.Target.Origins}})
	all := m.Plan
	all.Sandbox, all.Offline = all.Sandbox || pl.Sandbox, all.Offline || pl.Offline
	if !maps.Equal(all.Target.Origins, pl.Target.Origins) {
		all.Target.Origins = nil
	}
	if pl.LedgerProblem != "" {
		all.LedgerProblem = cmp.Or(all.LedgerProblem, at+": "+pl.LedgerProblem)
	}
	if a, b := all.Blame, pl.Blame; a != nil && b != nil && *a != *b { // they have no base in common, or other problems
		commits := *b
		if commits.Problem, commits.Fix = a.Problem, a.Fix; commits != *a {
			all.Blame = &plan.ComparedCommits{Problem: a.Problem, Fix: a.Fix}
		}
		if b.Problem != "" {
			m.notes.addText("base: "+strings.TrimSuffix(b.Problem+" - fix: "+b.Fix, " - fix: "), at)
		}
	}
	all.Items, all.Requests = append(all.Items, pl.Items...), append(all.Requests, pl.Requests...)
	all.HidesRequests = all.HidesRequests || pl.HidesRequests
	all.Unmanaged = append(all.Unmanaged, pl.Unmanaged...)
	for _, n := range pl.Notes {
		m.notes.addText(n, at)
	}
	for _, s := range pl.Settings {
		key := fmt.Sprintf("%q %#v %#v %q", s.Field, s.Was, s.Now, s.Consequence)
		if s.Hides != nil {
			key += s.Path
		}
		if m.settings.addText(key, at) {
			all.Settings = append(all.Settings, s)
		}
	}
	all.Advice, all.Silenced = append(all.Advice, pl.Advice...), append(all.Silenced, pl.Silenced...)
	all.Summary.Add(pl.Summary)
}

func (m *merger) addApply(r *apply.Result) {
	if r == nil {
		return
	}
	m.Apply = cmp.Or(m.Apply, &apply.Result{Outcomes: []apply.ItemOutcome{}, Summary: map[string]int{}})
	for what, n := range r.Summary {
		m.Apply.Summary[what] += n
	}
	m.Apply.Outcomes = append(m.Apply.Outcomes, r.Outcomes...)
}

func (m *merger) addTests(t *requesttest.TestResults) {
	if t == nil {
		return
	}
	m.Tests = cmp.Or(m.Tests, &requesttest.TestResults{Cases: []requesttest.Case{}})
	all := m.Tests
	all.Passed, all.Failed = all.Passed+t.Passed, all.Failed+t.Failed
	all.Cases = append(all.Cases, t.Cases...)
	if t.Coverage != nil {
		all.Coverage = cmp.Or(all.Coverage, &requesttest.Coverage{Missing: []requesttest.UncoveredPart{}})
		all.Coverage.Locations.Add(t.Coverage.Locations)
		all.Coverage.Upstreams.Add(t.Coverage.Upstreams)
		all.Coverage.Missing = append(all.Coverage.Missing, t.Coverage.Missing...)
	}
}

// noteElsewhere counts what waits in each project that this change is not about, if it is known what it is about.
func noteElsewhere(pl *plan.Plan) []string {
	var elsewhere []plan.Item
	for i := range pl.Items {
		item := &pl.Items[i]
		if item.Elsewhere = item.Elsewhere && pl.Blame != nil && pl.Blame.Base != ""; item.Elsewhere {
			elsewhere = append(elsewhere, *item)
		}
	}
	var waiting []string
	for _, items := range diag.GroupBy(elsewhere, func(item plan.Item) string { return item.Project }) {
		one := &plan.Plan{Items: items}
		one.Summary = one.CountItems()
		counts := view.CountSentence("", view.CountPlan(one))
		if one.Summary.Drifted > 0 {
			counts = view.JoinSentences(counts, view.CountSentence("", view.CountDrift(one)))
		}
		waiting = append(waiting, items[0].Project+": "+strings.TrimSuffix(counts.String(), "."))
	}
	if waiting == nil {
		return nil
	}
	return []string{"waiting in other projects: " + strings.Join(waiting, "; ")}
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
		k, known := kind.FindKind(item.Kind)
		if !known || item.Op != plan.Create || len(kept) == 0 {
			continue
		}
		host, _ := item.BodySpec()[k.HostField].(string) // none if the body is sensitive, and not shown
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
