package report

import (
	"cmp"
	"io"
	"path"
	"strings"

	"trueup/internal/safetext"
	"trueup/internal/view"
)

// maxAnnotations is how many annotations of a level a code host shows for a step.
const maxAnnotations = 10

// maxAnnotation is how many bytes of lines the last annotation has below its first one. GitHub cuts a message at 4,096 characters.
const maxAnnotation = 3500

// workflowCommand is a workflow command of GitHub Actions for an annotation. Runners execute no
// other lines of trueup.
type workflowCommand struct {
	remark
	title safeText
}

// line returns the command as one line and escapes its values.
func (c workflowCommand) line() safeText {
	var properties []safeText
	add := func(key string, value safeText) {
		if !value.Empty() {
			properties = append(properties, safetext.F("%s=%s", key, escapeCommandData(value).Replace(":", "%3A").Replace(",", "%2C")))
		}
	}
	if c.file != "" {
		add("file", clean(c.file))
		if c.Line > 0 {
			add("line", safetext.Number(c.Line))
		}
		if c.Line > 0 && c.Column > 0 {
			add("col", safetext.Number(c.Column))
		}
	}
	add("title", c.title)
	lines := c.lines()
	for i := range lines {
		lines[i] = escapeCommandData(lines[i])
	}
	return safetext.F("::%s %s::%s", c.Level.Names().Command, safetext.Join(properties, ","), safetext.Join(lines, "%0A"))
}

// escapeCommandData escapes text for a command. Safe text has no line breaks, and Guarded breaks
// the legacy form of commands.
func escapeCommandData(s safeText) safeText { return s.Replace("%", "%25").EscapeCommands() }

// writeGitHub writes a workflow command for each remark, the most important first. The last
// one counts those that a code host would not show, and names settings and grave changes.
func writeGitHub(w io.Writer, doc Document, _ view.TextOptions) error {
	title := safetext.F("trueup %s", clean(doc.Command).Truncate(view.MaxName))
	var byLevel [view.ErrorLevel + 1][]workflowCommand
	byLevel[view.NoteLevel] = []workflowCommand{{remark{text: runSummary(doc)}, title}}
	for _, r := range remarks(doc) {
		c := workflowCommand{r, r.ID()}
		if r.isAboutRun() {
			c.title = title
		}
		byLevel[r.Level] = append(byLevel[r.Level], c)
	}
	var out strings.Builder
	for _, l := range []view.Level{view.ErrorLevel, view.WarningLevel, view.NoteLevel} {
		found := byLevel[l]
		if rest := len(found) - maxAnnotations + 1; rest > 1 {
			last := workflowCommand{summarizeRest(doc, l, found[len(found)-rest:]), title}
			found = append(found[:maxAnnotations-1:maxAnnotations-1], last)
		}
		for _, c := range found {
			out.WriteString(c.line().String() + "\n")
			doc.score.MarkShown(c.facts...)
		}
	}
	_, err := io.WriteString(w, out.String())
	return err
}

// summarizeRest returns a remark in place of those of a level that have no annotation. It has the named ones that fit, and counts the
// changes of the others by class.
func summarizeRest(doc Document, l view.Level, rest []workflowCommand) remark {
	last, room, shown := remark{Level: l}, maxAnnotation, 0
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

// writeRestOfGitHub writes one more annotation, with the lines that fit.
func writeRestOfGitHub(w io.Writer, lines []safeText) error {
	c := workflowCommand{remark{Level: view.WarningLevel, text: clean("changes that no other annotation shows")}, clean("trueup")}
	room := maxAnnotation
	for i, line := range lines {
		if room -= len(escapeCommandData(line).String()) + len("%0A"); room < 0 {
			c.more = append(c.more, safetext.F("and %d more", len(lines)-i))
			break
		}
		c.more = append(c.more, line)
	}
	_, err := io.WriteString(w, c.line().String()+"\n")
	return err
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
	found := remarks(doc)
	for _, r := range found {
		doc.score.MarkShown(r.facts...)
	}
	issues := make([]codeIssue, len(found))
	for i, r := range found {
		issues[i] = codeIssueOf(r, doc.Place)
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
	yes := func(b bool) string { return [...]string{"false", "true"}[view.OneIf(b)] }
	list = append(list, [2]string{"changes", yes(doc.Plan.HasDifferences())}, [2]string{"digest", wordOnly(doc.Plan.Digest)}, [2]string{"offline", yes(doc.Plan.Offline)},
		[2]string{"whole", yes(fitsInComment(doc))})
	s := doc.Plan.Summary
	for _, c := range []struct {
		key string
		n   int
	}{
		{"create", s.Create},
		{"change", s.Change},
		{"removed", s.Removed},
		{"purge", s.Purge},
		{"delete", s.Delete},
		{"drifted", s.Drifted},
		{"blocked", s.Blocked},
		{"security", s.Security},
		{"serves", s.Serves},
		{"availability", s.Availability},
		{"cost", s.Cost},
		{"deferred", s.Deferred},
		{"in-flight", s.InFlight},
		{"requests-changed", len(doc.Plan.Requests)},
	} {
		list = append(list, [2]string{c.key, safetext.Number(c.n).String()})
	}
	return append(list, [2]string{"risk", s.Gravest().Class()})
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
