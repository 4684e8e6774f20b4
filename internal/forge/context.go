// Package forge talks to the code host: it reads what CI says about the pull request, and keeps one comment and one
// issue for drift; it trusts no text that it finds there, and sends the token nowhere else.
package forge

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"trueup/internal/api"
	"trueup/internal/diag"
	"trueup/internal/files"
)

// HostKind is the kind of a code host.
type HostKind string

// The supported code hosts; NoHost is a run outside their CI.
const (
	NoHost HostKind = ""
	GitHub HostKind = "github"
	GitLab HostKind = "gitlab"
)

func (h HostKind) tokenVariables() []string {
	if h == GitLab {
		return []string{"TRUEUP_FORGE_TOKEN", "GITLAB_TOKEN"}
	}
	return []string{"TRUEUP_FORGE_TOKEN", "GITHUB_TOKEN", "GH_TOKEN"}
}

// TokenVariables returns the variables that may have the token of a code host.
func TokenVariables() []string {
	return slices.Concat(GitHub.tokenVariables(), GitLab.tokenVariables())
}

// Token returns the token of the first of the host's variables that is set.
func (h HostKind) Token(getenv func(string) string) (token api.Token, err error) {
	names := h.tokenVariables()
	for _, name := range names {
		if text := getenv(name); text != "" {
			if token, err = api.NewToken(text); err != nil {
				err = fmt.Errorf("%s: %w: store it again", name, err)
			}
			return token, err
		}
	}
	return token, fmt.Errorf("no token to comment with: set %s", strings.Join(names, " or "))
}

// CIContext is what CI says about a run. A field is zero if CI does not set it, or sets
// something invalid: refs never look like an option of git, commits are whole hashes.
type CIContext struct {
	Host HostKind
	// API is the address of the host's API, and Repository the name of the project with
	// the pull request: OWNER/NAME, or groups and a name.
	API, Repository string
	Event           string // the host's name for what started the run: pull_request, push, schedule
	PullRequest     int    // the number of the pull or merge request, or 0
	// Fork says that the commits come from another repository, so the run has no secrets and may not comment.
	Fork bool
	// BaseRef is the branch to merge into. BaseCommit is the base that the host names; for
	// a push, the previous commit of the branch.
	BaseRef, BaseCommit string
	HeadCommit          string // the newest commit of the pull request, or the pushed commit
	// MergeCommit is the host's merge of HeadCommit with the base, which CI checks out by default; it may be empty.
	MergeCommit   string
	DefaultBranch string
	// RunURL is the run's page. RunID grows from run to run. Attempt counts the starts of
	// the run from 1; 0 is unknown.
	RunURL, RunID string
	Attempt       int
}

// maxEvent is the size in bytes of the largest event that a host delivers.
const maxEvent = 25 << 20

// Detect reads the variables of CI and the file of the event. If it can't read the event,
// it returns an error and what the variables say.
func Detect(getenv func(string) string) (CIContext, error) {
	switch {
	case getenv("GITHUB_ACTIONS") == "true":
		return detectGitHub(getenv)
	case getenv("GITLAB_CI") == "true":
		return detectGitLab(getenv), nil
	}
	return CIContext{}, nil
}

func detectGitHub(getenv func(string) string) (CIContext, error) {
	c := CIContext{
		Host:       GitHub,
		API:        cmp.Or(getenv("GITHUB_API_URL"), "https://api.github.com"),
		Repository: getenv("GITHUB_REPOSITORY"),
		Event:      getenv("GITHUB_EVENT_NAME"),
		BaseRef:    validRefName(getenv("GITHUB_BASE_REF")),
		HeadCommit: wholeHash(getenv("GITHUB_SHA")),
		RunID:      onlyDigits(getenv("GITHUB_RUN_ID")),
		Attempt:    parseNumber(getenv("GITHUB_RUN_ATTEMPT")),
	}
	if server := getenv("GITHUB_SERVER_URL"); server != "" && c.RunID != "" {
		c.RunURL = server + "/" + c.Repository + "/actions/runs/" + c.RunID
	}
	if n, merge := strings.CutSuffix(getenv("GITHUB_REF"), "/merge"); merge {
		c.PullRequest = parseNumber(strings.TrimPrefix(n, "refs/pull/"))
	}
	if c.PullRequest != 0 {
		c.HeadCommit, c.MergeCommit = "", c.HeadCommit // GITHUB_SHA is the merge
	}
	name := getenv("GITHUB_EVENT_PATH")
	if name == "" {
		return c, nil
	}
	content, _, err := files.Read(name, maxEvent)
	if err != nil {
		return c, fmt.Errorf("read the event of the run (GITHUB_EVENT_PATH): %w", err)
	}
	return c, c.readEvent(content)
}

// eventFile is the used part of an event's file.
type eventFile struct {
	PullRequest *struct {
		Number     int
		Base, Head struct {
			Ref, SHA string
			Repo     *struct {
				FullName string `json:"full_name"`
			}
		}
	} `json:"pull_request"`
	MergeGroup *struct {
		BaseRef string `json:"base_ref"`
		BaseSHA string `json:"base_sha"`
	} `json:"merge_group"`
	Before     string
	Repository struct {
		DefaultBranch string `json:"default_branch"`
	}
}

func (c *CIContext) readEvent(content []byte) error {
	var e eventFile
	if err := json.Unmarshal(content, &e); err != nil {
		return fmt.Errorf("the event of the run (GITHUB_EVENT_PATH) is not the host's: %w", err)
	}
	c.DefaultBranch = validRefName(e.Repository.DefaultBranch)
	switch {
	case e.PullRequest != nil:
		p := e.PullRequest
		c.PullRequest = max(p.Number, 0)
		c.BaseRef, c.BaseCommit, c.HeadCommit = validRefName(p.Base.Ref), wholeHash(p.Base.SHA), wholeHash(p.Head.SHA)
		// The repository of a pull request is gone where a fork was deleted.
		c.Fork = p.Head.Repo == nil || !strings.EqualFold(p.Head.Repo.FullName, c.Repository)
	case e.MergeGroup != nil:
		c.BaseRef = validRefName(strings.TrimPrefix(e.MergeGroup.BaseRef, "refs/heads/"))
		c.BaseCommit = wholeHash(e.MergeGroup.BaseSHA)
	case c.Event == "push":
		c.BaseCommit = wholeHash(e.Before)
	}
	return nil
}

func detectGitLab(getenv func(string) string) CIContext {
	c := CIContext{
		Host:       GitLab,
		API:        getenv("CI_API_V4_URL"),
		Repository: cmp.Or(getenv("CI_MERGE_REQUEST_PROJECT_PATH"), getenv("CI_PROJECT_PATH")),
		Event:      getenv("CI_PIPELINE_SOURCE"),
		HeadCommit: wholeHash(getenv("CI_COMMIT_SHA")),
		BaseCommit: wholeHash(getenv("CI_COMMIT_BEFORE_SHA")),
		RunURL:     cmp.Or(getenv("CI_JOB_URL"), getenv("CI_PIPELINE_URL")),
		RunID:      onlyDigits(getenv("CI_PIPELINE_ID")),

		DefaultBranch: validRefName(getenv("CI_DEFAULT_BRANCH")),
	}
	c.PullRequest = parseNumber(getenv("CI_MERGE_REQUEST_IID"))
	if c.PullRequest == 0 {
		return c
	}
	c.Fork = getenv("CI_MERGE_REQUEST_SOURCE_PROJECT_ID") != getenv("CI_MERGE_REQUEST_PROJECT_ID")
	c.BaseRef = validRefName(getenv("CI_MERGE_REQUEST_TARGET_BRANCH_NAME"))
	c.BaseCommit = wholeHash(getenv("CI_MERGE_REQUEST_DIFF_BASE_SHA"))
	// GitLab names the source's commit only if the pipeline runs on a merge of it.
	if source := wholeHash(getenv("CI_MERGE_REQUEST_SOURCE_BRANCH_SHA")); source != "" && source != c.HeadCommit {
		c.HeadCommit, c.MergeCommit = source, c.HeadCommit
	}
	return c
}

// Patterns of valid values. A ref can't begin with a dash, so git never takes it for an option.
var (
	commitPattern = diag.Pattern(`^([0-9a-f]{40}|[0-9a-f]{64})$`)
	refPattern    = diag.Pattern(`^[^-\s\pC~^:?*\[\\][^\s\pC~^:?*\[\\]*$`)
	digitsPattern = diag.Pattern(`^[1-9][0-9]{0,18}$`)
)

// wholeHash returns s if it is a whole hash, and not the one of no commit.
func wholeHash(s string) string {
	if strings.Trim(s, "0") == "" {
		return ""
	}
	return commitPattern().FindString(s)
}

func validRefName(s string) string {
	if len(s) > 1024 || strings.Contains(s, "..") || strings.Contains(s, "@{") {
		return ""
	}
	return refPattern().FindString(s)
}

func onlyDigits(s string) string { return digitsPattern().FindString(s) }

func parseNumber(s string) int {
	if n, err := strconv.Atoi(onlyDigits(s)); err == nil {
		return n
	}
	return 0
}
