package cli

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"trueup/internal/config"
	"trueup/internal/diag"
	"trueup/internal/sandbox"
)

// TestServedSandboxTakesFaults: faults of the environment and those that are said
// while it is served; they end with it.
func TestServedSandboxTakesFaults(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.vars["TRUEUP_SANDBOX_FAULTS"] = "GET */cdns: 503; GET */cdns: 504 @3 x*"
	ctx, stop := context.WithCancel(t.Context())
	reads, writes := io.Pipe()
	ended := make(chan int)
	go func() {
		ended <- Main(ctx, []string{"sandbox", "-q"}, s.env(writes, io.Discard))
	}()
	line, err := bufio.NewReader(reads).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	go func() { _, _ = io.Copy(io.Discard, reads) }()
	base := regexp.MustCompile(`TRUEUP_DELIVERY_URL=(\S+)`).FindStringSubmatch(line)[1]
	list := func() int {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, base+"/global/workspaces/"+workspace.UUID+"/cdns", nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer "+sandbox.DeliveryToken)
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		_ = res.Body.Close()
		return res.StatusCode
	}
	for i, want := range []int{503, 200, 504} {
		if got := list(); got != want {
			t.Errorf("list %d: %d, want %d", i, got, want)
		}
	}
	if got := s.must(diag.ExitOK, "sandbox", "fault"); got != "GET */cdns: 504 @3 x*  seen 3, met 1\n" {
		t.Errorf("waiting:\n%s", got)
	}
	s.must(diag.ExitOK, "sandbox", "fault", "--clear")
	s.must(diag.ExitOK, "sandbox", "fault", "GET *: 502", "POST *: drop")
	if got := list(); got != http.StatusBadGateway {
		t.Errorf("list: %d", got)
	}
	if got := s.must(diag.ExitOK, "sandbox", "fault"); got != "POST *: drop  seen 0, met 0\n" {
		t.Errorf("waiting:\n%s", got)
	}
	s.must(diag.ExitOK, "sandbox", "fault", "--clear")
	if got := s.must(diag.ExitOK, "sandbox", "fault"); got != "no fault waits\n" {
		t.Errorf("waiting:\n%s", got)
	}
	if code, _, says := s.run("sandbox", "fault", "GET *: 5O3"); code != diag.ExitError || says != "trueup: "+faultError(t, "GET *: 5O3")+"\n" {
		t.Errorf("exit %d: %s", code, says)
	}
	stop()
	if code := <-ended; code != diag.ExitOK {
		t.Errorf("exit %d", code)
	}
	if _, _, says := s.run("sandbox", "fault"); !strings.Contains(says, "no sandbox is served here") {
		t.Error(says)
	}
}

func faultError(t *testing.T, rule string) string {
	t.Helper()
	server, err := sandbox.Open(sandbox.ServerOptions{Now: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = server.Close() }()
	return server.AddFaults(rule).Error()
}

// TestNoFileLeadsElsewhere: what a repository puts where the sandbox says its
// address can't make the program dial another, hang, or write through it.
func TestNoFileLeadsElsewhere(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	l, err := net.Listen("tcp", "0.0.0.0:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	_, port, err := net.SplitHostPort(l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(s.dir, ".trueup", "sandbox")
	for _, where := range []string{"0.0.0.0:" + port, "example.com:80", "127.0.0.1@example.com:80", "127.0.0.1:" + port + "/x?", "127.0.0.1"} {
		s.write(".trueup/sandbox/address", where)
		if code, _, says := s.run("sandbox", "fault"); code != diag.ExitError || !strings.Contains(says, "does not name a loopback address") {
			t.Errorf("%s: exit %d: %s", where, code, says)
		}
	}
	asked := false
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked = true }))
	t.Cleanup(other.Close)
	leads := httptest.NewServer(http.RedirectHandler(other.URL, http.StatusTemporaryRedirect))
	t.Cleanup(leads.Close)
	s.write(".trueup/sandbox/address", strings.TrimPrefix(leads.URL, "http://"))
	if code, _, says := s.run("sandbox", "fault", "GET *: drop"); code != diag.ExitError || !strings.Contains(says, "no sandbox is served here") || asked {
		t.Errorf("exit %d, asked %t: %s", code, asked, says)
	}
	elsewhere := filepath.Join(s.dir, "elsewhere")
	if err := os.Remove(filepath.Join(dir, "address")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(elsewhere, filepath.Join(dir, "address")); err != nil {
		t.Fatal(err)
	}
	if code, _, says := s.run("sandbox", "fault"); code != diag.ExitError || !strings.Contains(says, "no sandbox is served here") {
		t.Errorf("exit %d: %s", code, says)
	}
	leave, err := config.AnnounceSandbox(dir, "http://127.0.0.1:1")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(elsewhere); err == nil {
		t.Error("a file elsewhere was written")
	}
	if err := leave(); err != nil {
		t.Error(err)
	}
}
