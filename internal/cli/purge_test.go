package cli

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
	"unicode"

	"trueup/internal/diag"
)

// purgeShop is a CDN whose purges are tried.
const purgeShop = "apiVersion: delivery/v2.1\nkind: CDN\nmetadata: {name: shop}\nspec: {hostname: shop.example.com}\n"

// aPurge is a manifest of paths in YAML's flow style.
func aPurge(name, paths string) string {
	return fmt.Sprintf("apiVersion: delivery/v2.1\nkind: Purge\nmetadata: {name: %s}\nspec: {hostname: shop.example.com, paths: [%s]}\n", name, paths)
}

// listed runs status purge as JSON, which the published schema allows, and returns
// "NAME STATUS" of each purge, with a star where it is active.
func (s *stage) listed(args ...string) (string, map[string]any) {
	s.t.Helper()
	doc := decoded(s.t, s.must(diag.ExitOK, append([]string{"status", "purge", "-o", "json"}, args...)...))
	if err := publishedSchema(s.t, "status-purge.schema.json").Validate(doc); err != nil {
		s.t.Errorf("%#v", err)
	}
	var rows []string
	for _, each := range doc["purges"].([]any) {
		p := each.(map[string]any)
		row := fmt.Sprintf("%s %s", p["name"], p["status"])
		if p["active"].(bool) {
			row += "*"
		}
		rows = append(rows, row)
	}
	return strings.Join(rows, ", "), doc
}

func TestPurgeList(t *testing.T) {
	s := newStage(t)
	s.write("manifests/shop.yaml", purgeShop)
	s.write("manifests/a.yaml", aPurge("a", `/a, "/b/*"`))
	want := func(want string, args ...string) map[string]any {
		t.Helper()
		got, doc := s.listed(args...)
		if got != want {
			t.Errorf("listed %s, want %s", got, want)
		}
		return doc
	}
	want("a due")
	s.must(diag.ExitOK, "apply", "--auto-approve")
	s.write("manifests/b.yaml", aPurge("b", "/c"))
	doc := want("b due, a posted*")
	host := doc["hostnames"].([]any)[0].(map[string]any)
	if fmt.Sprint(host["active"]) != "map[paths:1 prefixes:1 requests:1]" || fmt.Sprint(host["withDue"]) != "map[paths:2 prefixes:1 requests:2]" {
		t.Errorf("used: %v", host)
	}

	// What was posted leaves git, and is listed as long as it counts.
	if err := os.Remove(filepath.Join(s.dir, "manifests", "a.yaml")); err != nil {
		t.Fatal(err)
	}
	want("b due, a posted*")
	s.passed = 25*time.Hour + time.Minute
	want("b due, a posted") // the ledger looks back a little further
	s.passed = 48 * time.Hour
	want("b due")
	want("b due, a posted", "--all")
	want("b due", "manifests/b.yaml")

	// A manifest that is not what was sent.
	s.write("manifests/a.yaml", aPurge("a", "/other"))
	doc = want("b due, a posted")
	if a := doc["purges"].([]any)[1].(map[string]any); a["edited"] != true || a["paths"] != float64(1) || a["prefixes"] != float64(1) {
		t.Errorf("edited: %v", a)
	}
	text := s.must(diag.ExitOK, "status", "purge")
	if !strings.Contains(text, "(edited since)") {
		t.Errorf("it is not said that it was edited: %s", text)
	}

	// Without its ledger nothing is known, and that is said.
	if err := os.RemoveAll(filepath.Join(s.dir, "ledger")); err != nil {
		t.Fatal(err)
	}
	doc = want("a no-ledger, b no-ledger")
	if doc["ledgerProblem"] == "" || doc["ledgerFix"] == "" || len(doc["hostnames"].([]any)) != 0 {
		t.Errorf("without a ledger: %v", doc)
	}
	if code, out, _ := s.run("status", "purge", "-o", "markdown"); code != diag.ExitOK || !strings.HasPrefix(out, "## Status purge: ok\n") {
		t.Errorf("another format: %d, %s", code, out)
	}
	s.write("manifests/broken.yaml", "kind: [")
	if code, _, errs := s.run("status", "purge"); code != diag.ExitInvalid || !strings.Contains(errs, "manifests/broken.yaml") {
		t.Errorf("broken manifests: %d, %s", code, errs)
	}
	if doc := decoded(t, s.must(diag.ExitInvalid, "new", "purge", "/a", "-o", "json")); doc["result"] != "invalid" || len(doc["errors"].([]any)) != 1 {
		t.Errorf("a failure as JSON: %v", doc)
	}
}

func TestPurgeListOfWhatIsUnknown(t *testing.T) {
	s := newStage(t)
	s.write("manifests/shop.yaml", purgeShop)
	s.must(diag.ExitOK, "apply", "--auto-approve")
	s.write("manifests/a.yaml", aPurge("a", "/a"))
	if err := s.server.AddFaults("POST /purges: drop after-commit"); err != nil {
		t.Fatal(err)
	}
	s.run("apply", "--auto-approve")
	got, doc := s.listed()
	p := doc["purges"].([]any)[0].(map[string]any)
	if got != "a unknown*" || !strings.Contains(fmt.Sprint(p["fix"]), "ledger resolve") {
		t.Errorf("listed %s: %v", got, p)
	}
	if text := s.must(diag.ExitOK, "status", "purge"); !strings.Contains(text, "\n  fix: check whether it happened") {
		t.Errorf("no fix: %s", text)
	}

	// Only of what is not in the whole project is said that it left git.
	const left = "its manifest is not in git now, so trueup won't send it again"
	if text := s.must(diag.ExitOK, "status", "purge", "manifests/shop.yaml"); !strings.Contains(text, "(not in the manifests that were read)") || strings.Contains(text, left) {
		t.Errorf("of a part: %s", text)
	}
	if err := os.Remove(filepath.Join(s.dir, "manifests", "a.yaml")); err != nil {
		t.Fatal(err)
	}
	if text := s.must(diag.ExitOK, "status", "purge"); !strings.Contains(text, "(not in git)") || !strings.Contains(text, left) {
		t.Errorf("of what left git: %s", text)
	}
}

// written runs new purge as JSON, which the published schema allows.
func (s *stage) written(args ...string) []map[string]any {
	s.t.Helper()
	doc := decoded(s.t, s.must(diag.ExitOK, append([]string{"new", "purge", "-o", "json"}, args...)...))
	if err := publishedSchema(s.t, "new-purge.schema.json").Validate(doc); err != nil {
		s.t.Errorf("%#v", err)
	}
	var all []map[string]any
	for _, each := range doc["manifests"].([]any) {
		all = append(all, each.(map[string]any))
	}
	return all
}

// TestPurgeNamesDoNotCollide: a name that means something else, in git or in the
// ledger, is refused; what it means already is not written again.
func TestPurgeNamesDoNotCollide(t *testing.T) {
	s := newStage(t)
	s.write("manifests/shop.yaml", purgeShop)
	name := s.written("/a", "--name", "x")[0]["name"].(string)
	file := filepath.Join(s.dir, "manifests", "purges", name+".yaml")
	own, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}

	// Another purge has the name, in a file of another name.
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	taken := func(where string) {
		t.Helper()
		if code, _, errs := s.run("new", "purge", "/a", "--name", "x"); code != diag.ExitError || !strings.Contains(errs, "the name "+name+" is taken") {
			t.Errorf("%s: %d, %s", where, code, errs)
		}
	}
	s.write("manifests/purges/other.yaml", aPurge(name, "/other"))
	taken("in git")
	s.must(diag.ExitOK, "apply", "--auto-approve")
	if err := os.RemoveAll(filepath.Join(s.dir, "manifests", "purges")); err != nil {
		t.Fatal(err)
	}
	taken("in the ledger")

	// The ledger has it, git does not.
	second := s.written("/a", "--name", "y")[0]
	s.must(diag.ExitOK, "apply", "--auto-approve")
	if err := os.RemoveAll(filepath.Join(s.dir, "manifests", "purges")); err != nil {
		t.Fatal(err)
	}
	third := s.written("/a", "--name", "y")[0]
	if third["name"] != second["name"] || third["status"] != "sent already" || third["file"] != nil {
		t.Errorf("what was sent is %v", third)
	}

	// What git has in a file of another name, and with other words, is there.
	s.write("manifests/purges/mine.yaml", "# mine\n"+strings.ReplaceAll(string(own), name, third["name"].(string)))
	if there := s.written("/a", "--name", "y")[0]; there["status"] != "there already" || there["file"] != "manifests/purges/mine.yaml" {
		t.Errorf("what is there is %v", there)
	}
}

// TestPurgeNewAgain: what waits in git under another name is not written again; of
// what may have been sent there is a manifest again; and what purged an older commit
// is not taken for this one.
func TestPurgeNewAgain(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not installed")
	}
	s := newStage(t)
	s.write("manifests/shop.yaml", purgeShop)
	inGit(t, s.dir, "init", "-q", "-b", "main")
	commit := func(names ...string) {
		t.Helper()
		for _, name := range names {
			s.write(name, fmt.Sprint(name, time.Now()))
		}
		inGit(t, s.dir, "add", ".")
		inGit(t, s.dir, "commit", "-q", "--allow-empty", "-m", "a commit")
	}
	commit("public/a", "public/b")
	inGit(t, s.dir, "tag", "v1")
	commit("public/a")
	made := func(args ...string) map[string]any {
		t.Helper()
		all := s.written(append([]string{"--from-git", "v1..HEAD", "--map", "public/ -> /"}, args...)...)
		if len(all) != 1 {
			t.Fatalf("written: %v", all)
		}
		return all[0]
	}

	first := made()
	commit()
	if again := made(); again["status"] != "there already" || again["name"] != first["name"] {
		t.Errorf("after another commit: %v", again)
	}
	commit("public/b")
	if err := os.RemoveAll(filepath.Join(s.dir, "manifests", "purges")); err != nil {
		t.Fatal(err)
	}
	second := made("--name", "rel")
	if err := s.server.AddFaults("POST /purges: drop after-commit"); err != nil {
		t.Fatal(err)
	}
	s.run("apply", "--auto-approve")
	if err := os.RemoveAll(filepath.Join(s.dir, "manifests", "purges")); err != nil {
		t.Fatal(err)
	}
	if unclear := made("--name", "rel"); unclear["status"] != "written" || unclear["name"] != second["name"] || unclear["says"] == nil {
		t.Errorf("of what may have been sent: %v", unclear)
	}

	// What was sent before the commit was made purged something older.
	sent := made("--name", "next")
	s.must(diag.ExitOK, "apply", "--auto-approve", fmt.Sprint(sent["file"]))
	if again := made("--name", "next"); again["status"] != "there already" || again["says"] == nil {
		t.Errorf("of what was sent: %v", again)
	}
	t.Setenv("GIT_COMMITTER_DATE", time.Now().Add(time.Hour).Format(time.RFC3339))
	commit("public/a")
	code, _, errs := s.run("new", "purge", "--from-git", "v1..HEAD", "--map", "public/ -> /", "--name", "next")
	if code != diag.ExitError || !strings.Contains(errs, "it purged older content. Choose a name for this release: --name") {
		t.Errorf("of an older commit: %d: %s", code, errs)
	}
}

// TestPurgeNewWithoutALedger: a purge is written, with a warning.
func TestPurgeNewWithoutALedger(t *testing.T) {
	s := &stage{t: t, dir: t.TempDir(), vars: map[string]string{}}
	s.write("shop.yaml", purgeShop)
	name := s.written("/a", "--name", "x")[0]["file"].(string)
	if !regexp.MustCompile(`^purges/x-[0-9a-f]{8}\.yaml$`).MatchString(name) {
		t.Errorf("written to %s", name)
	}
	if code, _, errs := s.run("new", "purge", "/b", "--name", "x"); code != diag.ExitOK || !strings.Contains(errs, "names against the ledger") {
		t.Errorf("%d: %s", code, errs)
	}
	if text := s.must(diag.ExitOK, "status", "purge"); !strings.Contains(text, "no-ledger  ") || !strings.Contains(text, "\n\nledger: ") {
		t.Errorf("listed without a ledger: %s", text)
	}
}

// TestPurgeNewStaysInItsFolder: no link leads the manifest elsewhere.
func TestPurgeNewStaysInItsFolder(t *testing.T) {
	s := newStage(t)
	s.write("manifests/shop.yaml", purgeShop)
	elsewhere := t.TempDir()
	if err := os.Symlink(elsewhere, filepath.Join(s.dir, "manifests", "purges")); err != nil {
		t.Skip(err)
	}
	code, _, errs := s.run("new", "purge", "/a")
	left, err := os.ReadDir(elsewhere)
	if code == diag.ExitOK || err != nil || len(left) > 0 {
		t.Errorf("%d, %s: %v %v", code, errs, left, err)
	}
}

// TestPurgeNewOfHostileNames: names of files, which come with a pull request, can't
// be a command to a terminal or to a workflow runner, nor a line of the manifest.
func TestPurgeNewOfHostileNames(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not installed")
	}
	s := newStage(t)
	s.write("manifests/shop.yaml", purgeShop)
	inGit(t, s.dir, "init", "-q", "-b", "main")
	inGit(t, s.dir, "commit", "-q", "--allow-empty", "-m", "nothing")
	for _, name := range []string{"a\n::error::b", "c\x1b[2Jd", "e\u202ef", "g\r##[command]h", "i\n  - *", "# trueup:ignore purge-limits", "\xff"} {
		s.write("in/"+name, "x")
		s.write("out/"+name, "x")
	}
	inGit(t, s.dir, "add", "in", "out")
	inGit(t, s.dir, "commit", "-q", "-m", "names")
	args := []string{"new", "purge", "--from-git", "HEAD^..HEAD", "--map", "in/ -> /", "--dir", "-"}
	code, _, errs := s.run(args...)
	if code != diag.ExitError || !strings.Contains(errs, "can't be purged as named") {
		t.Errorf("%d: %s", code, errs)
	}
	code, out, more := s.run(append(args, "--skip-unplaced")...)
	if code != diag.ExitOK {
		t.Fatalf("%d: %s", code, more)
	}
	for line := range strings.Lines(out + errs + more) {
		line = strings.TrimSuffix(line, "\n")
		if strings.ContainsFunc(line, func(r rune) bool { return !unicode.IsPrint(r) }) || strings.HasPrefix(strings.TrimSpace(line), "::") || strings.Contains(line, "##[") {
			t.Errorf("%q", line)
		}
	}
	if n := strings.Count(out, "\n    - /"); n != 6 || strings.Count(out, "*") > 0 {
		t.Errorf("%d paths: %s", n, out)
	}
}

// inGit runs git in a folder.
func inGit(t *testing.T, dir string, args ...string) {
	t.Helper()
	cmd := exec.Command("git", append([]string{"-C", dir, "-c", "user.name=a", "-c", "user.email=a@example.com"}, args...)...)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("git %s: %v: %s", args, err, out)
	}
}
