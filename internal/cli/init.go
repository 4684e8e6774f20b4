package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"trueup/internal/adopt"
	"trueup/internal/config"
	"trueup/internal/files"
	"trueup/internal/git"
	"trueup/internal/kind"
	"trueup/internal/ledger"
	"trueup/internal/manifest"
	"trueup/internal/plan"
	"trueup/internal/project"
	"trueup/internal/report"
	"trueup/internal/scaffold"
)

// The words and stores that init offers.
const (
	none         = "none"
	fromLive     = "pull"
	fromExamples = "examples"
	vsCode       = "vscode"
	gitLedger    = "git:refs/trueup/ledger"
	fileLedger   = "file:.trueup/ledger"
	manifests    = project.Manifests
)

type initOptions struct {
	workspace, uuid    string
	ledger, adopt      string
	manifests, editor  string
	ci, source, branch string
	yes                bool
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
	for name, words := range map[string][]string{
		"manifests": manifestChoices(), "editor": editorChoices(), "ci": ciChoices(), "ledger": {gitLedger, fileLedger, none}, "adopt": {"all", none},
	} {
		_ = cmd.RegisterFlagCompletionFunc(name, completeWords(words...)) // it is there
	}
	return cmd
}

func manifestChoices() []string { return []string{fromLive, fromExamples, none} }
func editorChoices() []string   { return []string{vsCode, none} }
func ciChoices() []string       { return append(scaffold.ServiceNames(), none) }

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

// setup is what a repository is to have.
type setup struct {
	scaffold.Layout
	app     *app
	project project.Project
	edits   []*scaffold.Edit
	// fromLive asks for manifests of live objects.
	fromLive bool
	// notReady says why the ledger that was made can't be used, when all is written; nil if none was made.
	notReady func() error
}

func runInit(ctx context.Context, a *app, opts initOptions) error {
	if err := opts.check(); err != nil {
		return err
	}
	s, err := a.newSetup(ctx, opts)
	if err != nil {
		return err
	}
	defer s.close()
	if s.edits, err = s.Plan(); err != nil {
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
	if s.fromLive {
		if err := runPull(ctx, a, adopt.Options{}, nil); err != nil {
			return fmt.Errorf("everything is written except the manifests: %w; trueup pull writes them", err)
		}
	}
	err = s.next()
	if s.notReady != nil {
		err = cmp.Or(err, s.notReady())
	}
	return err
}

func (s *setup) close() {
	for _, root := range []*os.Root{s.Root, s.Top} {
		if root != nil {
			_ = root.Close() // nothing was read or written by it
		}
	}
}

// newSetup finds out what is there and what is wanted.
func (a *app) newSetup(ctx context.Context, opts initOptions) (*setup, error) {
	s := &setup{app: a}
	var err error
	if s.project, err = a.ownProject(ctx); err != nil {
		return nil, err
	}
	if s.IsNew = !s.project.Exists(); s.IsNew {
		err = s.begin(ctx, &opts)
	} else {
		err = s.goOn(opts)
	}
	if err != nil {
		return nil, err
	}
	if opts.adopt != "" && s.Store == "" {
		return nil, errors.New("--adopt is for a new ledger, and this project has one: use trueup ledger init --adopt instead")
	}
	s.fromLive, s.Examples, s.VSCode = opts.manifests == fromLive, opts.manifests == fromExamples, opts.editor == vsCode
	s.Workspace, s.Manifests, s.LedgerStore = s.project.Workspace, s.project.Manifests, s.project.Ledger.Store
	s.StoreFromEnv = a.env.Getenv("TRUEUP_LEDGER") != ""
	if s.CI, err = a.chooseCI(ctx, opts); err != nil {
		return nil, err
	}
	if err := s.open(ctx); err != nil {
		s.close()
		return nil, err
	}
	return s, nil
}

// chooseCI returns the service that the flags name, nil for none.
func (a *app) chooseCI(ctx context.Context, opts initOptions) (*scaffold.CI, error) {
	if opts.ci == "" || opts.ci == none {
		if opts.source != "" || opts.branch != "" {
			return nil, errors.New("--trueup and --branch need a CI service: add --ci github or --ci gitlab")
		}
		return nil, nil
	}
	if err := oneOf("--ci", opts.ci, ciChoices()); err != nil {
		return nil, fmt.Errorf("%w; for other services, see the commands in docs/ci.md", err)
	}
	p, err := a.findProject()
	if err != nil {
		return nil, err
	}
	return scaffold.NewCI(ctx, cmp.Or(p.Dir, a.dir()), opts.ci, opts.source, opts.branch)
}

// ownProject is the project that a folder is in, if it is in the same repository.
func (a *app) ownProject(ctx context.Context) (project.Project, error) {
	p, err := a.findProject()
	if err != nil || !p.Exists() || p.Dir == a.dir() {
		return p, err
	}
	repository, err := git.At(ctx, a.dir())
	if err != nil {
		return p, nil
	}
	top, _, err := repository.Top(ctx)
	if err != nil {
		return p, err
	}
	dir, err := filepath.EvalSymlinks(p.Dir)
	if err != nil {
		return p, err
	}
	if inside, err := filepath.Rel(top, dir); err != nil || !filepath.IsLocal(inside) {
		return project.Project{}, nil
	}
	return p, nil
}

// goOn completes a project: it adds what flags ask for, and what an earlier run did not finish.
func (s *setup) goOn(opts initOptions) error {
	p := s.project
	file := filepath.Join(p.Dir, project.File)
	for flag, values := range map[string][2]string{"workspace": {opts.workspace, p.Workspace.Name}, "uuid": {opts.uuid, p.Workspace.UUID}} {
		if values[0] != "" && values[0] != values[1] {
			return fmt.Errorf("--%s is %s, and %s says %s: edit that file, or remove the flag", flag, values[0], file, values[1])
		}
	}
	if s.app.global.sandbox {
		return noLedger(opts.ledger)
	}
	switch {
	case opts.ledger == "" || opts.ledger == none:
	case p.Ledger.Store == "":
		s.project.Ledger.Store = opts.ledger
	case opts.ledger != p.Ledger.Store:
		return fmt.Errorf("--ledger is %s, and %s names another: to move a ledger, see docs/ledger.md", opts.ledger, file)
	}
	if p.Ledger.ID == "" {
		s.Store = s.project.Ledger.Store
	}
	return s.app.checkStore(s.project, s.Store)
}

// noLedger refuses a ledger of the real platform for a sandbox.
func noLedger(asked string) error {
	if asked != "" && asked != none {
		return errors.New("--sandbox has its own ledger: remove --ledger. To add one for the real platform later, run trueup init --ledger STORE")
	}
	return nil
}

// begin finds out what a new project has.
func (s *setup) begin(ctx context.Context, opts *initOptions) error {
	a := s.app
	if a.global.sandbox {
		if err := noLedger(opts.ledger); err != nil {
			return err
		}
		opts.ledger = none
	}
	if err := a.newInterview(ctx, opts.yes).fill(opts); err != nil {
		return err
	}
	s.project = project.Project{Dir: a.dir(), Project: plan.Project{
		APIVersion: "trueup/v1", Kind: "Project", Manifests: []string{manifests},
		Workspace: kind.Workspace{Name: opts.workspace, UUID: opts.uuid},
	}}
	if opts.ledger != none {
		s.Store, s.project.Ledger.Store = opts.ledger, opts.ledger
	}
	if err := s.project.Check(); err != nil {
		return err
	}
	if !a.global.sandbox {
		if err := config.CheckPin(a.env.Getenv(config.WorkspacePin), s.project.Workspace); err != nil {
			return err
		}
	}
	return a.checkStore(s.project, s.Store)
}

// checkStore refuses a store that can't be one, before anything is done.
func (a *app) checkStore(p project.Project, store string) error {
	if store == "" {
		return nil
	}
	cfg := a.config().LedgerConfig(p)
	if cfg.Store != store {
		return fmt.Errorf("TRUEUP_LEDGER is set and overrides %s: unset it, or remove --ledger", store)
	}
	l, err := ledger.Open(context.Background(), cfg)
	if err != nil {
		return err
	}
	return l.Close()
}

// open opens the folders to write to.
func (s *setup) open(ctx context.Context) error {
	var err error
	if s.Root, err = os.OpenRoot(s.project.Dir); err != nil {
		return fmt.Errorf("%s: %w", s.project.Dir, files.WithoutPath(err))
	}
	top := s.project.Dir
	s.Folder = "."
	if repository, err := git.At(ctx, s.project.Dir); err == nil {
		if top, s.Folder, err = repository.Top(ctx); err != nil {
			return err
		}
	}
	if s.Top, err = os.OpenRoot(top); err != nil {
		return fmt.Errorf("%s: %w", top, files.WithoutPath(err))
	}
	return nil
}

// makeLedger creates the ledger, tests its store, and returns its id.
func (s *setup) makeLedger(ctx context.Context, adopt string) (string, error) {
	if s.Store == "" {
		return "", nil
	}
	w, err := s.app.enter(ctx, s.project, &manifest.Set{})
	if err != nil {
		return "", err
	}
	defer w.Close()
	id, err := s.app.makeLedger(ctx, s.project, w, adopt)
	if err != nil {
		return "", fmt.Errorf("nothing was written, because the ledger could not be created: %w", err)
	}
	cfg := w.Ledger
	s.notReady = func() error { return s.app.notReady(ctx, s.project, cfg, id) }
	return id, nil
}

// changes reports whether there is anything to do.
func (s *setup) changes() bool {
	return s.Store != "" || s.fromLive || slices.ContainsFunc(s.edits, func(e *scaffold.Edit) bool {
		return e.State == scaffold.ToWrite || e.State == scaffold.ToAdd
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

func (s *setup) preview(out report.Lines) error {
	err := out.Printf("In %s:\n", s.Top.Name())
	if s.Store != "" {
		err = errors.Join(err, out.Printf("  create the ledger %s, and test its store\n", s.Store))
	}
	for _, e := range s.edits {
		switch e.State {
		case files.Kept:
			err = errors.Join(err, out.Printf("  leave %s as it is: %s\n", e.Shown, e.Why))
		case scaffold.ToWrite, scaffold.ToAdd:
			err = errors.Join(err, out.Printf("  %s %s\n", e.State, e.Shown))
		}
	}
	if s.fromLive {
		err = errors.Join(err, out.Printf("  write manifests of what is live in workspace %s\n", s.Workspace.Name))
	}
	return err
}

// write does what was planned, and says it.
func (s *setup) write(id string) error {
	s.SetLedger(s.edits, id)
	for _, e := range s.edits {
		if err := e.Write(); err != nil {
			return fmt.Errorf("%s: %w", e.Shown, files.WithoutPath(err))
		}
	}
	return s.outcome(id)
}

// outcome says what was done to each file, and shows what those that were kept do not have.
func (s *setup) outcome(id string) error {
	out := s.app.out
	var err error
	if dir := s.project.Dir; dir != s.app.dir() {
		err = out.Printf("the project file is %s\n", dir)
	}
	var kept []string
	for _, e := range s.edits {
		err = errors.Join(err, out.Printf("%s %s\n", e.State, e.Shown))
		if e.State != files.Kept {
			continue
		}
		kept = append(kept, e.Shown)
		err = errors.Join(err, out.Printf("  %s\n", e.Why))
		if wanted := e.Wanted(); wanted != nil {
			err = errors.Join(err, out.Printf("\n"), out.Source(wanted), out.Printf("\n"))
		}
	}
	hasID := slices.ContainsFunc(s.edits, func(e *scaffold.Edit) bool {
		return e.Name == project.File && (e.State == files.Written || e.State == scaffold.Added)
	})
	if id != "" && !hasID {
		err = errors.Join(err, out.Printf("now write its id below ledger: in trueup.yaml, so that trueup never uses another ledger by mistake:\n\n  id: %s\n", id))
	}
	if err == nil && len(kept) > 0 {
		err = fmt.Errorf("unchanged, because it exists with other content: %s. Below is what init would write: add that, or remove the file and run init again", strings.Join(kept, ", "))
	}
	return err
}

// next says how to go on.
func (s *setup) next() error {
	out := s.app.out
	var err error
	switch {
	case !s.IsNew:
	case s.app.global.sandbox:
		err = out.Printf("Next: run trueup plan --sandbox, and git add the new files.\n")
	case s.app.knowsAddress():
		err = out.Printf("Next: run trueup plan, and git add the new files.\n")
	default:
		err = out.Printf("Next: git add the new files. Set the addresses and tokens of your platform (docs/configuration.md), and test them with trueup doctor. Then run trueup plan.\n")
	}
	if s.CI == nil {
		return err
	}
	if strings.HasPrefix(s.Store, "file:") {
		err = errors.Join(err, out.Printf("The ledger is on this machine only, so CI can't use it: docs/ledger.md has other stores.\n"))
	}
	store := cmp.Or(s.Store, s.LedgerStore)
	if strings.HasPrefix(store, "file:") || store == "" {
		store = "the store of a ledger that CI can use, once you have one"
	}
	for line := range strings.Lines(s.CI.Next(s.Workspace.UUID, store)) {
		err = errors.Join(err, out.Printf("%s\n", strings.TrimSuffix(line, "\n")))
	}
	return err
}
