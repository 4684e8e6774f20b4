package generate

import (
	"path/filepath"
	"testing"
)

// TestExpandedPaths: the files of the root folder are not taken for paths; a few that are there may be meant.
func TestExpandedPaths(t *testing.T) {
	all, err := filepath.Glob("/*")
	if err != nil || len(all) < 4 {
		t.Skip("this machine has no such root folder")
	}
	if !looksShellExpanded(all) || looksShellExpanded(all[:2]) || !looksShellExpanded(append(all, "/img/*")) {
		t.Error(all)
	}
}
