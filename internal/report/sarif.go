package report

import (
	"encoding/json"
	"io"
	"net/url"
	"path"
	"strings"

	"trueup/internal/safetext"
)

// The part of a SARIF 2.1.0 log that trueup writes; the numbers are sections of the
// standard. No library is used: they write placeholders for unknown fields.
type (
	sarifRun struct { // 3.14
		Tool struct { // 3.18
			Driver struct { // 3.19
				Name    string      `json:"name"`
				Version safe        `json:"version,omitzero"`
				Rules   []sarifRule `json:"rules"`
			} `json:"driver"`
		} `json:"tool"`
		AutomationDetails  map[string]safe          `json:"automationDetails"` // 3.17
		Invocations        []sarifInvocation        `json:"invocations"`
		ColumnKind         string                   `json:"columnKind"`
		OriginalURIBaseIDs map[string]sarifArtifact `json:"originalUriBaseIds"`
		Results            []json.RawMessage        `json:"results"`
		Properties         map[string]any           `json:"properties"`
	}
	sarifRule struct { // 3.49
		ID      safe              `json:"id"`
		Short   sarifMessage      `json:"shortDescription"`
		Full    sarifMessage      `json:"fullDescription"`
		Help    sarifMessage      `json:"help"`
		Default map[string]string `json:"defaultConfiguration"`
	}
	sarifMessage struct { // 3.11
		Text safe `json:"text"`
	}
	sarifInvocation struct { // 3.20
		Successful    bool                `json:"executionSuccessful"`
		ExitCode      int                 `json:"exitCode"`
		Description   safe                `json:"exitCodeDescription,omitzero"`
		Notifications []sarifNotification `json:"toolExecutionNotifications"`
	}
	sarifNotification struct { // 3.58
		Level   string       `json:"level"`
		Message sarifMessage `json:"message"`
	}
	sarifResult struct { // 3.27
		RuleID       safe              `json:"ruleId"`
		RuleIndex    int               `json:"ruleIndex"`
		Level        string            `json:"level"`
		Message      sarifMessage      `json:"message"`
		Locations    []sarifLocation   `json:"locations"`
		Fingerprints map[string]string `json:"partialFingerprints"`
	}
	sarifLocation struct { // 3.28
		Physical struct { // 3.29
			Artifact sarifArtifact `json:"artifactLocation"`
			Region   *sarifRegion  `json:"region,omitempty"`
		} `json:"physicalLocation"`
		Logical []sarifLogical `json:"logicalLocations,omitempty"`
	}
	sarifArtifact struct { // 3.4
		URI         string        `json:"uri,omitempty"`
		URIBaseID   string        `json:"uriBaseId,omitempty"`
		Description *sarifMessage `json:"description,omitempty"`
	}
	sarifRegion struct { // 3.30
		StartLine   int               `json:"startLine"`
		StartColumn int               `json:"startColumn,omitempty"`
		EndColumn   int               `json:"endColumn,omitempty"`
		Snippet     map[string]string `json:"snippet,omitempty"`
	}
	sarifLogical struct { // 3.33
		FullyQualifiedName safe   `json:"fullyQualifiedName"`
		Kind               string `json:"kind"`
	}
)

// Code hosts show maxResults results of a SARIF log, and reject logs over 10 MB after
// compression; maxResultBytes is before compression.
const (
	maxResults     = 5000
	maxResultBytes = 8_000_000
)

// sarifRoom limits the results of a log.
type sarifRoom struct{ results, bytes int }

// sourceRoot is the base of all URIs: the top of the repository.
const sourceRoot = "%SRCROOT%"

func writeSARIF(w io.Writer, doc Document, _ Options) error {
	run := sarifRun{
		AutomationDetails:  map[string]safe{"id": clean(path.Join("trueup", doc.Command, doc.Place.Folder) + "/")},
		ColumnKind:         "unicodeCodePoints",
		OriginalURIBaseIDs: map[string]sarifArtifact{sourceRoot: {Description: &sarifMessage{clean("The top of the repository.")}}},
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
	run.Invocations = []sarifInvocation{{
		Successful: len(doc.Errors) == 0, ExitCode: doc.ExitCode, Description: clean(doc.Result),
		Notifications: append([]sarifNotification{{"note", sarifMessage{sarifText(runSummary(doc))}}}, notifications...),
	}}
	return writeIndented(w, struct {
		Schema  string     `json:"$schema"`
		Version string     `json:"version"`
		Runs    []sarifRun `json:"runs"`
	}{"https://json.schemastore.org/sarif-2.1.0.json", "2.1.0", []sarifRun{run}}, jsonList{})
}

// fill adds the results that fit and their rules, and returns remarks about no file.
func (run *sarifRun) fill(found []remark, at Place, room sarifRoom) ([]sarifNotification, error) {
	notifications := []sarifNotification{}
	rules, rest := map[string]int{}, 0
	for _, r := range found {
		if r.ofRun() {
			notifications = append(notifications, sarifNotification{levelNames[r.level].sarif, sarifMessage{sarifText(r.lines()...)}})
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
			room.bytes = 0 // a less important result must not take its place
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
		notifications = append(notifications, sarifNotification{"warning", sarifMessage{
			safetext.F("%s did not fit into this log: to see everything, add --report json=FILE to the run.", safetext.Count(rest, "less important result")),
		}})
	}
	return notifications, nil
}

func sarifOf(r remark, rule int, at Place) sarifResult {
	result := sarifResult{
		RuleID: r.id(), RuleIndex: rule, Level: levelNames[r.level].sarif, Message: sarifMessage{sarifText(r.lines()...)},
		Fingerprints: map[string]string{"trueup/v1": r.fingerprint}, Locations: make([]sarifLocation, 1),
	}
	where := &result.Locations[0]
	file := r.file
	if file == "" {
		file = at.project()
	}
	where.Physical.Artifact = sarifArtifact{URI: fileURI(file), URIBaseID: sourceRoot}
	if r.line > 0 {
		where.Physical.Region = regionOf(r)
	} else {
		// Code hosts identify a result by this hash, and without it compute one from its line.
		result.Fingerprints["primaryLocationLineHash"] = r.fingerprint
	}
	if !r.about.Empty() {
		where.Logical = []sarifLogical{{r.about, "object"}}
	}
	return result
}

// regionOf returns the line of a remark from its column to its end.
func regionOf(r remark) *sarifRegion {
	region := &sarifRegion{StartLine: r.line, StartColumn: r.column}
	line := []rune(r.source)
	if r.column < 1 || r.column > len(line) {
		return region
	}
	tail := line[r.column-1:]
	tail = tail[:min(len(tail), maxText)]
	region.EndColumn = r.column + len(tail)
	region.Snippet = map[string]string{"text": string(tail)}
	return region
}

// fileURI returns the relative URI of a file. It encodes colons too, because a name could look
// like a scheme.
func fileURI(file string) string {
	parts := strings.Split(file, "/")
	for i, p := range parts {
		parts[i] = strings.ReplaceAll(url.PathEscape(p), ":", "%3A")
	}
	return strings.Join(parts, "/")
}

// sarifText escapes lines: single braces are placeholders (3.11.5), and ]( may make a
// link (3.11.6).
func sarifText(lines ...safe) safe {
	escaped := make([]safe, len(lines))
	for i, line := range lines {
		escaped[i] = line.Replace("{", "{{").Replace("}", "}}").Replace("](", "] (")
	}
	return safetext.Join(escaped, "\n")
}

func sarifRuleOf(r remark) sarifRule {
	what, page := safetext.F("The rule %s of trueup.", r.id()), safetext.F("rules/%s", r.id())
	if known, rank := ruleNamed(r.rule); rank > 0 {
		what, page = clean(known.means), clean("reports")
	}
	text := sarifMessage{sarifText(what)}
	help := sarifMessage{sarifText(safetext.F("%s It is explained in docs/%s.md of its manual.", what, page))}
	return sarifRule{r.id(), text, text, help, map[string]string{"level": levelNames[r.level].sarif}}
}
