package manifest

import (
	"slices"

	"trueup/internal/diag"
)

// Unread reports whether the findings say that something which may hold manifests
// was not read: what is not in the set may then be in git all the same.
func Unread(findings diag.List) bool {
	return slices.ContainsFunc(findings, func(f diag.Finding) bool { return f.Rule == ruleNotRegular })
}
