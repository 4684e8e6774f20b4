package cli

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"path"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"trueup/internal/kind"
	"trueup/internal/live"
	"trueup/internal/manifest"
)

// ask is one KIND or KIND/NAME of the command line; a name may hold the wildcards
// of path.Match.
type ask struct {
	text string
	kind *kind.Kind
	// name is empty for all objects of the kind.
	name string
}

func (k ask) has(key kind.Key) bool {
	like, _ := path.Match(k.name, key.Name)
	return k.kind.Name == key.Kind && (k.name == "" || k.name == key.Name || like)
}

// exact reports whether the ask names one object.
func (k ask) exact() bool { return k.name != "" && !strings.ContainsAny(k.name, `*?[\`) }

// selection is what was asked for.
type selection struct {
	asks []ask
	// all says that nothing was named.
	all bool
}

// parseSelection reads the arguments; without any, all kinds are meant that the
// platform lists.
func parseSelection(args []string) (selection, error) {
	var s selection
	for _, arg := range args {
		name, object, named := strings.Cut(arg, "/")
		k, ok := kind.Named(name)
		switch {
		case !ok || named && object == "":
			return s, fmt.Errorf("%q is not a KIND or KIND/NAME: write %s, or one of these with a name, such as %s/NAME",
				arg, strings.Join(listedKinds(), ", "), strings.TrimSuffix(listedKinds()[0], "s"))
		case !listed(k):
			return s, fmt.Errorf("the platform can't list %s, so there is nothing to pull: see trueup ledger ls for those that were posted", k.Plural())
		}
		if _, err := path.Match(object, ""); err != nil {
			return s, fmt.Errorf("%q is not a pattern of names: write one such as cdn/shop-*", arg)
		}
		s.asks = append(s.asks, ask{text: arg, kind: k, name: object})
	}
	if s.all = len(args) == 0; s.all {
		for _, k := range kind.All() {
			if listed(k) {
				s.asks = append(s.asks, ask{text: k.Plural(), kind: k})
			}
		}
	}
	return s, nil
}

// listed reports whether the platform shows all objects of a kind.
func listed(k *kind.Kind) bool { return k.Can(kind.List) && k.Can(kind.Get) }

func listedKinds() []string {
	var names []string
	for _, k := range kind.All() {
		if listed(k) {
			names = append(names, k.Plural())
		}
	}
	return names
}

func (s selection) has(key kind.Key) bool {
	return slices.ContainsFunc(s.asks, func(k ask) bool { return k.has(key) })
}

// named are the objects that are asked for by their names, to be looked for even
// where a list leaves them out.
func (s selection) named() *manifest.Set {
	set := &manifest.Set{}
	for _, k := range s.asks {
		if k.exact() {
			set.Objects = append(set.Objects, &manifest.Object{Kind: k.kind, Name: k.name})
		}
	}
	return set
}

func (s selection) kinds() []*kind.Kind {
	return s.kindsOf(func(ask) bool { return true })
}

// listed are the kinds of which more is asked for than objects by their names.
func (s selection) listed() []*kind.Kind {
	return s.kindsOf(func(k ask) bool { return !k.exact() })
}

func (s selection) kindsOf(which func(ask) bool) []*kind.Kind {
	var kinds []*kind.Kind
	for _, k := range s.asks {
		if which(k) && !slices.Contains(kinds, k.kind) {
			kinds = append(kinds, k.kind)
		}
	}
	return kinds
}

// completePull offers the kinds that can be listed, and behind a slash the objects
// of manifests: what is live is not asked for.
func (a *app) completePull(cmd *cobra.Command, _ []string, toComplete string) ([]string, cobra.ShellCompDirective) {
	if strings.Contains(toComplete, "/") {
		return keysOf(a.known(cmd.Context(), nil), toComplete), noFiles
	}
	var out []string
	for _, k := range kind.All() {
		if listed(k) {
			out = offer(out, k.Plural(), k.Root().Title)
		}
	}
	return out, noFiles
}

// unmet is the error of what was named and is not live.
func (s selection) unmet(items []*pulled) error {
	var missing []error
	for _, k := range s.asks {
		met := slices.ContainsFunc(items, func(p *pulled) bool { return k.has(p.key) || k.has(p.live.Key()) })
		switch {
		case met || k.name == "":
		case k.exact():
			missing = append(missing, fmt.Errorf("%s/%s is not live: trueup pull %s --diff shows what is", k.kind.Name, k.name, k.kind.Plural()))
		default:
			missing = append(missing, fmt.Errorf("no live object matches %s", k.text))
		}
	}
	return errors.Join(missing...)
}

// reachable leaves out kinds of an area that has no address where nothing was
// named, and says so: somebody who has only CDNs needs none for snapshots.
func (p *pulling) reachable(s selection) (selection, error) {
	var there []ask
	for _, k := range s.asks {
		if !s.all || p.world.API.Endpoints[k.kind.Area].Base != nil {
			there = append(there, k)
			continue
		}
		p.app.log(slog.LevelInfo, fmt.Sprintf("%s are left out, because no address of the %s area is configured", k.kind.Plural(), k.kind.Area))
	}
	if len(there) == 0 {
		return s, errors.New("no address of the platform is configured: set TRUEUP_DELIVERY_URL and TRUEUP_COMPUTE_URL, " +
			"or choose a profile (docs/configuration.md), or try --sandbox")
	}
	return selection{asks: there, all: s.all}, nil
}

// everything is all that was read, in the order of kinds and names.
func everything(s live.State) []kind.Object {
	all := slices.Clone(s.Unmanaged)
	for _, o := range s.Objects {
		all = append(all, o)
	}
	slices.SortFunc(all, func(a, b kind.Object) int {
		return cmp.Or(cmp.Compare(a.Kind.Name, b.Kind.Name), cmp.Compare(a.Name, b.Name))
	})
	return all
}
