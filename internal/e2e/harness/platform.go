//go:build linux

package harness

import (
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"trueup/internal/e2e/quirks"
	"trueup/internal/e2e/sample"
	"trueup/internal/sandbox"
)

// platformKey finds the platform of a script among its values.
type platformKey struct{}

// platform is what a script's runs talk to.
type platform struct {
	server *quirks.Server
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

// seen signals each request to the commands that wait for one.
func (p *platform) seen(sandbox.LoggedRequest) {
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

func cmdSandbox(s *Script, args []string) error {
	// The platform's clock stands still until the script moves it.
	now := time.Now()
	server, err := quirks.Open(sandbox.ServerOptions{
		Now: func() time.Time { return now },
		Log: s.seen, Workspaces: workspaces(),
		Tokens: map[string][]string{
			Canary + "-compute":   {sandbox.RoleComputeAdmin},
			Canary + "-dlv":       {sandbox.RoleCDNAdmin, sandbox.RolePurger},
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

// workspaces are that of project, and those of the projects of a fleet.
func workspaces() []sandbox.WorkspaceKey {
	all := []sandbox.WorkspaceKey{{Name: sandbox.WorkspaceName, UUID: sandbox.WorkspaceUUID}}
	for i := 1; i < 90; i++ {
		all = append(all, sandbox.WorkspaceKey{Name: fmt.Sprintf("fleet-%d", i), UUID: fmt.Sprintf("%s%d", strings.TrimSuffix(sandbox.WorkspaceUUID, "10"), 10+i)})
	}
	return all
}

func cmdToken(s *Script, args []string) error {
	if len(args) != 1 {
		return ErrUsage
	}
	delivery, compute := Canary+"-"+args[0], Canary+"-"+args[0]
	switch args[0] {
	case "full":
		delivery, compute = Canary+"-dlv", Canary+"-compute"
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
func (p planned) is(r sandbox.LoggedRequest) bool {
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
	return s.server.AddFaults(strings.Join(args, " "))
}

func cmdFill(s *Script, args []string) error { return sample.Fill(s.MkAbs("."), args) }

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
	words := strings.Split(args[0], "/")
	workspace := sandbox.WorkspaceName
	if len(words) == 3 {
		workspace = words[1]
	}
	obj, err := s.server.Object(words[0], workspace, words[len(words)-1])
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

func cmdExecuted(s *Script, args []string) error {
	if len(args) != 2 {
		return ErrUsage
	}
	all, err := s.server.CountExecutedPurges()
	if err != nil {
		return err
	}
	if got := strconv.Itoa(all[args[0]]); got != args[1] {
		return fmt.Errorf("%s was executed %s times, want %s", args[0], got, args[1])
	}
	return nil
}
