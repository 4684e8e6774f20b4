package cli

import (
	"cmp"
	"context"
	"os"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"trueup/internal/kind"
	"trueup/internal/manifest"
	"trueup/internal/reconcile"
	"trueup/internal/report"
)

// noFiles ends a completion that is not a file. Completions are quick, send no request, print no error,
// and offer nothing if something is wrong.
const noFiles = cobra.ShellCompDirectiveNoFileComp

// completeWithin limits the time to read manifests.
const completeWithin = 3 * time.Second

// completeTargets offers KIND/NAME of the manifests that the PATHs of the command line name.
func (a *app) completeTargets(cmd *cobra.Command, args []string, toComplete string) ([]string, cobra.ShellCompDirective) {
	return keysOf(a.known(cmd.Context(), args), toComplete), noFiles
}

// known returns the objects of manifests by name, or none if they can't be read soon.
func (a *app) known(ctx context.Context, args []string) *manifest.Set {
	return a.soon(ctx, args, manifest.Names)
}

// knownWhole is known, with all of each object.
func (a *app) knownWhole(ctx context.Context) *manifest.Set {
	return a.soon(ctx, nil, func(ctx context.Context, sources []manifest.PathSource, opts manifest.LoadSettings) *manifest.Set {
		set, _, err := manifest.Load(ctx, sources, opts)
		if err != nil {
			return &manifest.Set{}
		}
		return set
	})
}

// soon calls read with the manifests that the PATHs of the command line name, within limits.
func (a *app) soon(ctx context.Context, args []string, read func(context.Context, []manifest.PathSource, manifest.LoadSettings) *manifest.Set) *manifest.Set {
	paths := slices.DeleteFunc(slices.Clone(args), func(arg string) bool { return strings.HasPrefix(arg, "-") })
	ctx, cancel := context.WithTimeout(cmp.Or(ctx, context.Background()), completeWithin)
	defer cancel()
	if p, err := a.findProject(); err == nil {
		if sources, err := a.sources(p, paths); err == nil {
			limits := manifest.Limits{Files: 20_000, Objects: 20_000, Total: 128 << 20}
			return read(ctx, sources, manifest.LoadSettings{Parallelism: a.settings.parallelism, Limits: limits})
		}
	}
	return &manifest.Set{}
}

// keysOf offers the keys of objects, spelled as the user began.
func keysOf(set *manifest.Set, begun string) (out []string) {
	for _, o := range set.Objects {
		if word := spelledLike(o.Key(), begun); strings.HasPrefix(word, begun) {
			out = offer(out, word, o.Path)
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

// offer adds a candidate and its description. For security it skips a name that a shell would not read
// as one plain word: the name comes from a file, and the user runs the line.
func offer(all []string, word, about string) []string {
	if !plainWord(word) {
		return all
	}
	return append(all, cobra.CompletionWithDesc(word, report.Clean(about)))
}

// plainWord reports whether a text is one word in every shell, and no flag.
func plainWord(s string) bool {
	other := func(r rune) bool {
		isAlnum := r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9'
		return !isAlnum && !strings.ContainsRune("._-/@+,:=%", r)
	}
	return s != "" && s[0] != '-' && !strings.ContainsFunc(s, other)
}

// offers returns a candidate for each element of a list.
func offers[T any](list []T, describe func(T) (word, about string)) (out []string) {
	for _, e := range list {
		word, about := describe(e)
		out = offer(out, word, about)
	}
	return out
}

// mostEntries limits how many entries of a folder are offered.
const mostEntries = 1000

// completePaths offers manifests and folders. Without -C it lets the shell find them, because the shell
// quotes them correctly.
func (a *app) completePaths(_ *cobra.Command, _ []string, toComplete string) ([]string, cobra.ShellCompDirective) {
	if a.global.dir == "" {
		return []string{"yaml", "yml", "json"}, cobra.ShellCompDirectiveFilterFileExt
	}
	var out []string
	entries, _ := os.ReadDir(a.full(path.Dir(toComplete))) // no folder has no files
	for _, e := range entries[:min(len(entries), mostEntries)] {
		name := path.Join(path.Dir(toComplete), e.Name())
		switch ending := path.Ext(e.Name()); {
		case strings.HasPrefix(e.Name(), "."):
		case e.IsDir():
			out = offer(out, name+"/", "folder")
		case ending == ".yaml" || ending == ".yml" || ending == ".json":
			out = offer(out, name, "")
		}
	}
	return out, noFiles | cobra.ShellCompDirectiveNoSpace
}

// completeAccepted offers what --accept takes, and behind an equals sign the objects in git.
func (a *app) completeAccepted(cmd *cobra.Command, args []string, toComplete string) ([]string, cobra.ShellCompDirective) {
	if what, begun, named := strings.Cut(toComplete, "="); named {
		keys := keysOf(a.known(cmd.Context(), args), begun)
		for i := range keys {
			keys[i] = what + "=" + keys[i]
		}
		return keys, noFiles
	}
	return offers(reconcile.Acceptances(), func(acc reconcile.Acceptance) (string, string) {
		return strings.TrimSuffix(acc.Form, "KIND/NAME"), acc.Meaning
	}), noFiles | cobra.ShellCompDirectiveNoSpace
}

// completeReports offers FORMAT=, and then lets the shell complete the file.
func completeReports(_ *cobra.Command, _ []string, toComplete string) ([]string, cobra.ShellCompDirective) {
	if strings.Contains(toComplete, "=") {
		return nil, cobra.ShellCompDirectiveDefault
	}
	return offers(report.Formats(), func(f string) (string, string) { return f + "=", "" }), noFiles | cobra.ShellCompDirectiveNoSpace
}

func completeWords(words ...string) cobra.CompletionFunc {
	return cobra.FixedCompletions(words, noFiles)
}

// hideUseless hides the flags that do nothing in the command that a shell completes.
func (a *app) hideUseless(args []string) {
	if cmd, _, err := a.root.Find(args); err == nil {
		a.root.PersistentFlags().VisitAll(func(f *pflag.Flag) { f.Hidden = !useful(cmd, f) })
	}
}

// byPlaceholder returns the completion for a placeholder of help, such as FILE. Others are free text.
func (a *app) byPlaceholder(of string) cobra.CompletionFunc {
	switch of {
	case "FILE":
		return cobra.FixedCompletions(nil, cobra.ShellCompDirectiveDefault)
	case "DIR":
		return cobra.FixedCompletions(nil, cobra.ShellCompDirectiveFilterDirs)
	case "PATH":
		return a.completePaths
	case "KIND/NAME":
		return a.completeTargets
	case "WHAT":
		return a.completeAccepted
	case "FORMAT=FILE":
		return completeReports
	}
	return completeWords()
}

// wireCompletion gives a command the completions that it has not chosen itself.
func (a *app) wireCompletion(cmd *cobra.Command) {
	for _, flags := range []*pflag.FlagSet{cmd.Flags(), cmd.PersistentFlags()} {
		flags.VisitAll(func(f *pflag.Flag) { a.wireFlag(cmd, f) })
	}
	if cmd.ValidArgsFunction == nil && len(cmd.ValidArgs) == 0 && !takesCommand(cmd) {
		cmd.ValidArgsFunction = a.completeArgs
	}
}

func (a *app) wireFlag(cmd *cobra.Command, f *pflag.Flag) {
	if _, chosen := cmd.GetFlagCompletionFunc(f.Name); chosen || f.Value.Type() == "bool" {
		return
	}
	placeholder, _ := pflag.UnquoteUsage(f)
	complete := a.byPlaceholder(placeholder)
	switch allowed := f.Annotations[words]; {
	case allowed != nil:
		complete = completeWords(allowed...)
	case f.Name == "profile":
		complete = func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return a.config().ProfileNames(), noFiles
		}
	}
	_ = cmd.RegisterFlagCompletionFunc(f.Name, complete) // the flag exists, and has none yet
}

// completeArgs completes an argument by its placeholder in the usage line.
func (a *app) completeArgs(cmd *cobra.Command, args []string, toComplete string) ([]string, cobra.ShellCompDirective) {
	list := placeholders(cmd.Use)
	if len(list) == 0 {
		return nil, noFiles
	}
	at := list[min(len(args), len(list)-1)]
	switch {
	case len(args) >= len(list) && !at.repeated:
		return nil, noFiles
	case at.name == "KIND/NAME":
		return keysOf(a.known(cmd.Context(), nil), toComplete), noFiles
	}
	return a.byPlaceholder(at.name)(cmd, args, toComplete)
}
