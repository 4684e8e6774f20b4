package crash

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"sigs.k8s.io/yaml"

	"trueup/internal/sandbox"
)

// fill writes the manifests, and makes some of the objects live, with values that
// git does not have.
func (s *soak) fill() {
	s.t.Helper()
	s.cdns = map[string]map[string]any{}
	var file strings.Builder
	add := func(apiVersion, kind, name string, spec any) {
		text, err := yaml.Marshal(map[string]any{
			"apiVersion": apiVersion, "kind": kind, "metadata": map[string]any{"name": name, "namespace": sandbox.WorkspaceName}, "spec": spec,
		})
		if err != nil {
			s.t.Fatal(err)
		}
		file.WriteString("---\n" + string(text))
	}
	next := func(name string) {
		s.write("project/manifests/"+name+".yaml", file.String())
		file.Reset()
	}
	for i := range soakCDNs {
		name, spec := soakCDN(i)
		s.cdns[name] = spec
		add("delivery/v2.1", "CDN", name, spec)
		if i%100 == 99 {
			next(fmt.Sprintf("cdns-%02d", i/100))
		}
		if i < soakLive {
			_, other := soakCDN(i)
			other["tls"] = map[string]any{"forced": "false", "auto": "true"}
			if err := s.server.Put(map[string]any{"apiVersion": "delivery/v2.1", "kind": "CDN", "metadata": map[string]any{"name": name}, "spec": other}); err != nil {
				s.t.Fatal(err)
			}
		}
	}
	for i := range soakPurges {
		name, _ := soakCDN(i % soakHosts * (soakCDNs / soakHosts))
		add("delivery/v2.1", "Purge", soakPurge(i), map[string]any{"hostname": name + ".example.com", "paths": []string{fmt.Sprintf("/static/%d.css", i)}})
	}
	next("purges")
	for i := range soakSnapshots {
		add("snapshot.storage.k8s.io/v1", "VolumeSnapshot", soakSnapshot(i), map[string]any{
			"source": map[string]any{"persistentVolumeClaimName": fmt.Sprintf("disk-%d", i)}, "volumeSnapshotClassName": "general-purpose",
		})
	}
	next("snapshots")
}

// made is how often each purge was executed and each snapshot is there.
func (s *soak) made() map[string]int {
	s.t.Helper()
	executed, err := s.server.CountExecutedPurges()
	if err != nil {
		s.t.Fatal(err)
	}
	made := map[string]int{}
	for name, n := range executed {
		made["Purge/"+name] = n
	}
	for i := range soakSnapshots {
		name := soakSnapshot(i)
		obj, err := s.server.Object("VolumeSnapshot", sandbox.WorkspaceName, name)
		if err != nil {
			s.t.Fatal(err)
		}
		if obj == nil {
			continue
		}
		made["VolumeSnapshot/"+name] = 1
		uid := fmt.Sprint(obj["metadata"].(map[string]any)["uid"])
		if seen := s.uids[name]; seen != "" && seen != uid {
			made["VolumeSnapshot/"+name] = 2
		}
		s.uids[name] = uid
	}
	return made
}

func (s *soak) noneTwice() {
	s.t.Helper()
	for name, n := range s.made() {
		if n > 1 {
			s.t.Errorf("%s was carried out %d times", name, n)
		}
	}
}

// progress says how far the platform is.
func (s *soak) progress() string {
	made := s.made()
	purges := 0
	for name := range made {
		if strings.HasPrefix(name, "Purge/rel-2026") {
			purges++
		}
	}
	return fmt.Sprintf("live: %d of %d CDNs, %d purges, %d snapshots", s.converged(), soakCDNs, purges, len(s.uids))
}

// converged counts the CDNs that have everything that git says.
func (s *soak) converged() int {
	n := 0
	for name, spec := range s.cdns {
		obj, err := s.server.Object("CDN", sandbox.WorkspaceName, name)
		if err != nil {
			s.t.Fatal(err)
		}
		if obj != nil && has(obj["spec"], spec) {
			n++
		}
	}
	return n
}

// drift changes a live object, as somebody at a console would.
func (s *soak) drift(name string) {
	obj, err := s.server.Object("CDN", sandbox.WorkspaceName, name)
	if err != nil || obj == nil {
		s.t.Fatalf("%s: %v", name, err)
	}
	raw, err := json.Marshal(obj)
	if err != nil {
		s.t.Fatal(err)
	}
	var other map[string]any
	if err := json.Unmarshal(bytes.Replace(raw, []byte(`"forced":"true"`), []byte(`"forced":"false"`), 1), &other); err != nil {
		s.t.Fatal(err)
	}
	if err := s.server.Put(other); err != nil {
		s.t.Fatal(err)
	}
}

// isAsGitSays asserts what the platform holds, and that the program agrees.
func (s *soak) isAsGitSays() {
	s.t.Helper()
	if n := s.converged(); n != soakCDNs {
		s.t.Errorf("%d of %d CDNs are in sync", n, soakCDNs)
	}
	made := s.made()
	for i := range soakPurges {
		if n := made["Purge/"+soakPurge(i)]; n != 1 {
			s.t.Errorf("%s was executed %d times", soakPurge(i), n)
		}
	}
	for i := range soakSnapshots {
		if made["VolumeSnapshot/"+soakSnapshot(i)] != 1 {
			s.t.Errorf("%s was not taken", soakSnapshot(i))
		}
	}
	code, out := s.run("plan", "--detailed-exitcode")
	s.ends(ended{code, out}, 0)
}

// leftNothing looks for files and objects that nobody asked for.
func (s *soak) leftNothing() {
	s.t.Helper()
	objects, err := s.server.Objects()
	if err != nil {
		s.t.Fatal(err)
	}
	for _, obj := range objects {
		name := fmt.Sprint(obj["metadata"].(map[string]any)["name"])
		ours := s.cdns[name] != nil || name == "shop" || strings.HasPrefix(name, "rel-") || strings.HasPrefix(name, "db-") || strings.HasPrefix(name, "trueup-probe-")
		if !ours {
			s.t.Errorf("%v %s is live, and nobody asked for it", obj["kind"], name)
		}
	}
	left, err := os.ReadDir(s.path("tmp"))
	if err != nil || len(left) > 0 {
		s.t.Errorf("in the folder for temporary files: %v, %v", left, err)
	}
	for _, root := range []string{"project", "home"} {
		err := filepath.WalkDir(s.path(root), func(path string, entry os.DirEntry, err error) error {
			if name, _ := filepath.Rel(s.base, path); err == nil && !entry.IsDir() && strings.Contains(name, "tmp") {
				s.t.Errorf("%s is left", path)
			}
			return err
		})
		if err != nil {
			s.t.Error(err)
		}
	}
	if code, out := s.run("ledger", "verify"); code != 0 {
		s.t.Errorf("ledger verify: exit %d\n%s", code, out)
	}
}
