package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"trueup/internal/kind"
	"trueup/internal/manifest"
	"trueup/internal/purge"
	"trueup/internal/report"
)

func newPurge(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:  "purge",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newPurgeNew(a), newPurgeList(a))
	return cmd
}

type purgeNewOptions struct {
	hostnames, subdomains []string
	fromGit               string
	maps, sitemaps        []string
	noFolders             bool
	collapse              int
	name, dir             string
	skipUnplaced          bool
}

func newPurgeNew(a *app) *cobra.Command {
	var opts purgeNewOptions
	cmd := &cobra.Command{
		Use: "new [ADDRESS...]",
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := checkGiven(cmd, "from-git", "subdomain", "name", "dir"); err != nil {
				return err
			}
			return a.failed("purge new", runPurgeNew(cmd.Context(), a, opts, args))
		},
	}
	f := cmd.Flags()
	f.StringArrayVar(&opts.hostnames, "hostname", nil, "the `HOST` of paths without one (default the only CDN in git); repeatable")
	f.StringArrayVar(&opts.subdomains, "subdomain", nil, "also purge paths without a host on the subdomain `PART`; repeatable")
	f.StringVar(&opts.fromGit, "from-git", "", "purge the files that differ in `RANGE`: BASE..HEAD, or BASE...HEAD for what HEAD changed since it branched from BASE")
	f.StringArrayVar(&opts.maps, "map", nil, "where --from-git finds files and the path that serves them, as `'FROM -> TO'`; FROM starts at the top of the repository; repeatable")
	f.BoolVar(&opts.noFolders, "no-index", false, "do not purge a folder's own path together with its "+purge.Index)
	f.StringArrayVar(&opts.sitemaps, "sitemap", nil, "purge the pages of a sitemap in `FILE`; repeatable")
	f.IntVar(&opts.collapse, "collapse", 0, "if a folder has `N` or more paths, purge the whole folder instead; never /*")
	f.Lookup("collapse").NoOptDefVal = fmt.Sprint(purge.Pays)
	f.StringVar(&opts.name, "name", "", "start the name with `BASE`, such as a release (default the date, and with --from-git the commit)")
	f.StringVar(&opts.dir, "dir", "", "write to `DIR`, or - for standard output (default the folder with most purges, or purges/)")
	f.BoolVar(&opts.skipUnplaced, "skip-unplaced", false, "skip what can't be purged as named")
	completeHosts := func(cmd *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
		return a.hostsOf(cmd.Context()), noFiles
	}
	_ = cmd.RegisterFlagCompletionFunc("hostname", completeHosts) // it is there
	return cmd
}

// hostsOf are the hostnames of the project's CDNs, as a shell may be offered them.
func (a *app) hostsOf(ctx context.Context) (out []string) {
	for _, o := range hosting(a.known(ctx, nil)) {
		out = offer(out, o.Host, o.Key().String())
	}
	return out
}

// failed shows an error in the result, where that is for machines.
func (a *app) failed(command string, err error) error {
	if err == nil {
		return nil
	}
	return a.fail(report.Document{Command: command}, err)
}

// errTextOrJSON is a format that no purge command has.
var errTextOrJSON = errors.New("this command writes text or json, and has no --report")

// hosting returns the objects whose hostnames a request may name (docs/platform.md 2.3): of
// those that share one, the first.
func hosting(set *manifest.Set) []*manifest.Object {
	seen := map[string]bool{}
	return slices.DeleteFunc(slices.Clone(set.Objects), func(o *manifest.Object) bool {
		host := kind.HostKey(o.Host)
		if o.Kind.Policy != kind.Converge || o.Host == "" || seen[host] {
			return true
		}
		seen[host] = true
		return false
	})
}

// purgeKind is the kind of requests that are sent once, to a hostname.
func purgeKind() *kind.Kind {
	all := kind.All()
	return all[slices.IndexFunc(all, func(k *kind.Kind) bool { return k.Policy == kind.Once && k.HostField != "" })]
}

// some names the first of a list.
func some(list []string, most int) string {
	text := strings.Join(list[:min(most, len(list))], ", ")
	if more := len(list) - most; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

// counted is a number of things.
func counted(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}
