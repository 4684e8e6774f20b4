package generate

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode"

	"trueup/internal/config"
	"trueup/internal/diag"
	"trueup/internal/files"
	"trueup/internal/git"
	"trueup/internal/kind"
	"trueup/internal/purge"
)

// PurgeOptions are what a user asks for.
type PurgeOptions struct {
	Hostnames    []string // where paths without a host are purged
	FromGit      string   // a range of commits, whose files Maps serve
	Maps         []string
	Pages        string // how the site serves pages of FromGit
	Name, Dir    string // Name begins the names of manifests, and Dir is where to write them
	SkipUnplaced bool
}

// ToStdout is the Dir of manifests that are not written to a file.
const ToStdout = "-"

// nameRunes are the characters of names.
const nameRunes = "abcdefghijklmnopqrstuvwxyz0123456789-."

// CheckValues refuses values that no run could use.
func (o PurgeOptions) CheckValues() error {
	const most = 150
	odd := func(r rune) bool { return !strings.ContainsRune(nameRunes, r) }
	n := o.Name
	if len(n) > most || strings.ContainsFunc(n, odd) || strings.Trim(n, "-.") != n || strings.Contains(n, "..") {
		return fmt.Errorf("--name is %q: write at most 150 lower-case letters, digits, hyphens and dots, such as rel-42", n)
	}
	return nil
}

// PurgeEnv is where a run works, with the project and its manifests.
type PurgeEnv struct {
	config.Options
	config.LoadedProject
}

// The bound of a list, in bytes; and how many lines say what is wrong.
const (
	maxList  = 64 << 20
	maxShown = 20
)

// purgeSource is what is to be purged, and where that comes from.
type purgeSource struct {
	PurgeEnv
	PurgeOptions
	wanted   []purge.WantedPath
	unplaced []string        // the entries that can't be purged as they are named
	head     []string        // says where it comes from, for a comment in the manifest
	commits  git.CommitRange // what FromGit compares
	hosts    purge.Hosts     // those of the CDNs in git, which have the names known
	known    []string
	// usual are where paths without a host are purged. toUsual is true if there are such paths.
	usual   []purge.WantedPath
	toUsual bool
	beside  map[string]string // the subdomains that are purged together with their hostname
}

// gatherSource collects what the arguments and the options name.
func gatherSource(ctx context.Context, env PurgeEnv, o PurgeOptions, args []string) (*purgeSource, error) {
	g := &purgeSource{PurgeEnv: env, PurgeOptions: o, beside: map[string]string{}}
	seen := map[string]bool{"": true}
	for _, o := range env.Set.Objects {
		if host := kind.HostKey(o.Host); !o.Kind.IsSendOnce() && !seen[host] {
			g.known, seen[host] = append(g.known, o.Host), true
		}
	}
	g.hosts = purge.NewHosts(g.known)
	if len(g.known) == 0 {
		g.Inform("git has no CDN to check the hostname against; plan checks it against live CDNs")
	}
	if err := cmp.Or(g.checkSources(args), g.chooseDefaultSource()); err != nil {
		return g, err
	}
	if err := g.addArgs(args); err != nil {
		return g, err
	}
	if g.FromGit != "" {
		if err := g.addCommits(ctx); err != nil {
			return g, fmt.Errorf("--from-git: %w", err)
		}
	}
	return g, g.checkUnplaced()
}

func (o PurgeOptions) checkSources(args []string) error {
	switch {
	case looksShellExpanded(args):
		return errors.New("these paths are the files of the root folder, which a shell makes of /*: write '/*' in quotes")
	case len(args) == 0 && o.FromGit == "":
		return errors.New("nothing to purge: name paths or addresses, - for a list on standard input, or --from-git")
	case o.FromGit == "" && (len(o.Maps) > 0 || cmp.Or(o.Pages, purge.IndexPages) != purge.IndexPages):
		return errors.New("--map and --pages need --from-git: add it, or remove them")
	}
	return nil
}

// looksShellExpanded reports whether arguments have what a shell makes of /* without quotes.
func looksShellExpanded(args []string) bool {
	const few = 3 // that may be meant
	there := 0
	for _, arg := range args {
		if _, err := os.Lstat(arg); err == nil && filepath.Dir(arg) == string(filepath.Separator) {
			there++
		}
	}
	return there > few
}

func (g *purgeSource) chooseDefaultSource() error {
	hostnames := g.Hostnames
	if len(hostnames) == 0 && len(g.known) == 1 {
		hostnames = g.known
	}
	for _, name := range hostnames {
		a, err := purge.ParseAddress("https://" + name)
		if err != nil || a.Path != "/" || strings.ContainsAny(name, "/?#") {
			return fmt.Errorf("--hostname %q is not a hostname: write it as the CDN has it, such as shop.example.com", name)
		}
		w, err := g.findHost(a.Host)
		if err != nil {
			return err
		}
		g.usual = append(g.usual, w)
	}
	return nil
}

func (g *purgeSource) addArgs(args []string) error {
	list := false
	for _, arg := range args {
		if arg != ToStdout {
			g.addEntry("", purge.ListEntry{Text: arg})
			continue
		}
		if list {
			return errors.New("- is given twice, and there is only one standard input: name it once")
		}
		list = true
		lines, err := purge.ReadLines(files.LimitReader(g.OpenStdin("paths"), maxList))
		if err != nil {
			return fmt.Errorf("standard input: %w", err)
		}
		for _, line := range lines {
			g.addEntry("standard input", line)
		}
	}
	if len(args) > 0 {
		g.head = append(g.head, "from paths given by hand")
	}
	return nil
}

// addEntry adds an entry of a list, whose name is empty for the command line.
func (g *purgeSource) addEntry(list string, line purge.ListEntry) {
	format := "%s %v"
	a, err := purge.ParseAddress(line.Text)
	if err == nil {
		format, err = "%s: %v", g.addAddress(a)
	}
	if err == nil {
		return
	}
	text := fmt.Sprintf(format, redactEntry("%.200q", line.Text), err)
	if list != "" {
		text = fmt.Sprintf("%s:%d: %s", list, line.Line, text)
	}
	g.unplaced = append(g.unplaced, text)
}

// redactEntry is an entry that a message may show: one with an @ may have a password.
func redactEntry(format, text string) string {
	if strings.Contains(text, "@") {
		return "an entry"
	}
	return fmt.Sprintf(format, text)
}

func (g *purgeSource) addAddress(a purge.Address) error {
	if a.Host == "" {
		g.toUsual = true
		for _, w := range g.usual {
			w.Path = a.Path
			g.wanted = append(g.wanted, w)
		}
		return nil
	}
	w, err := g.findHost(a.Host)
	if err == nil {
		w.Path = a.Path
		g.wanted = append(g.wanted, w)
	}
	return err
}

// findHost finds the CDN that serves a host. If git has no CDN, any host is accepted.
func (g *purgeSource) findHost(host string) (purge.WantedPath, error) {
	hostname, subdomain, ok := g.hosts.FindHostname(host)
	switch {
	case len(g.known) == 0:
		return purge.WantedPath{Hostname: host}, nil
	case !ok:
		const most = 100 // each is compared with every hostname, and so many unknown ones are not misspelt
		if len(g.unplaced) < most {
			if meant := diag.Corrections(host, g.known); len(meant) == 1 {
				host += ": did you mean " + meant[0] + "?"
			}
		}
		return purge.WantedPath{}, fmt.Errorf("no CDN in git serves %s", host)
	case subdomain != "":
		g.beside[host] = hostname
	}
	return purge.WantedPath{Hostname: hostname, Subdomain: subdomain}, nil
}

// oneLine is a text that stays within the line of a comment.
func oneLine(text string) string {
	if strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsPrint(r) || diag.IsInvisible(r) }) {
		return fmt.Sprintf("%+q", text)
	}
	return text
}

// checkUnplaced returns an error if something in a source can't be purged, unless SkipUnplaced allows that: otherwise old
// content would stay cached, unnoticed.
func (g *purgeSource) checkUnplaced() error {
	if g.toUsual && len(g.usual) == 0 {
		in := ""
		if len(g.known) > 0 {
			in = ", which in git are " + diag.JoinFirst(g.known, 5)
		}
		return fmt.Errorf("a path without a hostname: add --hostname HOST%s, or name addresses (https://HOST/PATH)", in)
	}
	for _, text := range g.unplaced[:min(maxShown, len(g.unplaced))] {
		g.Warn("%s", text)
	}
	n := diag.Plural(len(g.unplaced), "entry", "entries")
	if len(g.unplaced) > 0 && !g.SkipUnplaced {
		return fmt.Errorf("nothing was written: %s of those above can't be purged as named; fix or remove them, or skip them with --skip-unplaced", n)
	}
	if len(g.unplaced) > maxShown {
		g.Warn("%s are left out; see the first ones above", n)
	}
	for _, host := range slices.Sorted(maps.Keys(g.beside)) {
		g.Inform("%s is purged together with %s, because a purge names subdomains with their hostname", g.beside[host], host)
	}
	return nil
}

func (g *purgeSource) addCommits(ctx context.Context) error {
	var mappings purge.Mappings
	for _, text := range g.Maps {
		m, err := purge.ParseMapping(text)
		if err != nil {
			return fmt.Errorf("--map %w", err)
		}
		mappings = append(mappings, m)
	}
	if mappings == nil {
		return errors.New("trueup does not know which path serves the files: add --map 'FROM -> TO', such as --map 'public/ -> /'")
	}
	r, err := git.OpenRepository(ctx, g.PurgeEnv.Dir())
	if err != nil {
		return fmt.Errorf("%w: %s", err, git.Advice(err))
	}
	if g.commits, err = r.ParseRange(ctx, g.FromGit); err != nil {
		return g.explainRangeError(r, err)
	}
	changes, err := r.ChangesBetween(ctx, g.commits.Base, g.commits.Head)
	if err != nil {
		return err
	}
	if err := g.refuseUnusedMappings(ctx, r, mappings, changes); err != nil {
		return err
	}
	g.head = append(g.head, fmt.Sprintf("from the files that differ between %s and %s:", g.commits.Base, g.commits.Head))
	for _, text := range g.Maps {
		g.head = append(g.head, "  "+oneLine(text))
	}
	g.addChanges(mappings, changes)
	return nil
}

func (g *purgeSource) explainRangeError(r git.Repository, err error) error {
	base, _, _ := strings.Cut(g.FromGit, "..")
	switch {
	case !errors.Is(err, git.ErrNoCommit) && !errors.Is(err, git.ErrUnrelated):
		return err
	case base != "" && strings.Trim(base, "0") == "":
		return fmt.Errorf("%s means that the branch is new: compare with the branch that it started from, such as main...HEAD", base)
	case r.Shallow:
		return fmt.Errorf("%w, in this shallow clone: fetch more history (fetch-depth: 0)", err)
	}
	return fmt.Errorf("%w: fetch it, or name another commit", err)
}

// refuseUnusedMappings refuses a mapping from a folder that neither commit has: it is a slip, and what it
// was meant for would stay old.
func (g *purgeSource) refuseUnusedMappings(ctx context.Context, r git.Repository, mappings purge.Mappings, changes []git.Change) error {
	for i, m := range mappings {
		if m.From == "" || slices.ContainsFunc(changes, func(c git.Change) bool { return m.ServesFile(c.Name) }) {
			continue
		}
		known := false
		for _, commit := range []string{g.commits.Base, g.commits.Head} {
			has, err := r.HasFile(ctx, commit, m.From)
			if err != nil {
				return err
			}
			known = known || has
		}
		if !known {
			return fmt.Errorf("--map %q: neither commit has %s. Names start at the top of the repository and are case-sensitive; a submodule is another repository", g.Maps[i], m.From)
		}
	}
	return nil
}

// addChanges adds the changed files that are served, and logs the names that it leaves out.
func (g *purgeSource) addChanges(mappings purge.Mappings, changes []git.Change) {
	var unmapped, unclear []string
	for _, c := range changes {
		is := func(k git.FileKind) bool { return c.Was.Kind == k || c.Is.Kind == k }
		switch {
		case c.IsSame():
			continue
		case !mappings.CoversFile(c.Name):
			unmapped = append(unmapped, c.Name)
			continue
		case is(git.Submodule) || is(git.Link):
			unclear = append(unclear, c.Name)
		}
		if is(git.Regular) {
			g.addFile(mappings, c.Name)
		}
	}
	g.logLeftOut(g.Inform, unmapped, "changed file matches no --map", "changed files match no --map")
	g.logLeftOut(g.Warn, unclear, "symbolic link or submodule changed, and trueup can't tell which paths it serves: name them yourself",
		"symbolic links or submodules changed, and trueup can't tell which paths they serve: name them yourself")
}

func (g *purgeSource) logLeftOut(log func(string, ...any), names []string, one, many string) {
	if len(names) > 0 {
		log("%s: %s", diag.Plural(len(names), one, many), diag.JoinFirst(diag.MapList(names, oneLine), 5))
	}
}

func (g *purgeSource) addFile(mappings purge.Mappings, name string) {
	served, err := mappings.ServedAddresses(name, g.Pages)
	if err != nil {
		g.unplaced = append(g.unplaced, fmt.Sprintf("the file %s %v: name a prefix path that covers it", oneLine(name), err))
	}
	for _, a := range served {
		if err := g.addAddress(a); err != nil {
			g.unplaced = append(g.unplaced, fmt.Sprintf("the file %s is served at %q, which %v", oneLine(name), a.Path, err))
		}
	}
}
