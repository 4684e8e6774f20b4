package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"os"
	"path"
	"path/filepath"

	"github.com/spf13/cobra"

	"trueup/internal/config"
	"trueup/internal/diag"
	"trueup/internal/files"
	"trueup/internal/kind"
	"trueup/internal/manifest"
	"trueup/internal/report"
	"trueup/internal/sandbox/sample"
)

func newSandboxFill(a *app) *cobra.Command {
	var dir string
	var world sample.World
	cmd := a.command("fill --dir DIR", func(ctx context.Context, _ []string) (doc report.Document, err error) {
		if dir == "" {
			return doc, errors.New("add --dir DIR, where to write the manifests")
		}
		if err := checkWorld(world); err != nil {
			return doc, err
		}
		p, at, err := a.sandboxDir()
		if err != nil {
			return doc, err
		}
		ws, err := config.SandboxWorkspace(p, &manifest.Set{})
		if err != nil {
			return doc, err
		}
		if err := a.writeSamples(ctx, dir, ws, world); err != nil {
			return doc, err
		}
		live, err := a.config().SeedSandbox(ctx, at, ws, liveSamples(world, ws))
		if err != nil {
			return doc, err
		}
		return said("%s in %s; %s live in the sandbox, in workspace %s",
			diag.Plural(world.Len(), "manifest is", "manifests are"), dir,
			diag.Plural(live, "object is", "objects are"), ws.Name), nil
	})
	f := cmd.Flags()
	f.StringVar(&dir, "dir", "", "write to `DIR`")
	f.IntVar(&world.CDNs, "cdns", 100, "make `N` CDNs")
	f.IntVar(&world.Purges, "purges", 0, "write `N` purges of their hostnames")
	f.IntVar(&world.Snapshots, "snapshots", 0, "make `N` snapshots")
	f.IntVar(&world.Changed, "changed", 0, "change `PERCENT` of the CDNs on the platform, outside git")
	f.Uint64Var(&world.Seed, "seed", 1, "seed: each `NUMBER` makes another project")
	return cmd
}

// checkWorld refuses worlds that are too large, or that the platform would refuse (docs/platform.md 8).
func checkWorld(w sample.World) error {
	const most, purgesFor = 100_000, 100
	switch {
	case min(w.CDNs, w.Purges, w.Snapshots) < 0 || max(w.CDNs, w.Purges, w.Snapshots) > most:
		return fmt.Errorf("--cdns, --purges and --snapshots must be numbers from 0 to %d", most)
	case w.Changed < 0 || w.Changed > 100:
		return errors.New("--changed must be a number from 0 to 100")
	case w.Purges > w.CDNs*purgesFor:
		return fmt.Errorf("--purges %d: the platform accepts %d for each hostname, and there are %d", w.Purges, purgesFor, w.CDNs)
	}
	return nil
}

// writeSamples writes the manifests of a world, a file each. It fails at one that exists with other
// content.
func (a *app) writeSamples(ctx context.Context, dir string, ws kind.Workspace, world sample.World) error {
	root, err := files.FolderAt(a.dir(), dir).Make()
	if err != nil {
		return fmt.Errorf("%s: %w", dir, files.WithoutPath(err))
	}
	defer func() { _ = root.Close() }()
	writing := a.begin("writing manifests")
	defer writing.end()
	written := 0
	for o := range world.Objects() {
		if err := ctx.Err(); err != nil {
			return err
		}
		if name, err := writeSample(root, ws, o); err != nil {
			return fmt.Errorf("%s: %w", path.Join(filepath.ToSlash(dir), name), files.WithoutPath(err))
		}
		written++
		writing.reached(written, world.Len())
	}
	return nil
}

func writeSample(root *os.Root, ws kind.Workspace, s sample.Object) (name string, err error) {
	k, spec, err := sampleKind(s, s.Spec)
	if err != nil {
		return "", err
	}
	draft := manifest.Draft{Kind: k, Name: s.Name, Spec: spec}
	if k.NamespaceOnWire {
		draft.Namespace = ws.Name
	}
	name = path.Join(k.Plural(), s.Name+".yaml")
	text, err := manifest.Write(draft)
	if err != nil {
		return name, err
	}
	done, err := files.WriteNew(root, files.File{Name: name, Content: text})
	if done == files.Kept {
		err = errors.New("it has other content, and stays as it is: name another folder")
	}
	return name, err
}

// sampleKind returns the kind of an object, and a spec of it as JSON.
func sampleKind(s sample.Object, spec map[string]any) (*kind.Kind, []byte, error) {
	k, ok := kind.ForEnvelope(s.APIVersion, s.Kind)
	if !ok {
		return nil, nil, fmt.Errorf("the sandbox generates %s, which is not a kind", s.Kind)
	}
	text, err := json.Marshal(spec)
	return k, text, err
}

// liveSamples are the objects of a world that are live.
func liveSamples(world sample.World, ws kind.Workspace) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		for s := range world.Objects() {
			if s.Live == nil {
				continue
			}
			k, spec, err := sampleKind(s, s.Live)
			if err != nil {
				yield(nil, err)
				return
			}
			if !yield(k.Envelope(ws, s.Name, spec), nil) {
				return
			}
		}
	}
}
