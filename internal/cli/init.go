package cli

import (
	"bytes"
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
	"strings"

	"github.com/spf13/cobra"

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

// What a person does when the files are there (docs/ci.md).
const (
	nextOnGitHub = `Next, in the settings of the repository on the host:
  1. Variables of the repository: TRUEUP_DELIVERY_URL, TRUEUP_COMPUTE_URL.
  2. Secrets of the repository, of tokens that may only read: TRUEUP_DELIVERY_READ_TOKEN, TRUEUP_COMPUTE_READ_TOKEN.
  3. An environment trueup, for the branch BRANCH and no other, with the secrets TRUEUP_DELIVERY_TOKEN and
     TRUEUP_COMPUTE_TOKEN. What is pushed to BRANCH is applied; --branch chooses another.
An area that no manifest is of needs neither address nor token. Then commit the files, and open a pull request.
`
	nextOnGitLab = `Next, in the CI/CD settings of the project:
  1. Variables: TRUEUP_DELIVERY_URL, TRUEUP_COMPUTE_URL.
  2. Masked variables, of tokens that may only read: TRUEUP_DELIVERY_READ_TOKEN, TRUEUP_COMPUTE_READ_TOKEN.
  3. Masked and protected variables: TRUEUP_DELIVERY_TOKEN, TRUEUP_COMPUTE_TOKEN.
  4. A masked variable TRUEUP_FORGE_TOKEN, of a project access token with the scope api, for the comment.
  5. A schedule for the default branch, every six hours.
An area that no manifest is of needs neither address nor token. Then commit the file, and open a merge request.
`
)

type initOptions struct{ ci, source, branch string }

func newInit(a *app) *cobra.Command {
	var opts initOptions
	cmd := &cobra.Command{
		Use:   "init --ci github|gitlab --trueup OWNER/NAME@COMMIT",
		Short: "Write the files with which a CI service plans, applies and looks for drift",
		Long: "Write the files with which a CI service plans each pull request, applies what is merged and looks for drift\n" +
			"(docs/ci.md), for the project in the current folder, into the repository that it is in. A file that exists is left\n" +
			"as it is. Nothing else is written so far: docs/configuration.md shows what trueup.yaml holds, and ledger init makes\n" +
			"a ledger.\n" +
			"Exit codes: 0 the files are there, 1 they could not be written, or others are in their place.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return runInit(cmd.Context(), a, opts) },
	}
	f := cmd.Flags()
	f.StringVar(&opts.ci, "ci", "", "the CI `SERVICE`: github or gitlab")
	f.StringVar(&opts.source, "trueup", "", "the repository on that host, and the commit of it, that trueup is built from: `OWNER/NAME@COMMIT`")
	f.StringVar(&opts.branch, "branch", "", "the `BRANCH` that is applied; without it the default of the remote, or the one that is checked out")
	return cmd
}

func runInit(ctx context.Context, a *app, opts initOptions) error {
	s, ok := services()[opts.ci]
	if opts.ci == "" {
		return errors.New("init writes the files for a CI service: name it, --ci github or --ci gitlab (docs/ci.md has the commands for others)")
	}
	if !ok {
		return fmt.Errorf("--ci is %q: write github or gitlab; for other services docs/ci.md has the commands", opts.ci)
	}
	source := s.source.FindStringSubmatch(opts.source)
	if source == nil {
		return fmt.Errorf("--trueup is %q: write %s, where trueup is hosted and the whole commit to build it from "+
			"(git rev-parse HEAD in a clone of it); CI runs what stands there with your tokens, so there is no default",
			opts.source, s.example)
	}
	at, err := a.ciPlace(ctx, opts.branch)
	if err != nil {
		return err
	}
	files, err := s.files(strings.NewReplacer("OWNER/trueup", source[1], "COMMIT", source[2],
		`directory: "."`, fmt.Sprintf("directory: %q", at.folder), `branches: ["main"]`, fmt.Sprintf("branches: [%q]", at.branch)))
	if err != nil {
		return err
	}
	return a.writeCallers(at.top, files, strings.ReplaceAll(s.next, "BRANCH", at.branch))
}

// plainName is a folder or a branch that needs no care in YAML, in an expression
// of a host, or in a shell.
var plainName = regexp.MustCompile(`^[\w./-]+$`)

// ciPlace is where a project stands in its repository, and the branch of it that
// is applied.
type ciPlace struct{ top, folder, branch string }

// ciPlace finds the repository of the project, or of the folder where there is
// none yet.
func (a *app) ciPlace(ctx context.Context, branch string) (ciPlace, error) {
	p, err := loadProject(a.dir())
	if err != nil {
		return ciPlace{}, err
	}
	repository, err := git.At(ctx, cmp.Or(p.dir, a.dir()))
	if errors.Is(err, git.ErrNoRepository) {
		return ciPlace{}, fmt.Errorf("%s is in no git repository, and files for CI stand in the topmost folder of one: git init, or git clone", a.dir())
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
		if !plainName.MatchString(name) {
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
	of, err := r.Mainline(ctx)
	if err != nil {
		return "", err
	}
	branch := cmp.Or(strings.TrimPrefix(of, "origin/"), r.Branch(ctx))
	if branch == "" {
		return "", errors.New("it is not known which branch is applied: name it, --branch BRANCH")
	}
	return branch, nil
}

// ciFile is a file for a CI service; its name starts from the repository's
// topmost folder.
type ciFile struct {
	name    string
	content []byte
}

func (s service) files(fill *strings.Replacer) ([]ciFile, error) {
	entries, err := callers.ReadDir(s.folder)
	if err != nil {
		return nil, err
	}
	var files []ciFile
	for _, e := range entries {
		text, err := callers.ReadFile(path.Join(s.folder, e.Name()))
		if err != nil {
			return nil, err
		}
		files = append(files, ciFile{path.Join(s.target, e.Name()), []byte(fill.Replace(string(text)))})
	}
	return files, nil
}

// writeCallers writes the files that are not there yet. What it would write to
// the others is printed.
func (a *app) writeCallers(top string, files []ciFile, next string) error {
	root, err := os.OpenRoot(top)
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }()
	var kept []string
	for _, f := range files {
		done, err := writeNew(root, f)
		if err != nil {
			return fmt.Errorf("%s: %w", f.name, plain(err))
		}
		err = a.out.Printf("%s %s\n", done, f.name)
		if done == ciKept {
			kept = append(kept, f.name)
			err = errors.Join(err, a.out.Text("\n"+string(f.content)+"\n"))
		}
		if err != nil {
			return err
		}
	}
	if len(kept) > 0 {
		return fmt.Errorf("left as it is, because it was there and says something else: %s; what init would write is shown: "+
			"add that, or remove the file and run this again", strings.Join(kept, ", "))
	}
	return a.out.Text(next)
}

// What became of a file.
const (
	ciWritten = "written"
	ciThere   = "there already"
	ciKept    = "left as it is"
)

// writeNew writes a file that does not exist, in folders that it makes.
func writeNew(root *os.Root, f ciFile) (string, error) {
	name := filepath.FromSlash(f.name)
	if err := root.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return "", err
	}
	file, err := root.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
	if errors.Is(err, fs.ErrExist) {
		if sameFile(root, name, f.content) {
			return ciThere, nil
		}
		return ciKept, nil
	}
	if err != nil {
		return "", err
	}
	_, err = file.Write(f.content)
	return ciWritten, errors.Join(err, file.Close())
}

// sameFile tells whether a file says just that.
func sameFile(root *os.Root, name string, content []byte) bool {
	info, err := root.Lstat(name)
	if err != nil || !info.Mode().IsRegular() || info.Size() != int64(len(content)) {
		return false
	}
	is, err := root.ReadFile(name)
	return err == nil && bytes.Equal(is, content)
}
