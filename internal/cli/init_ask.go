package cli

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"trueup/internal/config"
	"trueup/internal/git"
	"trueup/internal/kind"
	"trueup/internal/project"
	"trueup/internal/sandbox"
	"trueup/internal/scaffold"
)

// interview asks for what no flag says.
type interview struct {
	app *app
	// yes takes what is proposed.
	yes bool
	// remote is the address of the remote that a ledger would be on, if there is one.
	remote  string
	inGit   bool
	missing []string
}

// question is one of an interview.
type question struct {
	value *string
	// flag is what a message names if there is no proposal.
	flag, proposed, text string
	check                func(string) error
}

func (a *app) newInterview(ctx context.Context, yes bool) *interview {
	in := &interview{app: a, yes: yes}
	if repository, err := git.At(ctx, a.dir()); err == nil {
		in.inGit, in.remote = true, repository.Remote(ctx, "origin")
	}
	return in
}

// fill completes the options, or names the flags that are missing.
func (in *interview) fill(opts *initOptions) error {
	name, id := "", ""
	if in.app.global.sandbox {
		name = sandbox.WorkspaceName
	} else if err := in.app.checkLedger(in.usualLedger()); err != nil {
		return err // the environment's, which is not shown unless it is a store
	}
	segment := func(answer string) error { return project.CheckWorkspace(kind.Workspace{Name: answer, UUID: answer}) }
	err := in.settle(question{&opts.workspace, "--workspace NAME", name, "Name of the workspace, from your profile in the web console", segment})
	if in.app.global.sandbox {
		id = config.SandboxUUID(opts.workspace)
	}
	for _, q := range []question{
		{&opts.uuid, "--uuid UUID", id, "UUID of the workspace, from the same place", segment},
		{
			&opts.ledger, "", in.usualLedger(), "Ledger, the record of what was sent: git:REF, file:PATH, s3://BUCKET/PREFIX or none",
			in.app.checkLedger,
		},
		{
			&opts.manifests, "", in.usualManifests(), "Manifests to start with: pull (what is live), examples or none",
			func(answer string) error { return oneOf("--manifests", answer, manifestChoices()) },
		},
	} {
		if err == nil {
			err = in.settle(q)
		}
	}
	if err == nil && len(in.missing) > 0 {
		err = fmt.Errorf("there is no terminal to ask on: add %s. Both are in your profile in the web console; --sandbox needs neither",
			strings.Join(in.missing, " and "))
	}
	if err != nil {
		return err
	}
	return in.settleCI(opts)
}

// settle fills in a value, unless a flag has: with what is proposed, or what a person says.
func (in *interview) settle(q question) error {
	switch {
	case *q.value != "":
		return nil
	case q.proposed != "" && (in.yes || !in.app.env.StdinIsTTY):
		*q.value = q.proposed
		return nil
	case !in.app.env.StdinIsTTY:
		in.missing = append(in.missing, q.flag)
		return nil
	}
	shown := ""
	if q.proposed != "" {
		shown = " [" + q.proposed + "]"
	}
	for *q.value == "" {
		answer, err := in.app.ask("%s%s: ", q.text, shown)
		if err != nil {
			return fmt.Errorf("nothing was written: %w", err)
		}
		if answer = cmp.Or(answer, q.proposed); answer == "" {
			continue
		}
		if err := q.check(answer); err != nil {
			in.app.log(slog.LevelWarn, inOneLine(err))
			continue
		}
		*q.value = answer
	}
	return nil
}

// checkLedger refuses what can't be a store.
func (a *app) checkLedger(answer string) error {
	if answer == none {
		return nil
	}
	p := project.Project{Dir: a.dir()}
	p.Ledger.Store = answer
	return a.checkStore(p, answer)
}

// usualLedger is one that all runs share, if there is a remote for it.
func (in *interview) usualLedger() string {
	switch store := in.app.env.Getenv("TRUEUP_LEDGER"); {
	case store != "":
		return store
	case in.remote != "":
		return gitLedger
	}
	return fileLedger
}

// usualManifests are those of live objects, if trueup knows where the platform is.
func (in *interview) usualManifests() string {
	if _, err := os.Lstat(filepath.Join(in.app.dir(), manifests)); err == nil {
		return none
	}
	if in.app.global.sandbox || in.app.knowsAddress() {
		return fromLive
	}
	return fromExamples
}

// knowsAddress reports whether the user says where the platform is.
func (a *app) knowsAddress() bool {
	s, err := a.config().Settings()
	return err == nil && slices.ContainsFunc(kind.Areas(), func(area kind.Area) bool { return s.URLs[area].Value != "" })
}

// settleCI asks for a CI service.
func (in *interview) settleCI(opts *initOptions) error {
	if opts.ci != "" || !in.inGit || in.yes || !in.app.env.StdinIsTTY {
		return nil
	}
	proposed, words := none, ciChoices()
	for _, name := range words {
		if strings.Contains(in.remote, name) {
			proposed = name
		}
	}
	err := in.settle(question{
		&opts.ci, "", proposed, "CI service to write files for: " + strings.Join(words, ", "),
		func(answer string) error { return oneOf("--ci", answer, words) },
	})
	if err != nil || opts.ci == none || opts.source != "" {
		return err
	}
	return in.settleSource(opts)
}

// settleSource asks where trueup is hosted. Without an answer there are no files for CI.
func (in *interview) settleSource(opts *initOptions) error {
	s := scaffold.ServiceNamed(opts.ci)
	err := in.settle(question{
		&opts.source, "", none, "Repository of trueup on that host, and the whole commit to build it from, " + s.Example + " (it runs with your tokens)",
		func(answer string) error {
			if answer != none && !s.IsSource(answer) {
				return fmt.Errorf("%.80q is not of the form %s with a commit of 40 digits", answer, s.Example)
			}
			return nil
		},
	})
	if opts.source == none {
		opts.ci, opts.source = none, ""
	}
	return err
}
