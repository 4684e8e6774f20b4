package reconcile_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"trueup/internal/canon"
	"trueup/internal/config"
	"trueup/internal/e2e/long"
	"trueup/internal/kind"
	"trueup/internal/ledger"
	"trueup/internal/manifest"
	"trueup/internal/merge"
	"trueup/internal/plan"
	"trueup/internal/reconcile"
)

// TestCausesAreTrue makes random histories of edits, commits, branches, merges, reverts, applies and
// hotfixes, and checks each cause of each plan against what was done. Seeds that found a mistake always run.
func TestCausesAreTrue(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not installed")
	}
	n := long.Times(5)
	var total tally
	var lock sync.Mutex
	var wait sync.WaitGroup
	seeds := make(chan uint64)
	for range 2 {
		wait.Go(func() {
			for seed := range seeds {
				s := newStory(t, seed)
				s.check()
				lock.Lock()
				total.add(s.tally)
				lock.Unlock()
			}
		})
	}
	for i := range n {
		seeds <- uint64(i + 1)
	}
	for _, seed := range found() {
		seeds <- seed
	}
	close(seeds)
	wait.Wait()
	t.Logf("%d histories: %+v", n, total)
	for what, lines := range map[string]int{"names a commit": total.named, "was applied before": total.again, "names a merge": total.merges} {
		if lines == 0 && n >= 25 {
			t.Errorf("no line %s", what)
		}
	}
}

// found returns the seeds of histories that showed a wrong cause.
func found() []uint64 {
	return []uint64{
		1_002_481, // a location that git and live have, and that resembles one of the base
	}
}

// tally counts causes: those that could have a commit, and of them those that have one, those whose value was
// applied before, and those whose commit is a merge.
type tally struct{ lines, pending, named, again, merges int }

func (t *tally) add(o tally) {
	t.lines, t.pending, t.named = t.lines+o.lines, t.pending+o.pending, t.named+o.named
	t.again, t.merges = t.again+o.again, t.merges+o.merges
}

// site is a CDN in a manifest or live.
type site struct {
	Forced, Token string
	Paths         []string // the locations in their order
	TTL           map[string]string
}

func (s *site) clone() *site {
	c := *s
	c.Paths, c.TTL = slices.Clone(s.Paths), maps.Clone(s.TTL)
	return &c
}

// tree returns the spec.
func (s *site) tree(name string) map[string]any {
	spec := map[string]any{
		"hostname":  name + ".example.com",
		"upstreams": []any{map[string]any{"name": "o", "scheme": "https", "servers": []any{map[string]any{"host": "p.example.net", "port": "443"}}}},
	}
	if s.Forced != "" {
		spec["tls"] = map[string]any{"forced": s.Forced}
	}
	if s.Token != "" {
		spec["secureLink"] = map[string]any{"tokenName": s.Token}
	}
	locations := []any{}
	for _, path := range s.Paths {
		l := map[string]any{"path": path, "action": "proxy_http", "upstream": "o"}
		if ttl := s.TTL[path]; ttl != "" {
			l["cache"] = map[string]any{"level": "standard", "edgeTTL": ttl, "ttlTimeUnit": "second"}
		}
		locations = append(locations, l)
	}
	spec["locations"] = locations
	return spec
}

// world is all sites at a time, with the files of their manifests.
type world map[string]*site

func (w world) clone() world {
	c := world{}
	for name, s := range w {
		c[name] = s.clone()
	}
	return c
}

func manifestPaths() []string { return []string{"docs", "shop", "web"} }
func paths() []string         { return []string{"/a", "/b", "/c", "/*"} }

// commit is one of the history.
type commit struct {
	parents []int
	world   world
	files   map[string]string // of the sites
	at      int64
	id      string
}

// moment is a state to plan in.
type moment struct {
	head, origin int
	work         world
	files        map[string]string
	live         map[string]map[string]any
	applied      map[string][]byte
	before       map[string][][]byte // all that was ever applied
}

type story struct {
	t       *testing.T
	seed    uint64
	r       *rand.Rand
	commits []commit
	heads   map[string]int
	branch  string
	now     moment
	dir     string
	moments []moment

	tally
}

func newStory(t *testing.T, seed uint64) *story {
	s := &story{t: t, seed: seed, r: rand.New(rand.NewPCG(seed, 1)), heads: map[string]int{"main": 0}, branch: "main"}
	start := world{}
	for _, name := range manifestPaths() {
		if s.r.IntN(3) > 0 {
			start[name] = s.randomSite()
		}
	}
	s.now = moment{work: start, files: map[string]string{}, live: map[string]map[string]any{}, applied: map[string][]byte{}, before: map[string][][]byte{}}
	for _, name := range manifestPaths() {
		s.now.files[name] = name + ".yaml"
		if start[name] != nil && s.r.IntN(2) == 0 {
			s.now.live[name] = s.randomSite().tree(name)
		}
	}
	s.commit(nil)
	s.now.origin = 0
	for range 6 + s.r.IntN(16) {
		s.step()
	}
	s.moments = append(s.moments, s.copied())
	return s
}

func (s *story) pick(n int) bool { return s.r.IntN(n) == 0 }

func (s *story) randomSite() *site {
	one := &site{TTL: map[string]string{}}
	one.Paths = append(one.Paths, paths()[:1+s.r.IntN(3)]...)
	for _, p := range one.Paths {
		one.TTL[p] = s.ttl()
	}
	s.change(one)
	return one
}

func (s *story) ttl() string { return []string{"", "60", "90", "120"}[s.r.IntN(4)] }

// change edits a site a little.
func (s *story) change(one *site) {
	for range 1 + s.r.IntN(2) {
		at := s.r.IntN(len(one.Paths))
		switch path := paths()[s.r.IntN(4)]; s.r.IntN(6) {
		case 0:
			one.Forced = []string{"", "true", "false"}[s.r.IntN(3)]
		case 1:
			one.Token = []string{"", "t", "token"}[s.r.IntN(3)]
		case 2:
			one.TTL[one.Paths[at]] = s.ttl()
		case 3:
			if !slices.Contains(one.Paths, path) {
				one.Paths = slices.Insert(one.Paths, at, path)
				one.TTL[path] = s.ttl()
			}
		case 4:
			if len(one.Paths) > 1 {
				delete(one.TTL, one.Paths[at])
				one.Paths = slices.Delete(one.Paths, at, at+1)
			}
		case 5:
			other := s.r.IntN(len(one.Paths))
			one.Paths[at], one.Paths[other] = one.Paths[other], one.Paths[at]
		}
	}
}

func (s *story) copied() moment {
	m := s.now
	m.work, m.files, m.applied = m.work.clone(), maps.Clone(m.files), maps.Clone(m.applied)
	m.before = maps.Clone(m.before)
	m.live = map[string]map[string]any{}
	for name, tree := range s.now.live {
		m.live[name] = canon.MustDecode(canon.Encode(tree)).(map[string]any)
	}
	return m
}

// commit commits the work tree.
func (s *story) commit(parents []int) {
	c := commit{parents: parents, world: s.now.work.clone(), files: maps.Clone(s.now.files), at: int64(1_700_000_000 + 100*len(s.commits))}
	s.commits = append(s.commits, c)
	s.now.head = len(s.commits) - 1
	s.heads[s.branch] = s.now.head
}

// checkOut makes the work tree that of a branch.
func (s *story) checkOut(branch string) {
	s.branch, s.now.head = branch, s.heads[branch]
	c := s.commits[s.now.head]
	s.now.work, s.now.files = c.world.clone(), maps.Clone(c.files)
}

func (s *story) step() {
	name := manifestPaths()[s.r.IntN(3)]
	switch s.r.IntN(17) {
	case 0, 1, 2:
		s.edit(name)
		if s.pick(4) {
			break
		}
		s.commit([]int{s.now.head})
	case 3:
		s.commit([]int{s.now.head})
	case 4:
		s.branch = "feature"
		s.heads[s.branch] = s.now.head
	case 5:
		branches := slices.Sorted(maps.Keys(s.heads))
		s.checkOut(branches[s.r.IntN(len(branches))])
	case 6, 7:
		s.merge()
	case 8: // as it was before
		c := s.commits[s.r.IntN(len(s.commits))]
		s.now.work, s.now.files = c.world.clone(), maps.Clone(c.files)
		s.commit([]int{s.now.head})
	case 9, 10:
		s.apply(s.now.work, s.now.files)
	case 11:
		s.hotfix(name)
	case 12:
		s.now.origin = s.heads["main"]
	case 13:
		s.move(name)
	case 14, 15: // in another clone
		branches := slices.Sorted(maps.Keys(s.heads))
		c := s.commits[s.heads[branches[s.r.IntN(len(branches))]]]
		s.apply(c.world, c.files)
	case 16:
		s.undo(name)
	}
	if s.pick(5) {
		s.moments = append(s.moments, s.copied())
	}
}

func (s *story) edit(name string) {
	one := s.now.work[name]
	switch {
	case one == nil:
		s.now.work[name] = s.randomSite()
	case s.pick(6):
		delete(s.now.work, name)
	case s.pick(8):
		s.put(name)
	default:
		s.change(one)
	}
}

// put moves a manifest to any file.
func (s *story) put(name string) {
	s.now.files[name] = []string{name + ".yaml", "all.yaml", "sub/" + name + ".yaml"}[s.r.IntN(3)]
}

// move commits the move of one manifest or all, sometimes with an edit.
func (s *story) move(name string) {
	all := s.pick(3)
	for _, each := range manifestPaths() {
		if all || each == name {
			s.put(each)
		}
	}
	if s.pick(3) {
		s.edit(name)
	}
	s.commit([]int{s.now.head})
}

func (s *story) hotfix(name string) {
	if s.now.live[name] == nil {
		return
	}
	if s.pick(6) {
		delete(s.now.live, name)
		return
	}
	one := siteOf(s.now.live[name])
	s.change(one)
	s.now.live[name] = one.tree(name)
}

// siteOf reads a live spec.
func siteOf(tree map[string]any) *site {
	text := func(v any) string { t, _ := v.(string); return t }
	field := func(v any, name string) any { m, _ := v.(map[string]any); return m[name] }
	one := &site{Forced: text(field(tree["tls"], "forced")), Token: text(field(tree["secureLink"], "tokenName")), TTL: map[string]string{}}
	list, _ := tree["locations"].([]any)
	for _, l := range list {
		path := text(field(l, "path"))
		one.Paths = append(one.Paths, path)
		one.TTL[path] = text(field(field(l, "cache"), "edgeTTL"))
	}
	return one
}

// ancestors returns a commit and all before it.
func (s *story) ancestors(of int) map[int]bool {
	all, todo := map[int]bool{}, []int{of}
	for len(todo) > 0 {
		c := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if !all[c] {
			all[c] = true
			todo = append(todo, s.commits[c].parents...)
		}
	}
	return all
}

// merge merges another branch: mostly as git does, and sometimes as it likes: it takes the other side, or undoes
// what one or both sides did.
func (s *story) merge() {
	branches := slices.Sorted(maps.Keys(s.heads))
	other := s.heads[branches[s.r.IntN(len(branches))]]
	s.checkOut(s.branch)
	ours, theirs := s.ancestors(s.now.head), s.ancestors(other)
	if ours[other] || theirs[s.now.head] {
		return
	}
	base := 0
	for c := range s.commits {
		if ours[c] && theirs[c] {
			base = c
		}
	}
	evil, was, they := s.pick(4), s.commits[base], s.commits[other]
	for _, name := range manifestPaths() {
		mine, theirs, before := s.now.work[name], they.world[name], was.world[name]
		switch {
		case evil && s.pick(4):
			s.now.work[name] = theirs
		case evil && s.pick(3):
			s.now.work[name] = before
		case evil && s.pick(2): // as it was
		case mine == nil || theirs == nil || before == nil:
			if equal(mine, before) {
				s.now.work[name], s.now.files[name] = theirs, they.files[name]
			}
		default:
			merged := mine.clone()
			if mine.Forced == before.Forced {
				merged.Forced = theirs.Forced
			}
			if mine.Token == before.Token {
				merged.Token = theirs.Token
			}
			if slices.Equal(mine.Paths, before.Paths) {
				merged.Paths = slices.Clone(theirs.Paths)
			}
			for _, p := range merged.Paths {
				if mine.TTL[p] == before.TTL[p] {
					merged.TTL[p] = theirs.TTL[p]
				}
			}
			if s.now.files[name] == was.files[name] {
				s.now.files[name] = they.files[name]
			}
			s.now.work[name] = merged
		}
		if s.now.work[name] == nil {
			delete(s.now.work, name)
		} else {
			s.now.work[name] = s.now.work[name].clone()
		}
	}
	s.commit([]int{s.now.head, other})
}

// undo merges a side that edited and applied a manifest, and takes nothing of it.
func (s *story) undo(name string) {
	s.checkOut(s.branch)
	head := s.now.head
	if s.edit(name); s.pick(2) {
		s.put(name)
	}
	s.commit([]int{head})
	side := s.now.head
	s.apply(s.now.work, s.now.files)
	s.now.work, s.now.files = s.commits[head].world.clone(), maps.Clone(s.commits[head].files)
	if s.commit([]int{head, side}); s.pick(2) {
		s.now.origin = s.now.head
	}
}

func equal(a, b *site) bool {
	if a == nil || b == nil {
		return a == b
	}
	return bytes.Equal(canon.Encode(a.tree("x")), canon.Encode(b.tree("x")))
}

// manifests returns the text of each file.
func manifests(w world, files map[string]string) map[string]string {
	texts := map[string]string{}
	for _, name := range manifestPaths() {
		if w[name] != nil {
			texts[files[name]] += fmt.Sprintf("---\napiVersion: delivery/v2.1\nkind: CDN\nmetadata: {name: %s}\nspec: %s\n", name, canon.Encode(w[name].tree(name)))
		}
	}
	return texts
}

func keyOf(name string) kind.Key { return kind.Key{Kind: "CDN", Name: name} }

// inputs are those of a plan at a moment.
func (s *story) inputs(m moment, set *manifest.Set) plan.Inputs {
	at := time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC)
	in := plan.Inputs{
		Set: set, Live: kind.LiveState{Objects: map[kind.Key]kind.LiveObject{}, Absent: map[kind.Key]bool{}, Hosts: map[string]kind.Key{}},
		Ledger: ledger.View{ID: "l", Records: map[kind.Key]ledger.Record{}}, At: ledger.NewInstant(at, at),
		Options: plan.Options{AllowEmptyLive: true}, Project: plan.ProjectSettings{MaxCreates: 100},
	}
	k, _ := kind.FindKind("CDN")
	for name, spec := range m.live {
		o, err := k.ReadObject(canon.Encode(map[string]any{"kind": "CDN", "metadata": map[string]any{"name": name, "uid": "u"}, "spec": spec}))
		if err != nil {
			s.t.Fatal(err)
		}
		if in.Live.Hosts[kind.HostKey(o.Host)] = o.Key(); set.Find(o.Key()) != nil {
			in.Live.Objects[o.Key()] = o
		} else {
			o.Spec = nil
			in.Live.Unmanaged = append(in.Live.Unmanaged, o)
		}
	}
	for name, spec := range m.applied {
		in.Ledger.Records[keyOf(name)] = ledger.Record{Key: keyOf(name), Applied: spec}
	}
	return in
}

// load reads manifests from memory.
func (s *story) load(w world, files map[string]string) *manifest.Set {
	var all []string
	for _, text := range manifests(w, files) {
		all = append(all, text)
	}
	set, findings, err := manifest.Load(context.Background(), []manifest.PathSource{{Display: "-", Data: []byte(strings.Join(all, "\n"))}}, manifest.LoadSettings{})
	if err != nil || findings.HasErrors() {
		s.t.Fatalf("seed %d: %v %v\n%s", s.seed, err, findings, strings.Join(all, "\n"))
	}
	return set
}

// apply sends what a plan of some manifests says.
func (s *story) apply(w world, files map[string]string) {
	set := s.load(w, files)
	in := s.inputs(s.now, set)
	in.Options.TakeOver = map[kind.Key]bool{}
	for _, name := range manifestPaths() {
		in.Options.TakeOver[keyOf(name)] = true
	}
	made, _ := plan.NewPlanner(in).MakePlan()
	for _, it := range made.Items {
		o := set.Find(it.Key)
		switch {
		case o == nil:
			continue
		case it.Op == plan.Create:
			s.now.live[it.Name] = it.BodySpec()
		case it.Op == plan.Patch:
			s.now.live[it.Name], _ = patched(s.now.live[it.Name], it.BodySpec()).(map[string]any)
		case it.Op != plan.None:
			continue
		}
		s.now.applied[it.Name] = o.Spec
		s.now.before[it.Name] = append(slices.Clip(s.now.before[it.Name]), o.Spec)
	}
}

// patched is RFC 7396.
func patched(target, patch any) any {
	p, ok := patch.(map[string]any)
	if !ok {
		return patch
	}
	t, _ := target.(map[string]any)
	out := maps.Clone(t)
	if out == nil {
		out = map[string]any{}
	}
	for name, v := range p {
		if v == nil {
			delete(out, name)
		} else {
			out[name] = patched(out[name], v)
		}
	}
	return out
}

// check plans at each moment, in a repository with the whole history.
func (s *story) check() {
	s.dir = s.t.TempDir()
	defer func() { _ = os.RemoveAll(s.dir) }()
	s.publish()
	for _, m := range s.moments {
		s.plan(m)
	}
}

// publish makes the repository.
func (s *story) publish() {
	var in strings.Builder
	for i, c := range s.commits {
		message := fmt.Sprintf("commit %d", i)
		fmt.Fprintf(&in, "commit refs/heads/all\nmark :%d\ncommitter a <a@example.com> %d +0000\ndata %d\n%s\n", i+1, c.at, len(message), message)
		for n, parent := range c.parents {
			fmt.Fprintf(&in, "%s :%d\n", []string{"from", "merge"}[n], parent+1)
		}
		in.WriteString("deleteall\n")
		for file, text := range manifests(c.world, c.files) {
			fmt.Fprintf(&in, "M 100644 inline %s\ndata %d\n%s\n", file, len(text), text)
		}
		in.WriteString("\nreset refs/heads/all\n\n")
	}
	s.git("", "init", "-q", "-b", "none")
	s.git(in.String(), "fast-import", "--quiet", "--force", "--export-marks=marks")
	marks, err := os.ReadFile(filepath.Join(s.dir, "marks"))
	if err != nil {
		s.t.Fatal(err)
	}
	for line := range strings.Lines(string(marks)) {
		var mark int
		var id string
		if _, err := fmt.Sscanf(line, ":%d %s", &mark, &id); err != nil {
			s.t.Fatal(err)
		}
		s.commits[mark-1].id = id
	}
}

func (s *story) git(in string, args ...string) {
	cmd := exec.CommandContext(s.t.Context(), "git", args...)
	cmd.Dir, cmd.Stdin = s.dir, strings.NewReader(in)
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1")
	if out, err := cmd.CombinedOutput(); err != nil {
		s.t.Fatalf("git %s: %v\n%s", args, err, out)
	}
}

func (s *story) write(name, text string) {
	file := filepath.Join(s.dir, name)
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		s.t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		s.t.Fatal(err)
	}
}

// plan makes and checks the plan of a moment.
func (s *story) plan(m moment) {
	for _, old := range []string{"all.yaml", "sub"} {
		_ = os.RemoveAll(filepath.Join(s.dir, old))
	}
	for _, name := range manifestPaths() {
		_ = os.Remove(filepath.Join(s.dir, name+".yaml"))
	}
	for name, text := range manifests(m.work, m.files) {
		s.write(name, text)
	}
	s.write(".git/HEAD", s.commits[m.head].id+"\n")
	s.write(".git/refs/remotes/origin/main", s.commits[m.origin].id+"\n")
	loaded, err := config.Project{}.LoadManifests(s.t.Context(), []manifest.PathSource{{FS: os.DirFS(s.dir), Path: "."}}, manifest.LoadSettings{})
	if err != nil || loaded.Findings.HasErrors() {
		s.t.Fatalf("seed %d: %v %v", s.seed, err, loaded.Findings)
	}
	reader := reconcile.NewCommitReader(config.Options{Env: config.Env{Getenv: func(string) string { return "" }, Cwd: s.dir}}, loaded, nil)
	planner := plan.NewPlanner(s.inputs(m, loaded.Set))
	made, _ := planner.MakePlan()
	past := reader.ReadPast(s.t.Context(), "", made.NeedsGitHistory())
	planner.ExplainPlan(made, past)
	planner.AddCommits(made, reader.ReadTrails(s.t.Context(), made.ObjectsWithoutCommit()))
	text, err := json.Marshal(made)
	if err != nil {
		s.t.Fatal(err)
	}
	var read plan.Plan
	if err := json.Unmarshal(text, &read); err != nil {
		s.t.Fatal(err)
	}
	truth := &truth{story: s, moment: m, base: slices.IndexFunc(s.commits, func(c commit) bool { return c.id == past.Blame.Base }), unclear: past.Unclear}
	for _, it := range read.Items {
		truth.item(it)
	}
}

// truth knows what was done.
type truth struct {
	*story
	moment
	base    int // -1 for none
	unclear bool
}

func (t *truth) wrong(it plan.Item, path string, format string, args ...any) {
	t.t.Errorf("seed %d: %s %s: %s (HEAD %d, base %d)", t.seed, it.Name, path, fmt.Sprintf(format, args...), t.head, t.base)
}

// in returns the spec of a site in a world, nil for none.
func in(w world, name string) map[string]any {
	if w[name] == nil {
		return nil
	}
	return w[name].tree(name)
}

func (t *truth) item(it plan.Item) {
	applied, recorded := t.applied[it.Name]
	has := func(w world) bool { return w[it.Name] != nil }
	switch { // an object as a whole has no other cause
	case it.IsRemovedFromGit():
		if has(t.work) || !recorded {
			t.wrong(it, "", "removed")
		}
		t.line(it, "", it.Cause, it.By, it.Commit, has, false)
	case it.Cause == plan.FromThisChange || it.Cause == plan.FromPending:
		t.line(it, "", it.Cause, it.By, it.Commit, has, true)
		if recorded {
			t.wrong(it, "", "%s, and it was applied", it.Cause)
		}
	case it.Cause == plan.FromDrift:
		if !recorded || t.live[it.Name] != nil {
			t.wrong(it, "", "drift")
		}
	}
	var last any
	if recorded {
		last = canon.MustDecode(applied)
	}
	for _, c := range slices.Concat(it.Changes, it.Notes) {
		t.change(it, c, last, recorded)
	}
}

// change checks one line.
func (t *truth) change(it plan.Item, c plan.Change, last any, recorded bool) {
	now := in(t.work, it.Name)
	at := func(tree any) string { return valueAt(tree, c.Path, c.Moved) }
	has := func(w world) bool { return at(in(w, it.Name)) == at(now) }
	same := at(last) == at(now)
	if c.Moved {
		t.lines++
		return // the order of a list is checked in merge
	}
	switch c.Cause { //nolint:exhaustive // the server of this test keeps all, and adds nothing
	case plan.FromThisChange, plan.FromPending, plan.FromTakeOver, plan.FromRemoval, plan.FromBoth:
		if same || !recorded {
			t.wrong(it, c.Path, "%s, and git has what was applied", c.Cause)
		}
		t.line(it, c.Path, c.Cause, c.By, c.Commit, has, true)
		if c.Cause == plan.FromBoth && at(last) == at(t.live[it.Name]) {
			t.wrong(it, c.Path, "conflict, and live has what was applied")
		}
		if c.Class == merge.Removed && (at(now) != "" || at(last) == "") {
			t.wrong(it, c.Path, "removed: %s, applied %s", at(now), at(last))
		}
	case plan.FromDrift:
		if !same || !recorded || at(t.live[it.Name]) == at(now) {
			t.wrong(it, c.Path, "drift: git %s, applied %s, live %s", at(now), at(last), at(t.live[it.Name]))
		}
	case plan.FromUnknown:
		if recorded {
			t.wrong(it, c.Path, "unknown, and it was applied")
		}
	}
}

// line checks whose change of git a line is. has reports whether a world has the value of now.
func (t *truth) line(it plan.Item, path string, cause plan.Cause, by plan.ChangeOrigin, named *plan.Commit, has func(world) bool, value bool) {
	t.lines++
	is := has
	if !value {
		is = func(w world) bool { return !has(w) }
	}
	touched := t.base >= 0 && !is(t.commits[max(t.base, 0)].world)
	if mine := by == plan.ByThisChange; mine != touched && !t.unclear || cause == plan.FromThisChange && !mine {
		t.wrong(it, path, "%s by %q, and it differs from the base: %v", cause, by, touched)
	}
	if by == plan.ByThisChange {
		if named != nil {
			t.wrong(it, path, "it is of this change, and names a commit")
		}
		return
	}
	t.pending++
	if value && slices.ContainsFunc(t.before[it.Name], func(spec []byte) bool { return t.same(it, path, spec) }) {
		t.again++
	}
	if named == nil {
		return
	}
	t.named++
	if i := slices.IndexFunc(t.commits, func(c commit) bool { return c.id == named.ID }); i >= 0 && len(t.commits[i].parents) > 1 {
		t.merges++
	}
	if problem := t.setter(named.ID, is); problem != "" {
		t.wrong(it, path, "%s names %s: %s", cause, named.Subject, problem)
	}
}

// same reports whether a spec has the value of now.
func (t *truth) same(it plan.Item, path string, spec []byte) bool {
	return path != "" && valueAt(canon.MustDecode(spec), path, false) == valueAt(in(t.work, it.Name), path, false)
}

// undid reports whether a merge has a value that one side had before and changed.
func (t *truth) undid(c int, is func(world) bool, from int) bool {
	return len(t.commits[c].parents) > 1 && is(t.commits[c].world) && slices.ContainsFunc(t.commits[c].parents, func(p int) bool {
		return !is(t.commits[p].world) && t.ancestors(p)[from]
	})
}

// setter returns why a commit is not the newest that made the present value, or nothing.
func (t *truth) setter(id string, is func(world) bool) string {
	c := slices.IndexFunc(t.commits, func(c commit) bool { return c.id == id })
	reachable := t.ancestors(t.head)
	made := func(c int) bool {
		kept := slices.ContainsFunc(t.commits[c].parents, func(p int) bool { return is(t.commits[p].world) })
		return is(t.commits[c].world) && !kept
	}
	differs := func(p int) bool { return !is(t.commits[p].world) }
	switch {
	case c < 0 || !reachable[c]:
		return "it is not in HEAD"
	case !is(t.commits[t.head].world):
		return "HEAD has another value"
	case !is(t.commits[c].world):
		return "it has another value"
	case len(t.commits[c].parents) > 0 && !slices.ContainsFunc(t.commits[c].parents, differs):
		return "its parents have the value"
	}
	first := made(c)
	for other := range t.commits {
		switch {
		case other == c || !reachable[other]:
		case t.ancestors(other)[c] && (made(other) || t.undid(other, is, c)):
			return fmt.Sprintf("commit %d is later", other)
		case t.ancestors(c)[other] && made(other) && t.undid(c, is, other):
			first = true
		}
	}
	if !first {
		return "it is a mere merge"
	}
	return ""
}

// valueAt returns the value at a path of a spec, empty for none.
func valueAt(tree any, path string, _ bool) string {
	for path != "" {
		if rest, ok := strings.CutPrefix(path, "["); ok {
			key, after, _ := strings.Cut(rest, "]")
			list, _ := tree.([]any)
			i := slices.IndexFunc(list, func(e any) bool {
				m, _ := e.(map[string]any)
				return m["path"] == key || m["name"] == key || m["host"] != nil && fmt.Sprint(m["host"], ":", m["port"]) == key
			})
			if i < 0 {
				return ""
			}
			tree, path = list[i], after
			continue
		}
		path = strings.TrimPrefix(path, ".")
		end := strings.IndexAny(path, ".[")
		if end < 0 {
			end = len(path)
		}
		m, _ := tree.(map[string]any)
		if m[path[:end]] == nil {
			return ""
		}
		tree, path = m[path[:end]], path[end:]
	}
	if m, ok := tree.(map[string]any); ok && m == nil || tree == nil {
		return ""
	}
	return string(canon.Encode(tree))
}
