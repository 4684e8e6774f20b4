package script

import (
	"context"
	"fmt"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"trueup/internal/sandbox"
)

// TestBudgetHoldsOverShards: processes of a fleet, each with its shard, begin together and never send more writes than
// their rate for the time since, and one more for each process. A write comes after its turn, so a slow machine only
// makes them fewer. In each second, one more of each process may arrive whose turn was before: internal/api holds the
// bound for turns, in time that costs nothing.
func TestBudgetHoldsOverShards(t *testing.T) {
	t.Parallel()
	const projects, each, shards, perSecond = 9, 3, 3, 6
	var mu sync.Mutex
	var writes []time.Time
	opts := sandbox.ServerOptions{Now: time.Now, Log: func(r sandbox.LoggedRequest) {
		if r.Method != "GET" {
			mu.Lock()
			defer mu.Unlock()
			writes = append(writes, time.Now())
		}
	}}
	for i := range projects {
		opts.Workspaces = append(opts.Workspaces, sandbox.WorkspaceKey{Name: "acme", UUID: fmt.Sprintf("3c9f2b6e-0d51-4a77-8f0e-%012d", i)})
	}
	server, err := sandbox.Open(opts)
	if err != nil {
		t.Fatal(err)
	}
	web := httptest.NewServer(server)
	t.Cleanup(func() { web.Close(); _ = server.Close() })
	dir := t.TempDir()
	for i, ws := range opts.Workspaces {
		manifests := ""
		for j := range each {
			name := fmt.Sprintf("cdn-%d-%d", i, j)
			manifests += "---\n{apiVersion: delivery/v2.1, kind: CDN, metadata: {name: " + name + "}, spec: {hostname: " + name + ".example.com}}\n"
		}
		write(t, filepath.Join(dir, ws.UUID, "manifests", "all.yaml"), manifests)
		write(t, filepath.Join(dir, ws.UUID, "trueup.yaml"), "apiVersion: trueup/v1\nkind: Project\nworkspace: {name: acme, uuid: "+ws.UUID+"}\nmanifests: [manifests]\n")
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	begun := time.Now()
	var all sync.WaitGroup
	for i := range shards {
		cmd := exec.CommandContext(ctx, os.Args[0], "each", "--shard", fmt.Sprintf("%d/%d", i+1, shards), "--", "apply", "--auto-approve")
		cmd.Args[0], cmd.Dir = "trueup", dir
		cmd.Env = append(os.Environ(), "CI=", "TRUEUP_DELIVERY_URL="+web.URL+sandbox.DeliveryBase, "TRUEUP_DELIVERY_TOKEN="+sandbox.DeliveryToken,
			fmt.Sprint("TRUEUP_WRITES_PER_SECOND=", perSecond))
		all.Go(func() {
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("shard %d: %v\n%s", i+1, err, out)
			}
		})
	}
	all.Wait()
	if len(writes) != projects*each {
		t.Errorf("%d writes, and not %d", len(writes), projects*each)
	}
	slices.SortFunc(writes, time.Time.Compare)
	for i, at := range writes {
		if most := shards + perSecond*at.Sub(begun).Seconds(); float64(i+1) > most {
			t.Errorf("%d writes within %s, and at most %.1f", i+1, at.Sub(begun), most)
		}
		later, _ := slices.BinarySearchFunc(writes, at.Add(time.Second), time.Time.Compare)
		if within := later - i; within > perSecond+2*shards {
			t.Errorf("%d writes arrived in one second, and at most %d", within, perSecond+2*shards)
		}
	}
}

func write(t *testing.T, name, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}
