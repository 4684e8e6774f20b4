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
	// served is what the mirror has in place of the archive, nothing for a 404.
	served   []byte
	requests int
}

// releasedArchive is the archive's path on a mirror.
const releasedArchive = "v1.2.3/trueup_1.2.3_linux_amd64.tar.gz"

func newInstallation(t *testing.T) *installation {
	t.Helper()
	i := &installation{t: t, dir: t.TempDir()}
	i.mirror = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		i.requests++
		if r.URL.Path != "/mirror/"+releasedArchive || i.served == nil {
			http.NotFound(w, r)
			return
		}
		_, err := w.Write(i.served)
		if err != nil {
			t.Error(err)
		}
	}))
	t.Cleanup(i.mirror.Close)
	i.write("bin/go", "#!/bin/sh\nwhile [ \"$1\" != -o ]; do shift; done\nprintf '#!/bin/sh\\necho built\\n' >\"$2\" && chmod 755 \"$2\"\n")
	i.write("bin/uname", "#!/bin/sh\n[ \"$1\" = -s ] && echo Linux || echo \"${MACHINE:-x86_64}\"\n")
	i.write("clone/install.sh", harness.ReadText(t, "install.sh"))
	i.git("init", "-q")
	i.commit("source")
	i.release("#!/bin/sh\necho 'trueup v1.2.3, commit " + i.git("rev-parse", "HEAD")[:12] + " of today, go, linux/amd64'\n")
	i.commit("v1.2.3")
	return i
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

// run installs anew with variables of the environment and options. It returns what was
// said, and what the installed program says, nothing if there is none.
func (i *installation) run(args ...string) (said, program string, err error) {
	i.t.Helper()
	to := filepath.Join(i.dir, "installed")
	if err := os.RemoveAll(to); err != nil {
		i.t.Fatal(err)
	}
	env := []string{"PATH=" + filepath.Join(i.dir, "bin") + string(filepath.ListSeparator) + os.Getenv("PATH"), "HOME=" + i.dir, "TRUEUP_DOWNLOAD=" + i.mirror.URL + "/mirror"}
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
	return string(out), string(text), err
}

// TestInstall: what is installed is the archive with the checksum of the commit, or
// built from source. Nothing else ever is.
func TestInstall(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		arrange func(i *installation)
		args    []string
		// program is how the installed one begins, none if the installation fails.
		program, says string
	}{
		"a release":                     {nil, nil, "trueup v1.2.3", ""},
		"a wrong checksum":              {func(i *installation) { i.served = append(i.archive[:len(i.archive):len(i.archive)], 0) }, nil, "", "has the SHA-256"},
		"a truncated archive":           {func(i *installation) { i.served = i.archive[:len(i.archive)/2] }, nil, "", "has the SHA-256"},
		"no entry for the system":       {nil, []string{"MACHINE=riscv64"}, "built", "the release has no archive for linux/riscv64"},
		"an archive that is not there":  {func(i *installation) { i.served = nil }, nil, "built", "warning: can't download http"},
		"a program of another system":   {func(i *installation) { i.release("\x7fELF\x02") }, nil, "", "does not run here"},
		"a program of another version":  {func(i *installation) { i.release("#!/bin/sh\necho trueup v1.2.2, commit\n") }, nil, "", "is not v1.2.3"},
		"a commit after the release":    {func(i *installation) { i.write("clone/patch", ""); i.commit("patch") }, nil, "built", "commits were made since v1.2.3"},
		"a commit that is no release":   {func(i *installation) { i.remove("clone/checksums.txt") }, nil, "built", "this commit is no release"},
		"source by choice":              {nil, []string{"TRUEUP_DOWNLOAD=none"}, "built", "TRUEUP_DOWNLOAD is none"},
		"no address":                    {nil, []string{"TRUEUP_DOWNLOAD="}, "built", "no address to download from is known"},
		"no release, and only download": {func(i *installation) { i.remove("clone/checksums.txt") }, []string{"--download"}, "", "this commit is no release"},
		"only build":                    {nil, []string{"--build"}, "built", ""},
		"an action without its git":     {func(i *installation) { i.remove("clone/.git") }, nil, "trueup v1.2.3", ""},
	} {
		t.Run(name, func(t *testing.T) {
			i := newInstallation(t)
			if test.arrange != nil {
				test.arrange(i)
			}
			said, program, err := i.run(test.args...)
			if (err != nil) != (test.program == "") || !strings.HasPrefix(program, test.program) || test.program == "" && program != "" || !strings.Contains(said, test.says) {
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

// TestArchiveSaysItsCommit: hosts make archives of actions by git archive. Without .git, Go can't tell the commit.
func TestArchiveSaysItsCommit(t *testing.T) {
	t.Parallel()
	harness.ReadText(t, ".gitattributes") // so that go test's cache knows it
	root, dir := harness.FromRoot(t, "."), t.TempDir()
	run := func(name string, args ...string) string {
		cmd := exec.Command(name, args...)
		cmd.Env = append(os.Environ(), "GOFLAGS=", "GIT_DIR="+filepath.Join(dir, "git"), "GIT_WORK_TREE="+root, "GIT_COMMITTER_DATE=2026-11-27T04:05:06+0530")
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%s %v: %v: %s", name, args, err, out)
		}
		return strings.TrimSpace(string(out))
	}
	run("git", "init", "-q")
	run("git", "-C", root, "add", ".gitattributes", "internal/cli")
	run("git", "-c", "user.name=t", "-c", "user.email=t@example.com", "commit", "-q", "-m", "source")
	run("git", "archive", "-o", filepath.Join(dir, "action.tar"), "HEAD")
	run("tar", "-xf", filepath.Join(dir, "action.tar"), "-C", dir)
	file := filepath.Join("internal", "cli", "commit.txt")
	overlay, err := json.Marshal(map[string]any{"Replace": map[string]string{filepath.Join(root, file): filepath.Join(dir, file)}})
	if err := errors.Join(err, os.WriteFile(filepath.Join(dir, "overlay.json"), overlay, 0o600)); err != nil {
		t.Fatal(err)
	}
	run("go", "build", "-C", root, "-buildvcs=false", "-overlay", filepath.Join(dir, "overlay.json"), "-o", filepath.Join(dir, "trueup"), ".")
	want := "trueup (devel), commit " + run("git", "rev-parse", "HEAD")[:12] + " of 2026-11-26T22:35:06Z, go"
	if said := run(filepath.Join(dir, "trueup"), "version"); !strings.HasPrefix(said, want) {
		t.Errorf("it says %s, want %s", said, want)
	}
}
