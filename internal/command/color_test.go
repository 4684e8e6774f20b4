package command

import (
	"testing"

	"trueup/internal/config"
)

// TestColor is the whole table: NO_COLOR, FORCE_COLOR and
// CLICOLOR_FORCE, CLICOLOR, TERM, and last whether it is a terminal.
func TestColor(t *testing.T) {
	values := []struct {
		name string
		is   []string
	}{
		{"NO_COLOR", []string{"", "1", "0"}},
		{"FORCE_COLOR", []string{"", "1", "0"}},
		{"CLICOLOR_FORCE", []string{"", "1", "0"}},
		{"CLICOLOR", []string{"", "1", "0"}},
		{"TERM", []string{"", "dumb", "xterm"}},
	}
	rows := []map[string]string{{}}
	for _, v := range values {
		var more []map[string]string
		for _, row := range rows {
			for _, is := range v.is {
				next := map[string]string{v.name: is}
				for name, value := range row {
					next[name] = value
				}
				more = append(more, next)
			}
		}
		rows = more
	}
	for _, row := range rows {
		for _, terminal := range []bool{false, true} {
			a := NewRun(config.Env{Getenv: func(name string) string { return row[name] }})
			want := terminal
			// The weakest first.
			if row["TERM"] == "dumb" {
				want = false
			}
			if row["CLICOLOR"] == "0" {
				want = false
			}
			if row["CLICOLOR_FORCE"] == "1" {
				want = true
			}
			if row["FORCE_COLOR"] != "" {
				want = true
			}
			if row["NO_COLOR"] != "" {
				want = false
			}
			if got := a.useColor(terminal); got != want {
				t.Errorf("terminal %v, %v: %v", terminal, row, got)
			}
		}
	}
}
