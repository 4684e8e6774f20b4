package cli

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/spf13/cobra"
)

// What init writes manifests from, or that it does not write something.
const (
	none         = "none"
	fromLive     = "pull"
	fromExamples = "examples"
	vsCode       = "vscode"
)

type initOptions struct {
	workspace, uuid    string
	ledger, adopt      string
	manifests, editor  string
	ci, source, branch string
	yes                bool
}

func newInit(a *app) *cobra.Command {
	var opts initOptions
	cmd := &cobra.Command{
		Use:  "init",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := checkGiven(cmd, "workspace", "uuid", "ledger", "manifests", "editor", "ci", "trueup", "branch", "adopt"); err != nil {
				return err
			}
			return runInit(cmd.Context(), a, opts)
		},
	}
	opts.register(cmd)
	return cmd
}

func (o *initOptions) register(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&o.workspace, "workspace", "", "`NAME` of the workspace, from your profile in the web console")
	f.StringVar(&o.uuid, "uuid", "", "`UUID` of the workspace, from the same place")
	f.StringVar(&o.ledger, "ledger", "", "`STORE` of the ledger: git:REF, file:PATH, s3://BUCKET/PREFIX or none (docs/ledger.md)")
	f.StringVar(&o.adopt, "adopt", "", "which requests in git were sent before: all, none or a `GLOB` (see ledger init --help)")
	f.StringVar(&o.manifests, "manifests", "", "`WHAT` the manifests describe: pull (what is live), examples or none")
	f.StringVar(&o.editor, "editor", vsCode, "write settings for this `EDITOR`: vscode or none; every editor can use the schema")
	f.StringVar(&o.ci, "ci", "", "the CI `SERVICE`: github, gitlab or none")
	f.StringVar(&o.source, "trueup", "", "the repository on that host, and the commit, to build trueup from: `OWNER/NAME@COMMIT`")
	f.StringVar(&o.branch, "branch", "", "the `BRANCH` to apply (default the remote's default branch, or the current one)")
	f.BoolVar(&o.yes, "yes", false, "do not ask before writing")
	words := func(name string, of ...string) {
		// The flag is there, and nothing was registered for it.
		_ = cmd.RegisterFlagCompletionFunc(name, completeWords(of...))
	}
	words("manifests", manifestChoices()...)
	words("editor", editorChoices()...)
	words("ci", ciChoices()...)
	words("ledger", gitLedger, fileLedger, none)
	words("adopt", "all", none)
}

func (o *initOptions) check() error {
	if o.manifests != "" {
		if err := oneOf("--manifests", o.manifests, manifestChoices()); err != nil {
			return err
		}
	}
	if err := oneOf("--editor", o.editor, editorChoices()); err != nil {
		return fmt.Errorf("%w; other editors find the schema from the first line of a manifest", err)
	}
	return nil
}

func manifestChoices() []string { return []string{fromLive, fromExamples, none} }

func editorChoices() []string { return []string{vsCode, none} }

func ciChoices() []string { return append(slices.Sorted(maps.Keys(services())), none) }

func runInit(ctx context.Context, a *app, opts initOptions) error {
	if err := opts.check(); err != nil {
		return err
	}
	s, err := a.newSetup(ctx, opts)
	if err != nil {
		return err
	}
	defer s.close()
	if err := s.plan(); err != nil {
		return err
	}
	if !s.changes() {
		if err := s.outcome(""); err != nil {
			return err
		}
		return a.out.Printf("nothing to do: everything is there\n")
	}
	if err := s.confirm(opts.yes); err != nil {
		return err
	}
	id, err := s.makeLedger(ctx, opts.adopt)
	if err != nil {
		return err
	}
	if err := s.write(id); err != nil {
		return err
	}
	if s.manifests == fromLive {
		if err := runPull(ctx, a, pullOptions{}, nil); err != nil {
			return fmt.Errorf("everything is written except the manifests: %w; trueup pull writes them", err)
		}
	}
	err = s.next()
	if s.notReady != nil {
		err = cmp.Or(err, s.notReady())
	}
	return err
}
