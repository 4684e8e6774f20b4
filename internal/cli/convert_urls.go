package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"

	"trueup/internal/compose"
	"trueup/internal/diag"
	"trueup/internal/exit"
	"trueup/internal/manifest"
	"trueup/internal/purge"
)

// runConvertURLs makes manifests of lists of addresses.
func runConvertURLs(ctx context.Context, a *app, opts convertOptions, args []string) error {
	making := compose.Options{Name: opts.name, Dir: cmp.Or(opts.dir, compose.ToStdout)}
	if err := a.checkCompose(making); err != nil {
		return err
	}
	query, known := map[string]purge.QueryPolicy{
		"": purge.QueryRefused, "drop": purge.QueryDropped, "prefix": purge.QueryPrefix, "keep": purge.QueryKept,
	}[opts.query]
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
	if err := a.findingsBeside(l.Findings, args).Refuse("the manifests are invalid, and nothing was written"); err != nil {
		if !l.Project.Exists() {
			err = exit.With(exit.Invalid, fmt.Errorf("%w; without a trueup.yaml, trueup reads every YAML and JSON file below this folder as a manifest", err))
		}
		return err
	}
	hosts, err := hostsOf(l.Set, opts.cdns)
	if err != nil {
		return err
	}
	texts, findings, err := a.texts(l.Project, args)
	if err = errors.Join(err, a.refused(findings)); err != nil {
		return err
	}
	src, total, err := compose.FromLists(purge.Legacy{
		Hosts: hosts, Service: l.Project.Purge.DeprecatedURL, Host: opts.host, Query: query,
	}, texts)
	if err != nil {
		return err
	}
	env := a.composeEnv(l)
	if err := a.compose(ctx, env, "convert", making, src); err != nil {
		return err
	}
	src.TellPlaces(env)
	if n := len(src.Unplaced); n > 0 {
		return exit.With(exit.Partial, fmt.Errorf("%d of %d addresses could not be placed and are in no manifest", n, total))
	}
	return nil
}

// hostsOf returns the hostnames of CDNs, in git and others.
func hostsOf(set *manifest.Set, others []string) (purge.Hosts, error) {
	hostnames := slices.Clone(others)
	for _, o := range compose.Hosting(set) {
		hostnames = append(hostnames, o.Host)
	}
	if len(hostnames) == 0 {
		return nil, errors.New("trueup knows no hostname of a CDN: add --cdn HOSTNAME for each, or pull their manifests first")
	}
	return purge.NewHosts(hostnames), nil
}

// findingsBeside returns the findings without those of the lists, which may lie where manifests are
// read, and of other documents that can hold no object.
func (a *app) findingsBeside(findings diag.List, lists []string) diag.List {
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
