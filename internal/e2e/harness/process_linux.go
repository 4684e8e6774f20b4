package harness

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime/debug"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"trueup/internal/cli"
)

// into is a program of the scripts: into STREAM=WHERE… PROGRAM ARG… runs a
// program whose stdout or stderr is full, closed, gone (its reader left before
// it began) or head (its reader leaves after a line).
func into() {
	args := os.Args[1:]
	streams := []*os.File{os.Stdin, os.Stdout, os.Stderr}
	var reader *os.File
	for {
		name, where, ok := strings.Cut(args[0], "=")
		if !ok {
			break
		}
		fd := map[string]int{"stdout": 1, "stderr": 2}[name]
		args = args[1:]
		var err error
		switch where {
		case "closed":
			streams[fd] = nil
		case "full":
			streams[fd], err = os.OpenFile("/dev/full", os.O_WRONLY, 0)
		case "gone":
			var r *os.File
			r, streams[fd], err = os.Pipe()
			_ = r.Close()
		case "head":
			reader, streams[fd], err = os.Pipe()
		}
		if err != nil {
			panic(err)
		}
	}
	path, err := exec.LookPath(args[0])
	if err != nil {
		panic(err)
	}
	p, err := os.StartProcess(path, args, &os.ProcAttr{Files: streams})
	if err != nil {
		panic(err)
	}
	if reader != nil {
		_, _ = bufio.NewReader(reader).ReadString('\n')
		_ = reader.Close()
	}
	state, err := p.Wait()
	if err != nil {
		panic(err)
	}
	os.Exit(state.ExitCode())
}

// crash ends the process as a lack of memory, endless recursion and a panic that nothing recovers do, and as the Go
// runtime does before there is any program: early.
func crash(how string) {
	switch strings.TrimSpace(how) {
	case "early":
		os.Exit(2)
	case "memory":
		limit := syscall.Rlimit{Cur: 4 << 30, Max: 4 << 30}
		if err := syscall.Setrlimit(syscall.RLIMIT_AS, &limit); err != nil {
			panic(err)
		}
		taken := make([]byte, 8<<30)
		taken[0] = 1
	case "stack":
		debug.SetMaxStack(16 << 20) // the same end as with the usual GiB, and sooner
		crash(how)
	case "panic":
		go panic("a mistake")
		select {}
	}
}

// deaf is a program that hears signals, and never ends by itself.
func deaf() {
	say := func(text string) { _, _ = fmt.Println(text) }
	hurry := cli.HandleSignals(func() { say("first") })
	say("ready")
	<-hurry
	say("second")
	select {}
}

// HearHangups lets the processes that a test starts hear SIGHUP, which nohup would
// have them ignore.
func HearHangups(t *testing.T) {
	t.Helper()
	heard := make(chan os.Signal, 1)
	signal.Notify(heard, syscall.SIGHUP)
	t.Cleanup(func() { signal.Stop(heard) })
}

// codes is the file beside a script's transcript in which each run notes how it
// ended.
func codes(transcript string) string { return transcript + ".codes" }

func noteCode(name string, code int) {
	if name == "" {
		return
	}
	f, err := os.OpenFile(codes(name), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err == nil {
		_, err = fmt.Fprintln(f, code)
	}
	if err = errors.Join(err, f.Close()); err != nil {
		panic(err)
	}
}

// cmdEnded compares the exit code of the run that ended last.
func cmdEnded(s *Script, args []string) error {
	if len(args) != 1 {
		return ErrUsage
	}
	text, err := os.ReadFile(codes(s.Getenv(TranscriptVar)))
	if err != nil {
		return err
	}
	all := strings.Fields(string(text))
	if last := all[len(all)-1]; last != args[0] {
		return fmt.Errorf("exit code %s, want %s", last, args[0])
	}
	return nil
}

// pause is a request that is held up: it is there, and may go on.
type pause struct{ there, over chan struct{} }

// resume lets the request go on that is held up, if one is.
func (p *platform) resume() {
	if p.pause != nil {
		close(p.pause.over)
	}
	p.pause = nil
}

// cmdPause makes it the script's, and not the machine's, to say what a run has
// heard when a request arrives.
func cmdPause(s *Script, args []string) error {
	nth, err := count(args, 2)
	if err != nil {
		return err
	}
	s.resume()
	p := &pause{make(chan struct{}), make(chan struct{})}
	s.pause = p
	var seen atomic.Int64
	s.server.OnRequest(func(method, path string) {
		if method == args[0] && strings.HasSuffix(path, args[1]) && seen.Add(1) == int64(nth) {
			close(p.there)
			<-p.over
		}
	})
	return nil
}

func cmdPaused(s *Script, _ []string) error {
	if s.pause == nil {
		return ErrUsage
	}
	select {
	case <-s.pause.there:
		return nil
	case <-time.After(time.Minute):
		return errors.New("no such request within a minute")
	}
}

func cmdResume(s *Script, _ []string) error {
	s.resume()
	return nil
}

// signals are those that a script may send.
var signals = map[string]syscall.Signal{
	"INT": syscall.SIGINT, "TERM": syscall.SIGTERM, "HUP": syscall.SIGHUP, "STOP": syscall.SIGSTOP, "CONT": syscall.SIGCONT,
}

// cmdSignal sends a signal to the program that was started last. One that is to
// stand still does when the command ends.
func cmdSignal(s *Script, args []string) error {
	running := s.BackgroundCmds()
	if len(args) != 1 || len(running) == 0 {
		return ErrUsage
	}
	sig, ok := signals[args[0]]
	if !ok {
		return fmt.Errorf("unknown signal %q", args[0])
	}
	p := running[len(running)-1].Process
	if err := p.Signal(sig); err != nil || sig != syscall.SIGSTOP {
		return err
	}
	return until(func() (bool, error) {
		stat, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(p.Pid), "stat"))
		return bytes.Contains(stat, []byte(") T ")), err
	})
}

// cmdTold waits until a run has printed a text, after what told has seen before.
func cmdTold(s *Script, args []string) error {
	if len(args) != 1 {
		return ErrUsage
	}
	return until(func() (bool, error) {
		text, err := os.ReadFile(s.Getenv(TranscriptVar))
		at := bytes.Index(text[min(s.heard, len(text)):], []byte(args[0]))
		if at >= 0 {
			s.heard += at + len(args[0])
		}
		return at >= 0, err
	})
}

// cmdClaimed waits until the ledger, a folder, says that a request is claimed.
func cmdClaimed(s *Script, args []string) error {
	if len(args) != 1 {
		return ErrUsage
	}
	return until(func() (bool, error) {
		err := s.Exec("trueup", "ledger", "ls", "--open")
		return strings.Contains(s.ReadFile("stdout"), args[0]+" "), err
	})
}

// until looks again and again, for a minute at most.
func until(seen func() (bool, error)) error {
	for end := time.Now().Add(time.Minute); ; time.Sleep(5 * time.Millisecond) {
		if ok, err := seen(); ok || err != nil {
			return err
		}
		if time.Now().After(end) {
			return errors.New("not within a minute")
		}
	}
}
