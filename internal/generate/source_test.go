package generate

import (
	"path/filepath"
	"strings"
	"testing"

	"trueup/internal/purge"
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

// TestFewHostsAreSuggested: a long list of unknown hosts is not compared with every hostname.
func TestFewHostsAreSuggested(t *testing.T) {
	known := []string{"shop.example.com"}
	g := purgeSource{hosts: purge.NewHosts(known), known: known}
	for i := range 200 {
		g.addEntry("list.txt", purge.ListEntry{Line: i + 1, Text: "https://shpo.example.com/"})
	}
	for i, text := range g.unplaced {
		if strings.Contains(text, "did you mean shop.example.com?") != (i < 100) {
			t.Fatalf("%d: %s", i, text)
		}
	}
}
