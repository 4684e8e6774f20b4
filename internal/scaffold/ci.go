package scaffold

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"

	"trueup/internal/files"
	"trueup/internal/git"
)

// callers are the files with which a repository calls trueup in CI. In them, OWNER/trueup, COMMIT,
// the folder "." and the branch "main" stand for what init writes.
//
//go:embed ci/github/*.yml ci/gitlab/.gitlab-ci.yml
var callers embed.FS

// Service is a CI service.
type Service struct {
	// Example is the form of the repository that hosts trueup, with a commit.
	Example string
	source  *regexp.Regexp
	// folder is that of callers, and target that of their files in a repository.
	folder, target string
	next           string
}

func services() map[string]Service {
	return map[string]Service{
		"github": {
			folder: "ci/github", target: ".github/workflows", Example: "OWNER/NAME@COMMIT", next: nextOnGitHub,
			source: regexp.MustCompile(`^([\w.-]+/[\w.-]+)@([0-9a-f]{40})$`),
		},
		"gitlab": {
			folder: "ci/gitlab", target: ".", Example: "GROUP/NAME@COMMIT", next: nextOnGitLab,
			source: regexp.MustCompile(`^([\w.-]+(?:/[\w.-]+)+)@([0-9a-f]{40})$`),
		},
	}
}

// ServiceNamed returns a service, the zero value for none.
func ServiceNamed(name string) Service { return services()[name] }

// ServiceNames are the names of all services.
func ServiceNames() []string { return slices.Sorted(maps.Keys(services())) }

// IsSource reports whether a text names a repository of the service, and a commit.
func (s Service) IsSource(text string) bool { return s.source.MatchString(text) }

// What a person does when the files are there. BRANCH, UUID and STORE stand for the project's own.
const (
	nextOnGitHub = `Next, in the settings of the repository on the host:
  1. For plans, in the repository: the variables TRUEUP_DELIVERY_READ_URL and TRUEUP_COMPUTE_READ_URL, and the secrets
     TRUEUP_DELIVERY_READ_TOKEN and TRUEUP_COMPUTE_READ_TOKEN, of tokens that may only read.
  2. For apply, an environment trueup, for the branch BRANCH and no other. What is pushed to BRANCH is applied;
     --branch chooses another. Set in it the secrets TRUEUP_DELIVERY_TOKEN and TRUEUP_COMPUTE_TOKEN, and the variables
     TRUEUP_DELIVERY_URL and TRUEUP_COMPUTE_URL, and
     TRUEUP_WORKSPACE  UUID
     TRUEUP_LEDGER     STORE
Skip an area that you have no manifests for. Then commit the files, and open a pull request.
`
	nextOnGitLab = `Next, in Settings > CI/CD of the project:
  1. For plans, the variables TRUEUP_DELIVERY_READ_URL and TRUEUP_COMPUTE_READ_URL, and masked
     TRUEUP_DELIVERY_READ_TOKEN and TRUEUP_COMPUTE_READ_TOKEN, of tokens that may only read.
  2. For apply, protected and with the environment scope trueup: masked TRUEUP_DELIVERY_TOKEN and
     TRUEUP_COMPUTE_TOKEN, and TRUEUP_DELIVERY_URL and TRUEUP_COMPUTE_URL, and
     TRUEUP_WORKSPACE  UUID
     TRUEUP_LEDGER     STORE
  3. A masked variable TRUEUP_FORGE_TOKEN, of a project access token with the scope api, for the comment.
  4. Minimum role to use pipeline variables: no one allowed.
  5. A schedule for the default branch, every six hours.
Skip an area that you have no manifests for. Then commit the file, and open a merge request.
`
)

// CI is a service that a repository gets files for.
type CI struct {
	Service
	branch string
	// fill replaces what the files leave open.
	fill *strings.Replacer
}

// NewCI returns the files of a service for the project in dir. source is where trueup is hosted.
// Without branch it is the remote's default branch, or the one that is checked out.
func NewCI(ctx context.Context, dir, service, source, branch string) (*CI, error) {
	s := services()[service]
	parts := s.source.FindStringSubmatch(source)
	if parts == nil {
		return nil, fmt.Errorf("--trueup is %q: write %s, the repository of trueup and the whole commit to build it from (git rev-parse HEAD in a clone of it). CI runs that commit with your tokens, so there is no default",
			source, s.Example)
	}
	repository, err := git.At(ctx, dir)
	if errors.Is(err, git.ErrNoRepository) {
		return nil, fmt.Errorf("%s is not in a git repository, and files for CI belong at the top of one: run git init or git clone", dir)
	}
	if err != nil {
		return nil, err
	}
	_, folder, err := repository.Top(ctx)
	if err != nil {
		return nil, err
	}
	if branch == "" {
		if branch, err = repository.DefaultBranch(ctx); err != nil {
			return nil, err
		}
		if branch = strings.TrimPrefix(branch, "origin/"); branch == "" {
			branch = repository.Branch(ctx)
		}
	}
	if branch == "" {
		return nil, errors.New("trueup does not know which branch to apply: add --branch BRANCH")
	}
	for _, name := range []string{folder, branch} {
		if !isPlain(name) {
			return nil, fmt.Errorf("the name %q is not of letters, digits and . _ / - alone: write the files by hand (docs/ci.md)", name)
		}
	}
	return &CI{Service: s, branch: branch, fill: strings.NewReplacer("OWNER/trueup", parts[1], "COMMIT", parts[2],
		`directory: "."`, fmt.Sprintf("directory: %q", folder), `branches: ["main"]`, fmt.Sprintf("branches: [%q]", branch))}, nil
}

// isPlain reports whether a name needs no care in YAML, in an expression of a host or in a shell.
func isPlain(name string) bool {
	other := func(r rune) bool {
		isWord := r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9'
		return !isWord && !strings.ContainsRune("_./-", r)
	}
	return name != "" && !strings.ContainsFunc(name, other)
}

// Next says what a person does when the files are there.
func (c *CI) Next(uuid, store string) string {
	return strings.NewReplacer("BRANCH", c.branch, "UUID", uuid, "STORE", store).Replace(c.next)
}

// files are those that a repository gets; without a service it gets none.
func (c *CI) files() ([]files.File, error) {
	if c == nil {
		return nil, nil
	}
	entries, err := callers.ReadDir(c.folder)
	if err != nil {
		return nil, err
	}
	var list []files.File
	for _, e := range entries {
		text, err := callers.ReadFile(path.Join(c.folder, e.Name()))
		if err != nil {
			return nil, err
		}
		list = append(list, files.File{Name: path.Join(c.target, e.Name()), Content: []byte(c.fill.Replace(string(text)))})
	}
	return list, nil
}
