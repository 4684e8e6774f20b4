//go:build linux

package harness

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http/httptest"
	"os"
	"os/exec"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"trueup/internal/sandbox"
)

// platformKey finds the platform of a script among its values.
type platformKey struct{}

// platform is what a script's runs talk to.
type platform struct {
	server *sandbox.Server
	web    *httptest.Server

	// heard is how much of the transcript was waited for.
	heard int

	// moved is how far the script has moved the clocks.
	moved time.Duration

	// pause is of the request that is held up.
	pause *pause

	mu sync.Mutex
	// arrived is closed, and replaced, at each request.
	arrived chan struct{}
}

func (p *platform) close(t testing.TB) {
	if p.server == nil {
		return
	}
	p.resume()
	if err := p.server.Close(); err != nil {
		t.Errorf("close the sandbox: %v", err)
	}
	p.web.Close()
	p.server = nil
}

// seen wakes whoever waits for a request.
func (p *platform) seen(sandbox.Request) {
	p.mu.Lock()
	defer p.mu.Unlock()
	close(p.arrived)
	p.arrived = make(chan struct{})
}

func (p *platform) next() <-chan struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.arrived
}

// Command is a command of the scripts; it fails the script by its error.
type Command func(s *Script, args []string) error

// Script is a running script with its platform.
type Script struct {
	*testscript.TestScript
	*platform
	neg bool
}

// commands are the scripts' own:
//
//	sandbox [SEED]            start a platform with the objects of SEED, and point the program at it
//	token ROLE                full, reader, no-purger, wrong or none
//	project [MORE]            write trueup.yaml with a ledger of its own; MORE is added to the file
//	exits CODE PROGRAM ARG…   run, and compare the exit code
//	requests [-all|-none]     print the writes, or all requests; or assert that nothing was written
//	shown PLAN                compare the writes with the requests of a plan in JSON
//	causes PLAN               print each line of a plan in JSON with its cause, by whom and its place, and what was compared
//	forget                    empty the request log
//	await METHOD PATH [N]     wait until N such requests have arrived
//	pause METHOD PATH [N]     hold the N-th such request up before it arrives, until resume
//	paused                    wait until it is held up
//	resume                    let it arrive
//	clock +25h                move everybody's clock
//	fault [METHOD PATH: EFFECT…]   let coming requests fail (docs/sandbox.md), or forget such
//	quirk NAME…               replace the quirks that are on
//	put FILE…                 make or replace live objects, as somebody else would
//	remove KIND/NAME          take a live object away, as somebody else would
//	meddle METHOD PATH FILE [N]   do put when the N-th such request arrives
//	[!] live KIND/NAME [PATH WANT]   a live object, or what stands at a path of its spec
//	executed NAME N           how often a purge was carried out
//	commit MESSAGE            commit the manifests, in a repository that is made where there is none
//	signal NAME               send a signal to the program that was started last
//	told TEXT                 wait until a run has printed it
//	claimed KIND/NAME         wait until the ledger says that a request has been begun
//	ended CODE                compare the exit code of the run that ended last, as of one in the background
//	codehost VERB…            a code host (codehost_test.go)
//	workflow FILE EVENT …     run a shipped workflow in a simulated runner (runner_test.go)
//	pipeline SOURCE …         run the template for GitLab in a simulated pipeline (pipeline_test.go)
//	hostile FILE…             write programs that fail the script if a job runs them (machine_test.go)
//	masked [FILE]             print what was printed last, or a file, without the digits of a plan's digest and of the platform's port
//	edit FILE OLD NEW         replace the one place where a file says OLD; \n is a new line
func commands(more map[string]Command) map[string]func(*testscript.TestScript, bool, []string) {
	table := map[string]Command{
		"sandbox": cmdSandbox, "token": cmdToken, "project": cmdProject, "exits": cmdExits,
		"requests": cmdRequests, "forget": cmdForget, "await": cmdAwait, "clock": cmdClock,
		"fault": cmdFault, "quirk": cmdQuirk, "put": cmdPut, "remove": cmdRemove, "meddle": cmdMeddle,
		"shown": cmdShown, "causes": cmdCauses, "live": cmdLive, "masked": cmdMasked, "executed": cmdExecuted, "edit": cmdEdit, "commit": cmdCommit,
		"codehost": cmdCodeHost, "hostile": cmdHostile, "pause": cmdPause, "paused": cmdPaused, "resume": cmdResume, "signal": cmdSignal, "told": cmdTold, "claimed": cmdClaimed, "ended": cmdEnded,
	}
	maps.Copy(table, more)
	out := make(map[string]func(*testscript.TestScript, bool, []string), len(table))
	for name, run := range table {
		out[name] = func(ts *testscript.TestScript, neg bool, args []string) {
			if neg && name != "live" {
				ts.Fatalf("unsupported: ! %s", name)
			}
			s := &Script{TestScript: ts, platform: ts.Value(platformKey{}).(*platform), neg: neg}
			if err := run(s, args); err != nil {
				ts.Fatalf("%s: %v", name, err)
			}
		}
	}
	return out
}

// ErrUsage is a command that was called in another way than the table says.
var ErrUsage = errors.New("wrong number of arguments")

func cmdSandbox(s *Script, args []string) error {
	// The platform's clock stands still until the script moves it.
	now := time.Now()
	server, err := sandbox.Open(sandbox.Options{
		Now: func() time.Time { return now },
		Log: s.seen,
		Tokens: map[string][]string{
			Canary + "-compute":   {sandbox.RoleComputeAdmin},
			Canary + "-delivery":  {sandbox.RoleCDNAdmin, sandbox.RolePurger},
			Canary + "-no-purger": {sandbox.RoleCDNAdmin},
			Canary + "-reader":    {sandbox.RoleReader},
		},
	})
	if err != nil {
		return err
	}
	s.server, s.web = server, httptest.NewServer(server)
	s.Setenv("SANDBOX", s.web.URL)
	s.Setenv("TRUEUP_DELIVERY_URL", s.web.URL+sandbox.DeliveryBase)
	s.Setenv("TRUEUP_COMPUTE_URL", s.web.URL+sandbox.ComputeBase)
	if err := cmdToken(s, []string{"full"}); err != nil {
		return err
	}
	return cmdPut(s, args)
}

func cmdToken(s *Script, args []string) error {
	if len(args) != 1 {
		return ErrUsage
	}
	delivery, compute := Canary+"-"+args[0], Canary+"-"+args[0]
	switch args[0] {
	case "full":
		delivery, compute = Canary+"-delivery", Canary+"-compute"
	case "no-purger":
		compute = Canary + "-compute"
	case "none":
		delivery, compute = "", ""
	case "reader", "wrong":
	default:
		return fmt.Errorf("unknown role %q", args[0])
	}
	s.Setenv("TRUEUP_DELIVERY_TOKEN", delivery)
	s.Setenv("TRUEUP_COMPUTE_TOKEN", compute)
	return nil
}

// ProjectText is the trueup.yaml of the project of a script.
const ProjectText = `apiVersion: trueup/v1
kind: Project
workspace: {name: acme, uuid: ` + sandbox.WorkspaceUUID + `}
manifests: [manifests]
ledger: {store: "file:ledger"}
`

func cmdProject(s *Script, args []string) error {
	text := ProjectText
	for _, name := range args {
		text += s.ReadFile(name)
	}
	file := s.MkAbs("trueup.yaml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		return err
	}
	if err := s.Exec("trueup", "ledger", "init", "--adopt=none"); err != nil {
		return err
	}
	id := regexp.MustCompile(`ledger (\S+) is ready`).FindStringSubmatch(s.ReadFile("stdout"))
	if id == nil {
		return errors.New("ledger init printed no id")
	}
	s.Setenv("LEDGER_ID", id[1])
	text = strings.Replace(text, `"file:ledger"`, `"file:ledger", id: `+id[1], 1)
	return os.WriteFile(file, []byte(text), 0o600)
}

func cmdExits(s *Script, args []string) error {
	if len(args) < 2 {
		return ErrUsage
	}
	want, err := strconv.Atoi(args[0])
	if err != nil {
		return err
	}
	err = s.Exec(args[1], args[2:]...)
	var failed *exec.ExitError
	if err != nil && !errors.As(err, &failed) {
		return err
	}
	got := 0
	if failed != nil {
		got = failed.ExitCode()
	}
	if got != want {
		return fmt.Errorf("exit code %d, want %d", got, want)
	}
	return nil
}

func cmdRequests(s *Script, args []string) error {
	out := s.Stdout()
	all, err := s.server.Requests()
	if err != nil {
		return err
	}
	for _, r := range all {
		switch {
		case r.Method == "GET" && !slices.Contains(args, "-all"):
			continue
		case r.Method != "GET" && slices.Contains(args, "-none"):
			return fmt.Errorf("there was a %s %s", r.Method, r.Path)
		}
		line := strings.TrimSpace(strings.Join([]string{r.Method, r.Path, r.ContentType, r.Body}, " "))
		if _, err := fmt.Fprintln(out, line); err != nil {
			return err
		}
	}
	return nil
}

func cmdShown(s *Script, args []string) error {
	if len(args) != 1 {
		return ErrUsage
	}
	var doc struct {
		Plan struct {
			Items []struct{ Request *planned }
		}
	}
	if err := json.Unmarshal([]byte(s.ReadFile(args[0])), &doc); err != nil {
		return err
	}
	var shown []planned
	for _, item := range doc.Plan.Items {
		if item.Request != nil {
			shown = append(shown, *item.Request)
		}
	}
	all, err := s.server.Requests()
	if err != nil {
		return err
	}
	for _, r := range all {
		if r.Method == "GET" {
			continue
		}
		i := slices.IndexFunc(shown, func(p planned) bool { return p.is(r) })
		if i < 0 {
			return fmt.Errorf("the plan did not show %s %s %s", r.Method, r.Path, r.Body)
		}
		shown = slices.Delete(shown, i, i+1)
	}
	if len(shown) > 0 {
		return fmt.Errorf("%d requests of the plan were not sent, the first is %s %s", len(shown), shown[0].Method, shown[0].Path)
	}
	return nil
}

// planned is a request that a plan shows.
type planned struct {
	Method, Path, ContentType string
	Body                      map[string]any
}

// is reports whether a request is the planned one. A patch of a whole list may
// also say which version it was compared with.
func (p planned) is(r sandbox.Request) bool {
	var body map[string]any
	if r.Body != "" && json.Unmarshal([]byte(r.Body), &body) != nil {
		return false
	}
	if r.Method == "PATCH" {
		delete(body, "metadata")
	}
	return p.Method == r.Method && strings.HasSuffix(r.Path, p.Path) && p.ContentType == r.ContentType &&
		reflect.DeepEqual(p.Body, body)
}

func cmdForget(s *Script, _ []string) error { return s.server.ResetRequests() }

func cmdAwait(s *Script, args []string) error {
	if len(args) < 2 {
		return ErrUsage
	}
	want, err := count(args, 2)
	if err != nil {
		return err
	}
	limit := time.After(time.Minute)
	for {
		next := s.next()
		all, err := s.server.Requests()
		if err != nil {
			return err
		}
		seen := 0
		for _, r := range all {
			if r.Method == args[0] && strings.Contains(r.Path, args[1]) {
				seen++
			}
		}
		if seen >= want {
			return nil
		}
		select {
		case <-next:
		case <-limit:
			return fmt.Errorf("%d of %d requests %s of %s within a minute", seen, want, args[0], args[1])
		}
	}
}

func cmdClock(s *Script, args []string) error {
	if len(args) != 1 {
		return ErrUsage
	}
	d, err := time.ParseDuration(args[0])
	if err != nil {
		return err
	}
	s.moved += d
	s.Setenv(ClockVar, s.moved.String())
	return s.server.Advance(d)
}

func cmdFault(s *Script, args []string) error {
	if len(args) == 0 {
		s.server.ClearFaults()
		return nil
	}
	if len(args) == 0 {
		s.server.ClearFaults()
		return nil
	}
	return s.server.Fault(strings.Join(args, " "))
}

// count is the number that may follow n arguments, 1 without it.
func count(args []string, n int) (int, error) {
	switch len(args) {
	case n:
		return 1, nil
	case n + 1:
		return strconv.Atoi(args[n])
	}
	return 0, ErrUsage
}

func cmdQuirk(s *Script, args []string) error { return s.server.SetQuirks(args...) }

func cmdPut(s *Script, args []string) error {
	for _, name := range args {
		if err := s.server.LoadSeed([]byte(s.ReadFile(name))); err != nil {
			return err
		}
	}
	return nil
}

func cmdRemove(s *Script, args []string) error {
	if len(args) != 1 {
		return ErrUsage
	}
	kind, name, _ := strings.Cut(args[0], "/")
	return s.server.Remove(kind, sandbox.WorkspaceName, name)
}

func cmdMeddle(s *Script, args []string) error {
	nth, err := count(args, 3)
	if err != nil {
		return err
	}
	raw := []byte(s.ReadFile(args[2]))
	var seen atomic.Int64
	s.server.OnRequest(func(method, path string) {
		if method != args[0] || !strings.HasSuffix(path, args[1]) || seen.Add(1) != int64(nth) {
			return
		}
		if err := s.server.LoadSeed(raw); err != nil {
			panic(err)
		}
	})
	return nil
}

func cmdLive(s *Script, args []string) error {
	if len(args) != 1 && len(args) != 3 && (!s.neg || len(args) != 2) {
		return ErrUsage
	}
	kind, name, _ := strings.Cut(args[0], "/")
	obj, err := s.server.Object(kind, sandbox.WorkspaceName, name)
	if err != nil {
		return err
	}
	if len(args) == 1 {
		if exists := obj != nil; exists == s.neg {
			return fmt.Errorf("%s exists: %t", args[0], exists)
		}
		return nil
	}
	if obj == nil {
		return fmt.Errorf("%s does not exist", args[0])
	}
	got, found := At(obj["spec"], args[1])
	switch {
	case len(args) == 2 && found:
		return fmt.Errorf("%s of %s is %s", args[1], args[0], got)
	case len(args) == 3 && (found && got == args[2]) == s.neg:
		return fmt.Errorf("%s of %s is %q", args[1], args[0], got)
	}
	return nil
}

// step is a field's name, or [field=value] for the list element that has it.
var step = regexp.MustCompile(`\[([^=\]]+)=([^\]]*)\]|[^.\[]+`)

// At returns what stands at a path such as servers[host=a].port: text as it is,
// anything else as JSON.
func At(tree any, path string) (string, bool) {
	for _, m := range step.FindAllStringSubmatch(path, -1) {
		switch node := tree.(type) {
		case map[string]any:
			value, found := node[m[0]]
			if !found {
				return "", false
			}
			tree = value
		case []any:
			i := slices.IndexFunc(node, func(e any) bool {
				element, ok := e.(map[string]any)
				return ok && element[m[1]] == m[2]
			})
			if i < 0 {
				return "", false
			}
			tree = node[i]
		default:
			return "", false
		}
	}
	if s, ok := tree.(string); ok {
		return s, true
	}
	b, err := json.Marshal(tree)
	return string(b), err == nil
}

// planDigest is how a plan shows its digest, in which the ids of a ledger and of
// live objects count, and so differ from run to run.
var planDigest = regexp.MustCompile(`sha256(:|&#58;)[0-9a-f]{64}`)

// loopback is an address of this machine in text and in Markdown, whose port changes.
var loopback = regexp.MustCompile(`127\.0\.0\.1(:|&#58;)[0-9]+`)

func cmdMasked(s *Script, args []string) error {
	name := "stdout"
	if len(args) == 1 {
		name = args[0]
	}
	text := planDigest.ReplaceAllString(s.ReadFile(name), "sha256$1...")
	_, err := fmt.Fprint(s.Stdout(), loopback.ReplaceAllString(text, "127.0.0.1$1..."))
	return err
}

func cmdExecuted(s *Script, args []string) error {
	if len(args) != 2 {
		return ErrUsage
	}
	all, err := s.server.Executed()
	if err != nil {
		return err
	}
	if got := strconv.Itoa(all[args[0]]); got != args[1] {
		return fmt.Errorf("%s was executed %s times, want %s", args[0], got, args[1])
	}
	return nil
}

func cmdCommit(s *Script, args []string) error {
	if len(args) != 1 {
		return ErrUsage
	}
	s.Setenv("GIT_CONFIG_GLOBAL", os.DevNull)
	s.Setenv("GIT_CONFIG_NOSYSTEM", "1")
	if _, err := os.Stat(s.MkAbs(".git")); errors.Is(err, os.ErrNotExist) {
		if err := s.Exec("git", "init", "-q", "-b", "main"); err != nil {
			return err
		}
	}
	if err := s.Exec("git", "add", "-A", "manifests"); err != nil {
		return err
	}
	return s.Exec("git", "-c", "user.name=a", "-c", "user.email=a@example.com", "commit", "-q", "-m", args[0])
}

func cmdEdit(s *Script, args []string) error {
	if len(args) != 3 {
		return ErrUsage
	}
	file := s.MkAbs(args[0])
	data, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	if n := bytes.Count(data, []byte(args[1])); n != 1 {
		return fmt.Errorf("%s says %q %d times", args[0], args[1], n)
	}
	text := strings.ReplaceAll(args[2], `\n`, "\n")
	return os.WriteFile(file, bytes.Replace(data, []byte(args[1]), []byte(text), 1), 0o600)
}
