package docs

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// shell is a bash that runs one command after the other and keeps its folder,
// variables and jobs between them.
type shell struct {
	in  io.Writer
	out *bufio.Reader
	// terminal reports whether what it runs prints to a terminal.
	terminal bool
	// dir is where it is, and home its HOME.
	dir, home string
}

// mark ends what a command prints.
const mark = "\x01end"

// startShell starts bash in an empty folder, with a home of its own. What it runs
// prints to a terminal, or into a pipe.
func startShell(t *testing.T, terminal bool) *shell {
	t.Helper()
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("there is no bash: the commands of the documentation are not run")
	}
	root := t.TempDir()
	home, dir := filepath.Join(root, "home"), filepath.Join(root, "work")
	if err := errors.Join(os.Mkdir(home, 0o700), os.Mkdir(dir, 0o755)); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 8*time.Minute)
	t.Cleanup(cancel)
	cmd := exec.CommandContext(ctx, bash, "--noprofile", "--norc")
	cmd.Dir = dir
	cmd.Env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + home, "USER=you", "LANG=C.UTF-8", "TERM=xterm", "GORACE=atexit_sleep_ms=0", "GOGC=800", "GIT_PAGER=cat",
		"GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=" + os.Getenv("GIT_CONFIG_GLOBAL"), "GIT_AUTHOR_NAME=you", "GIT_AUTHOR_EMAIL=you@example.com",
		"GIT_COMMITTER_NAME=you", "GIT_COMMITTER_EMAIL=you@example.com",
		"GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=init.defaultBranch", "GIT_CONFIG_VALUE_0=main",
	}
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out := outputOf(t, cmd, terminal)
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = 10 * time.Second
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = in.Close()
		_ = cmd.Wait()
	})
	if inside, ok := cmd.Stdout.(*os.File); ok && terminal {
		_ = inside.Close()
	}
	s := &shell{in: in, out: bufio.NewReader(out), terminal: terminal, dir: dir, home: home}
	// Whatever a page leaves in the background ends with it.
	start := `code=0; trap 'exit 1' TERM; trap 'kill $(jobs -p) 2>/dev/null; wait' EXIT; go() { shift 2; trueup "$@"; }`
	if _, _, err := s.run(start); err != nil {
		t.Fatal(err)
	}
	return s
}

// outputOf returns what a command will print: at a terminal, or into a pipe.
func outputOf(t *testing.T, cmd *exec.Cmd, terminal bool) io.Reader {
	t.Helper()
	if !terminal {
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		cmd.Stderr = cmd.Stdout
		return out
	}
	outside, inside, err := openTerminal()
	if err != nil {
		t.Skip("no terminals here:", err)
	}
	t.Cleanup(func() { _ = outside.Close() })
	cmd.Stdout, cmd.Stderr = inside, inside
	return outside
}

// run runs a command and returns its exit code and what it printed.
func (s *shell) run(command string) (int, string, error) {
	_, err := fmt.Fprintf(s.in, "(exit ${code:-0})\n{ %s\n} </dev/null 2>&1\ncode=$?; printf '%s %%d %%s\\n' $code \"$PWD\"\n", command, mark)
	if err != nil {
		return 0, "", err
	}
	var printed strings.Builder
	for {
		line, err := s.out.ReadString('\n')
		if err != nil {
			return 0, printed.String() + line, fmt.Errorf("%s: %w", command, err)
		}
		text, end, ok := strings.Cut(line, mark)
		printed.WriteString(asSeen(text))
		if !ok {
			continue
		}
		var code int
		if _, err := fmt.Sscanf(end, "%d %s", &code, &s.dir); err != nil {
			return 0, printed.String(), err
		}
		return code, printed.String(), nil
	}
}

// asSeen is what stays of a line at a terminal: neither what was overwritten, nor colours.
func asSeen(line string) string {
	text, end := strings.TrimRight(line, "\r\n"), ""
	if strings.HasSuffix(line, "\n") {
		end = "\n"
	}
	return escapes.ReplaceAllString(text[strings.LastIndex(text, "\r")+1:], "") + end
}

// says reports whether a page says what a command printed. A terminal breaks long lines, so there only words count.
func (s *shell) says(want, printed string) bool {
	if !s.terminal {
		return shows(want, printed)
	}
	return showsParts(want, printed, " ", func(text string) string { return strings.Join(strings.Fields(text), " ") })
}

// write makes a file, as somebody with an editor does.
func (s *shell) write(name, text string) error {
	file := filepath.Join(s.dir, name)
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return err
	}
	return os.WriteFile(file, []byte(text), 0o644)
}

// change does what a diff without line numbers says, in the one place where the
// file has its old lines.
func (s *shell) change(name, diff string) error {
	var before, after strings.Builder
	for line := range strings.Lines(diff) {
		switch line[0] {
		case '-':
			before.WriteString(line[1:])
		case '+':
			after.WriteString(line[1:])
		default:
			before.WriteString(strings.TrimPrefix(line, " "))
			after.WriteString(strings.TrimPrefix(line, " "))
		}
	}
	file := filepath.Join(s.dir, name)
	data, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	if n := strings.Count(string(data), before.String()); n != 1 {
		return fmt.Errorf("%s has the lines of the change %d times:\n%s", name, n, data)
	}
	return os.WriteFile(file, []byte(strings.Replace(string(data), before.String(), after.String(), 1)), 0o644)
}
