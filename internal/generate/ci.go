package generate

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"strings"
	"sync"

	"trueup/internal/git"
)

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
	Name    string
	Example string // the form of the repository that hosts trueup, with a commit
	source  string
	target  string // the folder of the files in a repository
}

// AllCIServices returns all services.
func AllCIServices() []CIService {
	return []CIService{
		{"github", "OWNER/NAME@COMMIT", `^([\w.-]+/[\w.-]+)@([0-9a-f]{40})$`, ".github/workflows"},
		{"gitlab", "GROUP/NAME@COMMIT", `^([\w.-]+(?:/[\w.-]+)+)@([0-9a-f]{40})$`, "."},
	}
}

// CIServiceNamed returns a service, the zero value for none.
func CIServiceNamed(name string) CIService {
	for _, s := range AllCIServices() {
		if s.Name == name {
			return s
		}
	}
	return CIService{}
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
	service := CIServiceNamed(o.CI)
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
	names, err := fs.Glob(ciFiles, "ci/"+o.CI+"/*.yml")
	for _, name := range names {
		text, rerr := ciFiles.ReadFile(name)
		s.addEdit(s.Top, path.Join(service.target, path.Base(name)), newFileChange([]byte(fill.Replace(string(text)))))
		err = errors.Join(err, rerr)
	}
	next, nerr := ciFiles.ReadFile("ci/" + o.CI + "/next.txt")
	s.next = s.nextStepsForCI(branch, string(next))
	return errors.Join(err, nerr)
}

// chooseBranch returns the branch that CI applies.
func (s *Setup) chooseBranch(ctx context.Context, branch string) (string, error) {
	switch {
	case errors.Is(s.gitErr, git.ErrNoRepository):
		return "", fmt.Errorf("%s is not in a git repository, and files for CI belong at the top of one: run git init or git clone", s.Project.Dir)
	case s.gitErr != nil || branch != "":
		return branch, s.gitErr
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
	return note + strings.NewReplacer("BRANCH", branch, "UUID", s.Workspace.UUID, "STORE", store).Replace(text)
}

// plainName matches a name that needs no care in YAML, in an expression of a host or in a shell.
var plainName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[a-zA-Z0-9_./-]+$`) })

func isPlain(name string) bool { return plainName().MatchString(name) }
