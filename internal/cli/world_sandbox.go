package cli

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"sigs.k8s.io/yaml"

	"trueup/internal/api"
	"trueup/internal/canon"
	"trueup/internal/files"
	"trueup/internal/kind"
	"trueup/internal/ledger"
	"trueup/internal/manifest"
	"trueup/internal/project"
	"trueup/internal/sandbox"
)

// sandboxOrigin stands for the sandbox's address in its ledger, whatever port
// it has in a run, so that a record can't cross to a real platform (docs/design.md 0.13).
const sandboxOrigin = "http://sandbox.invalid"

// sandboxDir is where the embedded platform and its ledger are kept.
func (a *app) sandboxDir(p project.Project) (string, error) {
	dir := p.Dir
	if dir == "" {
		dir = a.dir()
	}
	return files.OwnFolder(dir, ".trueup/sandbox")
}

// sandboxWorkspace is the project's, or without one the namespace that the
// manifests agree on.
func sandboxWorkspace(p project.Project, set *manifest.Set) (kind.Workspace, error) {
	if p.Exists() {
		return p.Workspace, nil
	}
	ws := kind.Workspace{Name: sandbox.WorkspaceName, UUID: sandbox.WorkspaceUUID}
	var names []string
	for _, o := range set.Objects {
		if o.Namespace != "" && !slices.Contains(names, o.Namespace) {
			names = append(names, o.Namespace)
		}
	}
	switch {
	case len(names) > 1:
		return ws, fmt.Errorf("the manifests name several namespaces (%s), and no trueup.yaml says which is right",
			strings.Join(names, ", "))
	case len(names) == 1 && names[0] != ws.Name:
		ws = kind.Workspace{Name: names[0], UUID: sandboxUUID(names[0])}
	}
	return ws, nil
}

// enterSandbox starts the embedded platform on loopback and opens the ledger
// that belongs to it; no real address, token or ledger is looked at.
func (a *app) enterSandbox(ctx context.Context, p project.Project, set *manifest.Set) (*world, error) {
	ws, err := sandboxWorkspace(p, set)
	if err != nil {
		return nil, err
	}
	dir, err := a.sandboxDir(p)
	if err != nil {
		return nil, err
	}
	server, err := a.openSandbox(dir, ws, nil)
	if err != nil {
		return nil, err
	}
	w := &world{workspace: ws, origins: map[kind.Area]string{
		kind.Compute:  sandboxOrigin + sandbox.ComputeBase,
		kind.Delivery: sandboxOrigin + sandbox.DeliveryBase,
	}}
	w.closers = append(w.closers, server.Close)
	if err := server.Fault(a.global.sandboxFaults...); err != nil {
		w.close()
		return nil, err
	}
	base, stop, err := serve(ctx, server, "127.0.0.1:0")
	if err != nil {
		w.close()
		return nil, err
	}
	w.closers = append([]func() error{stop}, w.closers...)
	if err := w.connect(a, base); err != nil {
		w.close()
		return nil, err
	}
	// The sandbox is another world: its clock is everybody's.
	w.api.Now = server.Now
	if w.ledger, err = a.sandboxLedger(ctx, dir, w); err != nil {
		w.close()
		return nil, err
	}
	w.ledger.Window, w.waitOthers = p.Window(), p.Wait()
	return w, nil
}

func (w *world) connect(a *app, base string) error {
	endpoints := map[kind.Area]api.Endpoint{}
	for area, at := range map[kind.Area][2]string{
		kind.Compute:  {sandbox.ComputeBase, sandbox.ComputeToken},
		kind.Delivery: {sandbox.DeliveryBase, sandbox.DeliveryToken},
	} {
		url, err := api.ParseBase(base+at[0], "")
		if err != nil {
			return err
		}
		token, err := api.NewToken(at[1])
		if err != nil {
			return err
		}
		endpoints[area] = api.Endpoint{Base: url, Token: token}
	}
	w.api = a.apiConfig(w.workspace)
	w.api.Endpoints = endpoints
	return nil
}

// openSandbox opens the store, and seeds it where it is new.
func (a *app) openSandbox(dir string, ws kind.Workspace, log func(sandbox.Request), quirks ...string) (*sandbox.Server, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("sandbox: %w", err)
	}
	store := filepath.Join(dir, "sandbox.db")
	info, err := os.Lstat(store)
	isNew := errors.Is(err, os.ErrNotExist)
	if err == nil && !info.Mode().IsRegular() {
		return nil, fmt.Errorf("sandbox: %s is not a regular file: remove it", store)
	}
	all := sandboxWorkspaces(ws)
	server, err := sandbox.Open(sandbox.Options{Dir: dir, Now: a.env.Now, Log: log, Quirks: quirks, Workspaces: all})
	if err != nil || !isNew || all[0].Name != sandbox.WorkspaceName {
		return server, err
	}
	if err := server.LoadSeed(sandbox.SeedLive()); err != nil {
		return nil, errors.Join(err, server.Close())
	}
	return server, nil
}

// sandboxWorkspaces are the seeded workspace and the one that is used. Only the
// latter, where it has the UUID of the seeded one, as of an example of the
// documentation, and another name: it is empty.
func sandboxWorkspaces(ws kind.Workspace) []sandbox.Workspace {
	seeded := sandbox.Workspace{Name: sandbox.WorkspaceName, UUID: sandbox.WorkspaceUUID}
	used := sandbox.Workspace{Name: ws.Name, UUID: ws.UUID}
	switch {
	case used == seeded:
		return []sandbox.Workspace{seeded}
	case used.UUID == seeded.UUID:
		return []sandbox.Workspace{used}
	}
	return []sandbox.Workspace{seeded, used}
}

// sandboxLedger opens the ledger of the embedded platform; a new one of the
// seeded workspace learns what was last applied there.
func (a *app) sandboxLedger(ctx context.Context, dir string, w *world) (ledger.Config, error) {
	cfg := ledger.Config{
		Store:     "file:ledger-" + w.workspace.UUID,
		Dir:       dir,
		Workspace: w.workspace,
		Origins:   w.origins,
		Now:       w.api.Now,
		Claim:     a.claim(),
		// The world is the run's own: a workspace may be named anew.
		Rebind: func(string, string, string) error { return nil },
	}
	g, err := ledger.Init(ctx, cfg)
	if err != nil {
		return cfg, err
	}
	cfg.ID = g.LedgerID
	if w.workspace.UUID != sandbox.WorkspaceUUID || w.workspace.Name != sandbox.WorkspaceName {
		return cfg, nil
	}
	return cfg, seedLedger(ctx, cfg)
}

// seedLedger records what was last applied in the seeded world, once: what the
// ledger has learnt since stays.
func seedLedger(ctx context.Context, cfg ledger.Config) error {
	obj, err := seededObject()
	if err != nil {
		return fmt.Errorf("seed of the sandbox's ledger: %w", err)
	}
	l, err := ledger.Open(ctx, cfg)
	if err != nil {
		return err
	}
	view, err := l.View(ctx, []kind.Key{obj.Key()})
	if err != nil {
		return err
	}
	if _, known := view.Records[obj.Key()]; known {
		return nil
	}
	return l.Applied(ctx, obj.Key(), ledger.AppliedSpec{Spec: obj.Spec, Converged: true})
}

func seededObject() (kind.Object, error) {
	seed, err := yaml.YAMLToJSON(sandbox.SeedApplied())
	if err != nil {
		return kind.Object{}, err
	}
	tree, err := canon.Decode(seed)
	if err != nil {
		return kind.Object{}, err
	}
	doc, _ := tree.(map[string]any)
	apiVersion, _ := doc["apiVersion"].(string)
	name, _ := doc["kind"].(string)
	k, _, ok := kind.ForEnvelope(apiVersion, name)
	if !ok {
		return kind.Object{}, fmt.Errorf("unknown kind %q", name)
	}
	return k.NewObject(doc)
}

// serve listens on a loopback address and returns the server's base address.
func serve(ctx context.Context, h http.Handler, listen string) (base string, stop func() error, err error) {
	if !onLoopback(listen) {
		return "", nil, fmt.Errorf("the sandbox listens on loopback only, such as 127.0.0.1:8080, not on %q", listen)
	}
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", listen)
	if err != nil {
		return "", nil, fmt.Errorf("sandbox: %w", err)
	}
	srv := &http.Server{Handler: h, ReadHeaderTimeout: 10 * time.Second}
	go func() { _ = srv.Serve(l) }() // ends with Close
	return "http://" + l.Addr().String(), srv.Close, nil
}
