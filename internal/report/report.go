// Package report renders a Document; it is the only renderer, all escaping
// lives here, and it decides nothing.
package report

import (
	"trueup/internal/apply"
	"trueup/internal/diag"
	"trueup/internal/plan"
)

// Document is everything that one run has to say.
type Document struct {
	// Command is the name of the subcommand: plan, apply, drift or validate.
	Command string
	// Result is the name of the exit code (product: exit codes).
	Result   string
	ExitCode int
	// Sandbox says that this is not the real platform.
	Sandbox  bool
	Findings diag.List
	// Objects counts the manifests that were read.
	Objects int
	Plan    *plan.Plan
	Apply   *apply.Result
	// Errors are what stopped the run, one line each.
	Errors []string
}
