//go:build linux

package hostile

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"sigs.k8s.io/yaml"

	"trueup/internal/e2e/harness"
	"trueup/internal/sandbox"
)

// hidden is in a file outside the tree, and may be in no output.
const hidden = "hidden-text-of-another-file"

// pullRequest is a place whose files come from a stranger, in a job that has
// every credential there is.
type pullRequest struct {
	*place
	// evil is an address that nobody may connect to; secret a file outside the
	// tree, and pwned one that a command of the stranger's would make.
	evil, secret, pwned string
	// bucket counts what the server of buckets was asked, other than for a bucket.
	bucket *atomic.Int64
}

func newPullRequest(t *testing.T) pullRequest {
	t.Helper()
	p := pullRequest{place: newPlace(t), bucket: new(atomic.Int64)}
	outside := t.TempDir()
	p.evil, p.secret, p.pwned = p.listener(), filepath.Join(outside, "secret.yaml"), filepath.Join(outside, "pwned")
	if err := os.WriteFile(p.secret, []byte("secret: "+hidden+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	buckets := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p.bucket.Add(1)
		if strings.Contains(fmt.Sprint(r.Header, r.URL), harness.Canary) {
			t.Error("the secret key travelled")
		}
		w.WriteHeader(http.StatusNotFound)
	}))
	t.Cleanup(buckets.Close)
	for name, value := range map[string]string{
		"AWS_ACCESS_KEY_ID": "AKIDEXAMPLE", "AWS_SECRET_ACCESS_KEY": harness.Canary, "AWS_REGION": "eu-west-1",
		"AWS_ENDPOINT_URL_S3": buckets.URL, "AWS_EC2_METADATA_SERVICE_ENDPOINT": "http://" + p.evil,
		"AWS_CONFIG_FILE": os.DevNull, "AWS_SHARED_CREDENTIALS_FILE": os.DevNull, "AWS_MAX_ATTEMPTS": "1",
		"GIT_CONFIG_GLOBAL": os.DevNull, "GIT_CONFIG_NOSYSTEM": "1",
	} {
		t.Setenv(name, value)
	}
	p.git("init", "-q")
	p.git("init", "-q", "--bare", "../"+filepath.Base(outside)+"/remote.git")
	p.git("remote", "add", "origin", filepath.Join(outside, "remote.git"))
	p.write("manifests/shop.yaml", cdnOf("shop", ""))
	return p
}

func (p pullRequest) git(args ...string) {
	p.Helper()
	cmd := exec.CommandContext(p.Context(), "git", args...)
	cmd.Dir = p.dir
	if out, err := cmd.CombinedOutput(); err != nil {
		p.Skipf("git %q: %v: %s", args, err, out)
	}
}

// looked runs what a job runs on a pull request, and holds that nothing of the
// machine was shown, and that nothing ran. The listener holds the rest.
func (p pullRequest) looked(what string, args ...string) string {
	p.Helper()
	code, out := p.run(args...)
	if strings.Contains(out, hidden) {
		p.Errorf("%s: a file outside the tree is shown:\n%s", what, out)
	}
	if _, err := os.Stat(p.pwned); err == nil {
		p.Errorf("%s: a command ran", what)
	}
	if code == 130 || len(out) > 1<<20 {
		p.Errorf("%s: exit %d, %d bytes", what, code, len(out))
	}
	p.nothingSent()
	return out
}

// texts are what a stranger writes wherever a text may stand.
func (p pullRequest) texts() []string {
	return []string{
		"http://" + p.evil + "/x", "https://me:pw@" + p.evil, "//" + p.evil, "s3://" + p.evil + "/x", "s3://x/y?endpoint=http://" + p.evil,
		"s3://attackers-bucket/x?region=us-east-1", "s3://x@" + p.evil + "/y", "s3://x/y?region=" + p.evil + "/", "http://169.254.169.254/latest/meta-data",
		"git:refs/x/y@http://" + p.evil + "/r.git", "git:refs/x/y@ext::sh -c 'touch " + p.pwned + "'", "git:--upload-pack=touch " + p.pwned,
		"git:refs/x/y@--upload-pack=touch " + p.pwned, "git:refs/x/y@ssh://-oProxyCommand=touch " + p.pwned + "/x", "git:refs/x/y@../../evil", "git:refs/x/y@other",
		"git:refs/trueup/ledger", "git:+refs/heads/*:refs/heads/*@origin", "git:refs/x/y@file://" + p.secret,
		"file://" + p.secret, "file:" + p.secret, "file:///etc", "file:../" + filepath.Base(filepath.Dir(p.secret)), p.secret, "../../../../../../etc/passwd", "/dev/zero", "/proc/self/environ",
		"~/.ssh/id_rsa", "$(touch " + p.pwned + ")", "`touch " + p.pwned + "`", "|touch " + p.pwned, "-oProxyCommand=touch " + p.pwned, "!touch " + p.pwned, "${TRUEUP_DELIVERY_TOKEN}", "{{ env.TRUEUP_DELIVERY_TOKEN }}",
		"::error ::x\r\n::stop-commands::y\n##[error]z", "\x1b[2J\x1b]0;x\a\u009b\u202e\u200b", "\x00", "\xff\xfe", strings.Repeat("long ", 4_000), "1e400", "99999999999999999999999999h",
		"(a*)*$", "(((a{30}){30}){30})", "<script>alert(1)</script>[a](http://" + p.evil + ")", "../x", "a%2fb", "a/b?c#d", "..", "",
	}
}

// TestHostilePullRequest: whatever a pull request brings, the program asks no
// other address, shows no file outside the tree, prints nothing that a terminal
// or a runner obeys, runs nothing, and ends.
func TestHostilePullRequest(t *testing.T) {
	if testing.Short() {
		t.Skip("it runs git, hundreds of times: without -short")
	}
	t.Run("project", hostileProjects)
	t.Run("manifests", hostileManifests)
	t.Run("tree", hostileTree)
	t.Run("buckets", hostileBuckets)
}

// quoted is a text as YAML; what is not UTF-8 stands as it is.
func quoted(s string) string {
	if b, err := json.Marshal(s); err == nil && !strings.Contains(s, "\xff") {
		return string(b)
	}
	return `"` + s + `"`
}

func hostileProjects(t *testing.T) {
	p := newPullRequest(t)
	fields := map[string]string{
		"workspace": "workspace: {name: %s, uuid: 5a1d}", "uuid": "workspace: {name: acme, uuid: %s}", "manifests": "manifests: [%s]",
		"store": "ledger: {store: %s, id: x}", "id": "ledger: {store: \"file:ledger\", id: %s}", "window": "purge: {window: %s}",
		"regex": "purge: {duplicate: {bodyRegex: %s}}", "override kind": "overrides: [{kind: %s, path: spec.x}]",
		"override path": "overrides: [{kind: CDN, path: %s}]", "override spec": "overrides: [{kind: CDN, path: spec.%s, ignore: true}]",
		"override key": "overrides: [{kind: CDN, path: spec.locations, key: [%s]}]", "override type": "overrides: [{kind: CDN, path: spec.x, type: %s}]",
		"unknown": "url: %s", "version": "apiVersion: %s", "key": "%s: x",
	}
	for i, name := range slices.Sorted(maps.Keys(fields)) {
		for j, text := range p.texts() {
			// The store is where an address could matter; the others share the texts.
			if name != "store" && (i+j)%6 > 0 {
				continue
			}
			line := fmt.Sprintf(fields[name], quoted(text))
			top, _, _ := strings.Cut(line, ":")
			var rest []string
			for _, l := range strings.Split(strings.TrimSpace(harness.ProjectText), "\n") {
				if !strings.HasPrefix(l, top+":") {
					rest = append(rest, l)
				}
			}
			p.write("trueup.yaml", strings.Join(append(rest, line), "\n")+"\n")
			p.looked(fmt.Sprintf("%s %.80q", name, text), "plan")
		}
	}
	commands := [][]string{{"ledger", "ls"}, {"ledger", "verify"}, {"doctor"}, {"drift"}}
	for i, text := range p.texts() {
		p.write("trueup.yaml", strings.Replace(harness.ProjectText, `"file:ledger"`, quoted(text)+", id: x", 1))
		args := commands[i%len(commands)]
		p.looked(fmt.Sprintf("%v %.80q", args, text), args...)
	}
	for name, text := range map[string]string{
		"bomb": harness.ProjectText + "overrides:\n" + bomb(), "deep": harness.ProjectText + "overrides: " + strings.Repeat("[", 500_000), "huge": harness.ProjectText + strings.Repeat("# x\n", 300_000),
		"merge": harness.ProjectText + "<<: {manifests: [" + p.secret + "]}\n", "tag": harness.ProjectText + "manifests: !!python/object:os.system [x]\n", "twice": harness.ProjectText + harness.ProjectText,
		"case": harness.ProjectText + "Ledger: {store: \"file:" + p.secret + "\"}\n", "documents": harness.ProjectText + "---\n" + harness.ProjectText, "binary": "\x7fELF\x00", "none": "",
	} {
		p.write("trueup.yaml", text)
		p.looked(name, "plan")
	}
}

func hostileManifests(t *testing.T) {
	p := newPullRequest(t)
	if err := os.RemoveAll(p.path("manifests")); err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join("examples", "manifests", "*.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	more, err := filepath.Glob(filepath.Join("examples", "manifests", "*", "*.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	leaves := 0
	for _, file := range append(files, more...) {
		for _, doc := range regexp.MustCompile(`(?m)^---$`).Split(harness.ReadText(t, file), -1) {
			var tree map[string]any
			if err := yaml.Unmarshal([]byte(doc), &tree); err != nil || tree == nil {
				continue
			}
			for _, text := range p.texts() {
				p.tried(text, alter(tree, text, func(int) bool { return true }))
			}
			// One after the other, so that the others are as they should be.
			for n := range textsIn(tree) {
				leaves++
				p.tried("leaf", alter(tree, "http://"+p.evil+"/::error", func(i int) bool { return i == n }))
			}
		}
	}
	if leaves < 60 {
		t.Errorf("only %d fields were tried", leaves)
	}
}

// tried plans a manifest.
func (p pullRequest) tried(what string, tree any) {
	p.Helper()
	text, err := json.Marshal(tree)
	if err != nil {
		p.Fatal(err)
	}
	p.write("manifests/x.json", string(text))
	out := p.looked(fmt.Sprintf("%.80q", what), "plan", "-o", "json")
	var doc map[string]any
	if _, body, ok := strings.Cut(out, "{"); ok && json.Unmarshal([]byte("{"+body), &doc) != nil && !strings.Contains(out, "trueup: ") {
		p.Errorf("%.80q: no JSON: %.500s", what, out)
	}
}

// leavesOf calls each with every text in spec and metadata, and puts what it
// returns in its place.
func leavesOf(tree any, each func(string) string) any {
	switch node := tree.(type) {
	case map[string]any:
		out := map[string]any{}
		for _, key := range slices.Sorted(maps.Keys(node)) {
			out[key] = node[key]
			if key != "apiVersion" && key != "kind" {
				out[key] = leavesOf(node[key], each)
			}
		}
		return out
	case []any:
		out := make([]any, len(node))
		for i, element := range node {
			out[i] = leavesOf(element, each)
		}
		return out
	case string:
		return each(node)
	}
	return tree
}

func alter(tree any, text string, which func(int) bool) any {
	n := -1
	return leavesOf(tree, func(old string) string {
		if n++; which(n) {
			return text
		}
		return old
	})
}

// textsIn counts the texts of a document.
func textsIn(tree any) int {
	n := 0
	leavesOf(tree, func(old string) string { n++; return old })
	return n
}

// hostileTree: links, pipes, bare repositories and settings of other programs.
func hostileTree(t *testing.T) {
	p := newPullRequest(t)
	p.write("trueup.yaml", strings.Replace(harness.ProjectText, `"file:ledger"`, `"git:refs/trueup/ledger", id: x`, 1))
	run := "touch " + p.pwned
	for name, text := range map[string]string{
		".gitattributes":             "* filter=x diff=x merge=x\n*.yaml filter=x working-tree-encoding=UTF-16 ident export-subst\n",
		".gitconfig":                 "[core]\n\tfsmonitor = " + run + "\n\tsshCommand = " + run + "\n[include]\n\tpath = " + p.secret + "\n[filter \"x\"]\n\tsmudge = " + run + "\n\tclean = " + run + "\n",
		".gitmodules":                "[submodule \"x\"]\n\tpath = x\n\turl = http://" + p.evil + "/x.git\n\tupdate = !" + run + "\n",
		".lfsconfig":                 "[lfs]\n\turl = http://" + p.evil + "/\n",
		".mailmap":                   "x <y>\n",
		".git-blame-ignore-revs":     p.secret + "\n",
		"hooks/pre-push":             "#!/bin/sh\n" + run + "\n",
		".netrc":                     "machine x login y password z\n",
		".aws/config":                "[default]\ncredential_process = " + run + "\nendpoint_url = http://" + p.evil + "\n",
		".config/trueup/config.yaml": "apiVersion: trueup/v1\nkind: Config\nprofiles: {default: {delivery: {url: 'http://" + p.evil + "'}}}\n",
		"git":                        "#!/bin/sh\n" + run + "\n",
		"envs/x/trueup.yaml":         strings.Replace(harness.ProjectText, `"file:ledger"`, `"git:refs/trueup/ledger", id: x`, 1),
		"envs/x/manifests/a.yaml":    cdnOf("shop", ""),
		"envs/x/HEAD":                "ref: refs/heads/main\n",
		"envs/x/refs/.keep":          "",
		"envs/x/objects/.keep":       "",
		"envs/x/config": "[core]\n\trepositoryformatversion = 0\n\tbare = false\n\tworktree = .\n\tfsmonitor = " + run + "\n\tsshCommand = " + run +
			"\n[remote \"origin\"]\n\turl = http://" + p.evil + "/x.git\n\tuploadpack = " + run + "\n[credential]\n\thelper = !" + run + "\n",
		"manifests/b.yaml": "# $schema=http://" + p.evil + "/s.json\n" + cdnOf("b", bomb()+"  <<: *a9\n  $ref: file://"+p.secret+"\n"),
		"manifests/c.yaml": cdnOf("c", "  n: 1e999999999\n  m: "+strings.Repeat("9", 100_000)+"\n  t: !!binary aGk=\n  u: !<tag:x> y\n"),
	} {
		p.write(name, text)
		if err := os.Chmod(p.path(name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for name, aim := range map[string]string{
		"manifests/link.yaml": p.secret, "manifests/dir": filepath.Dir(p.secret), "manifests/loop.yaml": "loop.yaml", "manifests/zero.yaml": "/dev/zero",
		"manifests/env.yaml": "/proc/self/environ", "plan.md": p.secret, ".trueup": filepath.Dir(p.secret),
	} {
		if err := os.Symlink(aim, p.path(name)); err != nil {
			t.Skipf("this machine makes no symbolic links: %v", err)
		}
	}
	if mkfifo, err := exec.LookPath("mkfifo"); err == nil {
		if err := exec.CommandContext(t.Context(), mkfifo, p.path("manifests/pipe.yaml")).Run(); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("HOME", t.TempDir())
	commands := [][]string{
		{"validate"},
		{"plan"},
		{"plan", "-v", "-o", "json"},
		{"drift"},
		{"doctor"},
		{"ledger", "ls"},
		{"plan", "--base-ref", "HEAD"},
		{"plan", "--sandbox"},
		{"validate", "manifests/link.yaml"},
		{"validate", "manifests/pipe.yaml"},
		{"plan", "--report", "markdown=plan.md"},
		{"sandbox", "reset"},
	}
	for _, args := range commands {
		p.looked(fmt.Sprint(args), args...)
		p.looked(fmt.Sprint(args, " in a planted repository"), append([]string{"-C", "envs/x"}, args...)...)
	}
	// The manifests that are harmless alone are planned, with the ledger of the clone.
	for _, name := range []string{"b.yaml", "c.yaml", "link.yaml", "loop.yaml", "zero.yaml", "env.yaml", "pipe.yaml"} {
		_ = os.Remove(p.path("manifests/" + name))
	}
	if out := p.looked("the rest", "plan"); !strings.Contains(out, "is missing at git:refs/trueup/ledger") {
		t.Errorf("a token goes where no ledger allows it:\n%s", out)
	}
	p.vars["TRUEUP_WORKSPACE"] = sandbox.WorkspaceUUID
	if out := p.looked("the rest", "plan"); !strings.Contains(out, "CDN shop") {
		t.Errorf("the rest is not planned:\n%s", out)
	}
	if out := p.looked("the rest", "-C", "envs/x", "plan"); !strings.Contains(out, "set GIT_DIR to use it") {
		t.Errorf("the planted repository is not named:\n%s", out)
	}
	if content := harness.ReadText(t, p.secret); !strings.Contains(content, hidden) {
		t.Error("a file outside the tree was overwritten")
	}
}

// hostileBuckets: a repository chooses the name of a bucket, and not the server;
// without credentials of the environment nobody is asked at all.
func hostileBuckets(t *testing.T) {
	p := newPullRequest(t)
	store := func(name string) {
		p.write("trueup.yaml", strings.Replace(harness.ProjectText, `"file:ledger"`, quoted(name)+", id: x", 1))
	}
	for _, name := range []string{"s3://x/y?endpoint=http://" + p.evil, "s3://x:80/y", "s3://me:pw@bucket/y", "s3://bucket/y?region=a.b", "s3://arn:aws:s3:::x", "s3://bucket#x"} {
		store(name)
		p.looked(name, "plan")
	}
	if p.bucket.Load() > 0 {
		t.Error("a store that is refused was asked")
	}
	store("s3://attackers-bucket/x?region=us-east-1&path-style=true")
	p.looked("another bucket", "plan")
	if p.bucket.Load() == 0 {
		t.Error("the server of the environment was not asked")
	}
	p.vars["TRUEUP_LEDGER"] = "file:" + filepath.Join(filepath.Dir(p.secret), "ledger")
	before := p.bucket.Load()
	p.looked("a store of the environment", "plan")
	delete(p.vars, "TRUEUP_LEDGER")
	t.Setenv("AWS_ACCESS_KEY_ID", "")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "")
	p.looked("no credentials", "plan")
	if p.bucket.Load() != before {
		t.Error("a bucket was asked where another store is meant, or without credentials")
	}
}
