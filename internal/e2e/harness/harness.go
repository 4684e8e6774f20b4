//go:build linux

package harness

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"trueup/internal/api"
	"trueup/internal/blob"
	"trueup/internal/cli"
	"trueup/internal/config"
	"trueup/internal/e2e/scratch"
)

// Update reports whether golden parts are to be written anew (go test -update).
var Update = flag.Bool("update", false, "write the golden parts of the scripts anew")

// Canary is part of every token that a script uses. It may be in no byte that a
// run writes.
const Canary = "c4n4ry-0f-s3cr3ts"

// TranscriptVar names the file that collects what every run prints.
const TranscriptVar = "TRUEUP_TEST_TRANSCRIPT"

// ClockVar says how far a script has moved the program's clock.
const ClockVar = "TRUEUP_TEST_CLOCK"

// hurry is how much faster than the clock the program waits in scripts.
const hurry = 500

// RunMain runs the tests of a package from the root of the module. The test binary
// is also the program trueup, and what more names, for scripts that call these.
func RunMain(m *testing.M, more map[string]func()) {
	programs := map[string]func(){"trueup": trueup, "into": into, "deaf": deaf}
	maps.Copy(programs, more)
	testscript.Main(fromRoot{m}, programs)
}

// fromRoot runs tests with the root of the module as working directory, and their
// files in memory.
type fromRoot struct{ m *testing.M }

// Run implements testscript.TestingM.
func (r fromRoot) Run() int {
	root, err := filepath.Abs(filepath.Join("..", "..", ".."))
	if err = errors.Join(err, os.Chdir(root)); err != nil {
		panic(err)
	}
	return scratch.Run(r.m)
}

// trueup is the program as it is shipped, but for what adaptEnv changes.
func trueup() {
	env, err := cli.NewEnv()
	if err == nil {
		_, err = adaptEnv(&env)
	}
	if err != nil {
		panic(err)
	}
	code := cli.RunProcess(env)
	noteCode(os.Getenv(TranscriptVar), code)
	os.Exit(code)
}

// adaptEnv makes a run wait less, sets its clock as the script says, and has what it prints also written to the transcript,
// which it returns.
func adaptEnv(env *config.Env) (transcript *os.File, err error) {
	env.Sleep = func(ctx context.Context, d time.Duration) error { return blob.Sleep(ctx, d/hurry) }
	if moved, err := time.ParseDuration(env.Getenv(ClockVar)); err == nil {
		env.Now = func() time.Time { return time.Now().Add(moved) }
	}
	env.Retry = api.RetryPolicy{Initial: time.Millisecond, Max: time.Millisecond, MaxRetryAfter: 900 * time.Millisecond, Second: time.Millisecond}
	name := env.Getenv(TranscriptVar)
	if how, err := os.ReadFile(filepath.Clean(name + ".crash")); err == nil {
		env.Getenv = func(string) string { crash(string(how)); return "" }
	}
	if name == "" {
		return nil, nil
	}
	if transcript, err = os.OpenFile(filepath.Clean(name), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600); err != nil {
		return nil, err
	}
	env.Stdout = io.MultiWriter(env.Stdout, transcript)
	env.Stderr = io.MultiWriter(env.Stderr, transcript)
	return transcript, nil
}

// RunScripts runs each script of dir against its own platform on loopback, with
// the commands of commands() and more. Each run of the program is a process of its own, but those of most scripts
// if processes is false and nothing is updated.
func RunScripts(t *testing.T, dir string, processes bool, more map[string]Command) {
	HearHangups(t)
	dir = FromRoot(t, dir)
	if !*Update && !processes {
		dir = startInside(t, dir)
	}
	testscript.Run(t, testscript.Params{
		Dir:                 dir,
		Setup:               setup,
		Cmds:                commands(more),
		UpdateScripts:       *Update,
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
	})
}

func setup(e *testscript.Env) error {
	t := e.T().(testing.TB)
	here, err := os.Getwd()
	if err != nil {
		return err
	}
	e.Setenv("ROOT", here)
	e.Setenv("USER", "tester")
	e.Setenv("XDG_STATE_HOME", filepath.Join(e.WorkDir, ".state"))
	e.Setenv("GORACE", "atexit_sleep_ms=0")
	e.Setenv("GOGC", "800") // a run is too short to collect garbage
	e.Setenv("GIT_CONFIG_GLOBAL", os.Getenv("GIT_CONFIG_GLOBAL"))
	e.Setenv("GIT_CONFIG_NOSYSTEM", "1")
	e.Setenv(TranscriptVar, filepath.Join(e.WorkDir, ".transcript"))
	p := &platform{arrived: make(chan struct{})}
	host := &CodeHost{}
	e.Values[platformKey{}], e.Values[CodeHostKey{}] = p, host
	e.Defer(func() {
		p.close(t)
		host.close(t)
		FindCanary(t, e.WorkDir)
	})
	return nil
}

// FindCanary fails the test for each file below dir that holds a part of a token.
// git, which tidies up behind its commands, may take one away meanwhile.
func FindCanary(t testing.TB, dir string) {
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			var data []byte
			data, err = os.ReadFile(path)
			if bytes.Contains(data, []byte(Canary)) {
				t.Errorf("%s holds a token", path)
			}
		}
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return err
	})
	if err != nil {
		t.Errorf("look for tokens: %v", err)
	}
}
