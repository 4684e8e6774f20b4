package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/google/uuid"

	"trueup/internal/files"
	"trueup/internal/git"
	"trueup/internal/kind"
	"trueup/internal/ledger"
	"trueup/internal/manifest"
	"trueup/internal/sandbox"
)

// The stores that init offers, and the folder that it gives manifests.
const (
	gitLedger  = "git:refs/trueup/ledger"
	fileLedger = "file:.trueup/ledger"
	manifests  = "manifests"
)

// setup is what a repository is to have.
type setup struct {
	app *app
	// project is trueup.yaml as it is, or is to be.
	project project
	isNew   bool
	// root is the project's folder, and top the repository's topmost, or the same
	// where there is none; folder is the name of the first in the second.
	root, top *os.Root
	folder    string
	// store is that of a ledger which is to be made, "" for none.
	store     string
	manifests string
	editor    bool
	ci        *ci
	edits     []*edit
	// notReady says why the ledger that was made can't be used; nil where none was made.
	notReady func() error
}

func (s *setup) close() {
	for _, root := range []*os.Root{s.root, s.top} {
		if root != nil {
			_ = root.Close() // nothing was read or written by it
		}
	}
}

// newSetup finds out what is there and what is wanted.
func (a *app) newSetup(ctx context.Context, opts initOptions) (*setup, error) {
	s := &setup{app: a, manifests: cmp.Or(opts.manifests, none), editor: opts.editor == vsCode}
	var err error
	if s.project, err = a.ownProject(ctx); err != nil {
		return nil, err
	}
	if s.isNew = !s.project.exists(); s.isNew {
		err = s.begin(ctx, &opts)
	} else {
		err = s.goOn(opts)
	}
	if err != nil {
		return nil, err
	}
	if opts.adopt != "" && s.store == "" {
		return nil, errors.New("--adopt is for a new ledger, and this project has one: use trueup ledger init --adopt instead")
	}
	if s.ci, err = a.chooseCI(ctx, opts); err != nil {
		return nil, err
	}
	if err := s.open(ctx); err != nil {
		s.close()
		return nil, err
	}
	return s, nil
}

// ownProject is the project that a folder is in, of the same repository: one
// above that is another's.
func (a *app) ownProject(ctx context.Context) (project, error) {
	p, err := a.findProject()
	if err != nil || !p.exists() || p.dir == a.dir() {
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
	dir, err := filepath.EvalSymlinks(p.dir)
	if err != nil {
		return p, err
	}
	if inside, err := filepath.Rel(top, dir); err != nil || !filepath.IsLocal(inside) {
		return project{}, nil
	}
	return p, nil
}

// goOn takes the project that is there, to which only what flags ask for and
// what an earlier run did not finish is added.
func (s *setup) goOn(opts initOptions) error {
	p := s.project
	for flag, values := range map[string][2]string{
		"workspace": {opts.workspace, p.Workspace.Name},
		"uuid":      {opts.uuid, p.Workspace.UUID},
	} {
		if values[0] != "" && values[0] != values[1] {
			return fmt.Errorf("--%s is %s, and %s says %s: edit that file, or remove the flag",
				flag, values[0], filepath.Join(p.dir, projectFile), values[1])
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
		return fmt.Errorf("--ledger is %s, and %s names another: to move a ledger, see docs/ledger.md",
			opts.ledger, filepath.Join(p.dir, projectFile))
	}
	if p.Ledger.ID == "" {
		s.store = s.project.Ledger.Store
	}
	return s.checkStore()
}

// noLedger refuses to give a sandbox a ledger of the real world (docs/design.md 0.13).
func noLedger(asked string) error {
	if asked != "" && asked != none {
		return errors.New("--sandbox has its own ledger: remove --ledger. To add one for the real platform later, run trueup init --ledger STORE")
	}
	return nil
}

// begin finds out what a new project is of.
func (s *setup) begin(ctx context.Context, opts *initOptions) error {
	a := s.app
	if a.global.sandbox {
		if err := noLedger(opts.ledger); err != nil {
			return err
		}
		opts.ledger = none
	}
	in := a.newInterview(ctx, opts.yes)
	if err := in.fill(opts); err != nil {
		return err
	}
	s.manifests = opts.manifests
	s.project = project{
		APIVersion: "trueup/v1", Kind: "Project", Manifests: []string{manifests}, dir: a.dir(),
		Workspace: kind.Workspace{Name: opts.workspace, UUID: opts.uuid},
	}
	if opts.ledger != none {
		s.store, s.project.Ledger.Store = opts.ledger, opts.ledger
	}
	if err := s.project.check(); err != nil {
		return err
	}
	if !a.global.sandbox {
		if err := pinned(a.env.Getenv(workspacePin), s.project.Workspace); err != nil {
			return err
		}
	}
	return s.checkStore()
}

// checkStore refuses a store before anything is done that can't be one.
func (s *setup) checkStore() error {
	if s.store == "" {
		return nil
	}
	cfg := s.app.ledgerConfig(s.project)
	if cfg.Store != s.store {
		return fmt.Errorf("TRUEUP_LEDGER is set and overrides %s: unset it, or remove --ledger", s.store)
	}
	l, err := ledger.Open(context.Background(), cfg)
	if err != nil {
		return err
	}
	return l.Close()
}

// open opens the folders that are written to.
func (s *setup) open(ctx context.Context) error {
	var err error
	if s.root, err = os.OpenRoot(s.project.dir); err != nil {
		return fmt.Errorf("%s: %w", s.project.dir, files.WithoutPath(err))
	}
	top := s.project.dir
	s.folder = "."
	if repository, err := git.At(ctx, s.project.dir); err == nil {
		if top, s.folder, err = repository.Top(ctx); err != nil {
			return err
		}
	}
	if s.top, err = os.OpenRoot(top); err != nil {
		return fmt.Errorf("%s: %w", top, files.WithoutPath(err))
	}
	return nil
}

// makeLedger makes the ledger, proves its store, and returns its id.
func (s *setup) makeLedger(ctx context.Context, adopt string) (string, error) {
	if s.store == "" {
		return "", nil
	}
	w, err := s.app.enter(ctx, s.project, &manifest.Set{})
	if err != nil {
		return "", err
	}
	defer w.close()
	id, err := s.app.makeLedger(ctx, s.project, w, adopt)
	if err != nil {
		return "", fmt.Errorf("nothing was written, because the ledger could not be created: %w", err)
	}
	cfg := w.ledger
	s.notReady = func() error { return s.app.notReady(ctx, s.project, cfg, id) }
	return id, nil
}

// sandboxUUID is the identifier of a workspace of the sandbox.
func sandboxUUID(name string) string {
	if name == sandbox.WorkspaceName {
		return sandbox.WorkspaceUUID
	}
	return uuid.NewSHA1(uuid.NameSpaceURL, []byte(sandboxOrigin+"/"+name)).String()
}
