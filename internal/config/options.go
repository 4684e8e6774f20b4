// Package config finds the platform and the ledger of a run: from flags, the environment and the
// user's profiles file, never from a repository. It also opens the embedded sandbox.
package config

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"time"

	"trueup/internal/api"
	"trueup/internal/kind"
	"trueup/internal/ledger"
	"trueup/internal/project"
)

// Options are what a run takes from its flags and from its process.
type Options struct {
	Getenv func(string) string
	// Cwd is the folder that trueup was started in, and Dir the one that it works in (-C).
	Cwd, Dir   string
	Stdin      io.Reader
	StdinIsTTY bool
	Now        func() time.Time
	Sleep      func(context.Context, time.Duration) error
	Log        func(slog.Level, string)
	Verbose    bool
	// Clean makes control characters of a text visible.
	Clean func(string) string
	// Profile and CAFile are flags.
	Profile, CAFile string
	Sandbox         bool
	SandboxFaults   []string
	// EphemeralOK accepts a ledger on the disk of a CI runner.
	EphemeralOK bool
	// API is the configuration of clients, without addresses and tokens.
	API api.Config
	// Tool names the program and its version.
	Tool string
}

// WorkspacePin is the variable that names the only workspace that runs may use.
const WorkspacePin = "TRUEUP_WORKSPACE"

// Variable returns the name of a variable of an area.
func Variable(area kind.Area, part string) string {
	return "TRUEUP_" + strings.ToUpper(string(area)) + "_" + part
}

// InCI reports whether CI made the machine of the run.
func InCI(getenv func(string) string) bool { return getenv("CI") != "" && getenv("CI") != "false" }

// LedgerConfig returns which ledger a project uses, and who uses it.
func (o Options) LedgerConfig(p project.Project) ledger.Config {
	return ledger.Config{
		Store:        cmp.Or(o.Getenv("TRUEUP_LEDGER"), p.Ledger.Store),
		StoreFromEnv: o.Getenv("TRUEUP_LEDGER") != "",
		ID:           p.Ledger.ID,
		Workspace:    p.Workspace,
		// Another workspace is refused before the ledger is asked for anything.
		WorkspaceFromEnv: o.Getenv(WorkspacePin) != "",
		Dir:              cmp.Or(p.Dir, o.Dir),
		InCI:             InCI(o.Getenv),
		EphemeralOK:      o.EphemeralOK,
		Now:              o.Now,
		Claim:            o.Claim(),
		Sleep:            o.Sleep,
		Delayed: func(key kind.Key, err error) {
			o.Log(slog.LevelWarn, fmt.Sprintf("%s: the ledger can't record the outcome; trying again: %s", key, err))
		},
		SeenCache: o.seenCache(),
	}
}

// seenCache returns the folder where this machine keeps what it has seen of ledgers.
func (o Options) seenCache() string {
	dir := o.Getenv("XDG_STATE_HOME")
	if home := o.Getenv("HOME"); dir == "" && home != "" {
		dir = filepath.Join(home, ".local", "state")
	}
	if !filepath.IsAbs(dir) {
		return ""
	}
	return filepath.Join(dir, "trueup", "ledgers")
}

// Claim names this run in the ledger.
func (o Options) Claim() ledger.Claim {
	env := o.Getenv
	host, err := os.Hostname()
	if err != nil {
		host = ""
	}
	runURL := env("CI_JOB_URL")
	if env("GITHUB_RUN_ID") != "" {
		runURL = env("GITHUB_SERVER_URL") + "/" + env("GITHUB_REPOSITORY") + "/actions/runs/" + env("GITHUB_RUN_ID")
	}
	return ledger.Claim{
		RunID:  cmp.Or(env("GITHUB_RUN_ID"), env("CI_JOB_ID")),
		RunURL: runURL,
		Actor:  cmp.Or(env("GITHUB_ACTOR"), env("GITLAB_USER_LOGIN"), env("USER")),
		Commit: cmp.Or(env("GITHUB_SHA"), env("CI_COMMIT_SHA")),
		Host:   host,
		Tool:   o.Tool,
	}
}
