package scaffold

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"strings"

	"trueup/internal/git"
)

// ciFiles are the files with which a repository calls trueup in CI. In them, OWNER/trueup, COMMIT, the folder "."
// and the branch "main" stand for what init writes. next.txt tells a person what to do when the files are there.
//
//go:embed ci/github ci/gitlab ci/gitlab/.gitlab-ci.yml
var ciFiles embed.FS

// Service is a CI service.
type Service struct {
	Name    string
	Example string // the form of the repository that hosts trueup, with a commit
	source  string
	target  string // the folder of the files in a repository
}

// Services returns all services.
func Services() []Service {
	return []Service{
		{"github", "OWNER/NAME@COMMIT", `^([\w.-]+/[\w.-]+)@([0-9a-f]{40})$`, ".github/workflows"},
		{"gitlab", "GROUP/NAME@COMMIT", `^([\w.-]+(?:/[\w.-]+)+)@([0-9a-f]{40})$`, "."},
	}
}

// ServiceNamed returns a service, the zero value for none.
func ServiceNamed(name string) Service {
	for _, s := range Services() {
		if s.Name == name {
			return s
		}
	}
	return Service{}
}

func (s Service) parseSource(text string) []string {
	return regexp.MustCompile(s.source).FindStringSubmatch(text)
}

// CheckSource refuses a text that does not name a repository of the service, and a commit.
func (s Service) CheckSource(text string) error {
	if s.parseSource(text) == nil {
		return fmt.Errorf("%.80q is not of the form %s with a commit of 40 digits", text, s.Example)
	}
	return nil
}

// caller makes the files with which a repository calls trueup.
type caller struct {
	Service
	branch string
	// next tells a person how to go on. BRANCH, UUID and STORE stand for the project's own.
	next string
	fill *strings.Replacer // replaces what the files leave open
}

// newCaller returns the files for the service of the options, nil for none.
func (s *Setup) newCaller(ctx context.Context, o Options) (*caller, error) {
	if o.CI == "" || o.CI == None {
		if o.Source != "" || o.Branch != "" {
			return nil, errors.New("--trueup and --branch need a CI service: add --ci github or --ci gitlab")
		}
		return nil, nil
	}
	service := ServiceNamed(o.CI)
	parts := service.parseSource(o.Source)
	if parts == nil {
		return nil, fmt.Errorf("--trueup is %q: write %s, the repository of trueup and the whole commit to build it from (git rev-parse HEAD in a clone of it). CI runs that commit with your tokens, so there is no default",
			o.Source, service.Example)
	}
	if errors.Is(s.gitErr, git.ErrNoRepository) {
		return nil, fmt.Errorf("%s is not in a git repository, and files for CI belong at the top of one: run git init or git clone", s.Project.Dir)
	}
	if s.gitErr != nil {
		return nil, s.gitErr
	}
	branch, err := s.chooseBranch(ctx, o.Branch)
	if err != nil {
		return nil, err
	}
	for _, name := range []string{s.folder, branch} {
		if !isPlain(name) {
			return nil, fmt.Errorf("the name %q is not of letters, digits and . _ / - alone: write the files by hand (docs/ci.md)", name)
		}
	}
	next, err := ciFiles.ReadFile("ci/" + o.CI + "/next.txt")
	return &caller{service, branch, string(next), strings.NewReplacer("OWNER/trueup", parts[1], "COMMIT", parts[2],
		`directory: "."`, fmt.Sprintf("directory: %q", s.folder), `branches: ["main"]`, fmt.Sprintf("branches: [%q]", branch))}, err
}

func (s *Setup) chooseBranch(ctx context.Context, branch string) (string, error) {
	if branch != "" {
		return branch, nil
	}
	name, err := s.repository.DefaultBranch(ctx)
	if branch = strings.TrimPrefix(name, "origin/"); branch == "" && err == nil {
		branch = s.repository.Branch(ctx)
	}
	if branch == "" && err == nil {
		err = errors.New("trueup does not know which branch to apply: add --branch BRANCH")
	}
	return branch, err
}

func (c *caller) files(add func(name string, text []byte)) error {
	if c == nil {
		return nil
	}
	names, err := fs.Glob(ciFiles, "ci/"+c.Name+"/*.yml")
	for _, name := range names {
		text, rerr := ciFiles.ReadFile(name)
		add(path.Join(c.target, path.Base(name)), []byte(c.fill.Replace(string(text))))
		err = errors.Join(err, rerr)
	}
	return err
}

// isPlain reports whether a name needs no care in YAML, in an expression of a host or in a shell.
func isPlain(name string) bool {
	other := func(r rune) bool {
		isWord := r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9'
		return !isWord && !strings.ContainsRune("_./-", r)
	}
	return name != "" && !strings.ContainsFunc(name, other)
}
