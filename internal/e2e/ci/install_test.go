//go:build linux

package ci

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"trueup/internal/e2e/harness"
)

// installation is a clone of a release, the mirror that has its archive, and a machine
// whose go "builds" a trueup that says so.
type installation struct {
	t       *testing.T
	dir     string
	archive []byte
	mirror  *httptest.Server
	// served is what the mirror has in place of the archive, nothing for a 404, and token
	// what its user job has to send, if anything.
	served   []byte
	token    string
	requests int
	// path is where the machine's programs are, after the stand-ins.
	path string
}

// releasedArchive is the archive's path on a mirror.
const releasedArchive = "v1.2.3/trueup_1.2.3_linux_amd64.tar.gz"

func newInstallation(t *testing.T) *installation {
	t.Helper()
	i := &installation{t: t, dir: t.TempDir(), path: os.Getenv("PATH")}
	i.mirror = httptest.NewServer(i)
	t.Cleanup(i.mirror.Close)
	i.write("bin/go", `#!/bin/sh
# As Go does: build -C FOLDER asks git for the commit.
[ ! -e "$3/.git" ] || git -C "$3" rev-parse HEAD >/dev/null || exit 1
while [ "$1" != -o ]; do shift; done
printf '#!/bin/sh\necho built\n' >"$2" && chmod 755 "$2"
`)
	i.write("bin/uname", "#!/bin/sh\n[ \"$1\" = -s ] && echo \"${SYSTEM:-Linux}\" || echo \"${MACHINE:-x86_64}\"\n")
	i.write("clone/install.sh", harness.ReadText(t, "install.sh"))
	i.git("init", "-q")
	i.commit("source")
	i.release("#!/bin/sh\necho 'trueup v1.2.3, commit " + i.git("rev-parse", "HEAD")[:12] + " of today, go, linux/amd64'\n")
	i.commit("v1.2.3")
	return i
}

// ServeHTTP is the mirror, the packages of a GitLab, and a host that sends users of these on to it.
func (i *installation) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	i.requests++
	_, token, _ := r.BasicAuth()
	switch at, found := strings.CutSuffix(r.URL.EscapedPath(), "/"+releasedArchive); {
	case !found || i.served == nil || token != i.token:
		// GitHub and GitLab answer so to those who may not know that it exists.
		http.NotFound(w, r)
	case at == "/mirror" || at == "/api/v4/projects/tools%2Ftrueup/packages/generic/trueup":
		if _, err := w.Write(i.served); err != nil {
			i.t.Error(err)
		}
	default:
		http.NotFound(w, r)
	}
}

// release makes an archive with a program, and the checksum of it.
func (i *installation) release(program string) {
	i.t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	w := tar.NewWriter(z)
	err := w.WriteHeader(&tar.Header{Name: "trueup_1.2.3_linux_amd64/trueup", Mode: 0o755, Size: int64(len(program))})
	_, writeErr := w.Write([]byte(program))
	if err := errors.Join(err, writeErr, w.Close(), z.Close()); err != nil {
		i.t.Fatal(err)
	}
	i.archive, i.served = b.Bytes(), b.Bytes()
	i.write("clone/checksums.txt", fmt.Sprintf("%064d  trueup_1.2.3_linux_amd64.deb\n%x  trueup_1.2.3_linux_amd64.tar.gz\n", 0, sha256.Sum256(i.archive)))
}

func (i *installation) write(name, text string) {
	i.t.Helper()
	file := filepath.Join(i.dir, name)
	if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o700), os.WriteFile(file, []byte(text), 0o700)); err != nil {
		i.t.Fatal(err)
	}
}

func (i *installation) remove(name string) {
	i.t.Helper()
	if err := os.RemoveAll(filepath.Join(i.dir, name)); err != nil {
		i.t.Fatal(err)
	}
}

func (i *installation) git(args ...string) string {
	i.t.Helper()
	cmd := exec.Command("git", append([]string{"-C", filepath.Join(i.dir, "clone"), "-c", "user.name=t", "-c", "user.email=t@example.com"}, args...)...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		i.t.Fatalf("git %v: %v: %s", args, err, out)
	}
	return string(out)
}

func (i *installation) commit(subject string) {
	i.t.Helper()
	i.git("add", "-A")
	i.git("commit", "-q", "-m", subject)
}

// asAction replaces the clone by what a host makes of its commit for a job: an archive.
func (i *installation) asAction() {
	i.t.Helper()
	for _, name := range []string{".gitattributes", "internal/command/commit.txt"} {
		i.write("clone/"+name, harness.ReadText(i.t, name))
	}
	i.git("add", "-A")
	i.git("commit", "-q", "--amend", "--no-edit")
	i.git("archive", "--prefix=clone/", "-o", "../action.tar", "HEAD")
	i.remove("clone")
	if out, err := exec.Command("tar", "-xf", filepath.Join(i.dir, "action.tar"), "-C", i.dir).CombinedOutput(); err != nil {
		i.t.Fatalf("%v: %s", err, out)
	}
}

// without takes a program from the machine.
func (i *installation) without(name string) {
	i.t.Helper()
	i.remove("bin/" + name)
	i.path = filepath.Join(i.dir, "programs")
	if err := os.Mkdir(i.path, 0o700); err != nil {
		i.t.Fatal(err)
	}
	for _, program := range []string{
		"chmod", "cp", "curl", "cut", "dirname", "git", "grep", "gzip", "mkdir", "mktemp", "mv", "rm", "sed", "sh", "sha256sum", "tar", "wget",
	} {
		if program == name {
			continue
		}
		from, err := exec.LookPath(program)
		if err != nil {
			i.t.Skipf("%s is not installed", program)
		}
		if err := os.Symlink(from, filepath.Join(i.path, program)); err != nil {
			i.t.Fatal(err)
		}
	}
}

// variable is where the programs of the machine are.
func (i *installation) variable() string {
	return "PATH=" + filepath.Join(i.dir, "bin") + string(filepath.ListSeparator) + i.path
}

// run installs in the place of an older program, with variables of the environment and
// options. It returns what was said, and what the installed program says.
func (i *installation) run(args ...string) (said, program string, err error) {
	i.t.Helper()
	to := filepath.Join(i.dir, "installed")
	i.write("installed/trueup", "#!/bin/sh\necho older\n")
	i.write("tmp/left", "")
	env := []string{i.variable(), "HOME=" + i.dir, "TMPDIR=" + filepath.Join(i.dir, "tmp"), "TRUEUP_DOWNLOAD=" + i.mirror.URL + "/mirror"}
	script := []string{filepath.Join(i.dir, "clone", "install.sh")}
	for _, a := range args {
		if strings.HasPrefix(a, "--") {
			script = append(script, a)
		} else {
			env = append(env, a)
		}
	}
	cmd := exec.Command("sh", append(script, to)...)
	cmd.Env = env
	out, err := cmd.CombinedOutput()
	text, _ := exec.Command(filepath.Join(to, "trueup")).Output()
	if left, err := os.ReadDir(filepath.Join(i.dir, "tmp")); len(left) != 1 {
		i.t.Errorf("%v is left, %v", left, err)
	}
	return string(out), string(text), err
}

// TestInstall: what is installed is the archive with the checksum of the commit, or
// built from source. Nothing else ever is.
func TestInstall(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		arrange func(i *installation)
		args    []string
		// program is how the installed one begins, older if the installation fails.
		program, says string
	}{
		"a release":                    {nil, nil, "trueup v1.2.3", ""},
		"a wrong checksum":             {func(i *installation) { i.served = append(i.archive[:len(i.archive):len(i.archive)], 0) }, nil, "older", "has the SHA-256"},
		"a truncated archive":          {func(i *installation) { i.served = i.archive[:len(i.archive)/2] }, nil, "built", "warning: can't download http"},
		"a page to sign in":            {func(i *installation) { i.served = []byte("<html>Sign in</html>") }, nil, "built", "warning: can't download http"},
		"no entry for the system":      {nil, []string{"MACHINE=riscv64"}, "built", "the release has no archive for linux/riscv64"},
		"no entry for ARM":             {nil, []string{"MACHINE=aarch64"}, "built", "the release has no archive for linux/arm64"},
		"no entry for macOS":           {nil, []string{"SYSTEM=Darwin", "MACHINE=arm64"}, "built", "the release has no archive for darwin/arm64"},
		"an archive that is not there": {func(i *installation) { i.served = nil }, nil, "built", "warning: can't download http"},
		"a program of another system":  {func(i *installation) { i.release("\x7fELF\x02") }, nil, "older", "does not run here"},
		"a program of another version": {func(i *installation) {
			i.release("#!/bin/sh\necho trueup v1.2.2, commit " + i.git("rev-parse", "HEAD^"))
		}, nil, "older", "is not v1.2.3"},
		"a commit after the release":    {func(i *installation) { i.write("clone/patch", ""); i.commit("patch") }, nil, "built", "commits were made since v1.2.3"},
		"a clone of another user":       {func(i *installation) { i.write("clone/patch", ""); i.commit("patch") }, []string{"GIT_TEST_ASSUME_DIFFERENT_OWNER=true"}, "built", "commits were made since v1.2.3"},
		"a commit that is no release":   {func(i *installation) { i.remove("clone/checksums.txt") }, nil, "built", "this commit is no release"},
		"source by choice":              {nil, []string{"TRUEUP_DOWNLOAD=none"}, "built", "TRUEUP_DOWNLOAD is none"},
		"no address":                    {nil, []string{"TRUEUP_DOWNLOAD="}, "built", "no address to download from is known"},
		"no release, and only download": {func(i *installation) { i.remove("clone/checksums.txt") }, []string{"--download"}, "older", "this commit is no release"},
		"only build":                    {nil, []string{"--build"}, "built", ""},
		"neither an archive nor Go":     {func(i *installation) { i.served = nil; i.without("go") }, nil, "older", "building trueup needs Go"},
		"a build that fails":            {func(i *installation) { i.write("bin/go", "#!/bin/sh\nexit 1\n") }, []string{"TRUEUP_DOWNLOAD=none"}, "older", ""},
		"wget in place of curl":         {func(i *installation) { i.without("curl") }, nil, "trueup v1.2.3", ""},
		"an action without its git":     {func(i *installation) { i.asAction() }, nil, "trueup v1.2.3", ""},
		"an action in another clone": {func(i *installation) {
			i.asAction()
			i.git("init", "-q", "..")
			i.commit("one")
			i.write("two", "")
			i.commit("two")
		}, nil, "trueup v1.2.3", ""},
		"an action of a later commit": {func(i *installation) { i.write("clone/patch", ""); i.commit("patch"); i.asAction() }, nil, "built", "commits were made since v1.2.3"},
	} {
		t.Run(name, func(t *testing.T) {
			i := newInstallation(t)
			if test.arrange != nil {
				test.arrange(i)
			}
			said, program, err := i.run(test.args...)
			if (err != nil) != (test.program == "older") || !strings.HasPrefix(program, test.program) || !strings.Contains(said, test.says) {
				t.Errorf("%v: installed is %q: %s", err, program, said)
			}
		})
	}
}

// TestInstallKeepsArchives: one that was kept is not downloaded again, and a broken one
// is replaced.
func TestInstallKeepsArchives(t *testing.T) {
	t.Parallel()
	i := newInstallation(t)
	cache := filepath.Join(i.dir, "cache")
	for n, kept := range []string{"", "same", "broken"} {
		if kept == "broken" {
			i.write("cache/"+filepath.Base(releasedArchive), "broken")
		}
		said, program, err := i.run("TRUEUP_CACHE=" + cache)
		if want := []int{1, 1, 2}[n]; err != nil || !strings.HasPrefix(program, "trueup v1.2.3") || i.requests != want {
			t.Errorf("%v after %d requests, want %d: %s", err, i.requests, want, said)
		}
	}
	i.served = append(i.archive[:len(i.archive):len(i.archive)], 0)
	i.remove("cache")
	if said, program, err := i.run("TRUEUP_CACHE=" + cache); err == nil || program != "older\n" {
		t.Errorf("installed is %q: %s", program, said)
	}
	if left, err := os.ReadDir(cache); len(left) > 0 {
		t.Errorf("%v is kept, %v", left, err)
	}
	if left, err := filepath.Glob(filepath.Join(cache, ".*")); err != nil || len(left) > 0 {
		t.Errorf("%v is left, %v", left, err)
	}
}

// TestInstallFindsReleases: without an address it is the one of the host that the clone
// is of, and what is said shows no password of it.
func TestInstallFindsReleases(t *testing.T) {
	t.Parallel()
	i := newInstallation(t)
	i.git("remote", "add", "origin", strings.Replace(i.mirror.URL, "://", "://job:secret@", 1)+"/tools/trueup.git")
	said, _, err := i.run("TRUEUP_DOWNLOAD=")
	if want := "can't download " + i.mirror.URL + "/tools/trueup/releases/download/" + releasedArchive; err != nil || !strings.Contains(said, want) || strings.Contains(said, "secret") {
		t.Errorf("%v: %s", err, said)
	}
}

// TestInstallHidesPasswords: the arguments of a program can be read by every user of the machine, and BusyBox's
// wget sends a password on to wherever the host redirects.
func TestInstallHidesPasswords(t *testing.T) {
	t.Parallel()
	const record = "#!/bin/sh\necho \"$*\" >>\"${0%/*}/../arguments\"\n"
	for name, test := range map[string]struct{ without, program, script, installed string }{
		"curl":           {"wget", "curl", `exec %s "$@"`, "trueup v1.2.3"},
		"wget of GNU":    {"curl", "wget", `exec %s "$@"`, "trueup v1.2.3"},
		"wget otherwise": {"curl", "wget", `[ "$1" = --help ]`, "built"},
	} {
		t.Run(name, func(t *testing.T) {
			i := newInstallation(t)
			i.without(test.without)
			i.token = "secret"
			from, err := exec.LookPath(test.program)
			if err != nil {
				t.Skipf("%s is not installed", test.program)
			}
			i.write("bin/"+test.program, record+strings.Replace(test.script, "%s", from, 1)+"\n")
			said, program, err := i.run("TRUEUP_DOWNLOAD=" + strings.Replace(i.mirror.URL, "://", "://job:secret@", 1) + "/mirror")
			arguments, readErr := os.ReadFile(filepath.Join(i.dir, "arguments"))
			if err := errors.Join(err, readErr); err != nil || !strings.HasPrefix(program, test.installed) || strings.Contains(string(arguments)+said, "secret") {
				t.Errorf("%v: installed is %q: %s%s", err, program, said, arguments)
			}
		})
	}
}

// TestArchiveSaysItsCommit: hosts make archives of actions by git archive. Without .git, Go can't tell the commit.
func TestArchiveSaysItsCommit(t *testing.T) {
	t.Parallel()
	harness.ReadText(t, ".gitattributes") // so that go test's cache knows it
	root, dir := harness.FromRoot(t, "."), t.TempDir()
	run := func(name string, args ...string) string {
		cmd := exec.Command(name, args...)
		cmd.Env = append(os.Environ(), "GIT_DIR="+filepath.Join(dir, "git"), "GIT_WORK_TREE="+root, "GIT_AUTHOR_DATE=2026-11-27T04:05:06+0530", "GIT_COMMITTER_DATE=2026-11-27T04:05:06+0530")
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%s %v: %v: %s", name, args, err, out)
		}
		return strings.TrimSpace(string(out))
	}
	run("git", "init", "-q")
	run("git", "-C", root, "add", ".gitattributes", "internal/command")
	run("git", "-c", "user.name=t", "-c", "user.email=t@example.com", "commit", "-q", "-m", "source")
	run("git", "archive", "-o", filepath.Join(dir, "action.tar"), "HEAD")
	run("tar", "-xf", filepath.Join(dir, "action.tar"), "-C", dir)
	file := filepath.Join("internal", "command", "commit.txt")
	overlay, err := json.Marshal(map[string]any{"Replace": map[string]string{filepath.Join(root, file): filepath.Join(dir, file)}})
	if err := errors.Join(err, os.WriteFile(filepath.Join(dir, "overlay.json"), overlay, 0o600)); err != nil {
		t.Fatal(err)
	}
	run("go", "build", "-C", root, "-buildvcs=false", "-ldflags=-s -w", "-overlay", filepath.Join(dir, "overlay.json"), "-o", filepath.Join(dir, "trueup"), ".")
	want := "trueup (devel), commit " + run("git", "rev-parse", "HEAD")[:12] + " of 2026-11-26T22:35:06Z, go"
	if said := run(filepath.Join(dir, "trueup"), "version"); !strings.HasPrefix(said, want) {
		t.Errorf("it says %s, want %s", said, want)
	}
}
