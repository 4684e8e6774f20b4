package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"

	"trueup/internal/diag"
	"trueup/internal/manifest"
	"trueup/internal/purge"
)

// queryPolicies are the values of --query.
func queryPolicies() map[string]purge.QueryPolicy {
	return map[string]purge.QueryPolicy{
		"": purge.QueryRefused, "drop": purge.QueryDropped, "prefix": purge.QueryPrefix, "keep": purge.QueryKept,
	}
}

// runConvertURLs makes manifests of lists of addresses, as purge new makes them of
// what it is told.
func runConvertURLs(ctx context.Context, a *app, opts convertOptions, args []string) error {
	making := purgeNewOptions{name: opts.name, dir: cmp.Or(opts.dir, onStdout)}
	if err := making.check(a); err != nil {
		return err
	}
	query, known := queryPolicies()[opts.query]
	switch {
	case !known:
		return fmt.Errorf("--query is %q: write drop, prefix or keep", opts.query)
	case len(args) == 0:
		return errors.New("no list: name its file, or - for standard input")
	}
	l, err := a.load(ctx, nil, false)
	if err != nil {
		return err
	}
	if err := refuseInvalid(a.ofManifests(l.findings, args), "the manifests are invalid, and nothing was written"); err != nil {
		if !l.project.exists() {
			err = withCode(exitInvalid, fmt.Errorf("%w; without a trueup.yaml, trueup reads every YAML and JSON file below this folder as a manifest", err))
		}
		return err
	}
	hostnames := slices.Clone(opts.cdns)
	for _, o := range hosting(l.set) {
		hostnames = append(hostnames, o.Host)
	}
	if len(hostnames) == 0 {
		return errors.New("trueup knows no hostname of a CDN: add --cdn HOSTNAME for each, or pull their manifests first")
	}
	list := addressList{legacy: purge.Legacy{
		Hosts: purge.NewHosts(hostnames), Service: l.project.Purge.DeprecatedURL, Host: opts.host, Query: query,
	}}
	if err := list.readAll(a, l.project, args); err != nil {
		return err
	}
	m := &purgeMaker{app: a, by: "convert", opts: making, loaded: l, kind: purgeKind(), source: &purgeSource{
		app: a, wanted: list.wanted, unplaced: list.unplaced, head: []string{"from lists of addresses"},
	}}
	if m.place, err = a.purgePlace(l, making.dir); err != nil {
		return fmt.Errorf("--dir: %w", err)
	}
	if err := m.finish(ctx); err != nil {
		return err
	}
	return list.outcome(a)
}

// ofManifests returns the findings without those of the lists themselves, which may
// lie where manifests are read, and of other documents that can hold no object.
func (a *app) ofManifests(findings diag.List, lists []string) diag.List {
	named := map[string]bool{}
	for _, name := range lists {
		named[a.full(name)] = true
	}
	return slices.DeleteFunc(slices.Clone(findings), func(f diag.Finding) bool {
		if named[a.full(f.Path)] {
			return true
		}
		if !manifest.HoldsNothing(f) {
			return false
		}
		a.log(slog.LevelWarn, fmt.Sprintf("%s:%d:%d: %s, so trueup does not read it as a manifest", f.Path, f.Line, f.Column, f.Message))
		return true
	})
}

// addressList is what was read of lists.
type addressList struct {
	legacy purge.Legacy
	wanted []purge.Wanted
	// unplaced are lines that say what has no place, and why; total counts the
	// entries of the lists.
	unplaced []string
	total    int
}

func (l *addressList) readAll(a *app, p project, args []string) error {
	lists, closeAll, err := a.sources(p, args)
	if err != nil {
		return err
	}
	defer closeAll()
	texts, findings, err := manifest.Texts(lists, manifest.Limits{})
	if err = errors.Join(err, a.refused(findings)); err != nil {
		return err
	}
	for _, t := range texts {
		if err := l.read(t); err != nil {
			return err
		}
	}
	return nil
}

func (l *addressList) read(t manifest.Text) error {
	lines, odd, err := purge.ReadLegacyList(t.Data)
	if err != nil {
		return fmt.Errorf("%s: %w", t.Path, err)
	}
	wanted, unplaced := l.legacy.Place(lines)
	unplaced = append(unplaced, odd...)
	slices.SortStableFunc(unplaced, func(a, b purge.Unplaced) int { return a.Line.Line - b.Line.Line })
	for _, u := range unplaced {
		shown := fmt.Sprintf("%.200s", u.Text)
		if strings.Contains(u.Text, "@") {
			shown = "an entry" // it may hold a password
		}
		l.unplaced = append(l.unplaced, fmt.Sprintf("%s:%d: %s %s: %s", t.Path, u.Line.Line, shown, u.Reason, u.Fix))
	}
	l.wanted = append(l.wanted, wanted...)
	l.total += len(lines) + len(odd)
	return nil
}

// outcome lists what has no place.
func (l *addressList) outcome(a *app) error {
	beside := map[string]bool{}
	for _, w := range l.wanted {
		if w.Subdomain != "" {
			beside[w.Hostname] = true
		}
	}
	for _, host := range slices.Sorted(maps.Keys(beside)) {
		a.log(slog.LevelInfo, host+" is purged together with its subdomains, because a purge names them with their hostname")
	}
	for _, u := range l.unplaced {
		a.log(slog.LevelWarn, u)
	}
	if len(l.unplaced) > 0 {
		return withCode(exitPartial, fmt.Errorf("%d of %d addresses could not be placed and are in no manifest", len(l.unplaced), l.total))
	}
	return nil
}
