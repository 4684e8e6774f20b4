package crash

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"trueup/internal/e2e/harness"
)

// attackRef is where a ledger in git is.
const attackRef = "refs/trueup/ledger"

// attackWorld is a platform, a store, a remote repository with the project, and
// runners: each run starts in a clone and with a home of its own.
type attackWorld struct {
	t             testing.TB
	program, base string
	random        *rand.Rand
	// store is file, git or the scheme of a server.
	store    string
	platform *standIn
	// ledger is nil for a ledger in git.
	ledger *attackLedger
	// keepsState says that what a machine has seen of the ledger outlives it.
	keepsState bool
	runners    int
	// manifests replaces the manifests, and prepare changes a runner's clone.
	manifests func() string
	prepare   func(clone string)

	// ttl and once are what the manifests say: the CDN's edge TTL, and the
	// requests that are sent once, by KIND/NAME.
	ttl  int
	once []string
	// root is the oldest commit that a ledger in git is rolled back to.
	root string
	// usual is how long an apply that nothing befell took.
	usual time.Duration
	// limit is the most that a run may take.
	limit string
}

func newAttackWorld(t testing.TB, program, store string, seed uint64, refuses bool) *attackWorld {
	t.Helper()
	w := &attackWorld{
		t: t, program: program, base: tempDir(t), store: store, random: rand.New(rand.NewPCG(seed, 0)),
		platform: newStandIn(seed, refuses), keepsState: true, ttl: 60, usual: 300 * time.Millisecond, limit: "2m",
	}
	if store != "git" {
		w.ledger = newAttackLedger(t, store, w.path("ledger"))
	}
	w.git("", "init", "-q", "--bare", "-b", "main", w.path("remote.git"))
	w.git(w.path("remote.git"), "config", "uploadpack.allowFilter", "true")
	w.git("", "clone", "-q", "file://"+w.path("remote.git"), w.path("work"))
	return w
}

// ready makes the ledger, and the CDN live.
func (w *attackWorld) ready(settings string) {
	w.t.Helper()
	text := strings.Replace(harness.ProjectText, `"file:ledger"`, `"git:`+attackRef+`"`, 1) + "maxCreates: 100\n" + settings
	w.commit(text)
	made := w.run("ledger", "init", "--adopt=none")
	id := regexp.MustCompile(`ledger (\S+) is ready`).FindStringSubmatch(made.out + made.err)
	if made.code != 0 || id == nil {
		w.t.Fatalf("ledger init: exit %d\n%s", made.code, made.err)
	}
	w.commit(strings.Replace(text, attackRef+`"`, attackRef+`", id: `+id[1], 1))
	w.must(w.run(attackApply()...))
	if w.platform.refuses {
		w.must(w.run("doctor", "--probe-duplicates", "shop.example.com", "--auto-approve"))
	}
	if w.store == "git" {
		w.root = w.git(w.path("remote.git"), "rev-parse", attackRef)
	}
}

func (w *attackWorld) close() {
	w.platform.web.CloseClientConnections()
	w.platform.web.Close()
	if w.ledger != nil {
		w.ledger.close()
	}
	if err := os.RemoveAll(w.base); err != nil {
		w.t.Errorf("remove the world: %v", err)
	}
}

func (w *attackWorld) path(name string) string { return filepath.Join(w.base, name) }

// env is the environment of a runner whose home is there.
func (w *attackWorld) env(home string) []string {
	env := []string{
		"PATH=" + os.Getenv("PATH"), "USER=tester", "HOME=" + home, "TMPDIR=" + home, "XDG_STATE_HOME=" + w.path("state"),
		"TRUEUP_DELIVERY_URL=" + w.platform.web.URL + "/delivery/v2.1", "TRUEUP_DELIVERY_TOKEN=delivery-token",
		"TRUEUP_COMPUTE_URL=" + w.platform.web.URL + "/compute/v1/region-1", "TRUEUP_COMPUTE_TOKEN=compute-token",
		"GOGC=800", "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=" + os.Getenv("GIT_CONFIG_GLOBAL"), "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.com",
		"GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.com",
		"TRUEUP_REQUEST_TIMEOUT=2s", "TRUEUP_TIMEOUT=" + w.limit,
	}
	if !w.keepsState {
		env = append(env, "XDG_STATE_HOME="+home+"/state")
	}
	if w.ledger != nil {
		env = append(env, w.ledger.env()...)
	}
	return env
}

// git runs git in a folder, and returns what it printed.
func (w *attackWorld) git(dir string, args ...string) string {
	w.t.Helper()
	return w.gitReads("", dir, args...)
}

func (w *attackWorld) gitReads(stdin, dir string, args ...string) string {
	w.t.Helper()
	cmd := exec.CommandContext(w.t.Context(), "git", args...)
	cmd.Dir, cmd.Env, cmd.Stdin = dir, w.env(w.base), strings.NewReader(stdin)
	out, err := cmd.CombinedOutput()
	if err != nil {
		w.t.Fatalf("git %v: %v\n%s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

// cdn gives the manifest of the CDN.
func (w *attackWorld) cdn() string {
	cdn, _, _ := strings.Cut(crashManifests, "---\n")
	return strings.Replace(cdn, "upstream: origin}", fmt.Sprintf("upstream: origin, cache: {level: standard, edgeTTL: %q, ttlTimeUnit: second}}", fmt.Sprint(w.ttl)), 1)
}

// objects gives the manifests.
func (w *attackWorld) objects() string {
	if w.manifests != nil {
		return w.manifests()
	}
	var text strings.Builder
	text.WriteString(w.cdn())
	for _, key := range w.once {
		kind, name, _ := strings.Cut(key, "/")
		if kind == "Purge" {
			fmt.Fprintf(&text, "---\napiVersion: delivery/v2.1\nkind: Purge\nmetadata: {name: %s}\nspec: {hostname: shop.example.com, paths: [/%s]}\n", name, name)
			continue
		}
		fmt.Fprintf(&text, "---\napiVersion: snapshot.storage.k8s.io/v1\nkind: VolumeSnapshot\nmetadata: {name: %s}\nspec: {source: {persistentVolumeClaimName: db}, volumeSnapshotClassName: general-purpose}\n", name)
	}
	return text.String()
}

// commit writes the manifests, and pushes them; project is trueup.yaml, or empty
// to leave it.
func (w *attackWorld) commit(project string) {
	w.t.Helper()
	files := map[string]string{"work/manifests/all.yaml": w.objects()}
	if project != "" {
		files["work/trueup.yaml"] = project
	}
	for name, content := range files {
		if err := errors.Join(os.MkdirAll(filepath.Dir(w.path(name)), 0o755), os.WriteFile(w.path(name), []byte(content), 0o600)); err != nil {
			w.t.Fatal(err)
		}
	}
	w.git(w.path("work"), "add", ".")
	w.git(w.path("work"), "commit", "-q", "-m", "change")
	w.git(w.path("work"), "push", "-q", "origin", "HEAD:main")
}

// attackRun is a run of the program on a runner.
type attackRun struct {
	args     []string
	cmd      *exec.Cmd
	stdout   bytes.Buffer
	stderr   bytes.Buffer
	dir      string
	code     int
	out, err string
	took     time.Duration
	// once are the requests of its commit that are sent once.
	once   []string
	killed bool
	began  time.Time
}

func attackApply(more ...string) []string {
	return append([]string{"apply", "--auto-approve", "-q", "-o", "json"}, more...)
}

// runner makes a clone and a home of its own.
func (w *attackWorld) runner() (dir string) {
	w.t.Helper()
	w.runners++
	dir = w.path(fmt.Sprintf("runner-%d", w.runners))
	if err := os.MkdirAll(dir, 0o755); err != nil {
		w.t.Fatal(err)
	}
	w.git("", "clone", "-q", "file://"+w.path("remote.git"), dir+"/clone")
	if w.prepare != nil {
		w.prepare(dir + "/clone")
	}
	return dir
}

// begin starts the program on a runner, in a group of processes of its own.
func (w *attackWorld) begin(dir string, args ...string) *attackRun {
	w.t.Helper()
	r := &attackRun{args: args, dir: dir, once: slices.Clone(w.once), began: time.Now()}
	r.cmd = exec.CommandContext(w.t.Context(), w.program, args...)
	r.cmd.Dir, r.cmd.Env = dir+"/clone", w.env(dir)
	r.cmd.Stdout, r.cmd.Stderr = &r.stdout, &r.stderr
	r.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	r.cmd.WaitDelay = 5 * time.Second
	if err := r.cmd.Start(); err != nil {
		w.t.Fatal(err)
	}
	return r
}

// end waits for a run, and takes its runner away.
func (w *attackWorld) end(r *attackRun) *attackRun {
	w.t.Helper()
	err := r.cmd.Wait()
	if errors.Is(err, exec.ErrWaitDelay) {
		err = nil
	}
	r.took, r.code = time.Since(r.began), exitCode(w.t, err)
	r.out, r.err = r.stdout.String(), r.stderr.String()
	if err := os.RemoveAll(r.dir); err != nil && !r.killed {
		w.t.Error(err)
	}
	return r
}

func (w *attackWorld) run(args ...string) *attackRun {
	w.t.Helper()
	return w.end(w.begin(w.runner(), args...))
}

func (w *attackWorld) must(r *attackRun) {
	w.t.Helper()
	if r.code != 0 {
		w.t.Fatalf("trueup %v: exit %d\n%s%s", r.args, r.code, r.out, r.err)
	}
}

// kill ends a run, and half of the time what it started: but a git that takes a
// push is on another machine.
func (r *attackRun) kill(all bool) {
	r.killed = true
	_ = r.cmd.Process.Kill()
	if all {
		killGroup(r.cmd.Process.Pid)
	}
}

// killGroup ends the processes of a group, but for a git that takes a push.
func killGroup(group int) {
	dirs, _ := filepath.Glob("/proc/[0-9]*")
	for _, dir := range dirs {
		var pid int
		_, _ = fmt.Sscan(filepath.Base(dir), &pid)
		if of, err := unix.Getpgid(pid); err == nil && of == group && !serves(pid) {
			_ = unix.Kill(pid, unix.SIGKILL)
		}
	}
}

// attackOutcome is what a run says of one object.
type attackOutcome struct{ Kind, Name, Status, Message, Fix, Verdict string }

func (o attackOutcome) key() string { return o.Kind + "/" + o.Name }

func (o attackOutcome) sentOnce() bool { return o.Kind != "CDN" }

// ofLedger reports whether a question is about the ledger as a whole.
func (o attackOutcome) ofLedger() bool {
	return strings.Contains(o.Message, "damaged ledger") ||
		o.Status == "blocked" && (strings.Contains(o.Message, "ledger can't be used") || strings.Contains(o.Fix, "trueup ledger import"))
}

// attackResult is the JSON that a run printed.
type attackResult struct {
	Apply  struct{ Outcomes []attackOutcome }
	Errors []string
}

// result reads what a run printed; a run that was killed may have said nothing.
func (r *attackRun) result() (read attackResult) {
	_ = json.Unmarshal([]byte(r.out), &read)
	return read
}

// said is what a run said of what did not go well.
func (r *attackRun) said() string {
	said := r.err + strings.Join(r.result().Errors, "\n")
	for _, o := range r.result().Apply.Outcomes {
		if o.Verdict != "ok" || o.Message != "" {
			said += fmt.Sprintf("\n%s %s (%s): %s", o.key(), o.Status, o.Verdict, o.Message)
		}
	}
	return strings.TrimSpace(said)
}

// turnBack takes the newest n changes of the ledger away, and reports whether
// there were any.
func (w *attackWorld) turnBack(n int) bool {
	w.t.Helper()
	if w.store == "git" {
		remote := w.path("remote.git")
		commits := strings.Fields(w.git(remote, "rev-list", "--min-parents=1", "--max-count=21", w.root+".."+attackRef))
		if len(commits) == 0 {
			return false
		}
		n = min(n, len(commits))
		w.unlock()
		w.git(remote, "update-ref", attackRef, commits[n-1]+"^")
		return true
	}
	// The newest pieces are the first.
	pieces := w.pieces()
	w.remove(pieces[:min(n, len(pieces))]...)
	return len(pieces) > 0
}

// unlock removes the lock that a push left which was killed together with its server:
// nothing of it runs any more.
func (w *attackWorld) unlock() {
	w.t.Helper()
	if err := os.Remove(filepath.Join(w.path("remote.git"), attackRef+".lock")); err != nil && !errors.Is(err, fs.ErrNotExist) {
		w.t.Fatal(err)
	}
}

// pieces are the files of the ledger's log, the newest first, but for its first entry.
func (w *attackWorld) pieces() []string {
	w.t.Helper()
	var names []string
	if w.ledger != nil {
		names = w.ledger.names()
	} else {
		names = strings.Fields(w.git(w.path("remote.git"), "ls-tree", "-r", "--name-only", attackRef, "log/"))
	}
	return slices.DeleteFunc(names, func(name string) bool { return strings.Contains(name, "-1.jsonl") })
}

// remove takes pieces out of the ledger.
func (w *attackWorld) remove(names ...string) {
	w.t.Helper()
	if w.ledger != nil {
		w.ledger.copyOf(w.ledger.copies, names...)
		return
	}
	for _, name := range names {
		w.gitReads(fmt.Sprintf("commit %s\ncommitter a <a@example.com> 0 +0000\ndata 0\nfrom %s^0\nD %s\n", attackRef, attackRef, name),
			w.path("remote.git"), "fast-import", "--quiet")
	}
}

// removeOne takes a file of the ledger's log away, and reports whether it was the
// newest: then the ledger was rolled back.
func (w *attackWorld) removeOne() (done, newest bool) {
	w.t.Helper()
	pieces := w.pieces()
	if len(pieces) == 0 {
		return false, false
	}
	n := w.random.IntN(len(pieces))
	w.remove(pieces[n])
	return true, n == 0
}

// moveAway is what a person does with a ledger that is damaged and of which there is an
// export.
func (w *attackWorld) moveAway() {
	w.t.Helper()
	if w.ledger != nil {
		w.ledger.moveOn()
		return
	}
	w.git(w.path("remote.git"), "update-ref", "-d", attackRef)
}

// outage takes the store away for a time: its server dies, or its disk takes no files.
func (w *attackWorld) outage(d time.Duration) {
	w.t.Helper()
	switch folder := w.path("remote.git"); {
	case w.store == "file":
		w.ledger.withoutDisk(d)
	case w.ledger != nil:
		w.ledger.wire.stop()
		time.Sleep(d)
		w.ledger.wire.start()
	default:
		err := os.Rename(folder, folder+".off")
		time.Sleep(d)
		if err = errors.Join(err, os.Rename(folder+".off", folder)); err != nil {
			w.t.Fatal(err)
		}
	}
}
