package forge

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const (
	baseCommit = "3333333333333333333333333333333333333333"
	noCommit   = "0000000000000000000000000000000000000000"
)

// detect has the event in a file, or a file that is not there.
func detect(t *testing.T, env map[string]string, event string) (CIContext, error) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "event.json")
	if event != "" {
		if err := os.WriteFile(file, []byte(event), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return Detect(func(name string) string {
		if name == "GITHUB_EVENT_PATH" && env[name] != "" {
			return file
		}
		return env[name]
	})
}

// gitHubRun is the environment of a run, with more variables NAME=VALUE.
func gitHubRun(more ...string) map[string]string {
	env := map[string]string{
		"GITHUB_ACTIONS": "true", "GITHUB_REPOSITORY": "acme/site", "GITHUB_SERVER_URL": "https://github.example",
		"GITHUB_API_URL": "https://github.example/api/v3", "GITHUB_RUN_ID": "77", "GITHUB_RUN_ATTEMPT": "2",
		"GITHUB_SHA": nextCommit, "GITHUB_REF": "refs/heads/main", "GITHUB_EVENT_NAME": "push",
		"GITHUB_EVENT_PATH": "/event",
	}
	for _, m := range more {
		name, value, _ := strings.Cut(m, "=")
		env[name] = value
	}
	return env
}

func TestWhatGitHubSays(t *testing.T) {
	t.Parallel()
	said := CIContext{
		Host: GitHub, API: "https://github.example/api/v3", Repository: "acme/site", Event: "push", HeadCommit: nextCommit,
		RunURL: "https://github.example/acme/site/actions/runs/77", RunID: "77", Attempt: 2,
	}
	with := func(change func(*CIContext)) CIContext { c := said; change(&c); return c }
	pull := with(func(c *CIContext) {
		c.Event, c.PullRequest, c.MergeCommit = "pull_request", 7, nextCommit
		c.BaseRef, c.BaseCommit, c.HeadCommit = "main", baseCommit, testCommit
	})
	pullEnv := gitHubRun("GITHUB_EVENT_NAME=pull_request", "GITHUB_REF=refs/pull/7/merge", "GITHUB_BASE_REF=main")
	event := func(repo string) string {
		return `{"number":7,"pull_request":{"number":7,"title":"::x::","base":{"ref":"main","sha":"` + baseCommit +
			`","repo":{"full_name":"acme/site"}},"head":{"ref":"$(x)","sha":"` + testCommit + `","repo":` + repo + `}}}`
	}
	fork := pull
	fork.Fork = true
	for name, c := range map[string]struct {
		env   map[string]string
		event string
		want  CIContext
	}{
		"pull request":    {pullEnv, event(`{"full_name":"Acme/Site","fork":true}`), pull},
		"of a fork":       {pullEnv, event(`{"full_name":"mallory/site"}`), fork},
		"of a lost fork":  {pullEnv, event(`null`), fork},
		"push":            {gitHubRun(), `{"before":"` + baseCommit + `"}`, with(func(c *CIContext) { c.BaseCommit = baseCommit })},
		"default branch":  {gitHubRun(), `{"repository":{"default_branch":"trunk"}}`, with(func(c *CIContext) { c.DefaultBranch = "trunk" })},
		"no branch":       {gitHubRun(), `{"repository":{"default_branch":"--upload-pack=x"}}`, said},
		"a new branch":    {gitHubRun(), `{"before":"` + noCommit + `"}`, said},
		"schedule":        {gitHubRun("GITHUB_EVENT_NAME=schedule"), `{"before":"` + baseCommit + `"}`, with(func(c *CIContext) { c.Event = "schedule" })},
		"merge queue":     {gitHubRun(), `{"merge_group":{"base_ref":"refs/heads/main","base_sha":"` + baseCommit + `"}}`, with(func(c *CIContext) { c.BaseRef, c.BaseCommit = "main", baseCommit })},
		"no event":        {gitHubRun("GITHUB_EVENT_PATH="), "", said},
		"no server":       {gitHubRun("GITHUB_EVENT_PATH=", "GITHUB_SERVER_URL="), "", with(func(c *CIContext) { c.RunURL = "" })},
		"no other host":   {gitHubRun("GITHUB_EVENT_PATH=", "GITHUB_API_URL="), "", with(func(c *CIContext) { c.API = "https://api.github.com" })},
		"an option":       {pullEnv, strings.Replace(event(`null`), `"main"`, `"--upload-pack=x"`, 1), CIContext{}},
		"a hostile event": {pullEnv, `{"pull_request":{"number":-7,"base":{"ref":"a..b","sha":"HEAD"},"head":{"sha":"` + strings.ToUpper("abcdef") + `"}}}`, CIContext{}},
	} {
		got, err := detect(t, c.env, c.event)
		if c.want == (CIContext{}) {
			if err != nil || got.BaseRef != "" {
				t.Errorf("%s: %+v, %v", name, got, err)
			}
			continue
		}
		if err != nil || got != c.want {
			t.Errorf("%s: %v\n got %+v\nwant %+v", name, err, got, c.want)
		}
	}
	hostile, err := detect(t, pullEnv, `{"pull_request":{"number":-7,"base":{"sha":"HEAD"},"head":{"sha":"-x"}}}`)
	if err != nil || hostile.PullRequest != 0 || hostile.BaseCommit+hostile.HeadCommit != "" || !hostile.Fork {
		t.Errorf("%+v, %v", hostile, err)
	}
}

func TestAnEventThatCanNotBeRead(t *testing.T) {
	t.Parallel()
	env := gitHubRun("GITHUB_EVENT_NAME=pull_request", "GITHUB_REF=refs/pull/7/merge", "GITHUB_BASE_REF=main")
	for _, event := range []string{
		"", "{", "[]", `"x"`, `{"pull_request":7}`, `{"pull_request":{"number":"7"}}`, `{"before":{}}`,
		`{"pull_request":{"number":1e99}}`, strings.Repeat("[", 1<<16), strings.Repeat(" ", maxEvent+1),
	} {
		got, err := detect(t, env, event)
		if err == nil || got.PullRequest != 7 || got.BaseRef != "main" || len(err.Error()) > 500 {
			t.Errorf("%.20q: %+v, %v", event, got, err)
		}
	}
}

func TestWhatGitLabSays(t *testing.T) {
	t.Parallel()
	env := map[string]string{
		"GITLAB_CI": "true", "CI_API_V4_URL": "https://gitlab.example/api/v4", "CI_PROJECT_PATH": "mallory/site",
		"CI_PIPELINE_SOURCE": "merge_request_event", "CI_COMMIT_SHA": testCommit, "CI_COMMIT_BEFORE_SHA": noCommit,
		"CI_JOB_URL": "https://gitlab.example/-/jobs/1", "CI_PIPELINE_ID": "77", "CI_MERGE_REQUEST_IID": "7",
		"CI_MERGE_REQUEST_PROJECT_PATH": "acme/site", "CI_MERGE_REQUEST_PROJECT_ID": "1", "CI_MERGE_REQUEST_SOURCE_PROJECT_ID": "2",
		"CI_MERGE_REQUEST_TARGET_BRANCH_NAME": "main", "CI_MERGE_REQUEST_DIFF_BASE_SHA": baseCommit,
	}
	want := CIContext{
		Host: GitLab, API: "https://gitlab.example/api/v4", Repository: "acme/site", Event: "merge_request_event",
		PullRequest: 7, Fork: true, BaseRef: "main", BaseCommit: baseCommit, HeadCommit: testCommit,
		RunURL: "https://gitlab.example/-/jobs/1", RunID: "77",
	}
	if got, err := detect(t, env, ""); err != nil || got != want {
		t.Errorf("%v\n got %+v\nwant %+v", err, got, want)
	}
	env["CI_MERGE_REQUEST_SOURCE_BRANCH_SHA"], env["CI_COMMIT_SHA"] = testCommit, nextCommit
	env["CI_MERGE_REQUEST_SOURCE_PROJECT_ID"] = "1"
	want.MergeCommit, want.Fork = nextCommit, false
	if got, err := detect(t, env, ""); err != nil || got != want {
		t.Errorf("%v\n got %+v\nwant %+v", err, got, want)
	}
	push := map[string]string{"GITLAB_CI": "true", "CI_PROJECT_PATH": "acme/site", "CI_COMMIT_SHA": testCommit, "CI_COMMIT_BEFORE_SHA": baseCommit, "CI_DEFAULT_BRANCH": "trunk"}
	want = CIContext{Host: GitLab, Repository: "acme/site", HeadCommit: testCommit, BaseCommit: baseCommit, DefaultBranch: "trunk"}
	if got, err := detect(t, push, ""); err != nil || got != want {
		t.Errorf("%v\n got %+v\nwant %+v", err, got, want)
	}
	if got, err := detect(t, nil, ""); err != nil || got != (CIContext{}) {
		t.Errorf("outside of CI: %+v, %v", got, err)
	}
}
