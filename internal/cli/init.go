package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"trueup/internal/adopt"
	"trueup/internal/files"
	"trueup/internal/manifest"
	"trueup/internal/report"
	"trueup/internal/scaffold"
)

type initOptions struct {
	scaffold.Options
	adopt string
	yes   bool
}

func newInit(a *app) *cobra.Command {
	var o initOptions
	cmd := &cobra.Command{
		Use:  "init",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := checkGiven(cmd, "workspace", "uuid", "ledger", "manifests", "editor", "ci", "trueup", "branch", "adopt"); err != nil {
				return err
			}
			return runInit(cmd.Context(), a, o)
		},
	}
	f := cmd.Flags()
	f.StringVar(&o.Workspace, "workspace", "", "`NAME` of the workspace, from your profile in the web console")
	f.StringVar(&o.UUID, "uuid", "", "`UUID` of the workspace, from the same place")
	f.StringVar(&o.Ledger, "ledger", "", "`STORE` of the ledger: git:REF, file:PATH, s3://BUCKET/PREFIX or none (docs/ledger.md)")
	f.StringVar(&o.adopt, "adopt", "", "which requests in git were sent before: all, none or a `GLOB` (see ledger init --help)")
	f.StringVar(&o.Manifests, "manifests", "", "`WHAT` the manifests describe: pull (what is live), examples or none")
	f.StringVar(&o.Editor, "editor", scaffold.VSCode, "write settings for this `EDITOR`: vscode or none; every editor can use the schema")
	f.StringVar(&o.CI, "ci", "", "the CI `SERVICE`: github, gitlab or none")
	f.StringVar(&o.Source, "trueup", "", "the repository on that host, and the commit, to build trueup from: `OWNER/NAME@COMMIT`")
	f.StringVar(&o.Branch, "branch", "", "the `BRANCH` to apply (default the remote's default branch, or the current one)")
	f.BoolVar(&o.yes, "yes", false, "do not ask before writing")
	for name, words := range map[string][]string{
		"manifests": manifestChoices(), "editor": editorChoices(), "ci": ciChoices(),
		"ledger": {scaffold.GitLedger, scaffold.FileLedger, scaffold.None}, "adopt": {"all", "none"},
	} {
		_ = cmd.RegisterFlagCompletionFunc(name, completeWords(words...)) // it is there
	}
	return cmd
}

func manifestChoices() []string {
	return []string{scaffold.FromLive, scaffold.FromExamples, scaffold.None}
}

func editorChoices() []string { return []string{scaffold.VSCode, scaffold.None} }

func ciChoices() []string {
	var words []string
	for _, s := range scaffold.Services() {
		words = append(words, s.Name)
	}
	return append(words, scaffold.None)
}

func (o *initOptions) check(g globalOptions) error {
	if o.Manifests != "" {
		if err := oneOf("--manifests", o.Manifests, manifestChoices()); err != nil {
			return err
		}
	}
	if err := oneOf("--editor", o.Editor, editorChoices()); err != nil {
		return fmt.Errorf("%w; other editors find the schema from the first line of a manifest", err)
	}
	if o.CI != "" {
		if err := oneOf("--ci", o.CI, ciChoices()); err != nil {
			return fmt.Errorf("%w; for other services, see the commands in docs/ci.md", err)
		}
	}
	if g.sandbox && o.Ledger != "" && o.Ledger != scaffold.None {
		return errors.New("--sandbox has its own ledger: remove --ledger. To add one for the real platform later, run trueup init --ledger STORE")
	}
	return nil
}

func runInit(ctx context.Context, a *app, o initOptions) error {
	s, err := a.chooseSetup(ctx, o)
	if err != nil {
		return err
	}
	defer s.Close()
	if !s.HasChanges() {
		if err := a.showSetup(s); err != nil {
			return err
		}
		a.printf("nothing to do: everything is there\n")
		return nil
	}
	if err := a.confirmSetup(s, o.yes); err != nil {
		return err
	}
	id, notReady, err := a.makeSetupLedger(ctx, s, o.adopt)
	if err != nil {
		return err
	}
	if err := s.Write(id); err != nil {
		return err
	}
	if err := a.showSetup(s); err != nil {
		return err
	}
	if s.FromLive {
		if err := runPull(ctx, a, adopt.Options{}, nil); err != nil {
			return fmt.Errorf("everything is written except the manifests: %w; trueup pull writes them", err)
		}
	}
	return cmp.Or(a.out.Text(s.Next()), notReady())
}

// chooseSetup finds out what is there and what is wanted.
func (a *app) chooseSetup(ctx context.Context, o initOptions) (*scaffold.Setup, error) {
	if err := o.check(a.global); err != nil {
		return nil, err
	}
	near, err := a.findProject()
	if err != nil {
		return nil, err
	}
	s, err := scaffold.Find(ctx, a.config(), near)
	if err != nil {
		return nil, err
	}
	if s.IsNew {
		err = a.interview(s, &o)
	}
	if err == nil {
		err = s.Choose(ctx, o.Options)
	}
	if err == nil && o.adopt != "" && s.Store == "" {
		err = errors.New("--adopt is for a new ledger, and this project has one: use trueup ledger init --adopt instead")
	}
	if err != nil {
		s.Close()
	}
	return s, err
}

// makeSetupLedger creates the ledger, and tests its store. It returns the ledger's id, and a function
// that says why the ledger is not ready when everything is written.
func (a *app) makeSetupLedger(ctx context.Context, s *scaffold.Setup, adopt string) (id string, notReady func() error, err error) {
	if s.Store == "" {
		return "", func() error { return nil }, nil
	}
	w, err := a.enter(ctx, s.Project, &manifest.Set{})
	if err != nil {
		return "", nil, err
	}
	defer w.Close()
	if id, err = a.makeLedger(ctx, s.Project, w, adopt); err != nil {
		return "", nil, fmt.Errorf("nothing was written, because the ledger could not be created: %w", err)
	}
	cfg := w.Ledger
	return id, func() error { return a.notReady(ctx, s.Project, cfg, id) }, nil
}

// confirmSetup shows what would be done, and asks.
func (a *app) confirmSetup(s *scaffold.Setup, yes bool) error {
	if yes {
		return nil
	}
	out := a.out
	if a.env.StdinIsTTY {
		out = report.NewLines(a.env.Stderr)
	}
	if err := previewSetup(out, s); err != nil {
		return err
	}
	if !a.env.StdinIsTTY {
		return errors.New("nothing was written, because there is no terminal to ask on: add --yes")
	}
	answer, err := a.ask("\nType yes to do this: ")
	if err != nil {
		return fmt.Errorf("nothing was written: %w", err)
	}
	if answer != "yes" {
		return errors.New("nothing was written")
	}
	return nil
}

func previewSetup(out report.Lines, s *scaffold.Setup) error {
	err := out.Printf("In %s:\n", s.Top.Name())
	if s.Store != "" {
		err = errors.Join(err, out.Printf("  create the ledger %s, and test its store\n", s.Store))
	}
	for _, e := range s.Edits {
		switch e.State {
		case files.Kept:
			err = errors.Join(err, out.Printf("  leave %s as it is: %s\n", e.Shown, e.Why))
		case scaffold.ToWrite, scaffold.ToAdd:
			err = errors.Join(err, out.Printf("  %s %s\n", e.State, e.Shown))
		}
	}
	if s.FromLive {
		err = errors.Join(err, out.Printf("  write manifests of what is live in workspace %s\n", s.Workspace.Name))
	}
	return err
}

// showSetup says what was done to each file, and shows what those that were kept lack.
func (a *app) showSetup(s *scaffold.Setup) error {
	if s.Project.Dir != a.dir() {
		a.printf("the project file is %s\n", s.Project.Dir)
	}
	var kept []string
	for _, e := range s.Edits {
		a.printf("%s %s\n", e.State, e.Shown)
		if e.State != files.Kept {
			continue
		}
		kept = append(kept, e.Shown)
		a.printf("  %s\n", e.Why)
		if wanted := e.Wanted(); wanted != nil {
			a.printf("\n")
			_ = a.out.Source(wanted)
			a.printf("\n")
		}
	}
	if s.NeedsID() {
		a.printf("now write its id below ledger: in trueup.yaml, so that trueup never uses another ledger by mistake:\n\n  id: %s\n", s.ID)
	}
	if len(kept) > 0 {
		return fmt.Errorf("unchanged, because it exists with other content: %s. Below is what init would write: add that, or remove the file and run init again", strings.Join(kept, ", "))
	}
	return nil
}
