//go:build linux

package harness

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"trueup/internal/cli"
	"trueup/internal/config"
)

// inside is the command of scripts that runs the program inside the tests: to start a process takes ten times as long.
const inside = "inside"

// needsProcess matches a script that gives the program what only a process has, that gives variables to a command which
// prints tokens, or that lets the program crash.
var needsProcess = regexp.MustCompile(`(?m)^(\[[^]]*\] )*(stdin|ttyin|env (HOME|PATH|TMPDIR|GIT_[ABD-Z]\w*)=)|get-token|\.transcript\.crash`)

// started matches a start of the program that the script waits for.
var started = regexp.MustCompile(`(?m)^((?:\[[^]]*\] )*)(?:(! )?exec |(exits \S+ ))trueup( .*[^&\n])?$`)

// startInside copies the scripts of dir to another directory, which it returns: they start the program inside the tests.
func startInside(t *testing.T, dir string) string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.txtar"))
	if err != nil {
		t.Fatal(err)
	}
	to := t.TempDir()
	for _, file := range files {
		text := ReadText(t, file)
		script, _, _ := strings.Cut(text, "\n-- ")
		if !needsProcess.MatchString(script) {
			text = started.ReplaceAllString(script, "${1}${2}${3}"+inside+"$4") + text[len(script):]
		}
		if err := os.WriteFile(filepath.Join(to, filepath.Base(file)), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return to
}

func cmdInside(s *Script, args []string) error {
	code, err := s.runInside(s.Stdout(), s.Stderr(), args...)
	if failed := code != 0; err == nil && failed != s.neg {
		err = fmt.Errorf("exit code %d", code)
	}
	return err
}

// runInside runs the program with the variables and in the directory of the script, and returns the exit code.
func (s *Script) runInside(stdout, stderr io.Writer, args ...string) (int, error) {
	env := config.Env{
		Stdin: strings.NewReader(""), Stdout: stdout, Stderr: stderr, Getenv: s.Getenv, Now: time.Now, Cwd: s.MkAbs("."),
	}
	transcript, err := adaptEnv(&env)
	if err != nil {
		return 0, err
	}
	code := cli.Main(context.Background(), args, env)
	noteCode(transcript.Name(), code)
	return code, transcript.Close()
}
