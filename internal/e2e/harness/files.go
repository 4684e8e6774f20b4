//go:build linux

package harness

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"trueup/internal/cli"
	"trueup/internal/config"
)

// RunIn runs the program in dir, as in a pipe and in CI, and returns the exit
// code and what it printed to both streams. NAME=VALUE before the arguments is a
// variable.
func RunIn(t *testing.T, dir string, args ...string) (int, string) {
	t.Helper()
	var out bytes.Buffer
	vars := map[string]string{"CI": "true", "USER": "you"}
	if name, value, ok := strings.Cut(args[0], "="); ok {
		vars[name], args = value, args[1:]
	}
	code := cli.Main(t.Context(), args, config.Env{
		Stdin: strings.NewReader(""), Stdout: &out, Stderr: &out, Cwd: dir,
		Getenv: func(name string) string { return vars[name] },
		Now:    func() time.Time { return time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC) },
		Sleep:  func(context.Context, time.Duration) error { return nil },
	})
	return code, out.String()
}

// Arguments are those of a command that starts the program; what stands in
// single quotes is one of them.
func Arguments(command string) ([]string, bool) {
	for _, program := range []string{"go run . ", "trueup "} {
		if rest, ok := strings.CutPrefix(command, program); ok {
			var args []string
			for i, part := range strings.Split(rest, "'") {
				if i%2 == 1 {
					args = append(args, part)
					continue
				}
				args = append(args, strings.Fields(part)...)
			}
			return args, true
		}
	}
	return nil, false
}

// FromRoot returns the absolute name of a file. go test runs a cached test again if a file
// has changed that it opened, but looks for relative names in the folder of the package.
func FromRoot(t *testing.T, file string) string {
	t.Helper()
	name, err := filepath.Abs(file)
	if err != nil {
		t.Fatal(err)
	}
	return name
}

// ReadText returns the content of a file.
func ReadText(t *testing.T, file string) string {
	t.Helper()
	data, err := os.ReadFile(FromRoot(t, file))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}
