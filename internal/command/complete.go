package command

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"trueup/internal/kind"
	"trueup/internal/manifest"
	"trueup/internal/report"
)

// NoFiles ends a completion that is not a file. Completions are quick, send no request, print no error,
// and offer nothing if something is wrong.
const NoFiles = cobra.ShellCompDirectiveNoFileComp

// completeWithin limits the time to read manifests.
const completeWithin = 3 * time.Second

// KnownObjects returns the objects of the manifests that the PATHs of the command line name, or none if they
// can't be read soon.
func (run *Run) KnownObjects(ctx context.Context, args []string) *manifest.Set {
	paths := slices.DeleteFunc(slices.Clone(args), func(arg string) bool { return strings.HasPrefix(arg, "-") })
	ctx, cancel := context.WithTimeout(cmp.Or(ctx, context.Background()), completeWithin)
	defer cancel()
	if p, err := run.FindProject(); err == nil {
		if sources, err := run.OpenSources(p, paths); err == nil {
			limits := manifest.Limits{Files: 20_000, Objects: 20_000, Total: 128 << 20}
			set, _, err := manifest.Load(ctx, sources, manifest.LoadSettings{Parallelism: run.API.Parallelism, Limits: limits})
			if err == nil {
				return set
			}
		}
	}
	return &manifest.Set{}
}

// CompleteKeys offers the keys of objects, spelled as the user began.
func CompleteKeys(set *manifest.Set, begun string) (out []string) {
	for _, o := range set.Objects {
		if word := spelledLike(o.Key(), begun); strings.HasPrefix(word, begun) {
			out = AddCandidate(out, word, o.Path)
		}
	}
	slices.Sort(out)
	return out
}

// spelledLike writes a key as the user began it: the kind in small letters, unless it was begun with
// a capital one.
func spelledLike(key kind.Key, begun string) string {
	name, _, whole := strings.Cut(begun, "/")
	if k, ok := kind.FindKind(name); whole && ok && k.Name == key.Kind {
		return name + "/" + key.Name
	}
	if begun != "" && strings.HasPrefix(key.Kind, begun[:1]) {
		return key.String()
	}
	return strings.ToLower(key.Kind) + "/" + key.Name
}

// AddCandidate adds a candidate and its description. For security it skips a name that a shell would not read
// as one plain word: the name comes from a file, and the user runs the line.
func AddCandidate(all []string, word, about string) []string {
	other := func(r rune) bool {
		isAlnum := r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9'
		return !isAlnum && !strings.ContainsRune("._-/@+,:=%", r)
	}
	if word == "" || word[0] == '-' || strings.ContainsFunc(word, other) {
		return all
	}
	return append(all, cobra.CompletionWithDesc(word, report.Clean(about)))
}

// Candidates returns a candidate for each element of a list.
func Candidates[T any](list []T, describe func(T) (word, about string)) (out []string) {
	for _, e := range list {
		word, about := describe(e)
		out = AddCandidate(out, word, about)
	}
	return out
}
