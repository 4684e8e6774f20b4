package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"trueup/internal/api"
	"trueup/internal/cli"
)

var update = flag.Bool("update", false, "write the golden parts of the scripts anew")

// canary is part of every token that a script uses. It may be in no byte that a
// run writes.
const canary = "c4n4ry-0f-s3cr3ts"

// transcriptVar names the file that collects what every run prints.
const transcriptVar = "TRUEUP_TEST_TRANSCRIPT"

// clockVar says how far a script has moved the program's clock.
const clockVar = "TRUEUP_TEST_CLOCK"

// hurry is how much faster than the clock the program waits in scripts.
const hurry = 500

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"trueup": trueup, heldBy: startHeld, "into": into, "deaf": deaf})
}

// trueup is the program as it is shipped, but for two things: it waits less, and
// what it prints is also written to the transcript.
func trueup() {
	env, err := process()
	if err != nil {
		panic(err)
	}
	env.Sleep = func(ctx context.Context, d time.Duration) error { return cli.Sleep(ctx, d/hurry) }
	if moved, err := time.ParseDuration(os.Getenv(clockVar)); err == nil {
		env.Now = func() time.Time { return time.Now().Add(moved) }
	}
	env.Retry = api.Retry{Initial: time.Millisecond, Max: time.Millisecond, MaxRetryAfter: 900 * time.Millisecond, Second: time.Millisecond}
	if name := os.Getenv(transcriptVar); name != "" {
		transcript, err := os.OpenFile(name, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
		if err != nil {
			panic(err)
		}
		env.Stdout = io.MultiWriter(env.Stdout, transcript)
		env.Stderr = io.MultiWriter(env.Stderr, transcript)
	}
	code := run(env)
	noteCode(code)
	os.Exit(code)
}

// TestScripts runs testdata/script: one promise of the program in each, against
// a platform of its own on loopback. The commands are in script_test.go.
func TestScripts(t *testing.T) {
	t.Parallel()
	hearHangups(t)
	testscript.Run(t, testscript.Params{
		Dir:                 filepath.Join("testdata", "script"),
		Setup:               setup,
		Cmds:                commands(),
		UpdateScripts:       *update,
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
	e.Setenv(transcriptVar, filepath.Join(e.WorkDir, ".transcript"))
	p := &platform{arrived: make(chan struct{})}
	host := &codeHost{}
	e.Values[platformKey{}], e.Values[codeHostKey{}] = p, host
	e.Defer(func() {
		p.close(t)
		host.close(t)
		findCanary(t, e.WorkDir)
	})
	return nil
}

// findCanary fails the test for each file below dir that holds a part of a token.
// git, which tidies up behind its commands, may take one away meanwhile.
func findCanary(t testing.TB, dir string) {
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			var data []byte
			data, err = os.ReadFile(path)
			if bytes.Contains(data, []byte(canary)) {
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
