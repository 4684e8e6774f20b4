package report

import (
	"cmp"
	"io"
	"path"
	"strconv"
	"strings"

	"trueup/internal/diag"
	"trueup/internal/safetext"
	"trueup/internal/view"
)

// maxAnnotations is how many annotations of a level a code host shows for a step.
const maxAnnotations = 10

// maxAnnotation is how many bytes of lines the last annotation has below its first one. GitHub cuts a message at 4,096 characters.
const maxAnnotation = 3500

// workflowCommand returns a remark as one workflow command of GitHub Actions for an annotation, and escapes its values. Runners execute no
// other lines of trueup. Remarks about the run have the name of its command for a title.
func (r remark) workflowCommand(name string) safeText {
	var properties []safeText
	add := func(key string, value safeText) {
		if !value.Empty() {
			properties = append(properties, safetext.F("%s=%s", key, escapeCommandData(value).Replace(":", "%3A").Replace(",", "%2C")))
		}
	}
	if r.file != "" {
		add("file", clean(r.file))
		if r.Line > 0 {
			add("line", safetext.Number(r.Line))
		}
		if r.Line > 0 && r.Column > 0 {
			add("col", safetext.Number(r.Column))
		}
	}
	title := r.ID()
	if r.isAboutRun() {
		title = safetext.Join(safetext.NonEmpty(clean("trueup"), clean(name).Truncate(view.MaxName)), " ")
	}
	add("title", title)
	lines := diag.MapList(r.lines(), escapeCommandData)
	return safetext.F("::%s %s::%s", r.Level.Names().Command, safetext.Join(properties, ","), safetext.Join(lines, "%0A"))
}

// escapeCommandData escapes text for a command. Safe text has no line breaks, and Guarded breaks
// the legacy form of commands.
func escapeCommandData(s safeText) safeText { return s.Replace("%", "%25").EscapeCommands() }

// writeGitHub writes a workflow command for each remark, the most important first. The last
// one counts those that a code host would not show, and names settings and grave changes.
func writeGitHub(w io.Writer, doc Document, _ view.TextOptions) error {
	var byLevel [view.ErrorLevel + 1][]remark
	byLevel[view.NoteLevel] = []remark{{rule: ofRun, text: runSummary(doc)}}
	for _, r := range remarks(doc) {
		byLevel[r.Level] = append(byLevel[r.Level], r)
	}
	var out strings.Builder
	for _, l := range []view.Level{view.ErrorLevel, view.WarningLevel, view.NoteLevel} {
		found := byLevel[l]
		if rest := len(found) - maxAnnotations + 1; rest > 1 {
			found = append(found[:maxAnnotations-1:maxAnnotations-1], summarizeRest(doc, l, found[len(found)-rest:]))
		}
		for _, r := range found {
			out.WriteString(r.workflowCommand(doc.Command).String() + "\n")
			doc.score.MarkShown(r.facts...)
		}
	}
	_, err := io.WriteString(w, out.String())
	return err
}

// summarizeRest returns a remark in place of those of a level that have no annotation. It has the named ones that fit, and counts the
// changes of the others by class.
func summarizeRest(doc Document, l view.Level, rest []remark) remark {
	last, room, shown := remark{rule: ofRun, Level: l}, maxAnnotation, 0
	var left []view.ChangeFact
	for _, c := range rest {
		if !c.isMandatory() {
			continue
		}
		size := sum(c.lines(), func(line safeText) int { return len(escapeCommandData(line).String()) + len("%0A") })
		if size > room {
			left = append(left, c.facts...)
			continue
		}
		room -= size
		shown++
		last.more, last.facts = append(append(last.more, c.text), c.more...), append(last.facts, c.facts...)
	}
	doc.score.MarkCounted(left...)
	counted := view.NewScore(left)
	counted.CountRemaining()
	switch n := len(rest); {
	case shown == n:
		last.text = safetext.F("and %d more of this kind, which are below", n)
	case shown == 0 && len(left) == 0:
		last.text = safetext.F("and %d more of this kind, which this report does not show: %s", n, nameOtherReports(doc))
	case len(left) == 0:
		last.text = safetext.F("and %d more of this kind, %d of them below; for the others %s", n, shown, nameOtherReports(doc))
	default:
		last.text = safetext.F("and %d more of this kind, %d of them below; the others have %s, %s; %s", n, shown,
			safetext.Count(counted.CountRemaining(), "change"), counted.CountedText(), nameOtherReports(doc))
	}
	return last
}

// nameOtherReports names the reports that have everything.
func nameOtherReports(doc Document) safeText {
	var places []safeText
	for _, f := range doc.Files {
		switch title := f.title(); {
		case title.Empty():
		case f.Path == "":
			places = append(places, title)
		default:
			places = append(places, safetext.F("%s %s", title, clean(f.Path).Truncate(view.MaxPath)))
		}
	}
	if len(places) == 0 {
		return clean("see the log of this step, or write another report with --report")
	}
	return safetext.F("look into %s", safetext.Join(places, ", "))
}

// codeIssue is an element of GitLab's code quality report, a part of Code Climate's format
// (docs.gitlab.com: Code Quality, report format).
type codeIssue struct {
	Description safeText `json:"description"`
	CheckName   safeText `json:"check_name"`
	Fingerprint string   `json:"fingerprint"`
	Severity    string   `json:"severity"`
	Location    struct {
		Path  string `json:"path"`
		Lines struct {
			Begin int `json:"begin"`
		} `json:"lines"`
	} `json:"location"`
}

func writeCodeQuality(w io.Writer, doc Document, _ view.TextOptions) error {
	issues := []codeIssue{}
	for _, r := range remarks(doc) {
		doc.score.MarkShown(r.facts...)
		issues = append(issues, codeIssueOf(r, doc.Place))
	}
	return writeIndented(w, issues, nil)
}

// codeIssueOf puts remarks about no file at trueup.yaml: the format requires a file.
func codeIssueOf(r remark, at FolderInRepo) codeIssue {
	issue := codeIssue{
		Description: r.Join("; "), CheckName: r.ID(), Fingerprint: r.Fingerprint, Severity: r.Level.Names().Code,
	}
	issue.Location.Path = cmp.Or(r.file, at.projectFile())
	issue.Location.Lines.Begin = max(r.Line, 1)
	return issue
}

// outputsOf returns values for later steps of a workflow. Only a plan without errors has counts and a digest: a run that
// failed must look neither like one without changes nor like one whose changes apply sends.
func outputsOf(doc Document) [][2]string {
	list := [][2]string{{"result", wordOnly(doc.Result)}, {"exit-code", safetext.Number(doc.ExitCode).String()}}
	if doc.Plan == nil || doc.Findings.HasErrors() || len(doc.Projects) > 0 && len(doc.Errors) > 0 {
		return list
	}
	list = append(list, [2]string{"changes", strconv.FormatBool(doc.Plan.HasDifferences())}, [2]string{"digest", wordOnly(doc.Plan.Digest)}, [2]string{"offline", strconv.FormatBool(doc.Plan.Offline)},
		[2]string{"whole", strconv.FormatBool(fitsInComment(doc))})
	s := doc.Plan.Summary
	return append(list, [][2]string{
		{"create", strconv.Itoa(s.Create)},
		{"change", strconv.Itoa(s.Change)},
		{"removed", strconv.Itoa(s.Removed)},
		{"purge", strconv.Itoa(s.Purge)},
		{"delete", strconv.Itoa(s.Delete)},
		{"drifted", strconv.Itoa(s.Drifted)},
		{"blocked", strconv.Itoa(s.Blocked)},
		{"security", strconv.Itoa(s.Security)},
		{"serves", strconv.Itoa(s.Serves)},
		{"availability", strconv.Itoa(s.Availability)},
		{"cost", strconv.Itoa(s.Cost)},
		{"deferred", strconv.Itoa(s.Deferred)},
		{"in-flight", strconv.Itoa(s.InFlight)},
		{"requests-changed", strconv.Itoa(len(doc.Plan.Requests))},
		{"risk", s.Gravest().Class()},
	}...)
}

// fitsInComment reports whether a comment on a code host has room for all that a plan must show.
func fitsInComment(doc Document) bool {
	doc.score = view.NewPlanScore(doc.Plan, doc.Apply != nil)
	renderMarkdown(doc, view.TextOptions{}, maxMarkdown)
	return doc.score.CountRemaining() == 0
}

// wordOnly returns s, or "" if it is long or has more than letters, digits and -:_.
func wordOnly(s string) string {
	const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-:_."
	if strings.Trim(s, letters) != "" || len(s) > view.MaxName {
		return ""
	}
	return s
}

// writeOutputs writes KEY=VALUE lines, as in GITHUB_OUTPUT, or variables, whose names can't have -.
func writeOutputs(w io.Writer, doc Document, opts view.TextOptions) error {
	var b strings.Builder
	for _, p := range outputsOf(doc) {
		if opts.Variables {
			p[0] = "TRUEUP_" + strings.ToUpper(strings.ReplaceAll(p[0], "-", "_"))
		}
		b.WriteString(p[0] + "=" + p[1] + "\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// FolderInRepo is the working directory of a run in its repository. It turns file names of a Document
// into paths from the top of the repository, which code hosts need. The zero value is for a run
// outside a repository.
type FolderInRepo struct {
	// Top is the absolute path of the repository. Folder is the working directory in it,
	// "." for Top.
	Top, Folder string
	// Project is the path of trueup.yaml as in a Document, if there is one.
	Project string
}

// inRepository returns the path of a file from the top of the repository; ok is false outside.
func (p FolderInRepo) inRepository(name string) (file string, ok bool) {
	switch {
	case name == "" || name == "-":
		return "", false
	case !strings.HasPrefix(name, "/"):
		file = path.Join(p.Folder, name)
	case p.Top != "":
		file, _ = strings.CutPrefix(path.Clean(name), p.Top+"/")
	}
	outside := file == "" || file == "." || file == ".." || strings.HasPrefix(file, "../") || strings.HasPrefix(file, "/")
	return file, !outside
}

// defaultProject is the file for findings that belong to no file, if the run has no project file.
const defaultProject = "trueup.yaml"

// projectFile returns the file for findings that belong to no file.
func (p FolderInRepo) projectFile() string {
	for _, name := range []string{p.Project, defaultProject} {
		if file, ok := p.inRepository(name); ok {
			return file
		}
	}
	return defaultProject
}
