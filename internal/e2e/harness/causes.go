//go:build linux

package harness

import (
	"encoding/json"
	"fmt"
	"strings"
)

// explained is a line of a plan in JSON with its cause.
type explained struct {
	Path, Class, Cause, By string
	Line, Column           int
	Commit                 struct{ Subject string }
}

func (e explained) String() string {
	text := strings.TrimSpace(e.Path + " " + e.Class + " " + e.Cause)
	if e.By != "" {
		text += " by " + e.By
	}
	if e.Commit.Subject != "" {
		text += fmt.Sprintf(" in %q", e.Commit.Subject)
	}
	if e.Line > 0 {
		text += fmt.Sprintf(" %d:%d", e.Line, e.Column)
	}
	return text
}

func cmdCauses(s *Script, args []string) error {
	commits := len(args) > 1 && args[0] == "-commits"
	if commits {
		args = args[1:]
	}
	if len(args) != 1 {
		return ErrUsage
	}
	var doc struct {
		Plan struct {
			Blame struct{ Ref, Problem, Fix string }
			Items []struct {
				Kind, Name, Op   string
				Cause, By        string
				Commit           struct{ Subject string }
				Changes, Already []explained
			}
		}
	}
	if err := json.Unmarshal([]byte(s.ReadFile(args[0])), &doc); err != nil {
		return err
	}
	var out strings.Builder
	for _, it := range doc.Plan.Items {
		if !commits {
			it.Commit.Subject = ""
		}
		fmt.Fprintf(&out, "%s/%s: %s\n", it.Kind, it.Name, explained{Class: it.Op, Cause: it.Cause, By: it.By, Commit: it.Commit})
		for _, c := range append(it.Changes, it.Already...) {
			if !commits {
				c.Commit.Subject = ""
			}
			fmt.Fprintf(&out, "  %s\n", c)
		}
	}
	b := doc.Plan.Blame
	if commits {
		b = struct{ Ref, Problem, Fix string }{}
	}
	for _, said := range [][2]string{{"base", b.Ref}, {"problem", b.Problem}, {"fix", b.Fix}} {
		if said[1] != "" {
			fmt.Fprintf(&out, "%s: %s\n", said[0], said[1])
		}
	}
	_, err := s.Stdout().Write([]byte(out.String()))
	return err
}
