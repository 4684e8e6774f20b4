package report

import "io"

// codeIssue is an element of GitLab's code quality report, which is a part of
// Code Climate's format (docs.gitlab.com: Code Quality, report format).
type codeIssue struct {
	Description safe         `json:"description"`
	CheckName   safe         `json:"check_name"`
	Fingerprint string       `json:"fingerprint"`
	Severity    string       `json:"severity"`
	Location    codeLocation `json:"location"`
}

// codeLocation is a line of a file of the repository.
type codeLocation struct {
	Path  string `json:"path"`
	Lines struct {
		Begin int `json:"begin"`
	} `json:"lines"`
}

// writeCodeQuality writes GitLab's code quality report. It knows nothing but
// lines of files: what is in none stands at the project's file.
func writeCodeQuality(w io.Writer, doc Document, _ Options) error {
	found := remarks(doc)
	return writeIndented(w, []codeIssue{}, jsonList{"[]", "", len(found), func(i int) any { return codeIssueOf(found[i], doc.Place) }})
}

func codeIssueOf(r remark, at Place) codeIssue {
	issue := codeIssue{
		Description: join(r.lines(), "; "), CheckName: ruleID(r.rule), Fingerprint: r.fingerprint, Severity: codeSeverity(r.level),
		Location: codeLocation{Path: r.file},
	}
	if r.file == "" {
		issue.Location.Path = at.project()
	}
	issue.Location.Lines.Begin = max(r.line, 1)
	return issue
}

// codeSeverity is a level as Code Climate calls it: info, minor, major,
// critical or blocker.
func codeSeverity(l level) string {
	switch l {
	case errorLevel:
		return "critical"
	case warningLevel:
		return "major"
	case noteLevel:
	}
	return "info"
}
