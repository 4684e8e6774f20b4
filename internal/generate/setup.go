package generate

import (
	"cmp"
	"context"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"trueup/internal/config"
	"trueup/internal/diag"
	"trueup/internal/files"
	"trueup/internal/git"
	"trueup/internal/kind"
	"trueup/internal/ledger"
)

// Values of the fields of Options.
const (
	None         = "none"
	FromLive     = "pull"
	FromExamples = "examples"
	GitLedger    = "git:refs/trueup/ledger"
)

// SetupChoices are the choices of the user.
type SetupChoices struct {
	Workspace, UUID string
	Ledger          string // the store of a ledger to create, or None
	Manifests       string // FromLive, FromExamples or None
	Adopt           string // which requests were sent before, for the new ledger
	// CI is the name of one of CIServices, or None. Source is the repository to build trueup from. Branch is
	// the branch that CI applies; if empty, the remote's default branch, or the one that is checked out.
	CI, Source, Branch string
	Agents             bool // adds AGENTS.md
	Yes                bool // nobody is asked
}

// Setup is a project and the edits to its files.
type Setup struct {
	Project      config.Project // the project as it will be
	IsNew        bool
	Store, ID    string   // Store is that of a ledger to create, empty for none, and ID its id once it is created
	StoreFromEnv bool     // the environment names the store, which then stays out of the file
	Waits        bool     // the store is on a git remote that does not exist yet: the file gets no ID
	Root, Top    *os.Root // Root is the directory of the project. Top is that of the repository.
	Remote       string   // Remote is the address of the remote origin. It may hold a password.
	InGit        bool     // reports whether there is a repository
	FromLive     bool     // reports whether to write manifests of live objects
	Edits        []*FileEdit
	next         string // what to do for CI

	cfg        config.Options
	repository git.Repository
	gitErr     error
	folder     string // Root below Top
}

// OpenSetup returns the Setup of the project near, or of a new project in cfg.Dir() if near does not exist or
// is outside the repository of cfg.Dir(). Call Close.
func OpenSetup(ctx context.Context, cfg config.Options, near config.Project) (*Setup, error) {
	s := &Setup{Project: near, cfg: cfg, folder: "."}
	top := ""
	if s.repository, s.gitErr = git.OpenRepository(ctx, cfg.Dir()); s.gitErr == nil {
		var err error
		if top, s.folder, err = s.repository.TopFolder(ctx); err != nil {
			return nil, err
		}
		s.InGit, s.Remote = true, s.repository.RemoteURL(ctx, "origin")
		if near.Exists() && near.Dir != cfg.Dir() {
			if inside := files.ShownPath(top, config.ResolveLinks(near.Dir)); filepath.IsLocal(inside) {
				s.folder = filepath.ToSlash(inside)
			} else {
				s.Project = config.Project{}
			}
		}
	}
	if s.IsNew = !s.Project.Exists(); s.IsNew {
		s.Project.Dir = cfg.Dir()
	}
	s.StoreFromEnv = cfg.Getenv("TRUEUP_LEDGER") != ""
	var err error
	if s.Root, err = os.OpenRoot(s.Project.Dir); err == nil {
		s.Top, err = os.OpenRoot(cmp.Or(top, s.Project.Dir))
	}
	if err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

// Close closes the folders.
func (s *Setup) Close() {
	for _, root := range []*os.Root{s.Root, s.Top} {
		if root != nil {
			_ = root.Close() // nothing is written through it
		}
	}
}

// ProposeLedger returns the store to propose: TRUEUP_LEDGER if set, or else a git ref, which all runs can share.
func (s *Setup) ProposeLedger() string { return cmp.Or(s.cfg.Getenv("TRUEUP_LEDGER"), GitLedger) }

// ProposeManifests returns the choice to propose: None if project.Manifests exists, FromLive if trueup knows an
// address of the platform, or else FromExamples.
func (s *Setup) ProposeManifests() string {
	if _, err := s.Root.Lstat(config.ManifestsDir); err == nil {
		return None
	}
	if s.cfg.Sandbox || s.knowsAddress() {
		return FromLive
	}
	return FromExamples
}

func (s *Setup) knowsAddress() bool {
	settings, err := s.cfg.ResolveSettings(s.Project)
	return err == nil && slices.ContainsFunc(kind.Areas(), func(area kind.Area) bool { return settings.URLs[area].Value != "" })
}

// CheckStore returns an error if trueup can't open store as a ledger, or if TRUEUP_LEDGER overrides it.
func (s *Setup) CheckStore(store string) error {
	if store == "" || store == None {
		return nil
	}
	p := s.Project
	p.Ledger.Store = store
	cfg := s.cfg.LedgerConfig(p)
	if cfg.Store != store {
		return fmt.Errorf("TRUEUP_LEDGER is set and overrides %s: unset it, or remove --ledger", store)
	}
	l, err := ledger.Open(context.Background(), cfg)
	if err != nil {
		return err
	}
	return l.Close()
}

// ChooseOptions checks the options against the existing project, and plans the edits.
func (s *Setup) ChooseOptions(ctx context.Context, o SetupChoices) error {
	choose := s.completeProject
	if s.IsNew {
		choose = s.newProject
	}
	if err := choose(o); err != nil {
		return err
	}
	if err := s.CheckStore(s.Store); err != nil {
		return err
	}
	s.FromLive = o.Manifests == FromLive
	if remote := ledger.GitRemote(s.Store); remote != "" && !s.StoreFromEnv { // which may not exist yet
		s.Waits = !s.InGit || s.repository.RemoteURL(ctx, remote) == ""
	}
	switch {
	case o.Adopt != "" && s.Store == "":
		return errors.New("--adopt is for a new ledger, and this project has one: use trueup ledger init --adopt instead")
	case o.Adopt != "" && s.Waits:
		return fmt.Errorf("--adopt is for a ledger that exists, and this one waits for the git remote %s: %s", ledger.GitRemote(s.Store), s.AddRemoteAdvice())
	}
	return s.planEdits(ctx, o)
}

// AddRemoteAdvice says how to create a ledger that waits for its remote.
func (s *Setup) AddRemoteAdvice() string {
	return fmt.Sprintf("add it (git remote add %s URL), then run trueup init again", ledger.GitRemote(s.Store))
}

func (s *Setup) newProject(o SetupChoices) error {
	p := &s.Project
	p.APIVersion, p.Kind, p.Manifests = "trueup/v1", "Project", []string{config.ManifestsDir}
	p.Workspace = kind.Workspace{Name: o.Workspace, UUID: o.UUID}
	if o.Ledger != None {
		s.Store, p.Ledger.Store = o.Ledger, o.Ledger
	}
	err := p.CheckSchema()
	if err == nil && !s.cfg.Sandbox {
		pin, wrong := s.cfg.FindPin(*p)
		err = cmp.Or(wrong, pin.CheckWorkspace(p.Workspace))
	}
	return err
}

// completeProject adds to an existing project what the options ask for, and what an earlier run did not finish.
func (s *Setup) completeProject(o SetupChoices) error {
	p := &s.Project
	file := filepath.Join(p.Dir, config.ProjectFile)
	for flag, values := range map[string][2]string{"workspace": {o.Workspace, p.Workspace.Name}, "uuid": {o.UUID, p.Workspace.UUID}} {
		if values[0] != "" && values[0] != values[1] {
			return fmt.Errorf("--%s is %s, and %s says %s: edit that file, or remove the flag", flag, values[0], file, values[1])
		}
	}
	if s.cfg.Sandbox {
		return nil
	}
	if o.Ledger != "" && o.Ledger != None {
		if was := p.Ledger.Store; was != "" && was != o.Ledger {
			return fmt.Errorf("--ledger is %s, and %s names another: to move it, run trueup ledger export, change ledger.store, and run trueup ledger import", o.Ledger, file)
		}
		p.Ledger.Store = o.Ledger
	}
	if p.Ledger.ID == "" {
		s.Store = p.Ledger.Store
	}
	return nil
}

// CreatesLedger reports whether there is a ledger to create now.
func (s *Setup) CreatesLedger() bool { return s.Store != "" && !s.Waits }

// LacksLedger reports whether the project names no ledger.
func (s *Setup) LacksLedger() bool {
	return !s.cfg.Sandbox && s.cfg.LedgerConfig(s.Project).Store == ""
}

// HasChanges reports whether there is anything to do.
func (s *Setup) HasChanges() bool {
	return s.CreatesLedger() || s.FromLive || slices.ContainsFunc(s.Edits, (*FileEdit).isPlanned)
}

// WriteEdits makes the edits. It writes id, that of the new ledger, to the project file.
func (s *Setup) WriteEdits(id string) error {
	s.ID = id
	for _, e := range s.Edits {
		if err := e.writeFile(); err != nil {
			return fmt.Errorf("%s: %w", e.Shown, files.WithoutPath(err))
		}
	}
	return nil
}

// NextSteps returns the next steps of the user, to show after WriteEdits.
func (s *Setup) NextSteps() string {
	switch {
	case !s.IsNew && s.ID != "" && !s.FromLive:
		return "Next: git commit trueup.yaml, and run trueup pull: it records in the new ledger that git owns what is live.\n" + s.next
	case !s.IsNew:
		return s.next
	case s.cfg.Sandbox:
		return "Next: run trueup plan --sandbox, and git add the new files.\n" + s.next
	case s.knowsAddress():
		return "Next: run trueup plan, and git add the new files.\n" + s.next
	}
	return "Next: git add the new files. Set the addresses and tokens of your platform (trueup help lists the variables), and test them with trueup doctor. Then run trueup plan.\n" + s.next
}

// ciFiles are the files with which a repository calls trueup in CI. In them, OWNER/trueup, COMMIT, the folder "."
// and the branch "main" stand for what init writes. next.txt says what to do when the files are there.
//
//go:embed ci/github ci/gitlab ci/gitlab/.gitlab-ci.yml
var ciFiles embed.FS

// agentsText has rules for coding agents in a repository of manifests.
//
//go:embed agents.md
var agentsText []byte

// CIService is a CI service.
type CIService struct {
	Example string // the form of the repository that hosts trueup, with a commit
	source  string
	target  string // the folder of the files in a repository
}

// CIServices returns all services, by their names.
func CIServices() map[string]CIService {
	return map[string]CIService{
		"github": {"OWNER/NAME@COMMIT", `^([\w.-]+/[\w.-]+)@([0-9a-f]{40})$`, ".github/workflows"},
		"gitlab": {"GROUP/NAME@COMMIT", `^([\w.-]+(?:/[\w.-]+)+)@([0-9a-f]{40})$`, "."},
	}
}

func (s CIService) parseSource(text string) []string {
	return regexp.MustCompile(s.source).FindStringSubmatch(text)
}

// CheckSource refuses a text that does not name a repository of the service, and a commit.
func (s CIService) CheckSource(text string) error {
	if s.parseSource(text) == nil {
		return fmt.Errorf("%.80q is not of the form %s with a commit of 40 digits", text, s.Example)
	}
	return nil
}

// addCI adds the files with which CI calls trueup, and says how to go on.
func (s *Setup) addCI(ctx context.Context, o SetupChoices) error {
	if o.CI == "" || o.CI == None {
		if o.Source != "" || o.Branch != "" {
			return errors.New("--trueup and --branch need a CI service: add --ci github or --ci gitlab")
		}
		return nil
	}
	service := CIServices()[o.CI]
	parts := service.parseSource(o.Source)
	if parts == nil {
		return fmt.Errorf("--trueup is %q: write %s, the repository of trueup and the whole commit to build it from (git rev-parse HEAD in a clone of it). CI runs that commit with your tokens, so there is no default",
			o.Source, service.Example)
	}
	branch, err := s.chooseBranch(ctx, o.Branch)
	if err != nil {
		return err
	}
	for _, name := range []string{s.folder, branch} {
		if !isPlain(name) {
			return fmt.Errorf("the name %q has other characters than letters, digits and . _ / -: rename it, or write the CI files by hand", name)
		}
	}
	fill := strings.NewReplacer("OWNER/trueup", parts[1], "COMMIT", parts[2],
		`directory: "."`, fmt.Sprintf("directory: %q", s.folder), `branches: ["main"]`, fmt.Sprintf("branches: [%q]", branch), "refs/heads/main", "refs/heads/"+branch)
	names, _ := fs.Glob(ciFiles, "ci/"+o.CI+"/*.yml") // they are part of the program
	for _, name := range names {
		text, _ := ciFiles.ReadFile(name)
		s.addEdit(s.Top, path.Join(service.target, path.Base(name)), newFileChange([]byte(fill.Replace(string(text)))))
	}
	next, _ := ciFiles.ReadFile("ci/" + o.CI + "/next.txt")
	s.next = s.nextStepsForCI(branch, string(next))
	return nil
}

// chooseBranch returns the branch that CI applies.
func (s *Setup) chooseBranch(ctx context.Context, branch string) (string, error) {
	switch {
	case errors.Is(s.gitErr, git.ErrNoRepository):
		return "", fmt.Errorf("%s is not in a git repository, and files for CI belong at the top of one: run git init or git clone", s.Project.Dir)
	case s.gitErr != nil:
		return "", fmt.Errorf("%w: %s", s.gitErr, git.Advice(s.gitErr))
	case branch != "":
		return branch, nil
	}
	name, err := s.repository.DefaultBranch(ctx)
	if branch = strings.TrimPrefix(name, "origin/"); branch == "" && err == nil {
		branch = s.repository.CurrentBranch(ctx)
	}
	if branch == "" && err == nil {
		err = errors.New("trueup does not know which branch to apply: add --branch BRANCH")
	}
	return branch, err
}

// nextStepsForCI fills the project's own BRANCH, UUID and STORE into a text about the next steps.
func (s *Setup) nextStepsForCI(branch, text string) string {
	store, note := s.Project.Ledger.Store, ""
	if strings.HasPrefix(s.Store, "file:") {
		note = "The ledger is on this machine only, so CI can't use it: move it to git:REF, s3://BUCKET/PREFIX or postgres:NAME.\n"
	}
	if store == "" || strings.HasPrefix(store, "file:") {
		store = "the store of a ledger that CI can use, once you have one"
	}
	return note + strings.NewReplacer("BRANCH", branch, "UUID", s.Project.Workspace.UUID, "STORE", store).Replace(text)
}

// plainName matches a name that needs no care in YAML, in an expression of a host or in a shell.
var plainName = diag.Pattern(`^[a-zA-Z0-9_./-]+$`)

func isPlain(name string) bool { return plainName().MatchString(name) }
