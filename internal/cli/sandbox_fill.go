package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/spf13/cobra"

	"trueup/internal/config"
	"trueup/internal/diag"
	"trueup/internal/files"
	"trueup/internal/kind"
	"trueup/internal/manifest"
	"trueup/internal/sandbox/sample"
)

type fillOptions struct {
	dir   string
	world sample.World
}

func newSandboxFill(a *app) *cobra.Command {
	var opts fillOptions
	cmd := &cobra.Command{
		Use:  "fill --dir DIR",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return runSandboxFill(cmd.Context(), a, opts) },
	}
	f := cmd.Flags()
	f.StringVar(&opts.dir, "dir", "", "write to `DIR`")
	f.IntVar(&opts.world.CDNs, "cdns", 100, "make `N` CDNs")
	f.IntVar(&opts.world.Purges, "purges", 0, "write `N` purges of their hostnames")
	f.IntVar(&opts.world.Snapshots, "snapshots", 0, "make `N` snapshots")
	f.IntVar(&opts.world.Changed, "changed", 0, "change `PERCENT` of the CDNs on the platform, outside git")
	f.Uint64Var(&opts.world.Seed, "seed", 1, "seed: each `NUMBER` makes another project")
	return cmd
}

// The most that a world is made of: of each kind, and purges of one hostname
// (docs/platform.md 8).
const (
	maxMade      = 100_000
	maxPurgesFor = 100
)

func (o fillOptions) check() error {
	w := o.world
	switch {
	case o.dir == "":
		return errors.New("add --dir DIR, where to write the manifests")
	case min(w.CDNs, w.Purges, w.Snapshots) < 0 || max(w.CDNs, w.Purges, w.Snapshots) > maxMade:
		return fmt.Errorf("--cdns, --purges and --snapshots must be numbers from 0 to %d", maxMade)
	case w.Changed < 0 || w.Changed > 100:
		return errors.New("--changed must be a number from 0 to 100")
	case w.Purges > w.CDNs*maxPurgesFor:
		return fmt.Errorf("--purges %d: the platform accepts %d for each hostname, and there are %d", w.Purges, maxPurgesFor, w.CDNs)
	}
	return nil
}

func runSandboxFill(ctx context.Context, a *app, opts fillOptions) error {
	if err := opts.check(); err != nil {
		return err
	}
	p, dir, err := a.sandboxDir()
	if err != nil {
		return err
	}
	ws, err := config.SandboxWorkspace(p, &manifest.Set{})
	if err != nil {
		return err
	}
	if err := a.writeSamples(ctx, opts.dir, ws, opts.world); err != nil {
		return err
	}
	to, err := a.seeder(ctx, dir, ws)
	if err != nil {
		return err
	}
	live, err := putSamples(ctx, opts.world.Objects(), ws, to)
	if err = errors.Join(err, to.close()); err != nil {
		return err
	}
	return a.out.Printf("%s in %s; %s live in the sandbox, in workspace %s\n",
		diag.Plural(opts.world.Len(), "manifest is", "manifests are"), opts.dir,
		diag.Plural(live, "object is", "objects are"), ws.Name)
}

// writeSamples writes the manifests of a world, a file each, and ends at one that
// is there and says something else.
func (a *app) writeSamples(ctx context.Context, dir string, ws kind.Workspace, world sample.World) error {
	root, err := files.FolderAt(a.dir(), dir).Make()
	if err != nil {
		return fmt.Errorf("%s: %w", dir, files.WithoutPath(err))
	}
	defer func() { _ = root.Close() }()
	told := a.begin("writing manifests")
	defer told.end()
	type numbered struct {
		sample.Object
		i int
	}
	samples, errs := make(chan numbered), make([]error, world.Len())
	var written atomic.Int64
	var failed atomic.Bool
	var wg sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			for s := range samples {
				f, err := sampleFile(ws, s.Object)
				if err == nil {
					err = writeSample(root, f)
				}
				if err != nil {
					errs[s.i] = fmt.Errorf("%s: %w", path.Join(filepath.ToSlash(dir), f.Name), files.WithoutPath(err))
					failed.Store(true)
				}
				told.reached(int(written.Add(1)), world.Len())
			}
		})
	}
	i := 0
	for s := range world.Objects() {
		if errs[i] = ctx.Err(); errs[i] != nil || failed.Load() {
			break
		}
		samples <- numbered{s, i}
		i++
	}
	close(samples)
	wg.Wait()
	return cmp.Or(errs...)
}

func writeSample(root *os.Root, f files.File) error {
	done, err := files.WriteNew(root, f)
	if done == files.Kept {
		return errors.New("it has other content, and stays as it is: name another folder")
	}
	return err
}

func sampleFile(ws kind.Workspace, s sample.Object) (files.File, error) {
	k, spec, err := sampleKind(s, s.Spec)
	if err != nil {
		return files.File{}, err
	}
	draft := manifest.Draft{Kind: k, Name: s.Name, Spec: spec}
	if k.NamespaceOnWire {
		draft.Namespace = ws.Name
	}
	text, err := manifest.Write(draft)
	return files.File{Name: path.Join(k.Plural(), s.Name+".yaml"), Content: text}, err
}

// sampleKind is the kind of an object, and a spec of it as JSON.
func sampleKind(s sample.Object, spec map[string]any) (*kind.Kind, []byte, error) {
	k, _, ok := kind.ForEnvelope(s.APIVersion, s.Kind)
	if !ok {
		return nil, nil, fmt.Errorf("the sandbox generates %s, which is not a kind", s.Kind)
	}
	text, err := json.Marshal(spec)
	return k, text, err
}

// putSamples makes objects live, and says how many that are.
func putSamples(ctx context.Context, samples iter.Seq[sample.Object], ws kind.Workspace, to *seeder) (live int, err error) {
	for s := range samples {
		if s.Live == nil {
			continue
		}
		if ctx.Err() != nil {
			return live, ctx.Err()
		}
		k, spec, err := sampleKind(s, s.Live)
		if err != nil {
			return live, err
		}
		if err := to.add(k.Envelope(ws, s.Name, spec)); err != nil {
			return live, err
		}
		live++
	}
	return live, to.flush()
}
