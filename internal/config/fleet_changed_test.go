package config

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"trueup/internal/e2e/long"
)

// TestChangedSinceEqualsBruteForce makes random histories with renames, moves and merges, and compares the selection with
// the files and manifests of each project at both commits.
func TestChangedSinceEqualsBruteForce(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not installed")
	}
	n := long.Times(1)
	sum := tally{}
	for range n {
		s := newStory(t, rand.Uint64())
		s.live()
		s.check(sum)
	}
	t.Logf("%d histories: %v", n, sum)
	for _, what := range []string{"selected", "left out", "added", "removed", "moved", "not committed", "merges", "same but for comments"} {
		if sum[what] == 0 && n >= 100 {
			t.Errorf("no history has: %s", what)
		}
	}
}

type tally map[string]int

// story is a random history.
type story struct {
	t       *testing.T
	r       *rand.Rand
	seed    uint64
	dir     string // the repository
	root    string // the folder of the search, from dir
	commits []string
	count   int
	merges  int
}

func newStory(t *testing.T, seed uint64) *story {
	s := &story{t: t, r: rand.New(rand.NewPCG(seed, 0)), seed: seed, dir: t.TempDir(), root: "."}
	if s.r.IntN(3) == 0 {
		s.root = "fleet"
	}
	s.git("init", "-q", "-b", "main")
	s.write("README.md", "a fleet\n")
	s.write(path.Join(s.root, "README.md"), "projects\n")
	return s
}

func (s *story) git(args ...string) string {
	cmd := exec.Command("git", append([]string{"-c", "user.name=a", "-c", "user.email=a@example.com", "-c", "commit.gpgsign=false"}, args...)...)
	cmd.Dir = s.dir
	out, err := cmd.CombinedOutput()
	if err != nil && args[0] != "merge" {
		s.t.Fatalf("seed %d: git %s: %v: %s", s.seed, strings.Join(args, " "), err, out)
	}
	return strings.TrimSpace(string(out))
}

func (s *story) at(name string) string { return filepath.Join(s.dir, filepath.FromSlash(name)) }

func (s *story) write(name, text string) {
	full := s.at(name)
	if info, err := os.Lstat(full); err == nil && info.IsDir() {
		return
	}
	if os.MkdirAll(filepath.Dir(full), 0o755) != nil { // a file or a link that leads nowhere is in the way
		return
	}
	_ = os.Remove(full) // it may be a link
	if err := os.WriteFile(full, []byte(text), 0o600); err != nil {
		s.t.Fatal(err)
	}
}

func pick[T any](s *story, list ...T) T { return list[s.r.IntN(len(list))] }

// live makes commits on branches that are merged.
func (s *story) live() {
	for range 3 {
		s.add()
	}
	s.commit()
	for range 4 + s.r.IntN(6) {
		branch := s.r.IntN(3) == 0
		if branch {
			s.git("checkout", "-q", "-b", "side", pick(s, s.commits...))
		}
		for range 1 + s.r.IntN(2) {
			s.edits()
			s.commit()
		}
		if !branch {
			continue
		}
		s.git("checkout", "-q", "main")
		s.edits()
		s.commit()
		s.git("merge", "-q", "-m", "merge", "-X", pick(s, "ours", "theirs"), "side")
		_ = os.Remove(s.at(".git/index.lock")) // git 2.39 aborts where both sides moved folders and put links in their place
		s.commit()                             // with conflicts
		s.merges++
		s.git("branch", "-q", "-D", "side")
	}
}

func (s *story) commit() {
	s.git("add", "-A")
	s.git("commit", "-q", "--allow-empty", "-m", "edit")
	s.commits = append(s.commits, s.git("rev-parse", "HEAD"))
}

func (s *story) edits() {
	for range 1 + s.r.IntN(3) {
		s.edit()
	}
}

// places are folders for projects, of which none is in another.
func places() []string { return []string{"a", "b", "g/c", "g/d", "deep/e/f", "x.yaml"} }

func (s *story) projects() (list []string) {
	for _, place := range places() {
		if _, err := os.Lstat(s.at(path.Join(s.root, place, ProjectFile))); err == nil {
			list = append(list, path.Join(s.root, place))
		}
	}
	return list
}

func (s *story) settings(id string) string {
	return fmt.Sprintf("apiVersion: trueup/v1\nkind: Project\nworkspace: {name: acme, uuid: %s}\n%s", id,
		pick(s, "", "", "manifests: [manifests]\n", "manifests: [manifests, more/one.txt, ./more/sub/]\n", "manifests: [.]\n", "manifests: [.hidden, gone]\n"))
}

// add makes a project in a free place.
func (s *story) add() {
	place := path.Join(s.root, pick(s, places()...))
	if slices.Contains(s.projects(), place) {
		return
	}
	s.count++
	s.write(path.Join(place, ProjectFile), s.settings(fmt.Sprintf("id-%d-%d", s.count, s.r.Uint32())))
	s.manifest(place)
	s.manifest(place)
}

func (s *story) manifest(place string) {
	name := pick(s, "manifests/shop.yaml", "manifests/sub/www.json", "manifests/.off/shop.yaml", "more/one.txt", "more/one.txt", "more/sub/two.yml", "more/three.yaml",
		"top.yaml", ".hidden/h.yaml", "gone/g.yaml", "notes.txt", "manifests/notes.txt", "manifests/a.yaml/in.yaml", "real/two.yaml", "real/two.yaml")
	s.write(path.Join(place, name), cdn(s))
}

func cdn(s *story) string {
	comment := pick(s, "", "", "# why\n", "# because\n")
	return comment + fmt.Sprintf(`{"apiVersion": "delivery/v2.1", "kind": "CDN", "metadata": {"name": "n%d"}, "spec": {"hostname": "h%d.example.com"}}`,
		s.r.IntN(4), s.r.IntN(4)) + pick(s, "\n", "\n", "\n", " broken: [\n")
}

// edit changes one thing.
func (s *story) edit() {
	all := s.projects()
	if len(all) == 0 || s.r.IntN(8) == 0 {
		s.add()
		return
	}
	place := pick(s, all...)
	files := s.files(place)
	switch s.r.IntN(15) {
	case 0, 1, 12, 13:
		s.manifest(place)
	case 2: // add a comment, or rewrite a file without a change
		if name := pick(s, files...); !strings.HasSuffix(name, ".json") {
			text, _ := os.ReadFile(s.at(name))
			s.write(name, "# "+strconv.Itoa(s.r.IntN(9))+"\n"+string(text))
		}
	case 3:
		_ = os.RemoveAll(s.at(pick(s, append(files, path.Join(place, "manifests"))...)))
	case 4: // within a project, or to another
		s.rename(pick(s, files...), path.Join(pick(s, all...), pick(s, "manifests/moved.yaml", "more/moved.yaml", ".off/m.yaml", "m.txt")))
	case 5:
		s.rename(place, path.Join(s.root, pick(s, append(places(), ".off/p")...)))
	case 6:
		text, _ := os.ReadFile(s.at(path.Join(place, ProjectFile)))
		id := "id-none"
		if p, err := ParseProject(text); err == nil {
			id = p.Workspace.UUID
		}
		s.write(path.Join(place, ProjectFile), s.settings(id)+pick(s, "", "overrides: [{kind: CDN, path: spec.locations, ignore: true}]\n", "# a comment\n", "broken: true\n"))
	case 7:
		_ = os.RemoveAll(s.at(place))
	case 8:
		s.write(pick(s, ".github/workflows/plan.yml", ".gitlab-ci.yml", ".gitlab/plan.yml"), pick(s, "run: make\n", "run: lint\n", "run: trueup plan\n", "run: trueup apply\n"))
	case 9:
		s.write(pick(s, "README.md", "manifests/shop.yaml", path.Join(s.root, "g/README.md"), "docs/trueup.yml"), pick(s, "one\n", "trueup\n"))
	case 10, 14:
		s.link(place)
	case 11:
		_ = os.Chmod(s.at(pick(s, files...)), 0o755)
	}
}

func (s *story) rename(from, to string) {
	if _, err := os.Lstat(s.at(to)); err == nil {
		return
	}
	if os.MkdirAll(filepath.Dir(s.at(to)), 0o755) == nil { // a file may be in the way
		_ = os.Rename(s.at(from), s.at(to))
	}
}

// link moves a part of a project away, and puts a link in its place.
func (s *story) link(place string) {
	name := pick(s, "manifests", "manifests", ProjectFile, "manifests/shop.yaml")
	from, to := s.at(path.Join(place, name)), s.at(path.Join(place, "real"))
	if _, err := os.Lstat(to); err != nil && os.Rename(from, to) == nil {
		_ = os.Symlink(pick(s, strings.Repeat("../", strings.Count(name, "/"))+"real", "real", "nowhere"), from)
	}
}

func (s *story) files(place string) (list []string) {
	_ = filepath.WalkDir(s.at(place), func(name string, e fs.DirEntry, err error) error {
		if err == nil && !e.IsDir() {
			rel, _ := filepath.Rel(s.dir, name)
			list = append(list, filepath.ToSlash(rel))
		}
		return nil
	})
	return list
}

// state is what a project reads, and what it has from that.
type state struct {
	loaded, id string
	aside      bool   // its settings are a link
	all        string // every file in its folder
	modes      string // and which of them are programs
}

func (s *story) states(root string) map[string]state {
	states := map[string]state{}
	for _, place := range places() {
		dir := filepath.Join(root, place)
		if _, err := os.Lstat(filepath.Join(dir, ProjectFile)); err == nil {
			states[place] = s.state(dir)
		}
	}
	return states
}

func (s *story) state(dir string) (st state) {
	data, _ := os.ReadFile(filepath.Join(dir, ProjectFile))
	text := string(data)
	_, notLink := os.Readlink(filepath.Join(dir, ProjectFile))
	st.aside = notLink == nil
	_ = filepath.WalkDir(dir, func(name string, e fs.DirEntry, _ error) error {
		if info, err := e.Info(); err == nil && !e.IsDir() {
			data, _ := os.ReadFile(name)
			aim, _ := os.Readlink(name)
			st.all += fmt.Sprintf("%s %s\n%s\n", strings.TrimPrefix(name, dir), aim, data)
			st.modes += fmt.Sprintf("%s %t\n", strings.TrimPrefix(name, dir), info.Mode()&0o100 != 0)
		}
		return nil
	})
	p, err := ReadProject(dir)
	if err != nil {
		st.loaded = text + strings.ReplaceAll(err.Error(), dir, "")
		return st
	}
	st.id = p.Workspace.UUID
	sources, err := Options{Env: Env{Cwd: dir}}.OpenSources(p, nil)
	l, wrong := p.LoadManifests(s.t.Context(), sources, p.ManifestOptions(1))
	settings, _ := json.Marshal(p.ProjectSettings)
	loaded := fmt.Sprintf("%s %v %v %v", settings, err != nil, wrong, l.Findings)
	if l.Set != nil {
		for _, o := range l.Set.Objects {
			loaded += fmt.Sprintf("\n%s %s %s", o.Key(), o.Path, o.Spec)
		}
	}
	st.loaded = loaded
	return st
}

// check compares some commits with the work tree of another.
func (s *story) check(sum tally) {
	defer func() {
		if s.t.Failed() {
			s.t.Fatalf("seed %d", s.seed)
		}
	}()
	then := s.t.TempDir()
	s.git("worktree", "add", "-q", "--detach", "--force", then)
	sum["merges"] += s.merges
	for range 4 {
		head, ref := pick(s, s.commits...), pick(s, s.commits...)
		s.git("checkout", "-q", "--detach", head)
		if s.r.IntN(3) == 0 {
			s.edits()
			if s.r.IntN(2) == 0 {
				s.git("add", "-A")
			}
			sum["not committed"]++
		}
		s.separate()
		s.dropEmpty()
		cmd := exec.Command("git", "checkout", "-q", "--detach", ref)
		cmd.Dir = then
		if out, err := cmd.CombinedOutput(); err != nil {
			s.t.Fatal(string(out))
		}
		s.compare(then, ref, sum)
		s.git("reset", "-q", "--hard")
		s.git("clean", "-q", "-fdx")
	}
}

// separate removes projects with the workspace of another, which a merge may have made.
func (s *story) separate() {
	seen := map[string]bool{}
	for place, st := range s.states(s.at(s.root)) {
		if st.id != "" && seen[st.id] {
			_ = os.RemoveAll(s.at(path.Join(s.root, place)))
		}
		seen[st.id] = true
	}
}

// dropEmpty removes empty folders, which git does not know.
func (s *story) dropEmpty() {
	var folders []string
	_ = filepath.WalkDir(s.at(s.root), func(name string, e fs.DirEntry, err error) error {
		if err == nil && e.IsDir() && e.Name() != ".git" {
			folders = append(folders, name)
		}
		return nil
	})
	for _, folder := range slices.Backward(folders) {
		_ = os.Remove(folder) // of those that are not empty nothing is removed
	}
}

func (s *story) compare(then, ref string, sum tally) {
	t := s.t
	was, is := s.states(filepath.Join(then, s.root)), s.states(s.at(s.root))
	if len(is) == 0 {
		return
	}
	f, err := Selection{ChangedSince: ref}.FindFleet(t.Context(), s.at(s.root), "")
	if err != nil {
		t.Fatalf("seed %d: %v", s.seed, err)
	}
	selected := map[string]bool{}
	for _, p := range f.Projects {
		selected[p.Path] = true
	}
	for place, now := range is {
		before, existed := was[place]
		differs := !existed || before.all != now.all
		switch {
		case (!existed || before.loaded != now.loaded) && !selected[place]:
			t.Errorf("%s differs from %.12s and is not selected:\n%s\n--- is now\n%s", place, ref, before.loaded, now.loaded)
		case selected[place] && s.git("ls-files", "--others", path.Join(s.root, place)) != "": // git counts these as new
		case selected[place] && existed && before.modes != now.modes: // which git counts too
		case selected[place] != differs:
			t.Errorf("%s is selected: %t, want %t:\n%s\n--- is now\n%s", place, selected[place], differs, before.all, now.all)
		case selected[place] && existed && before.loaded == now.loaded:
			sum["same but for comments"]++
		}
		sum[map[bool]string{true: "selected", false: "left out"}[selected[place]]]++
	}
	s.compareFacts(f, was, is, sum)
}

func (s *story) compareFacts(f Fleet, was, is map[string]state, sum tally) {
	var removed, added []string
	target := map[string]bool{}
	for place, before := range was {
		_, exists := is[place]
		to := ""
		for at, now := range is {
			if before.id != "" && now.id == before.id && !before.aside { // settings behind a link are not read
				to = at
			}
		}
		switch {
		case exists:
		case to != "":
			sum["moved"]++
			if target[to] = true; !slices.Contains(f.Moved, ProjectMove{From: place, To: to}) {
				s.t.Errorf("%s moved to %s, and not %v", place, to, f.Moved)
			}
		default:
			removed = append(removed, place)
		}
	}
	slices.Sort(removed)
	if !slices.Equal(removed, f.Removed) {
		s.t.Errorf("removed are %v, want %v", f.Removed, removed)
	}
	for place := range is {
		if _, existed := was[place]; !existed && !target[place] {
			added = append(added, place)
		}
	}
	slices.Sort(added)
	if !slices.Equal(added, f.Added) {
		s.t.Errorf("added are %v, want %v", f.Added, added)
	}
	sum["removed"] += len(removed)
	sum["added"] += len(added)
}
