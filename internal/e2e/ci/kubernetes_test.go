//go:build linux

package ci

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/cgi"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"trueup/internal/e2e/quirks"
	"trueup/internal/sandbox"
)

const (
	shards, fleetSize, perProject = 20, 60, 3
	// invalid, missing and unpinned are projects that get an invalid manifest, lose their CDN, and name another workspace.
	invalid, missing, unpinned = "p07", "p08", "p09"

	kustomization = "deploy/kubernetes/kustomization.yaml"
	// realImage is the image in kustomization.yaml. The pods of codesImage end in each way.
	realImage, codesImage = "registry.example/trueup", "registry.example/codes"
)

// TestKubernetes runs the Job and the CronJob of deploy/kubernetes on the API server and the controllers that
// .ci/kubernetes starts, as docs/fleets.md says.
func TestKubernetes(t *testing.T) {
	api := os.Getenv("TRUEUP_TEST_KUBERNETES")
	if api == "" {
		t.Skip("TRUEUP_TEST_KUBERNETES does not say where an API server is: .ci/kubernetes starts one")
	}
	c := newCluster(t, api)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		c.run(ctx)
	}()
	defer func() {
		stop()
		<-ended
	}()
	jobs := c.startCodes()
	c.testApply()
	c.testInvalid()
	c.testOlder()
	c.testSettle()
	c.testPrune()
	// A CronJob keeps one failed Job, so the next one comes after this.
	c.testCodes(jobs)
	c.testDrift()
}

// cluster is one with a fleet, and the platform of that.
type cluster struct {
	*kubelet
	platform *quirks.Server
	// repository is a clone of the projects, with a copy of deploy/kubernetes, and image a folder with the program.
	repository, image string
	env               []string
	// shard is the index of the shard that has a project.
	shard map[string]int
	page  string
}

func newCluster(t *testing.T, api string) *cluster {
	t.Helper()
	page, err := os.ReadFile("docs/fleets.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(page), "\n## On Kubernetes\n")
	dir := t.TempDir()
	c := &cluster{
		kubelet: &kubelet{
			t: t, api: api, dir: filepath.Join(dir, "kubelet"), running: map[string]*runningPod{}, codes: map[string]int{},
			images: map[string]string{realImage: os.Getenv("TRUEUP_TEST_IMAGE"), codesImage: filepath.Join(dir, "codes")},
		},
		repository: filepath.Join(dir, "projects"), image: os.Getenv("TRUEUP_TEST_IMAGE"), shard: map[string]int{}, page: section,
	}
	for _, d := range []string{c.dir, c.repository, filepath.Join(dir, "codes")} {
		if err := os.Mkdir(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	c.startPlatform(dir)
	c.writeFleet()
	c.writeObjects()
	return c
}

// startPlatform serves a platform with a workspace for each project, and the repository of the projects.
func (c *cluster) startPlatform(dir string) {
	var workspaces []sandbox.WorkspaceKey
	for i := range fleetSize {
		workspaces = append(workspaces, sandbox.WorkspaceKey{Name: project(i), UUID: workspace(i)})
	}
	var err error
	if c.platform, err = quirks.Open(sandbox.ServerOptions{Now: time.Now, Workspaces: workspaces}); err != nil {
		c.t.Fatal(err)
	}
	web := httptest.NewServer(c.platform)
	backend := strings.TrimSpace(c.command("git", "--exec-path")) + "/git-http-backend"
	host := httptest.NewServer(&cgi.Handler{Path: backend, Env: []string{"GIT_PROJECT_ROOT=" + dir, "GIT_HTTP_EXPORT_ALL=1"}})
	c.t.Cleanup(func() {
		web.Close()
		host.Close()
		if err := c.platform.Close(); err != nil {
			c.t.Error(err)
		}
	})
	addresses := []string{"TRUEUP_DELIVERY_URL=" + web.URL + sandbox.DeliveryBase, "TRUEUP_COMPUTE_URL=" + web.URL + sandbox.ComputeBase}
	c.env = append(addresses, "TRUEUP_DELIVERY_TOKEN="+sandbox.DeliveryToken, "TRUEUP_COMPUTE_TOKEN="+sandbox.ComputeToken)

	c.copyManifests(append(addresses, "BRANCH=main", "REPOSITORY="+host.URL+"/projects/.git"))
}

// copyManifests copies deploy/kubernetes into the repository, with values for variables.
func (c *cluster) copyManifests(variables []string) {
	folder := filepath.Join(c.repository, "deploy/kubernetes")
	if err := os.CopyFS(folder, os.DirFS("deploy/kubernetes")); err != nil {
		c.t.Fatal(err)
	}
	for _, v := range variables {
		name, _, _ := strings.Cut(v, "=")
		c.edit(kustomization, "(?m)- "+name+"=.*$", "- "+v)
	}
}

// edit replaces the one place of a file of the repository that a pattern matches.
func (c *cluster) edit(name, pattern, text string) {
	c.t.Helper()
	file := filepath.Join(c.repository, name)
	old, err := os.ReadFile(file)
	re := regexp.MustCompile(pattern)
	if n := len(re.FindAll(old, -1)); n != 1 {
		err = errors.Join(err, fmt.Errorf("%s has %s %d times", name, pattern, n))
	}
	if err = errors.Join(err, os.WriteFile(file, re.ReplaceAllLiteral(old, []byte(text)), 0o600)); err != nil {
		c.t.Fatal(err)
	}
}

func project(i int) string   { return fmt.Sprintf("p%02d", i) }
func workspace(i int) string { return fmt.Sprintf("5a1d0c7e-3b52-4f7e-9c1e-%012d", i) }

// writeFleet writes the projects. Each has a CDN that is applied, a ledger that knows that the platform rejects a second
// purge of a name, and purges.
func (c *cluster) writeFleet() {
	for i := range fleetSize {
		p := project(i)
		settings := fmt.Sprintf("apiVersion: trueup/v1\nkind: Project\nworkspace: {name: %s, uuid: %s}\nmanifests: [manifests]\n", p, workspace(i))
		c.write(p+"/trueup.yaml", settings)
		c.write(p+"/manifests/cdn.yaml", fmt.Sprintf("apiVersion: delivery/v2.1\nkind: CDN\nmetadata: {name: %s}\nspec: {hostname: %[1]s.example.com}\n", p))
		said := c.command("env", "TRUEUP_LEDGER=s3://ledgers/"+p+"?path-style=true", c.program(), "ledger", "init", "--adopt=none", "-C", p)
		c.write(p+"/trueup.yaml", settings+regexp.MustCompile(`(?m)^ledger: .*$`).FindString(said)+"\n")
	}
	c.command(c.program(), "each", "--", "apply", "--auto-approve")
	for i := range fleetSize {
		p := project(i)
		c.command(c.program(), "doctor", "--probe-duplicates", p+".example.com", "--auto-approve", "-C", p)
		var purges strings.Builder
		for n := range perProject {
			fmt.Fprintf(&purges, "---\napiVersion: delivery/v2.1\nkind: Purge\nmetadata: {name: rel-%d-%s}\nspec: {hostname: %[2]s.example.com, paths: [/%[1]d]}\n", n, p)
		}
		c.write(p+"/manifests/purges.yaml", purges.String())
	}
	c.command("git", "init", "-q", "-b", "main")
	for i := range shards {
		var found struct{ Projects []struct{ Path string } }
		text := c.command(c.program(), "each", "--list", "--shard", fmt.Sprintf("%d/%d", i+1, shards), "-o", "json")
		if err := json.Unmarshal([]byte(text), &found); err != nil {
			c.t.Fatal(err)
		}
		for _, p := range found.Projects {
			c.shard[p.Path] = i
		}
	}
}

// write writes a file of the repository.
func (c *cluster) write(name, text string) {
	file := filepath.Join(c.repository, name)
	if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, []byte(text), 0o600)); err != nil {
		c.t.Fatal(err)
	}
}

// writeObjects makes the objects that are the user's to make.
func (c *cluster) writeObjects() {
	c.command("kubectl", "create", "namespace", "trueup")
	var projects strings.Builder
	for i := range fleetSize {
		fmt.Fprintf(&projects, "- {path: %s, workspace: %s, ledger: \"s3://ledgers/%[1]s?path-style=true\"}\n", project(i), workspace(i))
	}
	c.command("kubectl", "-n", "trueup", "create", "configmap", "trueup-projects", "--from-literal=projects.yaml="+projects.String())
	var ledger []string
	for _, name := range []string{"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_REGION", "AWS_ENDPOINT_URL_S3"} {
		ledger = append(ledger, name+"="+os.Getenv(name))
	}
	for name, values := range map[string][]string{
		"trueup-apply": {"delivery=" + sandbox.DeliveryToken, "compute=" + sandbox.ComputeToken}, "trueup-apply-ledger": ledger,
		"trueup-read": {"delivery=" + sandbox.ReaderToken, "compute=" + sandbox.ReaderToken}, "trueup-read-ledger": ledger,
	} {
		line := []string{"kubectl", "-n", "trueup", "create", "secret", "generic", name}
		for _, v := range values {
			line = append(line, "--from-literal="+v)
		}
		c.command(line...)
	}
	if _, err := c.call(http.MethodPost, "/api/v1/namespaces/trueup/persistentvolumeclaims", object{
		"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": object{"name": "trueup-results"},
		"spec": object{"accessModes": []string{"ReadWriteMany"}, "resources": object{"requests": object{"storage": "1Gi"}}},
	}, nil); err != nil {
		c.t.Fatal(err)
	}
}

func (c *cluster) program() string { return filepath.Join(c.image, "trueup") }

// command runs a program in the repository, and returns what it prints.
func (c *cluster) command(line ...string) string {
	c.t.Helper()
	out, code := c.exits(line...)
	if code != 0 {
		c.t.Fatalf("%s: exit %d\n%s", strings.Join(line, " "), code, out)
	}
	return out
}

func (c *cluster) exits(line ...string) (out string, code int) {
	c.t.Helper()
	cmd := exec.Command(line[0], line[1:]...)
	cmd.Dir, cmd.Env = c.repository, append(os.Environ(), c.env...)
	text, err := cmd.CombinedOutput()
	if exited := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exited) {
		c.t.Fatal(err)
	}
	return string(text), cmd.ProcessState.ExitCode()
}

// commit commits the repository.
func (c *cluster) commit(subject string) (commit string) {
	c.t.Helper()
	c.command("git", "add", ".")
	c.command("git", "-c", "user.name=a", "-c", "user.email=a@example.com", "commit", "-q", "-m", subject)
	return strings.TrimSpace(c.command("git", "rev-parse", "HEAD"))
}

// apply has the command of the page apply a commit, and demands an exit code and the page of the result.
func (c *cluster) apply(commit string, code int) {
	c.t.Helper()
	command := regexp.MustCompile(`(?m)^ +(deploy/kubernetes/apply\.sh) COMMIT$`).FindStringSubmatch(c.page)
	if command == nil {
		c.t.Fatal("docs/fleets.md has no command that applies a commit")
	}
	start := time.Now()
	out, got := c.exits(command[1], commit)
	c.t.Logf("%s: exit %d, %s", command[1], got, time.Since(start).Round(time.Second))
	if got != code {
		c.t.Errorf("%s: exit %d, should be %d\n%s", command[1], got, code, out)
	}
	if _, err := os.Stat(filepath.Join(c.claim("trueup-results"), commit, "result.html")); err != nil {
		c.t.Error(err)
	}
}

// waitForJob returns a Job when it has ended, and its pods that are still there, by index.
func (c *cluster) waitForJob(name string) (j job, pods map[int][]pod) {
	c.t.Helper()
	start := time.Now()
	for !slices.ContainsFunc(j.Status.Conditions, func(d condition) bool { return (d.Type == "Complete" || d.Type == "Failed") && d.Status == "True" }) {
		if time.Since(start) > 30*time.Minute {
			c.t.Fatalf("the Job %s does not end: %+v", name, j.Status)
		}
		time.Sleep(time.Second)
		j = job{}
		if _, err := c.call(http.MethodGet, "/apis/batch/v1/namespaces/trueup/jobs/"+name, nil, &j); err != nil {
			c.t.Fatal(err)
		}
	}
	var list struct{ Items []pod }
	if _, err := c.call(http.MethodGet, "/api/v1/namespaces/trueup/pods?labelSelector=batch.kubernetes.io/job-name="+name, nil, &list); err != nil {
		c.t.Fatal(err)
	}
	slices.SortFunc(list.Items, func(a, b pod) int { return strings.Compare(a.Metadata.CreationTimestamp, b.Metadata.CreationTimestamp) })
	pods = map[int][]pod{}
	for _, p := range list.Items {
		i, err := strconv.Atoi(cmp.Or(p.index(), "0"))
		if err != nil {
			c.t.Fatal(err)
		}
		pods[i] = append(pods[i], p)
	}
	c.t.Logf("%s: %v, %d pods, completed %q, failed %q, %s", name, j.Status.Conditions, len(list.Items), j.Status.CompletedIndexes,
		j.Status.FailedIndexes, time.Since(start).Round(time.Second))
	return j, pods
}

// schedule changes when the CronJob starts a Job.
func (c *cluster) schedule(times string, suspend bool) {
	c.t.Helper()
	if _, err := c.call(http.MethodPatch, "/apis/batch/v1/namespaces/trueup/cronjobs/trueup-drift",
		object{"spec": object{"schedule": times, "suspend": suspend}}, nil); err != nil {
		c.t.Fatal(err)
	}
}

// startedByCronJob waits for a Job that the CronJob starts.
func (c *cluster) startedByCronJob() (name string) {
	c.t.Helper()
	for range 120 {
		var list struct{ Items []job }
		if _, err := c.call(http.MethodGet, "/apis/batch/v1/namespaces/trueup/jobs", nil, &list); err != nil {
			c.t.Fatal(err)
		}
		for _, j := range list.Items {
			if strings.HasPrefix(j.Metadata.Name, "trueup-drift-") {
				return j.Metadata.Name
			}
		}
		time.Sleep(time.Second)
	}
	c.t.Fatal("the CronJob starts no Job")
	return ""
}
