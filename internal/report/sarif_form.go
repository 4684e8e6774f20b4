package report

import "encoding/json"

// The part of a SARIF 2.1.0 log that is written; the numbers are sections of the
// standard. No library is used: this is all of its form that is needed, and they
// write what is not said as placeholders.

// sarifLog is the whole file (3.13).
type sarifLog struct {
	Schema  string     `json:"$schema"`
	Version string     `json:"version"`
	Runs    []sarifRun `json:"runs"`
}

// sarifRun is one run of one tool (3.14).
type sarifRun struct {
	Tool               sarifTool                `json:"tool"`
	AutomationDetails  sarifAutomation          `json:"automationDetails"`
	Invocations        []sarifInvocation        `json:"invocations"`
	ColumnKind         string                   `json:"columnKind"`
	OriginalURIBaseIDs map[string]sarifArtifact `json:"originalUriBaseIds"`
	Results            []json.RawMessage        `json:"results"`
	Properties         map[string]any           `json:"properties"`
}

// sarifTool is the tool with its rules (3.18, 3.19).
type sarifTool struct {
	Driver struct {
		Name    string      `json:"name"`
		Version safe        `json:"version,omitempty"`
		Rules   []sarifRule `json:"rules"`
	} `json:"driver"`
}

// sarifRule describes a rule (3.49).
type sarifRule struct {
	ID      safe         `json:"id"`
	Short   sarifMessage `json:"shortDescription"`
	Full    sarifMessage `json:"fullDescription"`
	Help    sarifMessage `json:"help"`
	Default struct {
		Level string `json:"level"`
	} `json:"defaultConfiguration"`
}

// sarifMessage is plain text (3.11).
type sarifMessage struct {
	Text safe `json:"text"`
}

// sarifAutomation tells runs of one commit apart (3.17).
type sarifAutomation struct {
	ID safe `json:"id"`
}

// sarifInvocation is how the run ended (3.20).
type sarifInvocation struct {
	Successful    bool                `json:"executionSuccessful"`
	ExitCode      int                 `json:"exitCode"`
	Description   safe                `json:"exitCodeDescription,omitempty"`
	Notifications []sarifNotification `json:"toolExecutionNotifications"`
}

// sarifNotification is about the run and no file (3.58).
type sarifNotification struct {
	Level   string       `json:"level"`
	Message sarifMessage `json:"message"`
}

// sarifResult is one remark (3.27).
type sarifResult struct {
	RuleID       safe              `json:"ruleId"`
	RuleIndex    int               `json:"ruleIndex"`
	Level        string            `json:"level"`
	Message      sarifMessage      `json:"message"`
	Locations    []sarifLocation   `json:"locations"`
	Fingerprints map[string]string `json:"partialFingerprints"`
}

// sarifLocation is where a result is: in a file, and in an object (3.28, 3.29, 3.33).
type sarifLocation struct {
	Physical struct {
		Artifact sarifArtifact `json:"artifactLocation"`
		Region   *sarifRegion  `json:"region,omitempty"`
	} `json:"physicalLocation"`
	Logical []sarifLogical `json:"logicalLocations,omitempty"`
}

// sarifArtifact is a file by its address, relative to a base (3.4).
type sarifArtifact struct {
	URI         string        `json:"uri,omitempty"`
	URIBaseID   string        `json:"uriBaseId,omitempty"`
	Description *sarifMessage `json:"description,omitempty"`
}

// sarifRegion is a part of a line (3.30).
type sarifRegion struct {
	StartLine   int           `json:"startLine"`
	StartColumn int           `json:"startColumn,omitempty"`
	EndColumn   int           `json:"endColumn,omitempty"`
	Snippet     *sarifSnippet `json:"snippet,omitempty"`
}

// sarifSnippet is the text of a region (3.3).
type sarifSnippet struct {
	Text string `json:"text"`
}

// sarifLogical is an object of a manifest (3.33).
type sarifLogical struct {
	FullyQualifiedName safe   `json:"fullyQualifiedName"`
	Kind               string `json:"kind"`
}
