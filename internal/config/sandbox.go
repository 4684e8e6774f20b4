package config

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"trueup/internal/api"
	"trueup/internal/files"
	"trueup/internal/kind"
	"trueup/internal/ledger"
	"trueup/internal/manifest"
	"trueup/internal/sandbox"
)

// sandboxOrigin is the address of the sandbox in its ledger, whatever port a run has, so that no
// record is taken for one of a real platform (docs/design.md 0.13).
const sandboxOrigin = "http://sandbox.invalid"

// SandboxDir returns the folder of the sandbox and its ledger.
func (o Options) SandboxDir(p Project) (string, error) {
	return files.OwnFolder(cmp.Or(p.Dir, o.Dir()), ".trueup/sandbox")
}

// SandboxUUID returns the identifier of a workspace of the sandbox.
func SandboxUUID(name string) string {
	if name == sandbox.WorkspaceName {
		return sandbox.WorkspaceUUID
	}
	return uuid.NewSHA1(uuid.NameSpaceURL, []byte(sandboxOrigin+"/"+name)).String()
}

// SandboxWorkspace returns the workspace of the project, or without one the namespace that all manifests have.
func SandboxWorkspace(p Project, set *manifest.Set) (kind.Workspace, error) {
	if p.Exists() {
		return p.Workspace, nil
	}
	var names []string
	for _, o := range set.Objects {
		if o.Namespace != "" && !slices.Contains(names, o.Namespace) {
			names = append(names, o.Namespace)
		}
	}
	if len(names) > 1 {
		return kind.Workspace{}, fmt.Errorf("the manifests name several namespaces (%s), and no trueup.yaml says which is right",
			strings.Join(names, ", "))
	}
	name := cmp.Or(strings.Join(names, ""), sandbox.WorkspaceName)
	return kind.Workspace{Name: name, UUID: SandboxUUID(name)}, nil
}

// OpenSandboxPlatform starts the sandbox on loopback and opens its ledger. It looks at no real address,
// token or ledger.
func (o Options) OpenSandboxPlatform(ctx context.Context, p Project, set *manifest.Set) (_ *Platform, err error) {
	ws, err := SandboxWorkspace(p, set)
	if err == nil {
		_, err = o.FindPin(p)
	}
	if err != nil {
		return nil, err
	}
	dir, err := o.SandboxDir(p)
	if err != nil {
		return nil, err
	}
	server, err := o.OpenSandbox(dir, ws, nil)
	if err != nil {
		return nil, err
	}
	w := &Platform{
		Workspace: ws, API: o.apiConfig(ws), closers: []func() error{server.Close},
	}
	defer func() {
		if err != nil {
			w.Close()
		}
	}()
	if err := server.AddFaults(o.SandboxFaults...); err != nil {
		return nil, err
	}
	base, stop, err := ServeSandbox(ctx, server, "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	w.closers = []func() error{stop, server.Close}
	w.Ledger.Origins = map[kind.Area]string{}
	w.API.Now, w.API.Endpoints = server.Now, map[kind.Area]api.Endpoint{} // the sandbox has its own clock
	for area, at := range map[kind.Area]struct{ path, token string }{
		kind.Compute:  {sandbox.ComputeBase, sandbox.ComputeToken},
		kind.Delivery: {sandbox.DeliveryBase, sandbox.DeliveryToken},
	} {
		address, _ := api.ParseBaseURL(base + at.path) // the sandbox is on loopback
		w.API.Endpoints[area], w.Ledger.Origins[area] = api.Endpoint{Base: address, Token: api.PublicToken(at.token)}, sandboxOrigin+at.path
	}
	if w.Ledger, err = o.sandboxLedger(ctx, dir, w); err != nil {
		return nil, err
	}
	w.Ledger.Window = p.SendWindow()
	return w, nil
}

// OpenSandbox opens the store of the sandbox, and fills a new one with the documented examples.
func (o Options) OpenSandbox(dir string, ws kind.Workspace, log func(sandbox.LoggedRequest), quirks ...string) (*sandbox.Server, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("sandbox: %w", err)
	}
	store := filepath.Join(dir, "sandbox.db")
	info, err := os.Lstat(store)
	isNew := errors.Is(err, os.ErrNotExist)
	if err == nil && !info.Mode().IsRegular() {
		return nil, fmt.Errorf("sandbox: %s is not a regular file: remove it", store)
	}
	// A workspace with the UUID of the one with examples takes its place, and is empty if its name differs.
	seeded, used := sandbox.WorkspaceKey{Name: sandbox.WorkspaceName, UUID: sandbox.WorkspaceUUID}, sandbox.WorkspaceKey{Name: ws.Name, UUID: ws.UUID}
	all := []sandbox.WorkspaceKey{seeded, used}
	if used.UUID == seeded.UUID {
		all = all[1:]
	}
	server, err := sandbox.Open(sandbox.ServerOptions{Dir: dir, Now: o.Now, Log: log, Quirks: quirks, Workspaces: all})
	if err != nil || !isNew || all[0].Name != sandbox.WorkspaceName {
		return server, err
	}
	if err := server.LoadSeed(sandbox.LiveExamples()); err != nil {
		return nil, errors.Join(err, server.Close())
	}
	return server, nil
}

// sandboxLedger creates the ledger of the sandbox. That of the workspace with examples begins with what
// was applied last there.
func (o Options) sandboxLedger(ctx context.Context, dir string, w *Platform) (ledger.Config, error) {
	cfg := ledger.Config{
		Store: "file:ledger-" + w.Workspace.UUID, Dir: dir, SeenCache: filepath.Join(dir, "seen"),
		Workspace: w.Workspace, Origins: w.Ledger.Origins, Now: w.API.Now, Claim: o.NewClaim(),
		Rebind: func(string, string, string) error { return nil }, // a workspace may get another name
	}
	g, err := ledger.CreateLedger(ctx, cfg)
	if err != nil {
		return cfg, err
	}
	cfg.ID = g.LedgerID
	if w.Workspace.UUID != sandbox.WorkspaceUUID || w.Workspace.Name != sandbox.WorkspaceName {
		return cfg, nil
	}
	seed, _, err := manifest.Load(ctx, []manifest.PathSource{{Data: sandbox.AppliedExamples()}}, manifest.LoadSettings{})
	if err != nil {
		return cfg, fmt.Errorf("seed of the sandbox's ledger: %w", err)
	}
	l, err := ledger.Open(ctx, cfg)
	if err != nil {
		return cfg, err
	}
	key := seed.Objects[0].Key()
	view, err := l.ReadView(ctx, []kind.Key{key})
	if _, known := view.Records[key]; err != nil || known {
		return cfg, err
	}
	return cfg, l.RecordApplied(ctx, key, ledger.AppliedSpec{Spec: seed.Objects[0].Spec, Converged: true})
}

// ServeSandbox listens on a loopback address and returns the base address of the server.
func ServeSandbox(ctx context.Context, h http.Handler, listen string) (base string, stop func() error, err error) {
	if !IsLoopbackAddress(listen) {
		return "", nil, fmt.Errorf("the sandbox listens on loopback only, such as 127.0.0.1:8080, not on %q", listen)
	}
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", listen)
	if err != nil {
		return "", nil, fmt.Errorf("sandbox: %w", err)
	}
	local := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if why := sandbox.WhyFromBrowser(r); why != "" {
			http.Error(w, why, http.StatusForbidden)
			return
		}
		h.ServeHTTP(w, r)
	})
	srv := &http.Server{Handler: local, ReadHeaderTimeout: 10 * time.Second}
	go func() { _ = srv.Serve(l) }() // ends with Close
	return "http://" + l.Addr().String(), srv.Close, nil
}

// IsLoopbackAddress reports whether HOST:PORT is of this machine.
func IsLoopbackAddress(address string) bool {
	host, port, err := net.SplitHostPort(address)
	if _, bad := strconv.ParseUint(port, 10, 16); err != nil || bad != nil {
		return false
	}
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

var errNotServed = errors.New("no sandbox is served here: start trueup sandbox in this folder, or set TRUEUP_SANDBOX_FAULTS for a run with --sandbox")

func addressFile(dir string) string { return filepath.Join(dir, "address") }

// AnnounceSandbox tells other runs in the folder where the sandbox listens, until the function that it
// returns is called.
func AnnounceSandbox(dir, base string) (leave func() error, err error) {
	file := addressFile(dir)
	leave = func() error {
		if err := os.Remove(file); err != nil && !errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("sandbox: %w", err)
		}
		return nil
	}
	// A link that a repository put there is removed, and not followed.
	if err := leave(); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(file, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("sandbox: %w", err)
	}
	_, err = f.WriteString(strings.TrimPrefix(base, "http://") + "\n")
	if err = errors.Join(err, f.Close()); err != nil {
		return nil, fmt.Errorf("sandbox: %w", err)
	}
	return leave, nil
}

// CallServedSandbox sends a request to the control of the sandbox that is served in a folder.
func CallServedSandbox(ctx context.Context, dir, method, what, body string) ([]byte, error) {
	file := addressFile(dir)
	text, _, err := files.Read(file, 100)
	if err != nil {
		return nil, errNotServed
	}
	address := strings.TrimSpace(string(text))
	if !IsLoopbackAddress(address) { // a repository may have written it
		return nil, fmt.Errorf("%s does not name a loopback address: remove it, and start trueup sandbox again", file)
	}
	req, err := http.NewRequestWithContext(ctx, method, "http://"+address+sandbox.ControlBase+what, strings.NewReader(body))
	if err != nil {
		return nil, fmt.Errorf("sandbox: %w", err)
	}
	client := http.Client{
		Timeout: 10 * time.Second, Transport: &http.Transport{DisableKeepAlives: true},
		// A repository may have chosen which port of this machine is asked.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	res, err := client.Do(req)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errNotServed, err)
	}
	defer func() { _ = res.Body.Close() }()
	answer, err := io.ReadAll(io.LimitReader(res.Body, 1<<20))
	switch {
	case err != nil:
		return nil, fmt.Errorf("sandbox at %s: %w", address, err)
	case res.StatusCode >= http.StatusBadRequest:
		return nil, errors.New(strings.TrimSpace(string(answer)))
	case res.StatusCode >= http.StatusMultipleChoices:
		return nil, errNotServed
	}
	return answer, nil
}

// seedsAtOnce is how many objects a served sandbox gets in a request, which may have 16 MB.
const seedsAtOnce = 20

// SeedSandbox puts objects on the sandbox that is served in the folder, or else on the one that is kept there.
func (o Options) SeedSandbox(ctx context.Context, dir string, ws kind.Workspace, objects []json.RawMessage) error {
	if _, err := CallServedSandbox(ctx, dir, http.MethodGet, "fault", ""); err != nil {
		server, err := o.OpenSandbox(dir, ws, nil)
		if err != nil {
			return err
		}
		return errors.Join(server.PutJSON(objects...), server.Close())
	}
	for part := range slices.Chunk(objects, seedsAtOnce) {
		body, err := json.Marshal(part)
		if err == nil {
			_, err = CallServedSandbox(ctx, dir, http.MethodPut, "objects", string(body))
		}
		if err != nil {
			return err
		}
	}
	return nil
}
