package cli

import (
	"cmp"
	"fmt"
	"log/slog"
	"strings"

	"trueup/internal/config"
	"trueup/internal/diag"
	"trueup/internal/kind"
	"trueup/internal/project"
	"trueup/internal/sandbox"
	"trueup/internal/scaffold"
)

// question asks for an option that no flag sets.
type question struct {
	value          *string
	proposed, text string
	check          func(string) error
}

// interview completes the options of a new project, or names the flags that are missing.
func (a *app) interview(s *scaffold.Setup, o *initOptions) error {
	name := ""
	if a.global.sandbox {
		name, o.Ledger = sandbox.WorkspaceName, scaffold.None
	} else if err := s.CheckStore(s.UsualLedger()); err != nil {
		return err // the environment's, which is not shown unless it is a store
	}
	segment := func(answer string) error { return project.CheckWorkspace(kind.Workspace{Name: answer, UUID: answer}) }
	err := a.settle(o.yes, question{&o.Workspace, name, "Name of the workspace, from your profile in the web console", segment})
	if err != nil {
		return err
	}
	id := ""
	if a.global.sandbox {
		id = config.SandboxUUID(o.Workspace)
	}
	err = a.settle(
		o.yes,
		question{&o.UUID, id, "UUID of the workspace, from the same place", segment},
		question{&o.Ledger, s.UsualLedger(), "Ledger, the record of what was sent: git:REF, file:PATH, s3://BUCKET/PREFIX or none", s.CheckStore},
		question{
			&o.Manifests, s.UsualManifests(), "Manifests to start with: pull (what is live), examples or none",
			func(answer string) error { return oneOf("--manifests", answer, manifestChoices()) },
		},
	)
	if err != nil {
		return err
	}
	var missing []string
	if o.Workspace == "" {
		missing = append(missing, "--workspace NAME")
	}
	if o.UUID == "" {
		missing = append(missing, "--uuid UUID")
	}
	if len(missing) > 0 {
		return fmt.Errorf("there is no terminal to ask on: add %s. Both are in your profile in the web console; --sandbox needs neither",
			strings.Join(missing, " and "))
	}
	return a.settleCI(s, o)
}

// settle fills in values that no flag sets, from proposals or answers. Without a terminal, a value that
// has no proposal stays empty.
func (a *app) settle(yes bool, questions ...question) error {
	for _, q := range questions {
		switch {
		case *q.value != "":
		case yes && q.proposed != "" || !a.env.StdinIsTTY:
			*q.value = q.proposed
		default:
			if err := a.askFor(q); err != nil {
				return fmt.Errorf("nothing was written: %w", err)
			}
		}
	}
	return nil
}

func (a *app) askFor(q question) error {
	shown := ""
	if q.proposed != "" {
		shown = " [" + q.proposed + "]"
	}
	for *q.value == "" {
		answer, err := a.ask("%s%s: ", q.text, shown)
		if err != nil {
			return err
		}
		if answer = cmp.Or(answer, q.proposed); answer == "" {
			continue
		}
		if err := q.check(answer); err != nil {
			a.log(slog.LevelWarn, diag.OneLine(err))
			continue
		}
		*q.value = answer
	}
	return nil
}

// settleCI asks for a CI service, and for the repository to build trueup from. Without a repository, init
// writes no files for CI.
func (a *app) settleCI(s *scaffold.Setup, o *initOptions) error {
	if o.CI != "" || !s.InGit || o.yes || !a.env.StdinIsTTY {
		return nil
	}
	proposed, words := scaffold.None, ciChoices()
	for _, name := range words {
		if strings.Contains(s.Remote, name) {
			proposed = name
		}
	}
	err := a.settle(false, question{
		&o.CI, proposed, "CI service to write files for: " + strings.Join(words, ", "),
		func(answer string) error { return oneOf("--ci", answer, words) },
	})
	if err != nil || o.CI == scaffold.None || o.Source != "" {
		return err
	}
	service := scaffold.ServiceNamed(o.CI)
	err = a.settle(false, question{
		&o.Source, scaffold.None, "Repository of trueup on that host, and the whole commit to build it from, " + service.Example + " (it runs with your tokens)",
		func(answer string) error {
			if answer == scaffold.None {
				return nil
			}
			return service.CheckSource(answer)
		},
	})
	if o.Source == scaffold.None {
		o.CI, o.Source = scaffold.None, ""
	}
	return err
}
