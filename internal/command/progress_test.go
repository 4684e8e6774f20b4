package command

import (
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"trueup/internal/config"
)

// screen is a terminal: what stands on it after what was written.
type screen struct {
	mu    sync.Mutex
	lines []string
	last  []rune
	at    int
	raw   strings.Builder
}

func (s *screen) Write(text []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.raw.Write(text)
	for _, r := range strings.ReplaceAll(string(text), "\x1b[K", "\x1b") {
		switch r {
		case '\x1b':
			s.last = s.last[:s.at]
		case '\n':
			s.lines, s.last, s.at = append(s.lines, string(s.last)), nil, 0
		case '\r':
			s.at = 0
		default:
			s.last, s.at = append(s.last[:s.at], r), s.at+1
		}
	}
	return len(text), nil
}

// all is what stands there, and the line of the cursor.
func (s *screen) all() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return strings.Join(append(s.lines, string(s.last)), "\n")
}

// atTerminal is a run whose standard error is a terminal.
func atTerminal(vars map[string]string) (*Run, *screen) {
	s := &screen{}
	return NewRun(config.Env{
		Stdout: s, Stderr: s, Now: time.Now, Getenv: func(name string) string { return vars[name] },
		StderrIsTTY: true, StderrWidth: func() int { return 80 },
	}), s
}

// inBubble runs a test whose time passes at once.
func inBubble(t *testing.T, name string, test func(t *testing.T)) {
	t.Run(name, func(t *testing.T) { synctest.Test(t, test) })
}

// shows waits and asserts what then stands on the terminal.
func (s *screen) shows(t *testing.T, after time.Duration, want string) {
	t.Helper()
	time.Sleep(after)
	synctest.Wait()
	if got := s.all(); got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestBar(t *testing.T) {
	inBubble(t, "is drawn after a second and goes with its phase", func(t *testing.T) {
		a, s := atTerminal(nil)
		reading := a.startPhase("reading manifests")
		reading.setProgress(400, 1000)
		s.shows(t, 990*time.Millisecond, "")
		s.shows(t, 20*time.Millisecond, "reading manifests: 400 of 1000, 1s")
		reading.setProgress(1000, 1000)
		s.shows(t, time.Second, "reading manifests: 1000 of 1000, 2s")
		reading.end()
		s.shows(t, 0, "")
		// The next one is not silent again.
		reading = a.startPhase("reading the ledger")
		s.shows(t, 2*time.Second, "reading the ledger: 2s")
		reading.end()
		s.shows(t, time.Minute, "")
	})
	inBubble(t, "leaves lines whole", func(t *testing.T) {
		a, s := atTerminal(nil)
		waiting := a.startPhase("applying")
		s.shows(t, 1050*time.Millisecond, "applying: 1s")
		a.Log(slog.LevelWarn, "slow")
		s.shows(t, 0, "warning: slow\n")
		s.shows(t, 100*time.Millisecond, "warning: slow\napplying: 1s")
		a.writeLostRecord([]byte(`{}`))
		waiting.end()
		if got, _, _ := strings.Cut(strings.TrimPrefix(s.all(), "warning: slow\n"), " "); got == "applying" {
			t.Errorf("what is to be rescued stands behind a bar: %q", s.all())
		}
	})
	inBubble(t, "is not there while nothing happens, nor soon after an answer", func(t *testing.T) {
		a, s := atTerminal(nil)
		a.Stdin = strings.NewReader("yes\n")
		comparing := a.startPhase("comparing")
		s.shows(t, 2*time.Second, "comparing: 2s")
		comparing.end()
		if _, err := a.ask("%s? ", "Apply"); err != nil {
			t.Fatal(err)
		}
		applying := a.startPhase("applying")
		s.shows(t, 900*time.Millisecond, "Apply? ")
		applying.end()
		s.shows(t, time.Hour, "Apply? ")
	})
	inBubble(t, "leaves the question for a password", func(t *testing.T) {
		a, s := atTerminal(nil)
		var asked atomic.Bool
		asked.Store(true)
		a.StderrWidth = func() int {
			if asked.Load() {
				return 0
			}
			return 80
		}
		reading := a.startPhase("reading the ledger")
		_, _ = s.Write([]byte("Passphrase: "))
		s.shows(t, 2*time.Second, "Passphrase: ")
		_, _ = s.Write([]byte("\n"))
		asked.Store(false)
		s.shows(t, time.Second, "Passphrase: \nreading the ledger: 3s")
		reading.end()
		s.shows(t, 0, "Passphrase: \n")
	})
	inBubble(t, "fits a terminal that changes", func(t *testing.T) {
		a, s := atTerminal(nil)
		var columns atomic.Int64
		a.StderrWidth = func() int { return int(columns.Load()) }
		reading := a.startPhase("reading manifests")
		reading.setProgress(10, 1000)
		for n := 80; n > 0; n-- {
			columns.Store(int64(n))
			time.Sleep(barEvery)
			synctest.Wait()
			if wide := utf8.RuneCountInString(s.all()); wide >= n {
				t.Errorf("%d columns: a line of %d", n, wide)
			}
		}
		reading.end()
		s.shows(t, 0, "")
	})
}

// TestStandardErrorBreaksBetweenWords: messages and questions fit a terminal.
func TestStandardErrorBreaksBetweenWords(t *testing.T) {
	a, s := atTerminal(nil)
	a.StderrWidth = func() int { return 45 }
	a.Stdin = strings.NewReader("yes\n")
	a.Log(slog.LevelWarn, "the clocks of this machine and the platform differ")
	if _, err := a.ask("Apply to workspace %s of the sandbox? Type yes: ", "acme"); err != nil {
		t.Fatal(err)
	}
	if got, want := s.all(), "warning: the clocks of this machine and the\n    platform differ\nApply to workspace acme of the sandbox? Type\n    yes: "; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestLines: where there is no bar a line is written every ten seconds, and
// nothing by who got --quiet.
func TestLines(t *testing.T) {
	const twice = "reading manifests: 100 of 1000, 10s\nreading manifests: 100 of 1000, 20s\n"
	for _, c := range []struct {
		name string
		vars map[string]string
		set  func(*Run)
		want string
	}{
		{"no terminal", nil, func(a *Run) { a.StderrIsTTY, a.StderrWidth = false, func() int { return 0 } }, twice},
		{"nobody knows the width", nil, func(a *Run) { a.StderrWidth = nil }, twice},
		{"dumb", map[string]string{"TERM": "dumb"}, func(*Run) {}, twice},
		{"ci with a terminal", map[string]string{"CI": "true"}, func(*Run) {}, twice},
		{"verbose", nil, func(a *Run) { a.Verbose = true }, twice},
		{"quiet", nil, func(a *Run) { a.Quiet = true }, ""},
	} {
		inBubble(t, c.name, func(t *testing.T) {
			a, s := atTerminal(c.vars)
			c.set(a)
			reading := a.startPhase("reading manifests")
			reading.setProgress(100, 1000)
			s.shows(t, 9*time.Second, "")
			s.shows(t, 16*time.Second, c.want)
			reading.end()
			s.shows(t, time.Minute, c.want)
			if strings.ContainsAny(s.raw.String(), "\r\x1b") {
				t.Errorf("%q moves a cursor", s.raw.String())
			}
		})
	}
	inBubble(t, "several short phases", func(t *testing.T) {
		a, s := atTerminal(map[string]string{"TERM": "dumb"})
		for _, doing := range []string{"reading manifests", "reading the ledger", "reading what is live"} {
			p := a.startPhase(doing)
			time.Sleep(4 * time.Second)
			synctest.Wait()
			p.end()
		}
		s.shows(t, 0, "reading what is live: 2s\n")
	})
}

// TestProgressIsFree: counting an object allocates nothing, and a short
// phase writes nothing.
func TestProgressIsFree(t *testing.T) {
	a, s := atTerminal(nil)
	reading := a.startPhase("reading manifests")
	defer reading.end()
	if n := testing.AllocsPerRun(100, func() { reading.setProgress(1, 2) }); n != 0 {
		t.Errorf("%v allocations an object", n)
	}
	if n := testing.AllocsPerRun(100, func() { a.startPhase("reading the ledger").end() }); n > 5 {
		t.Errorf("%v allocations a phase", n)
	}
	if s.all() != "" {
		t.Errorf("%q", s.all())
	}
}
