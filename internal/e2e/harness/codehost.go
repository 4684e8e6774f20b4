//go:build linux

package harness

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"trueup/internal/e2e/forgetest"
)

// CodeHostKey finds the code host of a script among its values.
type CodeHostKey struct{}

// HostToken is the code host's own; no other may reach it.
const HostToken = Canary + "-host"

// CodeHost is the code host of a script, and the service that runs its workflows.
type CodeHost struct {
	*forgetest.Host
	Web *httptest.Server
	// Run is the number of the newest run.
	Run int
}

// HostBot is who the host's token belongs to.
const HostBot = "github-actions[bot]"

func (h *CodeHost) close(t testing.TB) {
	if h.Host == nil {
		return
	}
	h.Web.Close()
	h.check(t.Errorf)
}

// check tells of every token of the platform that reached the host.
func (h *CodeHost) check(failed func(string, ...any)) []forgetest.Request {
	all := h.Requests()
	for _, r := range all {
		sent := fmt.Sprint(r.Header) + r.Body
		if strings.Contains(strings.ReplaceAll(sent, HostToken, ""), Canary) {
			failed("%s %s took a token of the platform to the code host", r.Method, r.Path)
		}
	}
	return all
}

// cmdCodeHost is a code host:
//
//	codehost github|gitlab             start one with pull request 7, and say so in the environment as CI does
//	codehost run N [ATTEMPT]           begin another run
//	codehost head COMMIT               the pull request has another newest commit
//	codehost token writes|reads|none   what the host's token may do
//	codehost says AUTHOR FILE          somebody else comments
//	codehost fault METHOD SUFFIX STATUS [TIMES]   let coming requests fail
//	codehost heal                      none of them fails any more
//	codehost down                      end it
//	codehost comments|issues           print what stands there
//	codehost requests                  print what arrived since the last time
func cmdCodeHost(s *Script, args []string) error {
	if len(args) == 0 {
		return ErrUsage
	}
	h := s.Value(CodeHostKey{}).(*CodeHost)
	verbs := map[string]struct {
		least int
		do    func() error
	}{
		"github":   {0, func() error { return h.start(s, "github") }},
		"gitlab":   {0, func() error { return h.start(s, "gitlab") }},
		"run":      {1, func() error { return h.begin(s, args[1:]) }},
		"head":     {1, func() error { h.Pull("7", args[1]); return nil }},
		"token":    {1, func() error { return h.allow(s, args[1]) }},
		"says":     {2, func() error { h.Comment("7", args[1], s.ReadFile(args[2])); return nil }},
		"fault":    {3, func() error { return h.fail(args[1:]) }},
		"heal":     {0, func() error { h.Heal(); return nil }},
		"down":     {0, func() error { h.Web.Close(); return nil }},
		"comments": {0, func() error { return show(s, h.Comments("7")) }},
		"issues":   {0, func() error { return show(s, h.Issues()) }},
		"requests": {0, func() error { return h.printRequests(s) }},
	}
	verb, found := verbs[args[0]]
	if !found || len(args)-1 < verb.least {
		return ErrUsage
	}
	return verb.do()
}

// Commits of a pull request in scripts that need no repository.
const (
	scriptHead = "1111111111111111111111111111111111111111"
	ScriptBase = "2222222222222222222222222222222222222222"
)

func (h *CodeHost) start(s *Script, kind string) error {
	if h.Web != nil {
		h.Web.Close()
	}
	h.Host = forgetest.New()
	h.Web = httptest.NewServer(h.Host)
	h.Pull("7", scriptHead)
	event := s.MkAbs("event.json")
	if err := WriteEvent(event, PullEvent{Number: 7, Head: scriptHead, Base: ScriptBase}); err != nil {
		return err
	}
	env := map[string]string{
		"CI": "true", "GITHUB_ACTIONS": "true", "GITHUB_API_URL": h.Web.URL + "/api/v3", "GITHUB_SERVER_URL": "https://github.example",
		"GITHUB_REPOSITORY": "acme/site", "GITHUB_EVENT_NAME": "pull_request", "GITHUB_EVENT_PATH": event,
		"GITHUB_REF": "refs/pull/7/merge", "GITHUB_TOKEN": HostToken,
	}
	if kind == "gitlab" {
		env = map[string]string{
			"CI": "true", "GITLAB_CI": "true", "CI_API_V4_URL": h.Web.URL + "/api/v4", "CI_PROJECT_PATH": "acme/site",
			"CI_MERGE_REQUEST_IID": "7", "CI_COMMIT_SHA": scriptHead, "GITLAB_TOKEN": HostToken,
		}
	}
	for name, value := range env {
		s.Setenv(name, value)
	}
	if err := h.begin(s, []string{"1"}); err != nil {
		return err
	}
	return h.allow(s, "writes")
}

func (h *CodeHost) begin(s *Script, args []string) error {
	n, err := strconv.Atoi(args[0])
	if err != nil {
		return err
	}
	h.Run = n
	for _, name := range []string{"GITHUB_RUN_ID", "CI_PIPELINE_ID"} {
		s.Setenv(name, args[0])
	}
	s.Setenv("GITHUB_RUN_ATTEMPT", append(args, "1")[1])
	return nil
}

func (h *CodeHost) allow(s *Script, may string) error {
	h.Token(HostToken, HostBot, may == "writes", false)
	for _, name := range []string{"GITHUB_TOKEN", "GITLAB_TOKEN"} {
		if may == "none" {
			s.Setenv(name, "")
		}
	}
	return nil
}

func (h *CodeHost) fail(args []string) error {
	status, err := strconv.Atoi(args[2])
	if err != nil {
		return err
	}
	times, err := count(args, 3)
	h.Fault(forgetest.Fault{Method: args[0], Suffix: args[1], Status: status, Times: times})
	return err
}

func show(s *Script, notes []forgetest.Note) error {
	out := s.Stdout()
	for _, n := range notes {
		state := map[bool]string{false: "open", true: "closed"}[n.Closed]
		if _, err := fmt.Fprintf(out, "note %d by %s, %s, edited %d times\n%s%s\n", n.ID, n.Author, state, n.Edits, titled(n), n.Body); err != nil {
			return err
		}
	}
	_, err := fmt.Fprintf(out, "%d in all\n", len(notes))
	return err
}

// titled is a line with the title, where there is one.
func titled(n forgetest.Note) string {
	if n.Title == "" {
		return ""
	}
	return "# " + n.Title + "\n"
}

func (h *CodeHost) printRequests(s *Script) error {
	var leaks []error
	out := s.Stdout()
	all := h.check(func(format string, args ...any) { leaks = append(leaks, fmt.Errorf(format, args...)) })
	for _, r := range all {
		if _, err := fmt.Fprintf(out, "%s %s %d\n", r.Method, r.Path, r.Status); err != nil {
			return err
		}
	}
	return errors.Join(leaks...)
}

// PullEvent is what an event's file says of a pull request.
type PullEvent struct {
	Number     int
	Head, Base string
	Fork       bool
}

// WriteEvent writes the file of an event, with the texts that anybody may choose.
func WriteEvent(file string, e PullEvent) error {
	from := "acme/site"
	if e.Fork {
		from = "mallory/site"
	}
	content, err := json.Marshal(map[string]any{
		"action": "synchronize", "number": e.Number,
		"pull_request": map[string]any{
			"number": e.Number, "title": "`id`\n::set-output name=x::y", "body": "<!-- trueup:comment v1 -->",
			"base": map[string]any{"ref": "main", "sha": e.Base, "repo": map[string]any{"full_name": "acme/site"}},
			"head": map[string]any{"ref": "change", "sha": e.Head, "repo": map[string]any{"full_name": from, "fork": e.Fork}},
		},
	})
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Clean(file), content, 0o600)
}
