package docs

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// shellsVar names the shells, with spaces between, that must be there: .ci/shells
// has installed them. Others are skipped where they are missing.
const shellsVar = "TRUEUP_TEST_SHELLS"

// shellCase is a line up to where Tab is pressed, and what it becomes.
type shellCase struct{ typed, becomes string }

// completionCases go for each shell; nothing becomes of the end but a space or a
// slash.
func completionCases() []shellCase {
	return []shellCase{
		{"trueup vali", "trueup validate"},
		{"trueup ledger reso", "trueup ledger resolve"},
		{"trueup plan --detail", "trueup plan --detailed-exitcode"},
		{"trueup ledger show cdn/sh", "trueup ledger show cdn/shop"},
		{"trueup ledger show CDN/sh", "trueup ledger show CDN/shop"},
		{"trueup plan --target cdn/we", "trueup plan --target cdn/web"},
		{"trueup plan --target=cdn/we", "trueup plan --target=cdn/web"},
		{"trueup -C envs/prod ledger show cdn/", "trueup -C envs/prod ledger show cdn/only"},
		{"trueup validate mani", "trueup validate manifests"},
		{"trueup validate manifests/a", "trueup validate manifests/a.yaml"},
		{"trueup validate manifests/EV", "trueup validate manifests/EVIL$(touch evil).yaml"},
		{"trueup plan -o jso", "trueup plan -o json"},
		{"trueup plan --drift over", "trueup plan --drift overwrite"},
		{"trueup plan --report mark", "trueup plan --report markdown="},
		{"trueup --profile prod", "trueup --profile production"},
		{"trueup explain upstream-unk", "trueup explain upstream-unknown"},
		{"trueup explain cdn.spec.tls.for", "trueup explain cdn.spec.tls.forced"},
		{"trueup explain --schema vol", "trueup explain --schema volumesnapshot"},
		{"trueup sandbox --quirk typed", "trueup sandbox --quirk typed-scalars"},
	}
}

// TestShells presses Tab in real shells.
func TestShells(t *testing.T) {
	must := strings.Fields(os.Getenv(shellsVar))
	for name, start := range map[string]shellStart{
		"bash": {
			args: []string{"--norc", "--noprofile", "-i"}, needs: "/usr/share/bash-completion/bash_completion",
			setup: "PS1='> '; bind 'set enable-bracketed-paste off'; bind 'set page-completions off'; . /usr/share/bash-completion/bash_completion; . <(trueup completion bash)",
		},
		"zsh": {
			args:  []string{"-f", "-i"},
			setup: "PS1='> '; unsetopt zle_bracketed_paste prompt_sp 2>/dev/null; unset zle_bracketed_paste; bindkey -e; autoload -Uz compinit; compinit -u -D; source <(trueup completion zsh)",
		},
		"fish": {
			args:  []string{"--no-config", "--private", "-i"},
			setup: "function fish_prompt; echo '> '; end; set -g fish_greeting; set -g fish_autosuggestion_enabled 0; trueup completion fish | source",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			program, err := exec.LookPath(name)
			if _, missing := os.Stat(start.needs); err == nil && start.needs != "" {
				err = missing
			}
			if err != nil {
				if strings.Contains(" "+strings.Join(must, " ")+" ", " "+name+" ") {
					t.Fatalf("%s is to be here: %v", name, err)
				}
				t.Skipf("%s is not here, or bash-completion is not: %v (.ci/shells installs them)", name, err)
			}
			s := startPrompt(t, program, start)
			for _, c := range completionCases() {
				if got := s.complete(t, c.typed); got != c.becomes {
					t.Errorf("%q becomes %q, want %q", c.typed, got, c.becomes)
				}
			}
			s.lists(t)
		})
	}
}

// shellStart is how a shell is started with the completions; needs is a
// file that must be there.
type shellStart struct {
	args         []string
	needs, setup string
}

// prompt is a shell that runs at a terminal.
type prompt struct {
	terminal *os.File
	mutex    sync.Mutex
	out      bytes.Buffer
}

func startPrompt(t *testing.T, program string, start shellStart) *prompt {
	t.Helper()
	terminal, inside, err := openTerminal()
	if err != nil {
		t.Skipf("there is no terminal to be had here: %v", err)
	}
	dir := shellProject(t)
	cmd := exec.CommandContext(t.Context(), program, start.args...)
	cmd.Dir = dir
	cmd.Env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + filepath.Join(dir, ".home"), "TERM=xterm", "LC_ALL=C.UTF-8", "INPUTRC=/dev/null", "HISTFILE=",
	}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = inside, inside, inside
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	_ = inside.Close()
	s := &prompt{terminal: terminal}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		buffer := make([]byte, 4096)
		for {
			n, err := terminal.Read(buffer)
			s.mutex.Lock()
			s.out.Write(buffer[:n])
			s.mutex.Unlock()
			if err != nil {
				return
			}
		}
	}()
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		_ = terminal.Close()
		<-ended
	})
	s.write(t, start.setup+"; echo set''up done\r")
	s.wait(t, "setup done")
	return s
}

// shellProject is a project with objects, one of them of somebody hostile, and a
// file of profiles.
func shellProject(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	object := func(name string) string {
		return "apiVersion: delivery/v2.1\nkind: CDN\nmetadata: {name: " + name + "}\nspec: {hostname: " + "a.example.com}\n---\n"
	}
	project := "apiVersion: trueup/v1\nkind: Project\nworkspace: {name: a, uuid: b}\nmanifests: [manifests]\n"
	for name, text := range map[string]string{
		"trueup.yaml": project,
		"manifests/a.yaml": object("shop") + object("web") + object(`"EVIL$(touch evil)"`) + object(`"EVIL;touch evil"`) +
			object(`"EVIL\e]0;x\a"`) + object(`"EVIL\n:4"`) + object("\"EVIL`touch evil`\""),
		"manifests/EVIL$(touch evil).yaml": "",
		"envs/prod/trueup.yaml":            project,
		"envs/prod/manifests/b.yaml":       object("only"),
		".home/.config/trueup/config.yaml": "apiVersion: trueup/v1\nkind: Config\nprofiles: {production: {}}\n",
	} {
		file := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() {
		if _, err := os.Stat(filepath.Join(dir, "evil")); err == nil {
			t.Error("a name was executed")
		}
	})
	return dir
}

// openTerminal returns the two ends of a terminal of 100 columns.
func openTerminal() (outside, inside *os.File, err error) {
	outside, err = os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		return nil, nil, err
	}
	number, err := unix.IoctlGetInt(int(outside.Fd()), unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(int(outside.Fd()), unix.TIOCSPTLCK, 0)
	}
	if err == nil {
		err = unix.IoctlSetWinsize(int(outside.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: 50, Col: 100})
	}
	if err == nil {
		inside, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|syscall.O_NOCTTY, 0)
	}
	if err != nil {
		_ = outside.Close()
		return nil, nil, err
	}
	return outside, inside, nil
}

func (s *prompt) write(t *testing.T, keys string) {
	t.Helper()
	if _, err := s.terminal.WriteString(keys); err != nil {
		t.Fatal(err)
	}
}

// escapes are what a terminal takes for no text.
var escapes = regexp.MustCompile("\x1b(\\[[0-9;?>=]*[ -/]*[@-~]|\\][^\x07\x1b]*(\x07|\x1b\\\\)|[()][A-Z0-9]|[=>78])")

// seen is what the terminal was sent so far, as text.
func (s *prompt) seen() string {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return strings.ReplaceAll(escapes.ReplaceAllString(s.out.String(), ""), "\r", "")
}

// wait waits for a text behind what was seen before, and returns the rest of its
// line.
func (s *prompt) wait(t *testing.T, want string) string {
	t.Helper()
	for deadline := time.Now().Add(2 * time.Minute); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		if _, rest, ok := strings.Cut(s.seen(), want); ok {
			if line, _, whole := strings.Cut(rest, "\n"); whole {
				s.mutex.Lock()
				s.out.Reset()
				s.mutex.Unlock()
				return line
			}
		}
	}
	t.Fatalf("%q was not shown, but\n%q", want, s.seen())
	return ""
}

// startOfLine is the key that goes there, in all three shells.
const startOfLine = "\x01"

// complete types a line, presses Tab, and has the shell say what is there then.
func (s *prompt) complete(t *testing.T, typed string) string {
	t.Helper()
	s.write(t, typed+"\t"+startOfLine+"echo LI''NE: \x05\r")
	// zsh takes the slash away again when the line ends.
	return strings.TrimRight(s.wait(t, "\nLINE: "), " /")
}

// lists presses Tab where there are several: each is shown with what it is, and no
// name that is none.
func (s *prompt) lists(t *testing.T) {
	t.Helper()
	s.write(t, "trueup ledger show cdn/\t\t")
	deadline := time.Now().Add(2 * time.Minute)
	for !strings.Contains(s.seen(), "cdn/web") && time.Now().Before(deadline) {
		time.Sleep(5 * time.Millisecond)
	}
	s.write(t, startOfLine+"\x0becho do''ne\r")
	for !strings.Contains(s.seen(), "\ndone\n") && time.Now().Before(deadline) {
		time.Sleep(5 * time.Millisecond)
	}
	text := s.seen()
	for _, want := range []string{"cdn/shop", "cdn/web", "manifests/a.yaml"} {
		if !strings.Contains(text, want) {
			t.Errorf("%s is not shown:\n%s", want, text)
		}
	}
	if strings.Contains(text, "EVIL") {
		t.Errorf("a hostile name is offered:\n%s", text)
	}
}
