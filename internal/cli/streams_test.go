package cli

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"testing"

	"trueup/internal/diag"
)

// asks is a standard error that tells when a question was asked.
type asks struct {
	said  bytes.Buffer
	asked chan struct{}
}

func (a *asks) Write(text []byte) (int, error) {
	if bytes.HasSuffix(text, []byte(": ")) {
		close(a.asked)
	}
	return a.said.Write(text)
}

// TestNobodyAnswers: who interrupts a question, or the reading of standard
// input, is not made to wait for what may never come.
func TestNobodyAnswers(t *testing.T) {
	s := newStage(t)
	s.write("manifests/shop.yaml", adoptedCDN)
	stdin, typed := io.Pipe()
	defer func() { _ = typed.Close() }()
	for _, args := range [][]string{{"apply"}, {"validate", "-"}} {
		ctx, cancel := context.WithCancel(t.Context())
		errs := &asks{asked: make(chan struct{})}
		env := s.env(io.Discard, errs)
		env.Stdin, env.StdinIsTTY = stdin, true
		if args[0] == "apply" {
			go func() {
				<-errs.asked
				cancel()
			}()
		} else {
			cancel()
		}
		if code := Main(ctx, args, env); code != diag.ExitInterrupted {
			t.Errorf("%v: exit %d: %s", args, code, errs.said.String())
		}
		cancel()
		if !strings.Contains(errs.said.String(), "trueup: interrupted: ") {
			t.Errorf("%v: %s", args, errs.said.String())
		}
	}
	if writes := s.writes(); len(writes) > 0 {
		t.Errorf("there were %d writes", len(writes))
	}
}

// full is a disk without room.
type full struct{}

func (*full) Write([]byte) (int, error) { return 0, errors.New("no space left") }

// late is a file system that tells of a full disk when a file is closed.
type late struct{ bytes.Buffer }

func (*late) Close() error { return errors.New("no space left") }

// TestLostOutputIsNoSuccess: for who reads the code, whichever command it is and
// whenever the loss is reported.
func TestLostOutputIsNoSuccess(t *testing.T) {
	s := newStage(t)
	s.write("manifests/shop.yaml", adoptedCDN)
	s.must(diag.ExitOK, "apply", "--auto-approve")
	for _, out := range []io.Writer{&full{}, &late{}} {
		for _, args := range [][]string{
			{"plan"},
			{"apply", "--auto-approve"},
			{"drift", "-o", "json"},
			{"validate", "-o", "markdown"},
			{"version"},
			{"--help"},
			{"help", "plan"},
			{"completion", "fish"},
			{"__complete", "explain", ""},
			{"explain", "cdn"},
			{"ledger", "ls"},
			{"ledger", "ls", "-o", "json"},
			{"ledger", "show", "cdn/shop"},
			{"ledger", "export"},
			{"ledger", "verify"},
			{"ledger", "settle"},
			{"doctor"},
		} {
			var errs bytes.Buffer
			code := Main(t.Context(), args, s.env(out, &errs))
			if code != diag.ExitError || !strings.Contains(errs.String(), "no space left") || strings.Count(errs.String(), "no space left") != 1 {
				t.Errorf("%v into %T: exit %d: %s", args, out, code, errs.String())
			}
		}
		var errs bytes.Buffer
		if code := Main(t.Context(), []string{"plan", "--target", "purge/none"}, s.env(out, &errs)); code != diag.ExitError {
			t.Errorf("exit %d", code)
		}
	}
	s.write("manifests/shop.yaml", strings.Replace(adoptedCDN, "shop.example.com", "other.example.com", 1))
	var errs bytes.Buffer
	if code := Main(t.Context(), []string{"plan", "--detailed-exitcode"}, s.env(&full{}, &errs)); code != diag.ExitChanges {
		t.Errorf("exit %d: the code of the run is not hidden", code)
	}
}

// TestColorOfEachStream: a question that goes to a file has no colour although
// the result would, and the other way round.
func TestColorOfEachStream(t *testing.T) {
	s := newStage(t)
	s.write("manifests/shop.yaml", adoptedCDN)
	for _, terminal := range []struct{ out, err bool }{{true, false}, {false, true}} {
		var out, errs bytes.Buffer
		env := s.env(&out, &errs)
		env.Stdin, env.StdinIsTTY, env.StderrIsTTY = strings.NewReader("no\n"), true, terminal.err
		if terminal.out {
			env.Width = 100
		}
		if code := Main(t.Context(), []string{"apply"}, env); code != diag.ExitError || !strings.Contains(errs.String(), "Plan: ") {
			t.Fatalf("exit %d: %s", code, errs.String())
		}
		if got := strings.Contains(errs.String(), "\x1b["); got != terminal.err {
			t.Errorf("standard error, a terminal: %v, is coloured: %v", terminal.err, got)
		}
		out.Reset()
		env.Stdout = &out
		if code := Main(t.Context(), []string{"plan"}, env); code != diag.ExitOK {
			t.Fatalf("exit %d", code)
		}
		if got := strings.Contains(out.String(), "\x1b["); got != terminal.out {
			t.Errorf("standard output, a terminal: %v, is coloured: %v", terminal.out, got)
		}
	}
}
