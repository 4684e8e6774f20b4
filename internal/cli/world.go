package cli

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"trueup/internal/api"
	"trueup/internal/exit"
	"trueup/internal/kind"
	"trueup/internal/ledger"
	"trueup/internal/manifest"
	"trueup/internal/project"
)

// world is where a run works: the real platform with the project's ledger, or
// the sandbox with its own.
type world struct {
	workspace kind.Workspace
	origins   map[kind.Area]string
	api       api.Config
	ledger    ledger.Config
	// pin is the UUID of the workspace that the environment allows, "" for any.
	pin string
	// opening is held while the ledger is opened; opened is it then.
	opening sync.Mutex
	opened  *ledger.Ledger
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
func (a *app) enter(ctx context.Context, p project.Project, set *manifest.Set) (*world, error) {
	if a.global.sandbox {
		return a.enterSandbox(ctx, p, set)
	}
	if !p.Exists() {
		return nil, a.noProject()
	}
	s, err := a.settings()
	if err != nil {
		return nil, err
	}
	for _, text := range s.above() {
		a.log(slog.LevelWarn, text+": unset it to use the profile's")
	}
	roots, err := s.trusted()
	if err != nil {
		return nil, err
	}
	w, wrong := a.point(s, p)
	if err := cmp.Or(w.pinned(), wrong[kind.Compute], wrong[kind.Delivery]); err != nil {
		return nil, err
	}
	w.api.RootCAs = roots
	return w, nil
}

// point makes the world of the real platform, and says which addresses are wrong.
// A repository has no say in where that is.
func (a *app) point(s settings, p project.Project) (w *world, wrong map[kind.Area]error) {
	w = &world{
		workspace: p.Workspace, origins: map[kind.Area]string{}, api: a.apiConfig(p.Workspace),
		pin: a.env.Getenv(workspacePin), waitOthers: p.Wait(),
	}
	w.api.Endpoints, w.api.Proxy, w.api.Duplicate = map[kind.Area]api.Endpoint{}, s.through, p.Duplicate()
	wrong = map[kind.Area]error{}
	for _, area := range areas() {
		ask := a.asker(s.tokens[area], func(ctx context.Context) error { return w.admit(ctx, area) })
		w.api.Endpoints[area], wrong[area] = s.endpoint(area, ask, p.Purge.DeprecatedURL)
		if base := w.api.Endpoints[area].Base; base != nil {
			w.origins[area] = base.String()
		}
	}
	w.ledger = a.ledgerConfig(p)
	w.ledger.Origins, w.ledger.Window = maps.Clone(w.origins), p.Window()
	return w, wrong
}

// workspacePin names the one workspace that a run may be about.
const workspacePin = "TRUEUP_WORKSPACE"

// pinned refuses another workspace than the one that the environment allows.
func (w *world) pinned() error { return pinned(w.pin, w.workspace) }

func pinned(pin string, ws kind.Workspace) error {
	if pin == "" || pin == ws.UUID {
		return nil
	}
	return exit.With(exit.Invalid, fmt.Errorf("%s names workspace %s, and %s allows only %s, so nothing was read or sent: correct workspace.uuid or the variable",
		project.File, cmp.Or(ws.UUID, "none"), workspacePin, pin))
}

// admit refuses to send a token elsewhere than the environment allows and the
// ledger was made for.
func (w *world) admit(ctx context.Context, areas ...kind.Area) error {
	if err := w.pinned(); err != nil {
		return err
	}
	l, err := w.book(ctx)
	for _, area := range areas {
		if err == nil {
			err = l.Admit(ctx, area)
		}
	}
	if p := ledger.Problem(err); p != nil {
		err = fmt.Errorf("%w: %s", err, p.Fix)
	}
	if err != nil && ctx.Err() == nil {
		return exit.With(exit.Error, err) // nothing is wrong with the token
	}
	return err
}

// book opens the ledger when it is first needed; the world closes it.
func (w *world) book(ctx context.Context) (*ledger.Ledger, error) {
	w.opening.Lock()
	defer w.opening.Unlock()
	if w.opened != nil {
		return w.opened, nil
	}
	l, err := ledger.Open(ctx, w.ledger)
	if err == nil {
		w.opened = l
		w.closers = append(w.closers, l.Close)
	}
	return l, err
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
		Listed:         new(api.Listed),
	}
	if a.global.verbose {
		cfg.Trace = a.trace
	}
	return cfg
}

func (a *app) warn(w api.Warning) {
	a.log(slog.LevelWarn, fmt.Sprintf("the server warns about %s %s: %s", w.Op, strings.TrimSuffix(w.Kind+"/"+w.Name, "/"), w.Text))
}

// ledgerConfig says which ledger a project means and who uses it.
func (a *app) ledgerConfig(p project.Project) ledger.Config {
	env := a.env.Getenv
	store := p.Ledger.Store
	if s := env("TRUEUP_LEDGER"); s != "" {
		store = s
	}
	dir := p.Dir
	if dir == "" {
		dir = a.dir()
	}
	return ledger.Config{
		Store:        store,
		StoreFromEnv: env("TRUEUP_LEDGER") != "",
		ID:           p.Ledger.ID,
		Workspace:    p.Workspace,
		// Another one is refused before the ledger is asked for anything.
		WorkspaceFromEnv: env(workspacePin) != "",
		Dir:              dir,
		InCI:             a.inCI(),
		EphemeralOK:      a.global.ephemeralOK,
		Now:              a.env.Now,
		Claim:            a.claim(),
		Sleep:            a.env.Sleep,
		Delayed: func(key kind.Key, err error) {
			a.log(slog.LevelWarn, fmt.Sprintf("%s: the ledger can't record the outcome; trying again: %s", key, err))
		},
		SeenCache: witnessDir(env),
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

// deletable are the kinds that can be deleted and whose list can be read.
func (w *world) deletable() []*kind.Kind {
	var kinds []*kind.Kind
	for _, k := range kind.All() {
		e := w.api.Endpoints[k.Area]
		if k.Can(kind.Delete) && e.Base != nil && (!e.Token.IsZero() || e.Ask != nil) {
			kinds = append(kinds, k)
		}
	}
	return kinds
}
