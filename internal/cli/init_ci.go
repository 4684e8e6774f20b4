package cli

import (
	"cmp"
	"context"
	"embed"
	"errors"
	"fmt"
	"path"
	"regexp"
	"strings"
	"sync"

	"trueup/internal/files"
	"trueup/internal/git"
)

// callers are the files with which a repository calls what trueup has for a CI
// service. Those of docs/ci.md are the same; OWNER/trueup, COMMIT, the folder "."
// and the branch "main" stand for what init writes in their place.
//
//go:embed ci/github/*.yml ci/gitlab/.gitlab-ci.yml
var callers embed.FS

// service is a CI service.
type service struct {
	// folder of callers, and where its files go in a repository.
	folder, target string
	// source is the form of the repository that hosts trueup, and its example.
	source  *regexp.Regexp
	example string
	// next is what a person does then.
	next string
}

// services are those that init writes files for.
func services() map[string]service {
	return map[string]service{
		"github": {
			folder: "ci/github", target: ".github/workflows", example: "OWNER/NAME@COMMIT", next: nextOnGitHub,
			source: regexp.MustCompile(`^([\w.-]+/[\w.-]+)@([0-9a-f]{40})$`),
		},
		"gitlab": {
			folder: "ci/gitlab", target: ".", example: "GROUP/NAME@COMMIT", next: nextOnGitLab,
			source: regexp.MustCompile(`^([\w.-]+(?:/[\w.-]+)+)@([0-9a-f]{40})$`),
		},
	}
}

// What a person does when the files are there (docs/ci.md). BRANCH, UUID and STORE
// stand for the project's own.
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

// ci is the service that files are written for.
type ci struct {
	service
	place ciPlace
	// fill puts in what the files leave open.
	fill *strings.Replacer
}

// chooseCI returns what the flags name.
func (a *app) chooseCI(ctx context.Context, opts initOptions) (*ci, error) {
	if opts.ci == "" || opts.ci == none {
		if opts.source != "" || opts.branch != "" {
			return nil, errors.New("--trueup and --branch need a CI service: add --ci github or --ci gitlab")
		}
		return nil, nil
	}
	if err := oneOf("--ci", opts.ci, ciChoices()); err != nil {
		return nil, fmt.Errorf("%w; for other services, see the commands in docs/ci.md", err)
	}
	s := services()[opts.ci]
	source := s.source.FindStringSubmatch(opts.source)
	if source == nil {
		return nil, fmt.Errorf("--trueup is %q: write %s, the repository of trueup and the whole commit to build it from (git rev-parse HEAD in a clone of it). CI runs that commit with your tokens, so there is no default",
			opts.source, s.example)
	}
	at, err := a.ciPlace(ctx, opts.branch)
	if err != nil {
		return nil, err
	}
	return &ci{service: s, place: at, fill: strings.NewReplacer("OWNER/trueup", source[1], "COMMIT", source[2],
		`directory: "."`, fmt.Sprintf("directory: %q", at.folder), `branches: ["main"]`, fmt.Sprintf("branches: [%q]", at.branch))}, nil
}

// plainName is a folder or a branch that needs no care in YAML, in an expression
// of a host, or in a shell.
var plainName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[\w./-]+$`) })

// ciPlace is where a project stands in its repository, and the branch of it that
// is applied.
type ciPlace struct{ top, folder, branch string }

// ciPlace finds the repository of the project, or of the folder where there is
// none yet.
func (a *app) ciPlace(ctx context.Context, branch string) (ciPlace, error) {
	p, err := a.findProject()
	if err != nil {
		return ciPlace{}, err
	}
	repository, err := git.At(ctx, cmp.Or(p.dir, a.dir()))
	if errors.Is(err, git.ErrNoRepository) {
		return ciPlace{}, fmt.Errorf("%s is not in a git repository, and files for CI belong at the top of one: run git init or git clone", a.dir())
	}
	if err != nil {
		return ciPlace{}, err
	}
	var at ciPlace
	if at.top, at.folder, err = repository.Top(ctx); err != nil {
		return ciPlace{}, err
	}
	if at.branch, err = applied(ctx, repository, branch); err != nil {
		return ciPlace{}, err
	}
	for _, name := range []string{at.folder, at.branch} {
		if !plainName().MatchString(name) {
			return ciPlace{}, fmt.Errorf("the name %q is not of letters, digits and . _ / - alone: write the files by hand (docs/ci.md)", name)
		}
	}
	return at, nil
}

// applied is the branch that is applied: the one that was asked for, or else the
// default of the remote, or the one that is checked out.
func applied(ctx context.Context, r git.Repository, asked string) (string, error) {
	if asked != "" {
		return asked, nil
	}
	of, err := r.DefaultBranch(ctx)
	if err != nil {
		return "", err
	}
	branch := cmp.Or(strings.TrimPrefix(of, "origin/"), r.Branch(ctx))
	if branch == "" {
		return "", errors.New("trueup does not know which branch to apply: add --branch BRANCH")
	}
	return branch, nil
}

// files are those that a repository gets; without a service it gets none.
func (c *ci) files() ([]files.File, error) {
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
