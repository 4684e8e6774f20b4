// Package config reads what a run is told. Where the platform and the ledger are comes from flags, the
// environment and the user's profiles file, never from a repository. What a repository manages comes from
// trueup.yaml, which holds no secret; the package opens the manifests that it names, and the embedded sandbox, and finds the
// projects of a repository.
package config

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"trueup/internal/api"
	"trueup/internal/diag"
	"trueup/internal/files"
	"trueup/internal/kind"
	"trueup/internal/ledger"
	"trueup/internal/manifest"
)

// Env is everything that a run takes from its process.
type Env struct {
	Stdin io.Reader
	// Stdout is closed at the end of the run if it can be: some file systems report a full disk only
	// then.
	Stdout io.Writer
	Stderr io.Writer
	Getenv func(string) string
	Now    func() time.Time
	Sleep  func(context.Context, time.Duration) error
	// Hurry is closed at a second signal, so that the run stops waiting for requests in flight. It may be
	// nil.
	Hurry <-chan struct{}
	// Retry says how to retry reads; the zero value means the defaults.
	Retry api.RetryPolicy
	// Cwd is the folder that the program was started in.
	Cwd string
	// Width is the number of columns if standard output is a terminal, or else 0.
	Width       int
	StdinIsTTY  bool
	StderrIsTTY bool
	// StderrWidth returns the number of columns for a bar if standard error is a terminal, or else 0. It
	// may be nil.
	StderrWidth func() int
}

// Options are what a run takes from its flags and from its process.
type Options struct {
	Env
	Chdir         string // what -C names
	Log           func(slog.Level, string)
	Verbose       bool
	Profile       string       // a flag
	Shared        *SharedState // nil for a single project
	Warnings      diag.List    // about what other projects have, too
	Writes        bool         // the command sends requests that change something
	Sandbox       bool
	SandboxFaults []string
	DiskIsKept    bool             // the runner of CI keeps its disk, and so a ledger in a file
	ReadOnly      bool             // refuses every change but in the sandbox
	API           api.ClientConfig // the configuration of clients, without addresses and tokens
	Tool          string           // names the program and its version
	// Open opens the platform of a run, or the sandbox. Begin begins a phase that may take long.
	Open  func(context.Context, Project, *manifest.Set) (*Platform, error)
	Begin func(doing string) (progress func(done, of int), end func())
}

// Dir returns the folder that trueup works in.
func (o Options) Dir() string { return files.AbsolutePath(o.Cwd, o.Chdir) }

// Warn logs a warning.
func (o Options) Warn(format string, args ...any) {
	o.Log(slog.LevelWarn, fmt.Sprintf(format, args...))
}

// Inform logs what a person may want to know.
func (o Options) Inform(format string, args ...any) {
	o.Log(slog.LevelInfo, fmt.Sprintf(format, args...))
}

// InCI reports whether CI made the machine of the run.
func (o Options) InCI() bool { return o.Getenv("CI") != "" && o.Getenv("CI") != "false" }

// LedgerConfig returns which ledger a project uses, and who uses it.
func (o Options) LedgerConfig(p Project) ledger.Config {
	pin, _ := o.FindPin(p) // Platform returns the error
	store, below := pin.Ledger, []string(nil)
	if strings.HasSuffix(store, "/") { // what stores are below
		store, below = "", []string{store}
	}
	cfg := ledger.Config{
		Store:        cmp.Or(store, p.Ledger.Store),
		StoreFromEnv: store != "",
		Allowed:      below,
		ID:           p.Ledger.ID,
		Workspace:    p.Workspace,
		// Another workspace is refused before the ledger is asked for anything.
		WorkspaceFromEnv: pin.Workspace != "",
		Dir:              cmp.Or(p.Dir, o.Dir()),
		LosesDisk:        o.InCI() && !o.DiskIsKept,
		ReadOnly:         o.ReadOnly,
		Now:              o.Now,
		Getenv:           o.Getenv,
		Claim:            o.NewClaim(),
		Sleep:            o.Sleep,
		Delayed: func(key kind.Key, err error) {
			o.Warn("%s: the ledger can't record the outcome; trying again: %s", key, err)
		},
	}
	if dir := o.xdgFolder("XDG_STATE_HOME", ".local/state"); dir != "" {
		cfg.SeenCache = filepath.Join(dir, "ledgers")
	}
	return cfg
}

// xdgFolder returns trueup's folder in a directory of the XDG specification, empty if the environment names none.
func (o Options) xdgFolder(variable, usual string) string {
	dir, home := o.Getenv(variable), o.Getenv("HOME")
	if !filepath.IsAbs(dir) {
		dir = filepath.Join(home, usual)
	}
	if !filepath.IsAbs(dir) {
		return ""
	}
	return filepath.Join(dir, "trueup")
}

// NewClaim names this run in the ledger.
func (o Options) NewClaim() ledger.Claim {
	env := o.Getenv
	host, _ := os.Hostname() // "" if it is unknown
	runURL := cmp.Or(env("CI_JOB_URL"), env("CI_PIPELINE_URL"))
	if run := env("GITHUB_RUN_ID"); run != "" && env("GITHUB_SERVER_URL") != "" {
		if env("FORGEJO_ACTIONS") == "true" {
			run = env("GITHUB_RUN_NUMBER") // its pages have that number
		}
		runURL = env("GITHUB_SERVER_URL") + "/" + env("GITHUB_REPOSITORY") + "/actions/runs/" + run
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

// RunName names a run of CI by its commit and number, and by its attempt after the first. It is empty elsewhere.
func (o Options) RunName() string {
	run := o.NewClaim()
	if run.RunID == "" {
		return ""
	}
	name := strings.TrimPrefix(run.Commit[:min(len(run.Commit), shortCommit)]+"-"+run.RunID, "-")
	if attempt := o.Getenv("GITHUB_RUN_ATTEMPT"); attempt != "" && attempt != "1" {
		name += "-" + attempt
	}
	return name
}

// shortCommit is how many digits of a commit a name has.
const shortCommit = 8

// Platform is the platform of a run with its ledger: the real one or the sandbox.
type Platform struct {
	Workspace kind.Workspace
	API       api.ClientConfig
	Ledger    ledger.Config // with the addresses of the areas
	// Pin is what the environment allows.
	Pin     ProjectPin
	Profile Profile // empty in the sandbox

	opening sync.Mutex
	opened  *ledger.Ledger
	closers []func() error
}

// Close closes what was opened.
func (w *Platform) Close() {
	for _, c := range w.closers {
		_ = c() // what a run wrote is durable already
	}
}

// OpenPlatform finds the real platform. It reads nothing of it.
func (o Options) OpenPlatform(p Project) (*Platform, error) {
	s, err := o.ResolveSettings(p)
	if err = cmp.Or(s.pinErr, o.checkWrite(s.Pin), err); err != nil {
		return nil, err
	}
	for _, text := range s.OverriddenVariables() {
		o.Warn("%s: unset it to use the profile's", text)
	}
	w, wrong := o.RealPlatform(s, p)
	w.API.RootCAs, err = s.RootCAs()
	return w, cmp.Or(err, w.Pin.CheckWorkspace(w.Workspace), wrong[kind.Compute], wrong[kind.Delivery])
}

// RealPlatform returns the real platform, and which addresses are wrong.
func (o Options) RealPlatform(s Settings, p Project) (w *Platform, wrong map[kind.Area]error) {
	w = &Platform{
		Workspace: p.Workspace, API: o.apiConfig(p.Workspace), Ledger: o.LedgerConfig(p), Pin: s.Pin, Profile: s.Profile,
	}
	w.API.Endpoints, w.API.Proxy, w.API.Duplicate = map[kind.Area]api.Endpoint{}, s.ProxyFor, p.DuplicateAnswer()
	w.API.ReadOnly = o.ReadOnly
	w.Ledger.Origins, w.Ledger.Window = map[kind.Area]string{}, p.SendWindow()
	wrong = map[kind.Area]error{}
	for _, area := range kind.Areas() {
		if s.pinErr != nil {
			wrong[area] = s.pinErr
			continue
		}
		url := s.URLs[area]
		e := api.Endpoint{BaseFrom: url.Origin, TokenFrom: s.Tokens[area].setting}
		e.Ask = o.tokenAsker(s, area, func(ctx context.Context) error { return w.AdmitAreas(ctx, area) })
		if url.Value != "" {
			base, err := api.ParseBaseURL(url.Value)
			if err != nil {
				wrong[area] = fmt.Errorf("%s: %w", url.Origin, err)
			} else {
				e.Base, w.Ledger.Origins[area] = base, base.String()
			}
		}
		w.API.Endpoints[area] = e
	}
	return w, wrong
}

func (o Options) apiConfig(ws kind.Workspace) api.ClientConfig {
	cfg := o.API
	cfg.Workspace, cfg.Listed = ws, new(api.ListedKinds)
	return cfg
}

// AdmitAreas refuses to send tokens elsewhere than the environment allows and the ledger was made for.
func (w *Platform) AdmitAreas(ctx context.Context, areas ...kind.Area) error {
	if err := w.Pin.CheckWorkspace(w.Workspace); err != nil {
		return err
	}
	l, err := w.OpenLedger(ctx)
	for _, area := range areas {
		if err == nil {
			err = l.AdmitArea(ctx, area)
		}
	}
	if err = ledger.WithFix(err); err != nil && ctx.Err() == nil {
		return diag.WithExit(diag.ExitError, err) // nothing is wrong with the token
	}
	return err
}

// WithLedger calls do with the platform and the ledger of a project.
func (o Options) WithLedger(ctx context.Context, p Project, set *manifest.Set, do func(*Platform, *ledger.Ledger) error) error {
	w, err := o.Open(ctx, p, set)
	if err != nil {
		return err
	}
	defer w.Close()
	l, err := w.OpenLedger(ctx)
	if err == nil {
		err = do(w, l)
	}
	return ExplainLedgerError(err)
}

// ExplainLedgerError adds the fix, and the exit code for a person's decision, to a problem of the ledger.
func ExplainLedgerError(err error) error {
	if _, coded := errors.AsType[*diag.CodedError](err); ledger.ProblemOf(err) != nil && !coded {
		return diag.WithExit(diag.ExitNeedsPerson, ledger.WithFix(err))
	}
	return err
}

// OpenLedger opens the ledger when it is first needed. Close closes it.
func (w *Platform) OpenLedger(ctx context.Context) (*ledger.Ledger, error) {
	w.opening.Lock()
	defer w.opening.Unlock()
	if w.opened != nil {
		return w.opened, nil
	}
	l, err := ledger.Open(ctx, w.Ledger)
	if err == nil {
		w.opened = l
		w.closers = append(w.closers, l.Close)
	}
	return l, err
}
