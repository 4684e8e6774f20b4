package cli

import (
	"context"
	"fmt"
	"log/slog"
	"strings"

	"trueup/internal/api"
	"trueup/internal/config"
	"trueup/internal/manifest"
	"trueup/internal/project"
	"trueup/internal/report"
)

// config returns what the run takes from its flags and from its process.
func (a *app) config() config.Options {
	o := config.Options{
		Getenv: a.env.Getenv, Cwd: a.env.Dir, Dir: a.dir(), Stdin: a.env.Stdin, StdinIsTTY: a.env.StdinIsTTY,
		Now: a.env.Now, Sleep: a.env.Sleep, Log: a.log, Verbose: a.global.verbose, Clean: report.Clean,
		Profile: a.global.profile, CAFile: a.global.caFile,
		Sandbox: a.global.sandbox, SandboxFaults: a.global.sandboxFaults, EphemeralOK: a.global.ephemeralOK,
		API: api.Config{
			RequestTimeout: a.global.requestTimeout, Parallelism: a.global.parallelism, Retry: a.env.Retry,
			UserAgent: userAgent(), Now: a.env.Now, Warn: a.warn,
		},
		Tool: toolName(),
	}
	if a.global.verbose {
		o.API.Trace = a.trace
	}
	return o
}

func userAgent() string { return strings.ReplaceAll(toolName(), " ", "/") }

func (a *app) inCI() bool { return config.InCI(a.env.Getenv) }

func (a *app) warn(w api.Warning) {
	a.log(slog.LevelWarn, fmt.Sprintf("the server warns about %s %s: %s", w.Op, strings.TrimSuffix(w.Kind+"/"+w.Name, "/"), w.Text))
}

// enter opens the platform of a run, or the sandbox.
func (a *app) enter(ctx context.Context, p project.Project, set *manifest.Set) (*config.Platform, error) {
	switch {
	case a.global.sandbox:
		return a.config().OpenSandboxPlatform(ctx, p, set)
	case !p.Exists():
		return nil, a.noProject()
	}
	return a.config().Open(p)
}
