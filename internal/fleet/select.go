package fleet

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"path"
	"slices"
	"strconv"
	"strings"

	"trueup/internal/project"
)

// Selection says which projects of a folder to take.
type Selection struct {
	// ChangedSince is a commit. It takes the projects that read a file that differs from that commit.
	ChangedSince string
	Shard        Shard
	// Select and Exclude have patterns of path.Match, for the path of a project or of a folder above it.
	Select, Exclude []string
}

// Fleet is the projects that a Selection takes.
type Fleet struct {
	Root     string
	Projects []Project // sorted by path
	// Removed are the paths of projects that ChangedSince had. Their objects are still live.
	Removed []string
	// All is every project that is not excluded. Contents compares their hostnames.
	All []Project
}

// In finds the projects of a folder and selects among them. An excluded project is none of the fleet; all others must
// not contradict each other, whether they are selected or not.
func (s Selection) In(ctx context.Context, root string) (Fleet, error) {
	f := Fleet{Root: root}
	err := s.check()
	if err == nil {
		f.All, err = s.candidates(ctx, root)
	}
	if err != nil {
		return f, err
	}
	isChanged := func(Project) bool { return true }
	if s.ChangedSince != "" {
		c, err := since(ctx, s.ChangedSince, f)
		if err != nil {
			return f, fmt.Errorf("--changed-since %s: %w", s.ChangedSince, err)
		}
		isChanged = c.has
		f.Removed = slices.DeleteFunc(c.removed, func(path string) bool { return matchesAny(s.Exclude, path) || !s.has(path) })
	}
	for _, p := range f.All {
		if s.has(p.Path) && isChanged(p) {
			f.Projects = append(f.Projects, p)
		}
	}
	return f, nil
}

// candidates returns all projects that are not excluded.
func (s Selection) candidates(ctx context.Context, root string) ([]Project, error) {
	all, err := Find(ctx, root)
	if err != nil {
		return nil, err
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("there is no %s in this folder or below it: run trueup init, or name another folder", project.File)
	}
	all = slices.DeleteFunc(all, func(p Project) bool { return matchesAny(s.Exclude, p.Path) })
	if len(all) == 0 {
		return nil, errors.New("--exclude leaves no project: exclude less")
	}
	for _, glob := range s.Select {
		if !slices.ContainsFunc(all, func(p Project) bool { return matches(glob, p.Path) }) {
			return nil, fmt.Errorf("--select %s matches no project: trueup projects lists them", glob)
		}
	}
	return all, conflicts(all)
}

func (s Selection) check() error {
	for _, glob := range slices.Concat(s.Select, s.Exclude) {
		if _, err := path.Match(glob, ""); err != nil {
			return fmt.Errorf("%q is no pattern: write the path of projects with *, ? and [a-z]", glob)
		}
	}
	return nil
}

func (s Selection) has(path string) bool {
	return (len(s.Select) == 0 || matchesAny(s.Select, path)) && s.Shard.Has(path)
}

func matchesAny(globs []string, path string) bool {
	return slices.ContainsFunc(globs, func(glob string) bool { return matches(glob, path) })
}

// matches reports whether the pattern matches the path or a folder above it.
func matches(glob, name string) bool {
	glob = path.Clean(glob)
	for ; ; name = path.Dir(name) {
		if ok, _ := path.Match(glob, name); ok { // check refuses a wrong pattern
			return true
		}
		if name == "." {
			return false
		}
	}
}

// Shard is one of several parts of the projects. The zero value is all of them.
type Shard struct {
	Index, Of int // from 1
}

// ParseShard reads I/N, or I+1/N for runners that count from 0.
func ParseShard(text string) (Shard, error) {
	index, of, _ := strings.Cut(text, "/")
	index, fromZero := strings.CutSuffix(index, "+1")
	i, wrongIndex := strconv.Atoi(index)
	n, wrongOf := strconv.Atoi(of)
	if fromZero {
		i++
	}
	if wrongIndex != nil || wrongOf != nil || n < 1 || i < 1 || i > n {
		return Shard{}, fmt.Errorf("%q is no shard: write I/N with I from 1 to N, such as 1/20", text)
	}
	return Shard{i, n}, nil
}

// String returns I/N, or "" for all.
func (s Shard) String() string {
	if s.Of == 0 {
		return ""
	}
	return fmt.Sprintf("%d/%d", s.Index, s.Of)
}

// Set reads I/N, as a flag does.
func (s *Shard) Set(text string) (err error) {
	*s, err = ParseShard(text)
	return err
}

// Type names the value for help texts.
func (s *Shard) Type() string { return "I/N" }

// Has reports whether the shard has the project with this path. Each shard ranks the path by a hash, and the highest
// wins. So a new project moves no other, and one more shard only takes its own share from the others.
func (s Shard) Has(path string) bool {
	if s.Of <= 1 {
		return true
	}
	h := fnv.New64a()
	_, _ = h.Write([]byte(path)) // it never fails
	seed, winner, best := h.Sum64(), 0, uint64(0)
	for i := 1; i <= s.Of; i++ {
		if rank := mix(seed + uint64(i)*golden); rank >= best {
			winner, best = i, rank
		}
	}
	return winner == s.Index
}

// golden is the step of SplitMix64 (Steele, Lea and Flood, Fast Splittable Pseudorandom Number Generators, 2014).
const golden = 0x9e3779b97f4a7c15

// mix is the output function of SplitMix64: each bit of the result depends on each of x.
func mix(x uint64) uint64 {
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}
