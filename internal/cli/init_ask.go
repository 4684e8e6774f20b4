package cli

import (
	"cmp"
	"fmt"
	"log/slog"
	"strings"

	"trueup/internal/config"
	"trueup/internal/kind"
	"trueup/internal/project"
	"trueup/internal/sandbox"
	"trueup/internal/scaffold"
)

// question asks for what no flag says.
type question struct {
	value *string
	// flag is what a message names if there is no proposal.
	flag, proposed, text string
	check                func(string) error
}

// interview completes the options of a new project, or names the flags that are missing.
func (a *app) interview(s *scaffold.Setup, o *initOptions) error {
	name := ""
	if a.global.sandbox {
		name, o.Ledger = sandbox.WorkspaceName, scaffold.None
	} else if err := s.CheckStore(s.UsualLedger()); err != nil {
		return err // the environment's, which is not shown unless it is a store
	}
	var missing []string
	settle := func(q question) error {
		if *q.value == "" && q.proposed == "" && !a.env.StdinIsTTY {
			missing = append(missing, q.flag)
			return nil
		}
		return a.settle(q, o.yes)
	}
	segment := func(answer string) error { return project.CheckWorkspace(kind.Workspace{Name: answer, UUID: answer}) }
	if err := settle(question{&o.Workspace, "--workspace NAME", name, "Name of the workspace, from your profile in the web console", segment}); err != nil {
		return err
	}
	id := ""
	if a.global.sandbox {
		id = config.SandboxUUID(o.Workspace)
	}
	for _, q := range []question{
		{&o.UUID, "--uuid UUID", id, "UUID of the workspace, from the same place", segment},
		{&o.Ledger, "", s.UsualLedger(), "Ledger, the record of what was sent: git:REF, file:PATH, s3://BUCKET/PREFIX or none", s.CheckStore},
		{
			&o.Manifests, "", s.UsualManifests(), "Manifests to start with: pull (what is live), examples or none",
			func(answer string) error { return oneOf("--manifests", answer, manifestChoices()) },
		},
	} {
		if err := settle(q); err != nil {
			return err
		}
	}
	if len(missing) > 0 {
		return fmt.Errorf("there is no terminal to ask on: add %s. Both are in your profile in the web console; --sandbox needs neither",
			strings.Join(missing, " and "))
	}
	if o.CI != "" || !s.InGit || o.yes || !a.env.StdinIsTTY {
		return nil
	}
	return a.settleCI(s.Remote, o)
}

// settle fills in a value, unless a flag has: with what is proposed, or what a person says.
func (a *app) settle(q question, yes bool) error {
	if *q.value == "" && q.proposed != "" && (yes || !a.env.StdinIsTTY) {
		*q.value = q.proposed
	}
	shown := ""
	if q.proposed != "" {
		shown = " [" + q.proposed + "]"
	}
	for *q.value == "" {
		answer, err := a.ask("%s%s: ", q.text, shown)
		if err != nil {
			return fmt.Errorf("nothing was written: %w", err)
		}
		if answer = cmp.Or(answer, q.proposed); answer == "" {
			continue
		}
		if err := q.check(answer); err != nil {
			a.log(slog.LevelWarn, inOneLine(err))
			continue
		}
		*q.value = answer
	}
	return nil
}

// settleCI asks for a CI service, and where trueup is hosted. Without an answer to that there are no
// files for CI.
func (a *app) settleCI(remote string, o *initOptions) error {
	proposed, words := scaffold.None, ciChoices()
	for _, name := range words {
		if strings.Contains(remote, name) {
			proposed = name
		}
	}
	err := a.settle(question{
		&o.CI, "", proposed, "CI service to write files for: " + strings.Join(words, ", "),
		func(answer string) error { return oneOf("--ci", answer, words) },
	}, false)
	if err != nil || o.CI == scaffold.None || o.Source != "" {
		return err
	}
	service := scaffold.ServiceNamed(o.CI)
	err = a.settle(question{
		&o.Source, "", scaffold.None, "Repository of trueup on that host, and the whole commit to build it from, " + service.Example + " (it runs with your tokens)",
		func(answer string) error {
			if answer == scaffold.None {
				return nil
			}
			return service.CheckSource(answer)
		},
	}, false)
	if o.Source == scaffold.None {
		o.CI, o.Source = scaffold.None, ""
	}
	return err
}
