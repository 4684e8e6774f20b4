package main

import (
	"bytes"
	"os/exec"
	"strings"
	"testing"
)

// TestPages: each command has a page, and no renderer warns of one. mandoc alone
// wants a date, which equal pages can't have.
func TestPages(t *testing.T) {
	pages, err := renderPages("../../docs/reference")
	if err != nil {
		t.Fatal(err)
	}
	for name, wants := range map[string][]string{
		"trueup":                 {"EXIT STATUS", `6 needs\-person`, "TRUEUP_DELIVERY_TOKEN_FILE", "the same in every command"},
		"trueup-plan":            {"what apply would send", "trueup plan [PATH|KIND/NAME...] [flags]", `\-\-drift POLICY`, "(default "},
		"trueup-ledger-resolve":  {"OPTIONS"},
		"trueup-completion-fish": {"SYNOPSIS"},
	} {
		for _, want := range wants {
			if !strings.Contains(string(pages[name]), want) {
				t.Errorf("%s lacks %q:\n%s", name, want, pages[name])
			}
		}
	}
	rendered := false
	for program, args := range map[string][]string{
		"groff":  {"-ww", "-man", "-Tutf8", "-z"},
		"mandoc": {"-T", "lint", "-W", "warning"},
	} {
		if _, err := exec.LookPath(program); err != nil {
			continue
		}
		rendered = true
		for name, page := range pages {
			cmd := exec.CommandContext(t.Context(), program, args...)
			cmd.Stdin = bytes.NewReader(page)
			out, _ := cmd.CombinedOutput() // mandoc's exit code reports the warnings that are read here
			for line := range strings.Lines(string(out)) {
				if !strings.Contains(line, "missing date") {
					t.Errorf("%s: %s: %s", name, program, line)
				}
			}
		}
	}
	if !rendered {
		t.Skip("there is neither groff nor mandoc: the pages are not rendered")
	}
}
