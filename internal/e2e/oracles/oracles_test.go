// Package oracles compares the location that trueup says serves a request with what nginx and Varnish do.
// They share no code with trueup, and each has a rule of its own: nginx takes the most specific location of
// the most specific host, a chain in VCL the first that matches.
package oracles

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"trueup/internal/e2e/long"
	"trueup/internal/routing"
)

// drawAll returns random sets, and those of the corpus.
func drawAll(t *testing.T) []set {
	sets := corpus(t)
	for range long.Times(100) {
		sets = append(sets, drawSet())
	}
	return sets
}

// needs skips a test without its programs. With TRUEUP_LONG, as .ci/oracles sets it, they must be there.
func needs(t *testing.T, programs ...string) {
	for _, program := range programs {
		if _, err := exec.LookPath(program); err != nil {
			if long.IsSet() {
				t.Fatal(err)
			}
			t.Skipf("%v: .ci/oracles installs it", err)
		}
	}
}

// start runs a server until the test ends, and returns once it listens on the socket in dir.
func start(t *testing.T, dir, program string, args ...string) (socket string) {
	socket = filepath.Join(dir, "socket")
	log, err := os.Create(filepath.Join(dir, "log"))
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(program, args...)
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		_ = cmd.Wait()
		close(ended)
	}()
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		<-ended
		_ = log.Close()
	})
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		if conn, err := net.Dial("unix", socket); err == nil {
			_ = conn.Close()
			return socket
		}
		select {
		case <-ended:
			said, _ := os.ReadFile(log.Name())
			t.Fatalf("%s ended: %s", program, said)
		default:
		}
	}
	t.Fatalf("%s does not listen", program)
	return ""
}

// ask sends the requests of a set as they are, in one go: a client would tidy their addresses. It returns the
// location that answered each, or -1.
func ask(t *testing.T, socket string, n int, requests []request) (answers []int) {
	conn, err := net.Dial("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	_ = conn.SetDeadline(time.Now().Add(time.Minute))
	var b strings.Builder
	for _, q := range requests {
		fmt.Fprintf(&b, "GET %s HTTP/1.1\r\nHost: %s\r\nX-Chunk: %d\r\nX-Set: %d\r\n\r\n", q.path, under(q.host, n), n/chunk, n)
	}
	if _, err := io.WriteString(conn, b.String()); err != nil {
		t.Fatal(err)
	}
	from := bufio.NewReader(conn)
	for _, q := range requests {
		response, err := http.ReadResponse(from, nil)
		if err != nil {
			t.Fatalf("set %d, %q of %q: %v", n, q.path, q.host, err)
		}
		_, _ = io.Copy(io.Discard, response.Body)
		_ = response.Body.Close()
		answer := -1
		if marker := response.Header.Get("X-Location"); marker != "" {
			of, index, _ := strings.Cut(marker, "/")
			if of != strconv.Itoa(n) {
				t.Fatalf("set %d was answered by set %s", n, of)
			}
			answer, err = strconv.Atoi(index)
			if err != nil {
				t.Fatal(err)
			}
		}
		answers = append(answers, answer)
	}
	return answers
}

// compare requests every address of every set. Another reading must be wrong about some of them: else the
// sets would be no evidence.
func compare(t *testing.T, socket string, sets []set, reading, other routing.Precedence) {
	asked, mismatches, otherwise := 0, 0, 0
	for n, s := range sets {
		lookups := map[string]*routing.Lookup{}
		for i, answer := range ask(t, socket, n, s.requests) {
			q := s.requests[i]
			index := func(p routing.Precedence) int {
				host := under(q.host, n)
				id := string(p) + " " + host
				if lookups[id] == nil {
					lookups[id] = routing.NewLookup([]routing.Side{{Name: routing.Git, Site: s.site(n, host)}}, []routing.Precedence{p}, func(string, []string) string { return "" })
				}
				found, err := lookups[id].Find(routing.URL{Host: host, Path: q.path})
				if err != nil || found.Location(0, 0) == nil {
					return -1
				}
				return found.Location(0, 0).Index
			}
			asked++
			if index(other) != answer {
				otherwise++
			}
			if index(reading) != answer {
				if mismatches++; mismatches <= 5 {
					t.Errorf("set %d %q: %q of host %q is served by %d, trueup says %d; locations %q", n, s.name, q.path, q.host, answer, index(reading), s.locations)
				}
			}
		}
	}
	t.Logf("%d sets, %d requests, %d mismatches; another reading differs in %d", len(sets), asked, mismatches, otherwise)
	if otherwise < asked/100 {
		t.Errorf("another reading differs in %d of %d requests only", otherwise, asked)
	}
}
