package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"trueup/internal/api"
	"trueup/internal/config"
	"trueup/internal/diag"
	"trueup/internal/exit"
	"trueup/internal/files"
	"trueup/internal/kind"
	"trueup/internal/ledger"
	"trueup/internal/live"
	"trueup/internal/manifest"
	"trueup/internal/plan"
	"trueup/internal/project"
	"trueup/internal/reconcile"
)

type pullOptions struct {
	dir, file                string
	allFields, diff, replace bool
}

func newPull(a *app) *cobra.Command {
	var opts pullOptions
	cmd := &cobra.Command{
		Use:               "pull [KIND[/NAME]...]",
		ValidArgsFunction: a.completePull,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := checkGiven(cmd, "dir", "file"); err != nil {
				return err
			}
			return runPull(cmd.Context(), a, opts, args)
		},
	}
	f := cmd.Flags()
	f.StringVar(&opts.dir, "dir", "", "write one file per object in `DIR` (default the project's folder of manifests)")
	f.StringVar(&opts.file, "file", "", "write all objects to one new `FILE`, or - for standard output")
	f.BoolVar(&opts.allFields, "all-fields", false, "write every live field, including those that the schema does not know")
	f.BoolVar(&opts.diff, "diff", false, "write nothing, and show how the objects in git differ from live")
	f.BoolVar(&opts.replace, "replace", false, "overwrite manifests that differ from live; their comments, labels and annotations are lost")
	return cmd
}

// check refuses flags that contradict each other.
func (o pullOptions) check(g globalOptions) error {
	stdout := o.file == onStdout
	for _, refused := range []struct {
		given bool
		says  string
	}{
		{o.dir != "" && o.file != "", "--dir writes one file per object and --file one for all: use one of them"},
		{o.diff && o.replace, "--diff writes nothing and --replace overwrites manifests: use one of them"},
		{stdout && (o.diff || o.replace), "--file - reads no file: remove --diff and --replace"},
		{stdout && g.output != "text", "--file - writes manifests to standard output: remove -o"},
		{o.file != "" && !stdout && !mayBeSource(o.file), "--file must end in .yaml or .yml"},
		{len(g.reports) > 0, "pull writes no report: remove --report; for programs, use -o json"},
		{g.output != "text" && g.output != "json", "pull writes text or json: use one of them with -o"},
	} {
		if refused.given {
			return errors.New(refused.says)
		}
	}
	return nil
}

// pulling is one run of pull.
type pulling struct {
	app     *app
	opts    pullOptions
	project project.Project
	// set is what git has, sources are where; both are empty where nobody asks.
	set     *manifest.Set
	sources []manifest.Source
	world   *config.Platform
	ledger  *ledger.Ledger
	view    ledger.View
	items   []*pulled
	// cut says that not all that was asked for could be listed.
	cut bool
	// target is where new files are written.
	target files.Folder
}

// pulled is a live object and what becomes of it.
type pulled struct {
	live kind.Object
	// key is git's, has the manifest that git has of it.
	key   kind.Key
	has   *manifest.Object
	taken plan.Taken
	draft manifest.Draft
	text  []byte

	verdict pullVerdict
	// file is where it is or would be written, as the user knows it; reason and fix
	// say why it is not.
	file, reason, fix string
	// adopt says that the ledger learnt of it.
	adopt bool
}

// pullVerdict says what became of an object.
type pullVerdict string

const (
	pullWritten  pullVerdict = "written"
	pullReplaced pullVerdict = "replaced"
	// pullNew would be written, but for --diff.
	pullNew pullVerdict = "not in git"
	// pullSame is in git and the plan of it is empty, pullDiffers is not.
	pullSame    pullVerdict = "in git"
	pullDiffers pullVerdict = "differs"
	// pullGoing is being deleted, pullRefused can't be written.
	pullGoing   pullVerdict = "left out"
	pullRefused pullVerdict = "not written"
)

func runPull(ctx context.Context, a *app, opts pullOptions, args []string) (err error) {
	if err := opts.check(a.global); err != nil {
		return err
	}
	asked, err := parseSelection(args)
	if err != nil {
		return err
	}
	p := &pulling{app: a, opts: opts, set: &manifest.Set{}}
	if p.project, err = a.findProject(); err != nil {
		return err
	}
	if opts.file != onStdout {
		if err := p.readGit(ctx); err != nil {
			return err
		}
	}
	if p.world, err = a.enter(ctx, p.project, p.set); err != nil {
		return err
	}
	defer p.world.Close()
	if asked, err = p.reachable(asked); err != nil {
		return err
	}
	if err := p.readLive(ctx, asked); err != nil {
		return err
	}
	if err := p.draft(ctx); err != nil {
		return err
	}
	if opts.file == onStdout {
		return p.toStdout()
	}
	return errors.Join(p.write(ctx), p.adopt(ctx), p.say())
}

// readGit reads the manifests that are there, so that objects are found wherever
// they stand.
func (p *pulling) readGit(ctx context.Context) error {
	sources, err := p.gitSources()
	if err != nil {
		return err
	}
	reading := p.app.begin("reading manifests")
	defer reading.end()
	opts := p.project.ManifestOptions(false, p.app.global.parallelism)
	opts.Progress = reading.reached
	set, findings, err := manifest.Load(ctx, sources, opts)
	if err == nil {
		err = invalid(append(findings, manifest.Check(set, opts)...), "nothing was written, because trueup can't tell what is in git")
	}
	p.set, p.sources = set, sources
	return err
}

// invalid refuses manifests that are wrong, and says who shows all of it.
func invalid(findings diag.List, nothing string) error {
	if err := findings.Refuse("the manifests are invalid, and " + nothing); err != nil {
		return fmt.Errorf("%w; trueup validate shows all of them", err)
	}
	return nil
}

// gitSources are the project's manifests, without folders that are not there yet,
// and the place that is written to.
func (p *pulling) gitSources() ([]manifest.Source, error) {
	o := project.NewSources(p.app.dir(), nil)
	there := p.project
	there.Manifests = nil
	for _, name := range p.project.Manifests {
		if _, err := os.Lstat(filepath.Join(p.project.Dir, name)); !errors.Is(err, fs.ErrNotExist) {
			there.Manifests = append(there.Manifests, name)
		}
	}
	err := o.AddConfigured(there)
	var more []string
	if len(p.project.Manifests) == 0 {
		more = append(more, ".")
	}
	for _, name := range []string{p.opts.dir, p.opts.file} {
		if name == "" || p.project.Reads(p.app.dir(), p.app.full(name)) {
			continue
		}
		if _, lost := os.Lstat(p.app.full(name)); lost == nil {
			more = append(more, name)
		}
	}
	return o.List, errors.Join(err, o.AddPaths(more))
}

// readLive reads the objects that were asked for, and what the ledger knows of
// them.
func (p *pulling) readLive(ctx context.Context, asked selection) error {
	if err := p.readLedger(ctx); err != nil {
		return err
	}
	state, err := p.fetch(ctx, asked)
	if err != nil && exit.Of(err) == exit.Auth && len(asked.kinds()) > 1 {
		return fmt.Errorf("%w; to skip that, name what to pull: %s", err, strings.Join(listedKinds(), ", "))
	}
	if err != nil {
		return err
	}
	for _, k := range asked.listed() {
		if !state.Lists[k.Name].Complete {
			p.cut = true
			p.app.log(slog.LevelWarn, fmt.Sprintf("the list of %s is incomplete: run pull again", k.Name))
		}
	}
	p.take(state, asked)
	if err := asked.unmet(p.items); err != nil {
		return err
	}
	return p.addRecords(ctx)
}

// fetch reads the objects that were asked for.
func (p *pulling) fetch(ctx context.Context, asked selection) (live.State, error) {
	reading := p.app.begin("reading what is live")
	defer reading.end()
	reader := api.NewReader(p.world.API)
	defer reader.Close()
	return live.Fetch(ctx, reader, asked.named(), live.Options{
		Workspace: p.world.Workspace, Parallelism: p.app.global.parallelism,
		Names: reconcile.RemoteNames(p.view), Also: asked.kinds(), Whole: true,
		Progress: func(done int) { reading.reached(done, 0) },
	})
}

// take picks what was asked for from what is live, by the names that git has for
// it.
func (p *pulling) take(state live.State, asked selection) {
	inGit := map[kind.Key]kind.Key{}
	for key, remote := range reconcile.RemoteNames(p.view) {
		inGit[kind.Key{Kind: key.Kind, Name: remote}] = key
	}
	for _, o := range everything(state) {
		key, renamed := inGit[o.Key()]
		if !renamed {
			key = o.Key()
		}
		if asked.has(key) || asked.has(o.Key()) {
			p.items = append(p.items, &pulled{live: o, key: key, has: p.set.Find(key)})
		}
	}
}

// readLedger reads what the ledger knows of the objects in git. A ledger that is
// not there, or can't be read, keeps nobody from writing manifests.
func (p *pulling) readLedger(ctx context.Context) (err error) {
	if p.opts.file == onStdout {
		p.view = ledger.View{}
		return nil
	}
	if p.ledger, err = p.world.OpenLedger(ctx); err != nil {
		return err
	}
	keys := make([]kind.Key, len(p.set.Objects))
	for i, o := range p.set.Objects {
		keys[i] = o.Key()
	}
	p.view, err = p.ledger.View(ctx, keys)
	if err != nil && ctx.Err() == nil {
		p.view, err = ledger.Unreadable(err), nil
	}
	return err
}

// addRecords looks up what the ledger knows of live objects.
func (p *pulling) addRecords(ctx context.Context) error {
	if p.ledger == nil || p.view.Problem != "" {
		return nil
	}
	keys := make([]kind.Key, len(p.items))
	for i, item := range p.items {
		keys[i] = item.key
	}
	return p.ledger.Add(ctx, &p.view, keys)
}
