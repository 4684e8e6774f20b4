package sandbox

import (
	"bytes"
	_ "embed" // for the examples
)

//go:embed examples/live.yaml
var liveExamples []byte

//go:embed examples/applied.yaml
var appliedExamples []byte

// LiveExamples returns the objects of a new sandbox, as YAML documents.
func LiveExamples() []byte { return bytes.Clone(liveExamples) }

// AppliedExamples returns what a new sandbox's ledger has as last applied, as YAML documents.
func AppliedExamples() []byte { return bytes.Clone(appliedExamples) }
