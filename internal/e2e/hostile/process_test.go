//go:build linux

package hostile

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"time"

	"trueup/internal/cli"
	"trueup/internal/e2e/harness"
)

func hostileProcess() []hostileCase {
	return []hostileCase{
		{"crash-between-intent-and-outcome", "A question, never a second send: 'TestCrashPoints'.", crashBetween},
		{"signals", "The first lets requests finish; the second records them as unknown and exits.", interrupted},
		{"full-stdout", "Lost output is an error, and never stops an apply half-way.", fullStdout},
		{"panic", "An error of its object; a request in flight becomes a question.", panics},
		{"newer-format", "Refused, and not written to.", newerFormat},
		{"supply-chain", "Actions and tools are pinned, the hosted workflow runs govulncheck, and nothing is loaded at run time.", supplyChain},
	}
}

// atPost starts the real program, and calls do when its first request of a purge
// has been carried out, and is not answered.
func atPost(p *place, do func(*os.Process)) error {
	p.Helper()
	program, err := exec.LookPath("trueup")
	if err != nil {
		p.Fatal(err)
	}
	p.fault("POST /purges: stall after-commit")
	ctx, cancel := context.WithTimeout(p.Context(), limit)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, "apply", "--auto-approve", "--target", "purge/rel-42")
	cmd.Dir, cmd.Env = p.dir, append(os.Environ(), "CI=")
	for name, value := range p.vars {
		cmd.Env = append(cmd.Env, name+"="+value)
	}
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	arrived := make(chan struct{})
	var once sync.Once
	p.intercept(func(_ http.ResponseWriter, r *http.Request) bool {
		if r.Method == http.MethodPost {
			once.Do(func() { close(arrived) })
		}
		return false
	})
	if err := cmd.Start(); err != nil {
		p.Fatal(err)
	}
	select {
	case <-arrived:
		do(cmd.Process)
	case <-ctx.Done():
	}
	err = cmd.Wait()
	p.server.ClearFaults()
	harmless(p.T, out.String())
	if ctx.Err() != nil {
		p.Fatalf("the program did not end:\n%s", out.String())
	}
	return err
}

func codeOf(err error) int {
	var failed *exec.ExitError
	if errors.As(err, &failed) {
		return failed.ExitCode()
	}
	return 0
}

func crashBetween(p *place) {
	begin(p)
	_ = atPost(p, func(process *os.Process) { _ = process.Kill() })
	purge := append(applied, "--target", "purge/rel-42")
	p.vars["TRUEUP_TIMEOUT"] = "2s"
	p.says(5, purge, "in flight elsewhere")
	delete(p.vars, "TRUEUP_TIMEOUT")
	p.passed = 11 * time.Minute
	if err := p.server.Advance(p.passed); err != nil {
		p.Fatal(err)
	}
	p.says(6, purge, "about to be sent by")
	p.says(6, purge, "trueup ledger resolve")
	p.must(0, "ledger", "resolve", "purge/rel-42", "--posted", "--reason", "looked")
	p.must(0, purge...)
	if all, err := p.server.CountExecutedPurges(); err != nil || all["rel-42"] > 1 {
		p.Errorf("executed %v, %v", all, err)
	}
}

func interrupted(p *place) {
	begin(p)
	start := time.Now()
	err := atPost(p, func(process *os.Process) {
		_ = process.Signal(os.Interrupt)
		time.AfterFunc(300*time.Millisecond, func() { _ = process.Signal(syscall.SIGTERM) })
	})
	if code := codeOf(err); code != 130 {
		p.Errorf("exit %d, want 130", code)
	}
	if took := time.Since(start); took > 30*time.Second {
		p.Errorf("it took %s to end", took)
	}
	p.says(6, []string{"apply", "--auto-approve", "--target", "purge/rel-42"}, "its outcome is unknown")
	p.must(0, "ledger", "ls", "--open")
}

// full is a disk without room.
type full struct{}

func (full) Write([]byte) (int, error) { return 0, syscall.ENOSPC }

func fullStdout(p *place) {
	begin(p)
	for _, command := range [][]string{{"apply", "--auto-approve"}, {"plan"}, {"plan", "-o", "json"}, {"validate"}, {"ledger", "ls"}, {"version"}} {
		env := p.env(io.Discard)
		env.Stdout = full{}
		if code := cli.Main(p.Context(), command, env); code == 0 {
			p.Errorf("%v exits with 0 though its output is lost", command)
		}
	}
	p.executed("rel-42", 1)
	p.sent()
	p.must(0, applied...)
	p.nothingSent()
}

// panics: a mistake of this program, where it hurts most.
func panics(p *place) {
	begin(p)
	p.write("manifests/shop.yaml", cdnOf("shop", "  tls: {forced: \"true\"}\n"))
	p.fault("PATCH /cdns: 503")
	var out bytes.Buffer
	env := p.env(&out)
	env.Sleep = func(context.Context, time.Duration) error { panic("a mistake") }
	code := cli.Main(p.Context(), applied, env)
	harmless(p.T, out.String())
	if code == 0 || code == 2 || !strings.Contains(out.String(), "a mistake") || strings.Contains(out.String(), "goroutine ") {
		p.Errorf("exit %d\n%s", code, out.String())
	}
	p.must(0, applied...)
	p.executed("rel-42", 1)
}

func newerFormat(p *place) {
	begin(p)
	p.must(0, applied...)
	p.sent()
	log, err := filepath.Glob(p.path("ledger/log/*/*"))
	if err != nil || len(log) == 0 {
		p.Fatal(log, err)
	}
	const newer = `{"schema":"trueup.ledger/v3"}` + "\n"
	before := map[string]string{}
	for _, name := range log {
		name = filepath.ToSlash(strings.TrimPrefix(name, p.path("")))
		before[name] = p.read(name)
		p.write(name, newer)
	}
	p.write("manifests/purge.yaml", purgeNamed("rel-43", "/a"))
	p.says(1, applied, "written by a newer version of trueup")
	p.nothingSent()
	for name, content := range before {
		if p.read(name) != newer {
			p.Error("a ledger of a newer version was written to")
		}
		p.write(name, content)
	}
	p.write("trueup.yaml", strings.Replace(p.read("trueup.yaml"), "trueup/v1", "trueup/v2", 1))
	p.says(4, []string{"plan"}, "write apiVersion: trueup/v1")
}

func supplyChain(p *place) {
	if strings.Contains(harness.ReadText(p.T, "go.mod"), "replace ") {
		p.Error("go.mod replaces a module")
	}
	for _, file := range []string{"go.sum", "tools/go.sum"} {
		if len(harness.ReadText(p.T, file)) == 0 {
			p.Errorf("%s is empty", file)
		}
	}
	ci := harness.ReadText(p.T, ".github/workflows/ci.yml")
	if !strings.Contains(ci, "govulncheck") {
		p.Error("nobody looks for known weaknesses")
	}
	scripts, err := os.ReadDir(".ci")
	if err != nil {
		p.Fatal(err)
	}
	for _, f := range scripts {
		if m := regexp.MustCompile(`go (install|run) \S+@(latest|main|master)`).FindString(harness.ReadText(p.T, ".ci/"+f.Name())); m != "" {
			p.Errorf(".ci/%s: %s is not pinned", f.Name(), m)
		}
	}
	// The program loads nothing while it runs: no plug-in, no remote schema.
	for _, name := range []string{"plugin", "net/rpc"} {
		if strings.Contains(harness.ReadText(p.T, "main.go"), `"`+name+`"`) {
			p.Errorf("main.go imports %s", name)
		}
	}
}
