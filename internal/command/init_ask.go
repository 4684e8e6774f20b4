package command

import (
	"cmp"
	"fmt"
	"log/slog"
	"strings"

	"trueup/internal/config"
	"trueup/internal/diag"
	"trueup/internal/generate"
	"trueup/internal/kind"
	"trueup/internal/sandbox"
)

// question is a question of init.
type question struct {
	about    string // says what each answer leads to
	prompt   string
	proposed string // the answer of Enter; if empty, Enter asks again
	check    func(string) error
}

const (
	aboutName   = "The name of your workspace, from your profile in the web console. trueup looks\nfor snapshots under it."
	aboutUUID   = "Its UUID, from the same place. trueup changes CDNs of this workspace only."
	aboutLedger = `The ledger records what trueup sent, so that nothing is sent twice.
  git:refs/trueup/ledger  a ref on the remote origin, for all who can push%s
  s3://BUCKET/PREFIX      a bucket, for all who have its credentials
  gs://BUCKET/PREFIX      the same in Google Cloud Storage; azblob:// is Azure's
  postgres:NAME           a PostgreSQL database, for all who have a role there
  file:.trueup/ledger     a folder: works on this machine only, and not in CI
  none                    trueup sends no purges and no snapshots`
	noRemoteYet    = ";\n                          waits until you add that remote"
	aboutManifests = `The first manifests. None of these changes the platform.
  pull      a file for each live object, so that the first plan is empty.
  examples  a file for each kind, to edit.
  none      an empty folder.`
	aboutCI = `Files for CI, which plans each pull request and applies what is merged.
  github  writes .github/workflows
  gitlab  writes .gitlab-ci.yml
  none    writes nothing; trueup init --ci adds them later`
	aboutSource = "CI builds trueup from one commit of a repository on the same host, and runs\n" +
		"it with your tokens. Type none to write no files for CI."
)

// askMissing completes the options of a new project, or names the flags that are missing. It asks for nothing that is
// known.
func askMissing(run *Run, s *generate.Setup, o *initOptions) error {
	name, err := fillKnownAnswers(run, s, o)
	ask := func(value *string, q question) {
		if err == nil {
			err = askValue(run, o.yes, value, q)
		}
	}
	segment := func(answer string) error { return config.CheckWorkspace(kind.Workspace{Name: answer, UUID: answer}) }
	ask(&o.Workspace, question{aboutName, "workspace", name, segment})
	if run.Sandbox && err == nil {
		o.UUID = cmp.Or(o.UUID, config.SandboxUUID(o.Workspace))
	}
	ask(&o.UUID, question{aboutUUID, "uuid", "", segment})
	ledger := question{fmt.Sprintf(aboutLedger, ""), "ledger", s.ProposeLedger(), s.CheckStore}
	if s.Remote == "" {
		ledger.about = fmt.Sprintf(aboutLedger, noRemoteYet)
	}
	ask(&o.Ledger, ledger)
	ask(&o.Manifests, question{aboutManifests, "manifests", s.ProposeManifests(), oneOfChecker("--manifests", manifestChoices())})
	if err == nil {
		err = missingFlagsError(o)
	}
	if err == nil && o.CI == "" && s.InGit && !o.yes && run.StdinIsTTY {
		err = chooseCI(run, o)
	}
	return err
}

// fillKnownAnswers fills in what the environment says or a folder shows, and returns the name to propose for the workspace.
func fillKnownAnswers(run *Run, s *generate.Setup, o *initOptions) (name string, err error) {
	manifests := s.ProposeManifests()
	if manifests == generate.None { // there are some
		o.Manifests = cmp.Or(o.Manifests, manifests)
	}
	if run.Sandbox {
		o.Ledger = generate.None
		return sandbox.WorkspaceName, nil
	}
	if s.StoreFromEnv {
		o.Ledger = cmp.Or(o.Ledger, s.ProposeLedger())
	}
	pin, err := run.FindPin(s.Project)
	if err != nil {
		return "", err
	}
	o.UUID = cmp.Or(o.UUID, pin.Workspace)
	return "", s.CheckStore(s.ProposeLedger()) // the environment's is not shown unless it is a store
}

// missingFlagsError returns an error that names the flags for what could not be asked.
func missingFlagsError(o *initOptions) error {
	var missing []string
	if o.Workspace == "" {
		missing = append(missing, "--workspace NAME")
	}
	if o.UUID == "" {
		missing = append(missing, "--uuid UUID")
	}
	return errorIf(len(missing) > 0, "there is no terminal to ask on: add %s. Both are in your profile in the web console; --sandbox needs neither",
		strings.Join(missing, " and "))
}

func oneOfChecker(flag string, choices []string) func(string) error {
	return func(answer string) error { return checkOneOf(flag, answer, choices) }
}

// chooseCI asks for a CI service, and for the repository to build trueup from.
func chooseCI(run *Run, o *initOptions) error {
	err := askValue(run, false, &o.CI, question{aboutCI, "ci", generate.None, oneOfChecker("--ci", ciChoices())})
	if err != nil || o.CI == generate.None || o.Source != "" {
		return err
	}
	service := generate.CIServiceNamed(o.CI)
	err = askValue(run, false, &o.Source, question{aboutSource, service.Example, "", func(answer string) error {
		if answer == generate.None {
			return nil
		}
		return service.CheckSource(answer)
	}})
	if o.Source == generate.None {
		o.CI, o.Source = generate.None, ""
	}
	return err
}

// askValue fills in a value that no flag sets, from the proposal or an answer. Without a terminal, a value
// that has no proposal stays empty.
func askValue(run *Run, yes bool, value *string, q question) error {
	if *value == "" && (yes && q.proposed != "" || !run.StdinIsTTY) {
		*value = q.proposed
	}
	if *value != "" || !run.StdinIsTTY {
		return nil
	}
	writeLines(run.stderr(), strings.Split("\n"+q.about, "\n"))
	shown := " (no default)"
	if q.proposed != "" {
		shown = " [" + q.proposed + "]"
	}
	for *value == "" {
		answer, err := run.ask("%s%s: ", q.prompt, shown)
		if err != nil {
			return fmt.Errorf("nothing was written: %w", err)
		}
		if answer = cmp.Or(answer, q.proposed); answer == "" {
			continue
		}
		if err := q.check(answer); err != nil {
			run.Log(slog.LevelWarn, diag.OneLine(err))
			continue
		}
		*value = answer
	}
	return nil
}
