package main

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

	"trueup/internal/forge/forgetest"
)

// codeHostKey finds the code host of a script among its values.
type codeHostKey struct{}

// hostToken is the code host's own; no other may reach it.
const hostToken = canary + "-host"

// codeHost is the code host of a script, and the service that runs its workflows.
type codeHost struct {
	*forgetest.Host
	web *httptest.Server
	// run is the number of the newest run, and artifacts are what runs keep.
	run       int
	artifacts []string
	caches    []string
}

// hostBot is who the host's token belongs to.
const hostBot = "github-actions[bot]"

func (h *codeHost) close(t testing.TB) {
	if h.Host == nil {
		return
	}
	h.web.Close()
	h.check(t.Errorf)
}

// check tells of every token of the platform that reached the host.
func (h *codeHost) check(failed func(string, ...any)) []forgetest.Request {
	all := h.Requests()
	for _, r := range all {
		sent := fmt.Sprint(r.Header) + r.Body
		if strings.Contains(strings.ReplaceAll(sent, hostToken, ""), canary) {
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
func cmdCodeHost(s *script, args []string) error {
	if len(args) == 0 {
		return errUsage
	}
	h := s.Value(codeHostKey{}).(*codeHost)
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
		"down":     {0, func() error { h.web.Close(); return nil }},
		"comments": {0, func() error { return show(s, h.Comments("7")) }},
		"issues":   {0, func() error { return show(s, h.Issues()) }},
		"requests": {0, func() error { return h.printRequests(s) }},
	}
	verb, found := verbs[args[0]]
	if !found || len(args)-1 < verb.least {
		return errUsage
	}
	return verb.do()
}

// Commits of a pull request in scripts that need no repository.
const (
	scriptHead = "1111111111111111111111111111111111111111"
	scriptBase = "2222222222222222222222222222222222222222"
)

func (h *codeHost) start(s *script, kind string) error {
	if h.web != nil {
		h.web.Close()
	}
	h.Host = forgetest.New()
	h.web = httptest.NewServer(h.Host)
	h.Pull("7", scriptHead)
	event := s.MkAbs("event.json")
	if err := writeEvent(event, pullEvent{number: 7, head: scriptHead, base: scriptBase}); err != nil {
		return err
	}
	env := map[string]string{
		"CI": "true", "GITHUB_ACTIONS": "true", "GITHUB_API_URL": h.web.URL + "/api/v3", "GITHUB_SERVER_URL": "https://github.example",
		"GITHUB_REPOSITORY": "acme/site", "GITHUB_EVENT_NAME": "pull_request", "GITHUB_EVENT_PATH": event,
		"GITHUB_REF": "refs/pull/7/merge", "GITHUB_TOKEN": hostToken,
	}
	if kind == "gitlab" {
		env = map[string]string{
			"CI": "true", "GITLAB_CI": "true", "CI_API_V4_URL": h.web.URL + "/api/v4", "CI_PROJECT_PATH": "acme/site",
			"CI_MERGE_REQUEST_IID": "7", "CI_COMMIT_SHA": scriptHead, "GITLAB_TOKEN": hostToken,
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

func (h *codeHost) begin(s *script, args []string) error {
	n, err := strconv.Atoi(args[0])
	if err != nil {
		return err
	}
	h.run = n
	for _, name := range []string{"GITHUB_RUN_ID", "CI_PIPELINE_ID"} {
		s.Setenv(name, args[0])
	}
	s.Setenv("GITHUB_RUN_ATTEMPT", append(args, "1")[1])
	return nil
}

func (h *codeHost) allow(s *script, may string) error {
	h.Token(hostToken, hostBot, may == "writes", false)
	for _, name := range []string{"GITHUB_TOKEN", "GITLAB_TOKEN"} {
		if may == "none" {
			s.Setenv(name, "")
		}
	}
	return nil
}

func (h *codeHost) fail(args []string) error {
	status, err := strconv.Atoi(args[2])
	if err != nil {
		return err
	}
	times, err := count(args, 3)
	h.Fault(forgetest.Fault{Method: args[0], Suffix: args[1], Status: status, Times: times})
	return err
}

func show(s *script, notes []forgetest.Note) error {
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

func (h *codeHost) printRequests(s *script) error {
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

// pullEvent is what an event's file says of a pull request.
type pullEvent struct {
	number     int
	head, base string
	fork       bool
}

// writeEvent writes the file of an event, with the texts that anybody may choose.
func writeEvent(file string, e pullEvent) error {
	from := "acme/site"
	if e.fork {
		from = "mallory/site"
	}
	content, err := json.Marshal(map[string]any{
		"action": "synchronize", "number": e.number,
		"pull_request": map[string]any{
			"number": e.number, "title": "`id`\n::set-output name=x::y", "body": "<!-- trueup:comment v1 -->",
			"base": map[string]any{"ref": "main", "sha": e.base, "repo": map[string]any{"full_name": "acme/site"}},
			"head": map[string]any{"ref": "change", "sha": e.head, "repo": map[string]any{"full_name": from, "fork": e.fork}},
		},
	})
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Clean(file), content, 0o600)
}
