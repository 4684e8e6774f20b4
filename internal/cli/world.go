package cli

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"time"

	"trueup/internal/api"
	"trueup/internal/kind"
	"trueup/internal/ledger"
	"trueup/internal/manifest"
)

// world is where a run works: the real platform with the project's ledger, or
// the sandbox with its own.
type world struct {
	workspace kind.Workspace
	origins   map[kind.Area]string
	api       api.Config
	ledger    ledger.Config
	// waitOthers is how long apply waits for what other runs have claimed.
	waitOthers time.Duration
	closers    []func() error
}

func (w *world) close() {
	for _, c := range w.closers {
		_ = c() // what a run wrote is durable already
	}
}

// client returns what can write; only apply asks for it.
func (w *world) client(writesPerSecond float64) *api.Client {
	cfg := w.api
	cfg.WritesPerSecond = writesPerSecond
	return api.NewClient(cfg)
}

// enter opens the world of a run.
func (a *app) enter(ctx context.Context, p project, set *manifest.Set) (*world, error) {
	if a.global.sandbox {
		return a.enterSandbox(ctx, p, set)
	}
	if !p.exists() {
		return nil, errors.New("there is no trueup.yaml here or above, so it is not known which workspace is meant: " +
			"trueup init writes one; or try --sandbox")
	}
	s, err := a.settings()
	if err != nil {
		return nil, err
	}
	for _, text := range s.above() {
		a.log(slog.LevelWarn, text+": unset it to use the profile's")
	}
	w := &world{workspace: p.Workspace, origins: map[kind.Area]string{}}
	if err := w.point(a, s, p); err != nil {
		return nil, err
	}
	w.keep(a, p)
	return w, nil
}

// keep says which ledger belongs to the world, and how requests are sent once.
func (w *world) keep(a *app, p project) {
	w.api.Duplicate = p.Purge.duplicate()
	w.ledger = a.ledgerConfig(p)
	w.ledger.Origins = maps.Clone(w.origins)
	w.ledger.Window, w.waitOthers = p.Purge.window(), p.Purge.wait()
}

// point directs the world at the real platform. A repository has no say in
// where that is (product: configuration 2).
func (w *world) point(a *app, s settings, p project) error {
	roots, err := s.trusted()
	if err != nil {
		return err
	}
	w.api = a.apiConfig(w.workspace)
	w.api.Endpoints, w.api.RootCAs, w.api.Proxy = map[kind.Area]api.Endpoint{}, roots, s.through
	for _, area := range areas() {
		e, err := a.endpoint(area, s, p.Purge.DeprecatedURL)
		if err != nil {
			return err
		}
		w.api.Endpoints[area] = e
		if e.Base != nil {
			w.origins[area] = e.Base.String()
		}
	}
	return nil
}

// apiConfig is what every client needs to know, without where to go.
func (a *app) apiConfig(ws kind.Workspace) api.Config {
	cfg := api.Config{
		Workspace:      ws,
		RequestTimeout: a.global.requestTimeout,
		Parallelism:    a.global.parallelism,
		Retry:          a.env.Retry,
		UserAgent:      strings.ReplaceAll(toolName(), " ", "/"),
		Now:            a.env.Now,
		Warn:           a.warn,
	}
	if a.global.verbose {
		cfg.Trace = a.trace
	}
	return cfg
}

func (a *app) warn(w api.Warning) {
	a.log(slog.LevelWarn, fmt.Sprintf("the server says of %s %s: %s", w.Op, strings.TrimSuffix(w.Kind+"/"+w.Name, "/"), w.Text))
}

// ledgerConfig says which ledger a project means and who uses it.
func (a *app) ledgerConfig(p project) ledger.Config {
	env := a.env.Getenv
	store := p.Ledger.Store
	if s := env("TRUEUP_LEDGER"); s != "" {
		store = s
	}
	dir := p.dir
	if dir == "" {
		dir = a.dir()
	}
	return ledger.Config{
		Store:        store,
		StoreFromEnv: env("TRUEUP_LEDGER") != "",
		ID:           p.Ledger.ID,
		Workspace:    p.Workspace,
		Dir:          dir,
		InCI:         a.inCI(),
		EphemeralOK:  a.global.ephemeralOK,
		Now:          a.env.Now,
		Claim:        a.claim(),
		Witness:      witnessDir(env),
	}
}

// witnessDir is where this machine keeps what it has seen of ledgers.
func witnessDir(env func(string) string) string {
	dir := env("XDG_STATE_HOME")
	if dir == "" && env("HOME") != "" {
		dir = filepath.Join(env("HOME"), ".local", "state")
	}
	if !filepath.IsAbs(dir) {
		return ""
	}
	return filepath.Join(dir, "trueup", "ledgers")
}

// claim names this run in the ledger, from what the CI services say.
func (a *app) claim() ledger.Claim {
	env := a.env.Getenv
	first := func(names ...string) string {
		for _, n := range names {
			if v := env(n); v != "" {
				return v
			}
		}
		return ""
	}
	host, err := os.Hostname()
	if err != nil {
		host = ""
	}
	runURL := env("CI_JOB_URL")
	if env("GITHUB_RUN_ID") != "" {
		runURL = env("GITHUB_SERVER_URL") + "/" + env("GITHUB_REPOSITORY") + "/actions/runs/" + env("GITHUB_RUN_ID")
	}
	return ledger.Claim{
		RunID:  first("GITHUB_RUN_ID", "CI_JOB_ID"),
		RunURL: runURL,
		Actor:  first("GITHUB_ACTOR", "GITLAB_USER_LOGIN", "USER"),
		Commit: first("GITHUB_SHA", "CI_COMMIT_SHA"),
		Host:   host,
		Tool:   toolName(),
	}
}
