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

	"trueup/internal/exit"
	"trueup/internal/kind"
	"trueup/internal/manifest"
	"trueup/internal/report"
	"trueup/internal/sandbox/fault"
)

// completion offers what a word of the command line may become. It is quick and
// quiet, asks no network, and offers nothing where something is wrong.
type completion = cobra.CompletionFunc

const noFiles = cobra.ShellCompDirectiveNoFileComp

// completeWithin is how long somebody waits for the names of manifests. Larger
// projects than completeBounds are not read.
const completeWithin = 3 * time.Second

func completeBounds() manifest.Limits {
	return manifest.Limits{Files: 10_000, Objects: 10_000, Total: 64 << 20}
}

// completeKeys offers KIND/NAME of the project's manifests.
func (a *app) completeKeys(cmd *cobra.Command, _ []string, toComplete string) ([]string, cobra.ShellCompDirective) {
	return keysOf(a.known(cmd.Context(), nil), toComplete), noFiles
}

// completeTargets offers KIND/NAME of the manifests that the PATHs of the command
// line name.
func (a *app) completeTargets(cmd *cobra.Command, args []string, toComplete string) ([]string, cobra.ShellCompDirective) {
	return keysOf(a.known(cmd.Context(), args), toComplete), noFiles
}

// known are the objects of manifests, or none where they can't be read soon.
func (a *app) known(ctx context.Context, args []string) *manifest.Set {
	asks := slices.DeleteFunc(slices.Clone(args), func(arg string) bool { return arg == "-" || strings.HasPrefix(arg, "-") })
	p, err := a.findProject()
	if err != nil {
		return &manifest.Set{}
	}
	sources, err := a.sources(p, asks)
	if err != nil {
		return &manifest.Set{}
	}
	ctx, cancel := context.WithTimeout(cmp.Or(ctx, context.Background()), completeWithin)
	defer cancel()
	set, _, err := manifest.Load(ctx, sources, manifest.Options{Parallelism: a.global.parallelism, Limits: completeBounds()})
	if err != nil {
		return &manifest.Set{}
	}
	return set
}

// keysOf are the keys of objects, each with its place, spelled as the beginning
// is.
func keysOf(set *manifest.Set, begun string) (out []string) {
	for _, o := range set.Objects {
		if word := spelledLike(o.Key(), begun); strings.HasPrefix(word, begun) {
			out = offer(out, word, o.Path)
		}
	}
	slices.Sort(out)
	return out
}

// spelledLike writes a key so that it goes on as the user began it: the kind in
// small letters, unless it was begun with a capital one.
func spelledLike(key kind.Key, begun string) string {
	name, _, whole := strings.Cut(begun, "/")
	if k, ok := kind.Named(name); whole && ok && k.Name == key.Kind {
		return name + "/" + key.Name
	}
	if begun != "" && strings.HasPrefix(key.Kind, begun[:1]) {
		return key.String()
	}
	return strings.ToLower(key.Kind) + "/" + key.Name
}

// offer adds a candidate with what a shell may show beside it. A name that a
// shell would read as more than a word is left out: whoever wrote it is not
// whoever runs the line.
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

// completeKinds offers the kinds and their collections.
func completeKinds(_ *cobra.Command, _ []string, toComplete string) ([]string, cobra.ShellCompDirective) {
	var out []string
	for _, k := range kind.All() {
		name := strings.ToLower(k.Name)
		if toComplete != "" && strings.HasPrefix(k.Name, toComplete[:1]) {
			name = k.Name
		}
		out = offer(out, name, k.Root().Title)
	}
	return out, noFiles
}

// completePaths offers manifests and folders: those of the shell, which knows how
// to quote them, or of the folder that -C names.
func (a *app) completePaths(_ *cobra.Command, _ []string, toComplete string) ([]string, cobra.ShellCompDirective) {
	if a.global.dir == "" {
		return []string{"yaml", "yml", "json"}, cobra.ShellCompDirectiveFilterFileExt
	}
	var out []string
	for _, e := range a.entries(toComplete) {
		name := path.Join(path.Dir(toComplete), e.Name())
		switch ending := path.Ext(e.Name()); {
		case e.IsDir():
			out = offer(out, name+"/", "folder")
		case ending == ".yaml" || ending == ".yml" || ending == ".json":
			out = offer(out, name, "")
		}
	}
	return out, noFiles | cobra.ShellCompDirectiveNoSpace
}

// entries are what a folder that was begun to be named below -C holds, without
// what is hidden.
func (a *app) entries(begun string) []os.DirEntry {
	const most = 1000
	folder, err := os.Open(a.full(path.Dir(begun)))
	if err != nil {
		return nil
	}
	defer func() { _ = folder.Close() }()
	entries, err := folder.ReadDir(most)
	if err != nil {
		return nil
	}
	slices.SortFunc(entries, func(a, b os.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	return slices.DeleteFunc(entries, func(e os.DirEntry) bool { return strings.HasPrefix(e.Name(), ".") })
}

// completeFiles offers any file, as the shell does.
func completeFiles(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	return nil, cobra.ShellCompDirectiveDefault
}

func completeFolders(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	return nil, cobra.ShellCompDirectiveFilterDirs
}

// completeReports offers the beginning of FORMAT=FILE; the file is the shell's.
func completeReports(_ *cobra.Command, _ []string, toComplete string) ([]string, cobra.ShellCompDirective) {
	if strings.Contains(toComplete, "=") {
		return nil, cobra.ShellCompDirectiveDefault
	}
	var out []string
	for _, format := range report.Formats() {
		out = append(out, format+"=")
	}
	return out, noFiles | cobra.ShellCompDirectiveNoSpace
}

// completeRules offers the rules of manifests.
func completeRules(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	var out []string
	for _, r := range manifest.Rules() {
		out = offer(out, r.Name, r.Summary)
	}
	return out, noFiles
}

// completeProfiles offers those of the user's own file, under the conditions under
// which it is used.
func (a *app) completeProfiles(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	return completeWords(a.config().Profiles()...)(nil, nil, "")
}

func completeQuirks(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	var out []string
	for _, q := range fault.Quirks() {
		out = offer(out, q.Name, q.Summary)
	}
	return out, noFiles
}

// completeWords offers a table.
func completeWords(words ...string) completion { return cobra.FixedCompletions(words, noFiles) }

// byPlaceholder are the completions of flags and arguments by the word that stands
// for their value in help. What is not here is free text.
func (a *app) byPlaceholder(of string) completion {
	switch of {
	case "FILE":
		return completeFiles
	case "DIR":
		return completeFolders
	case "PATH":
		return a.completePaths
	case "KIND/NAME":
		return a.completeTargets
	case "KIND":
		return completeKinds
	case "FORMAT":
		return completeWords(report.Formats()...)
	case "FORMAT=FILE":
		return completeReports
	case "FORM":
		return completeWords(report.Diffs()...)
	}
	return completeWords()
}

// byFlag are the completions of flags whose placeholder says too little.
func (a *app) byFlag(name string) completion {
	switch name {
	case "profile":
		return a.completeProfiles
	case "color":
		return completeWords(colors()...)
	case "log-format":
		return completeWords(logFormats()...)
	case "drift":
		return completeWords(driftPolicies()...)
	case "quirk":
		return completeQuirks
	case "result":
		return completeWords(exit.Names()...)
	}
	return nil
}

// wireCompletion gives a command, and all below it, the completions that it has
// not chosen itself.
func (a *app) wireCompletion(cmd *cobra.Command) {
	for _, flags := range []*pflag.FlagSet{cmd.Flags(), cmd.PersistentFlags()} {
		flags.VisitAll(func(f *pflag.Flag) { a.wireFlag(cmd, f) })
	}
	if cmd.ValidArgsFunction == nil && len(cmd.ValidArgs) == 0 && !cmd.HasSubCommands() {
		cmd.ValidArgsFunction = a.completeArgs
	}
	for _, below := range cmd.Commands() {
		a.wireCompletion(below)
	}
}

func (a *app) wireFlag(cmd *cobra.Command, f *pflag.Flag) {
	if _, chosen := cmd.GetFlagCompletionFunc(f.Name); chosen || f.Value.Type() == "bool" {
		return
	}
	complete := a.byFlag(f.Name)
	if complete == nil {
		placeholder, _ := pflag.UnquoteUsage(f)
		complete = a.byPlaceholder(placeholder)
	}
	// The flag is there, and nothing was registered for it.
	_ = cmd.RegisterFlagCompletionFunc(f.Name, complete)
}

// completeArgs offers what the command's line of usage has at that place.
func (a *app) completeArgs(cmd *cobra.Command, args []string, toComplete string) ([]string, cobra.ShellCompDirective) {
	of := placeholders(cmd.Use)
	if len(of) == 0 {
		return nil, noFiles
	}
	at, repeated := strings.CutSuffix(of[min(len(args), len(of)-1)], "...")
	if len(args) >= len(of) && !repeated {
		return nil, noFiles
	}
	if at == "KIND/NAME" {
		return a.completeKeys(cmd, args, toComplete)
	}
	return a.byPlaceholder(at)(cmd, args, toComplete)
}

// placeholders are the arguments of a line of usage, without its flags.
func placeholders(use string) []string {
	words := strings.Fields(use)[1:]
	for i, word := range words {
		word = strings.Trim(word, "[]")
		if strings.HasPrefix(word, "-") {
			return words[:i]
		}
		words[i], _, _ = strings.Cut(word, "|")
	}
	return words
}
