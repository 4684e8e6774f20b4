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

// interview completes the options of a new project, or names the flags that are missing.
func (a *app) interview(s *scaffold.Setup, o *initOptions) (err error) {
	ask := func(value *string, proposed, text string, check func(string) error) {
		if err == nil {
			err = a.settle(o.yes, value, proposed, text, check)
		}
	}
	segment := func(answer string) error { return project.CheckWorkspace(kind.Workspace{Name: answer, UUID: answer}) }
	name, id := "", ""
	if a.global.sandbox {
		name, o.Ledger = sandbox.WorkspaceName, scaffold.None
	} else if err := s.CheckStore(s.UsualLedger()); err != nil {
		return err // the environment's, which is not shown unless it is a store
	}
	ask(&o.Workspace, name, "Name of the workspace, from your profile in the web console", segment)
	if a.global.sandbox {
		id = config.SandboxUUID(o.Workspace)
	}
	ask(&o.UUID, id, "UUID of the workspace, from the same place", segment)
	ask(&o.Ledger, s.UsualLedger(), "Ledger, the record of what was sent: git:REF, file:PATH, s3://BUCKET/PREFIX or none", s.CheckStore)
	ask(&o.Manifests, s.UsualManifests(), "Manifests to start with: pull (what is live), examples or none",
		func(answer string) error { return oneOf("--manifests", answer, manifestChoices()) })
	var missing []string
	if o.Workspace == "" {
		missing = append(missing, "--workspace NAME")
	}
	if o.UUID == "" {
		missing = append(missing, "--uuid UUID")
	}
	err = cmp.Or(err, refuse(len(missing) > 0, "there is no terminal to ask on: add %s. Both are in your profile in the web console; --sandbox needs neither",
		strings.Join(missing, " and ")))
	if err == nil && o.CI == "" && s.InGit && !o.yes && a.env.StdinIsTTY {
		err = a.chooseCI(s, o)
	}
	return err
}

// chooseCI asks for a CI service, and for the repository to build trueup from. Without a repository, init
// writes no files for CI.
func (a *app) chooseCI(s *scaffold.Setup, o *initOptions) error {
	words := ciChoices()
	err := a.settle(false, &o.CI, usualCI(s.Remote), "CI service to write files for: "+strings.Join(words, ", "),
		func(answer string) error { return oneOf("--ci", answer, words) })
	if err != nil || o.CI == scaffold.None || o.Source != "" {
		return err
	}
	service := scaffold.ServiceNamed(o.CI)
	err = a.settle(false, &o.Source, scaffold.None,
		"Repository of trueup on that host, and the whole commit to build it from, "+service.Example+" (it runs with your tokens)",
		func(answer string) error {
			if answer == scaffold.None {
				return nil
			}
			return service.CheckSource(answer)
		})
	if o.Source == scaffold.None {
		o.CI, o.Source = scaffold.None, ""
	}
	return err
}

// usualCI returns the CI service of a remote.
func usualCI(remote string) string {
	for _, s := range scaffold.Services() {
		if strings.Contains(remote, s.Name) {
			return s.Name
		}
	}
	return scaffold.None
}

// settle fills in a value that no flag sets, from the proposal or an answer. Without a terminal, a value
// that has no proposal stays empty.
func (a *app) settle(yes bool, value *string, proposed, text string, check func(string) error) error {
	if *value == "" && (yes && proposed != "" || !a.env.StdinIsTTY) {
		*value = proposed
		return nil
	}
	shown := ""
	if proposed != "" {
		shown = " [" + proposed + "]"
	}
	for *value == "" {
		answer, err := a.ask("%s%s: ", text, shown)
		if err != nil {
			return fmt.Errorf("nothing was written: %w", err)
		}
		if answer = cmp.Or(answer, proposed); answer == "" {
			continue
		}
		if err := check(answer); err != nil {
			a.log(slog.LevelWarn, diag.OneLine(err))
			continue
		}
		*value = answer
	}
	return nil
}
