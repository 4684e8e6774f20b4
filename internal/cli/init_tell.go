package cli

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"trueup/internal/files"
	"trueup/internal/kind"
	"trueup/internal/report"
)

// changes reports whether there is anything to do.
func (s *setup) changes() bool {
	return s.store != "" || s.manifests == fromLive || slices.ContainsFunc(s.edits, func(e *edit) bool {
		return e.state == fileToWrite || e.state == fileToAdd
	})
}

// confirm shows what would be done, and asks.
func (s *setup) confirm(yes bool) error {
	if yes {
		return nil
	}
	out := s.app.out
	if s.app.env.StdinIsTTY {
		out = report.NewLines(s.app.env.Stderr)
	}
	if err := s.preview(out); err != nil {
		return err
	}
	if !s.app.env.StdinIsTTY {
		return errors.New("nothing was written, because there is no terminal to ask on: add --yes")
	}
	answer, err := s.app.ask("\nType yes to do this: ")
	if err != nil {
		return fmt.Errorf("nothing was written: %w", err)
	}
	if answer != "yes" {
		return errors.New("nothing was written")
	}
	return nil
}

// preview shows what would be done.
func (s *setup) preview(out report.Lines) error {
	err := out.Printf("In %s:\n", s.top.Name())
	if s.store != "" {
		err = errors.Join(err, out.Printf("  create the ledger %s, and test its store\n", s.store))
	}
	for _, e := range s.edits {
		switch e.state {
		case files.Kept:
			err = errors.Join(err, out.Printf("  leave %s as it is: %s\n", e.shown, e.why))
		case fileToWrite, fileToAdd:
			err = errors.Join(err, out.Printf("  %s %s\n", e.state, e.shown))
		}
	}
	if s.manifests == fromLive {
		err = errors.Join(err, out.Printf("  write manifests of what is live in workspace %s\n", s.project.Workspace.Name))
	}
	return err
}

// write does what was planned, and says it.
func (s *setup) write(id string) error {
	for _, e := range s.edits {
		if e.root == s.root && e.name == projectFile && s.store != "" {
			e.change = s.editProject(id)
			if e.state != files.Kept {
				e.now, e.why = e.change(e.was)
			}
			if e.why != nil {
				e.state = files.Kept
			}
		}
		if err := e.write(); err != nil {
			return fmt.Errorf("%s: %w", e.shown, files.WithoutPath(err))
		}
	}
	return s.outcome(id)
}

// outcome says what became of each file, and shows what is not in those that were
// left.
func (s *setup) outcome(id string) error {
	var err error
	if dir := s.project.dir; dir != s.app.dir() {
		err = s.app.out.Printf("the project file is %s\n", dir)
	}
	var kept []string
	for _, e := range s.edits {
		err = errors.Join(err, s.app.out.Printf("%s %s\n", e.state, e.shown))
		if e.state == files.Kept {
			kept = append(kept, e.shown)
			err = errors.Join(err, s.showWanted(e))
		}
	}
	if id != "" {
		err = errors.Join(err, s.askForID(id))
	}
	if err == nil && len(kept) > 0 {
		err = fmt.Errorf("unchanged, because it exists with other content: %s. Below is what init would write: add that, or remove the file and run init again", strings.Join(kept, ", "))
	}
	return err
}

// showWanted shows what init would write in a file's place.
func (s *setup) showWanted(e *edit) error {
	err := s.app.out.Printf("  %s\n", e.why)
	wanted, wantedErr := e.change(nil)
	if wantedErr != nil || e.name == kind.EditorSchemaFile {
		return err
	}
	return errors.Join(err, s.app.out.Printf("\n"), s.app.out.Source(wanted), s.app.out.Printf("\n"))
}

// askForID says what a person has to write into a project file that names a
// ledger already.
func (s *setup) askForID(id string) error {
	if id == "" || slices.ContainsFunc(s.edits, func(e *edit) bool {
		return e.name == projectFile && (e.state == files.Written || e.state == fileAdded)
	}) {
		return nil
	}
	return s.app.out.Printf("now write its id below ledger: in trueup.yaml, so that trueup never uses another ledger by mistake:\n\n  id: %s\n", id)
}

// next says how to go on.
func (s *setup) next() error {
	var err error
	switch {
	case !s.isNew:
	case s.app.global.sandbox:
		err = s.app.out.Printf("Next: run trueup plan --sandbox, and git add the new files.\n")
	case s.app.knowsAddress():
		err = s.app.out.Printf("Next: run trueup plan, and git add the new files.\n")
	default:
		err = s.app.out.Printf("Next: git add the new files. Set the addresses and tokens of your platform (docs/configuration.md), and test them with trueup doctor. Then run trueup plan.\n")
	}
	store := cmp.Or(s.store, s.project.Ledger.Store)
	if strings.HasPrefix(store, "file:") || store == "" {
		store = "the store of a ledger that CI can use, once you have one"
	}
	if s.ci != nil && strings.HasPrefix(s.store, "file:") {
		err = errors.Join(err, s.app.out.Printf("The ledger is on this machine only, so CI can't use it: docs/ledger.md has other stores.\n"))
	}
	if s.ci != nil {
		known := strings.NewReplacer("BRANCH", s.ci.place.branch, "UUID", s.project.Workspace.UUID, "STORE", store)
		for line := range strings.Lines(known.Replace(s.ci.next)) {
			err = errors.Join(err, s.app.out.Printf("%s\n", strings.TrimSuffix(line, "\n")))
		}
	}
	return err
}
