package report

import (
	"encoding/json"
	"io"
	"net/url"
	"path"
	"strings"
)

// Code hosts show maxResults results of a SARIF log and refuse one of more than
// 10 MB after compression; maxResultBytes is counted before it.
const (
	maxResults     = 5000
	maxResultBytes = 8_000_000
)

// sarifRoom is how many results a log may have, and how many bytes of them.
type sarifRoom struct{ results, bytes int }

// sourceRoot is the base of all addresses: the top of the repository, wherever
// that lies.
const sourceRoot = "%SRCROOT%"

// writeSARIF writes a SARIF 2.1.0 log for code scanning.
func writeSARIF(w io.Writer, doc Document, _ Options) error {
	run := sarifRun{
		AutomationDetails:  sarifAutomation{ID: clean(path.Join("trueup", doc.Command, doc.Place.Folder) + "/")},
		ColumnKind:         "unicodeCodePoints",
		OriginalURIBaseIDs: map[string]sarifArtifact{sourceRoot: {Description: &sarifMessage{Text: "The top of the repository."}}},
		Results:            []json.RawMessage{},
		Properties:         map[string]any{"command": clean(doc.Command), "sandbox": doc.Sandbox},
	}
	run.Tool.Driver.Name, run.Tool.Driver.Rules = "trueup", []sarifRule{}
	if doc.Plan != nil {
		run.Tool.Driver.Version = clean(strings.TrimPrefix(doc.Plan.Tool, "trueup "))
		run.Properties["offline"] = doc.Plan.Offline
		if doc.Plan.Digest != "" {
			run.Properties["digest"] = clean(doc.Plan.Digest)
		}
	}
	notifications, err := run.fill(remarks(doc), doc.Place, sarifRoom{maxResults, maxResultBytes})
	if err != nil {
		return err
	}
	notifications = append([]sarifNotification{{levelName(noteLevel), sarifMessage{sarifText(runSummary(doc))}}}, notifications...)
	run.Invocations = []sarifInvocation{{
		Successful: len(doc.Errors) == 0, ExitCode: doc.ExitCode, Description: clean(doc.Result), Notifications: notifications,
	}}
	return writeIndented(w, sarifLog{
		Schema: "https://json.schemastore.org/sarif-2.1.0.json", Version: "2.1.0", Runs: []sarifRun{run},
	}, jsonList{})
}

// fill makes the results and their rules, as many as fit, and returns what is
// about no file.
func (run *sarifRun) fill(found []remark, at Place, room sarifRoom) ([]sarifNotification, error) {
	notifications := []sarifNotification{}
	rules, rest := map[safe]int{}, 0
	for _, r := range found {
		if r.ofRun() {
			notifications = append(notifications, sarifNotification{levelName(r.level), sarifMessage{sarifText(join(r.lines(), "\n"))}})
			continue
		}
		index, known := rules[r.rule]
		if !known {
			index = len(run.Tool.Driver.Rules)
		}
		text, err := json.Marshal(sarifOf(r, index, at))
		if err != nil {
			return nil, err
		}
		if len(text) > room.bytes || len(run.Results) == room.results {
			room.bytes = 0 // nothing that is less important takes its place
			rest++
			continue
		}
		room.bytes -= len(text)
		if !known {
			rules[r.rule] = index
			run.Tool.Driver.Rules = append(run.Tool.Driver.Rules, sarifRuleOf(r))
		}
		run.Results = append(run.Results, text)
	}
	if rest > 0 {
		notifications = append(notifications, sarifNotification{levelName(warningLevel), sarifMessage{
			count(rest, "less important result") + " did not fit into this log: to see everything, add --report json=FILE to the run.",
		}})
	}
	return notifications, nil
}

func sarifOf(r remark, rule int, at Place) sarifResult {
	result := sarifResult{
		RuleID: ruleID(r.rule), RuleIndex: rule, Level: levelName(r.level), Message: sarifMessage{sarifText(join(r.lines(), "\n"))},
		Fingerprints: map[string]string{"trueup/v1": r.fingerprint},
	}
	var where sarifLocation
	file := r.file
	if file == "" {
		file = at.project()
	}
	where.Physical.Artifact = sarifArtifact{URI: fileURI(file), URIBaseID: sourceRoot}
	if r.line > 0 {
		where.Physical.Region = regionOf(r)
	} else {
		// Code hosts know a result by this one, and make it of the line that it is in.
		result.Fingerprints["primaryLocationLineHash"] = r.fingerprint
	}
	if r.about != "" {
		where.Logical = []sarifLogical{{FullyQualifiedName: r.about, Kind: "object"}}
	}
	result.Locations = []sarifLocation{where}
	return result
}

// regionOf is the line of a remark from its column to its end, as far as these
// are known.
func regionOf(r remark) *sarifRegion {
	region := &sarifRegion{StartLine: r.line, StartColumn: r.column}
	line := []rune(r.source)
	if r.column < 1 || r.column > len(line) {
		return region
	}
	tail := line[r.column-1:]
	tail = tail[:min(len(tail), maxText)]
	region.EndColumn = r.column + len(tail)
	region.Snippet = &sarifSnippet{string(tail)}
	return region
}

// fileURI is the relative address of a file: every character that an address
// has a use for is encoded, also the colon, or a name could look like a scheme.
func fileURI(file string) string {
	parts := strings.Split(file, "/")
	for i, p := range parts {
		parts[i] = strings.ReplaceAll(url.PathEscape(p), ":", "%3A")
	}
	return strings.Join(parts, "/")
}

// sarifText makes text stand for itself: braces are placeholders of SARIF
// unless they are doubled (3.11.5), and ]( may make a link (3.11.6).
func sarifText(text safe) safe {
	s := strings.NewReplacer("{", "{{", "}", "}}", "](", "] (").Replace(string(text))
	return safe(s)
}

func sarifRuleOf(r remark) sarifRule {
	rule := sarifRule{ID: ruleID(r.rule)}
	known, rank := ruleNamed(r.rule)
	what, page := known.means, "rules/"+ruleID(r.rule)
	if rank == 0 {
		what = "The rule " + ruleID(r.rule) + " of trueup."
	} else {
		page = "reports"
	}
	rule.Short.Text = sarifText(what)
	rule.Full.Text = sarifText(what)
	rule.Help.Text = sarifText(what + " It is explained in docs/" + page + ".md of its manual.")
	rule.Default.Level = levelName(r.level)
	return rule
}

// ruleID is the name of a rule, which must not be empty.
func ruleID(rule safe) safe {
	if rule == "" {
		return "unnamed"
	}
	return rule
}

// levelName is a level as SARIF calls it (3.27.10).
func levelName(l level) string {
	switch l {
	case errorLevel:
		return "error"
	case warningLevel:
		return "warning"
	case noteLevel:
	}
	return "note"
}
