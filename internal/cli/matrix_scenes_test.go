package cli

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"trueup/internal/diag"
)

// scene is a project in which an apply does one thing.
type scene struct {
	name string
	// object is what it is done to, and write the method of its request.
	object, write string
	// role is that of the request in the table of what may come of a fault.
	role string
	args []string
	// build brings project and platform to where the thing is all that is left.
	build func(s *stage)
}

const (
	matrixCDN = "apiVersion: delivery/v2.1\nkind: CDN\nmetadata: {name: %s}\n" +
		"spec: {hostname: %[1]s.example.com, locations: [{path: /*, action: proxy_http, upstream: origin}], upstreams: [{name: origin, servers: [{host: a.example.net, port: \"443\"}]}], tls: {forced: %q}}\n"
	matrixPurge = "apiVersion: delivery/v2.1\nkind: Purge\nmetadata: {name: rel-42}\n" +
		"spec: {hostname: shop.example.com, paths: [/index.html]}\n"
	matrixSnapshot = "apiVersion: snapshot.storage.k8s.io/v1\nkind: VolumeSnapshot\nmetadata: {name: %s}\n" +
		"spec: {source: {persistentVolumeClaimName: db-data}, volumeSnapshotClassName: general-purpose}\n"
)

func scenes() []scene {
	return []scene{
		{name: "create CDN", object: "CDN/shop", write: "POST", role: "write CDN", build: func(s *stage) {
			s.write("manifests/shop.yaml", fmt.Sprintf(matrixCDN, "shop", "true"))
		}},
		{name: "patch CDN", object: "CDN/shop", write: "PATCH", role: "write CDN", build: func(s *stage) {
			s.write("manifests/shop.yaml", fmt.Sprintf(matrixCDN, "shop", "false"))
			s.must(diag.ExitOK, "apply", "--auto-approve")
			s.write("manifests/shop.yaml", fmt.Sprintf(matrixCDN, "shop", "true"))
		}},
		{name: "create snapshot", object: "VolumeSnapshot/db", write: "POST", role: "write snapshot", build: func(s *stage) {
			s.write("manifests/db.yaml", fmt.Sprintf(matrixSnapshot, "db"))
		}},
		{name: "delete snapshot", object: "VolumeSnapshot/db", write: "DELETE", role: "write deletion", args: []string{"--prune"}, build: func(s *stage) {
			s.write("manifests/db.yaml", fmt.Sprintf(matrixSnapshot, "db"))
			s.write("manifests/kept.yaml", fmt.Sprintf(matrixSnapshot, "kept"))
			s.must(diag.ExitOK, "apply", "--auto-approve")
			s.commit()
			if err := os.Remove(filepath.Join(s.dir, "manifests", "db.yaml")); err != nil {
				s.t.Fatal(err)
			}
		}},
		{name: "post purge", object: "Purge/rel-42", write: "POST", role: "write purge", build: func(s *stage) {
			s.write("manifests/shop.yaml", fmt.Sprintf(matrixCDN, "shop", "true"))
			s.must(diag.ExitOK, "apply", "--auto-approve")
			s.write("manifests/purge.yaml", matrixPurge)
		}},
	}
}

// commit puts what stands in the project into a commit.
func (s *stage) commit() {
	s.t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		s.t.Skip("git is not installed")
	}
	for _, args := range [][]string{
		{"init", "-q", "-b", "main"},
		{"add", "manifests", "trueup.yaml"},
		{"-c", "user.name=t", "-c", "user.email=t@example.com", "commit", "-q", "-m", "x"},
	} {
		cmd := exec.CommandContext(s.t.Context(), "git", append([]string{"-C", s.dir}, args...)...)
		if out, err := cmd.CombinedOutput(); err != nil {
			s.t.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
}

// arrange builds a scene on a stage of its own.
func (sc *scene) arrange(t *testing.T, proven bool) *stage {
	s := newStage(t)
	s.vars["TRUEUP_PARALLELISM"] = "1"
	for _, name := range []string{"aaa", "zzz"} {
		s.put(fmt.Sprintf(matrixCDN, name, "true"))
		s.put(fmt.Sprintf(matrixSnapshot, name))
	}
	sc.build(s)
	if proven {
		s.prove()
	} else {
		// As long as nobody has seen it refuse one, it may execute duplicates.
		s.quirky("executes-duplicates")
	}
	s.writes()
	return s
}

// put makes a live object as another client would.
func (s *stage) put(text string) {
	s.t.Helper()
	if err := s.server.LoadSeed([]byte(text)); err != nil {
		s.t.Fatal(err)
	}
}

// holds is what the platform holds: specs, what is on its way out, and how often
// purges were executed and snapshots made.
func (s *stage) holds() string {
	s.t.Helper()
	objects, err := s.server.Objects()
	if err != nil {
		s.t.Fatal(err)
	}
	var lines []string
	for _, o := range objects {
		meta, _ := o["metadata"].(map[string]any)
		text, err := json.Marshal(o["spec"])
		if err != nil {
			s.t.Fatal(err)
		}
		leaving := ""
		if meta["deletionTimestamp"] != nil {
			leaving = "deleted "
		}
		lines = append(lines, fmt.Sprintf("%s%v/%v %s", leaving, o["kind"], meta["name"], text))
	}
	executed, err := s.server.CountExecutedPurges()
	if err != nil {
		s.t.Fatal(err)
	}
	for name, n := range executed {
		lines = append(lines, fmt.Sprintf("executed %s %d times", name, n))
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

// recorded is the state of an object's record, "" without one.
func (s *stage) recorded(object string) string {
	s.t.Helper()
	line := regexp.MustCompile(`(?m)^` + regexp.QuoteMeta(object) + ` +(\w+)`).FindStringSubmatch(s.must(diag.ExitOK, "ledger", "ls"))
	if line == nil {
		return ""
	}
	return line[1]
}
