package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"trueup/internal/config"
	"trueup/internal/kind"
	"trueup/internal/manifest"
	"trueup/internal/project"
	"trueup/internal/report"
	"trueup/internal/sandbox"
	"trueup/internal/sandbox/fault"
)

type sandboxOptions struct {
	listen string
	quirks []string
	faults []string
}

func newSandbox(a *app) *cobra.Command {
	var opts sandboxOptions
	cmd := &cobra.Command{
		Use:  "sandbox",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return runSandbox(cmd.Context(), a, opts) },
	}
	cmd.Flags().StringVar(&opts.listen, "listen", "127.0.0.1:0", "loopback `ADDRESS` to listen on")
	cmd.Flags().StringArrayVar(&opts.quirks, "quirk", nil, "have the quirk `NAME`; repeatable (sandbox quirks lists them)")
	cmd.Flags().StringArrayVar(&opts.faults, "fault", nil, "make requests fail as `RULE` says; repeatable (see sandbox fault --help)")
	cmd.AddCommand(newSandboxReset(a), newSandboxRequests(a), newSandboxQuirks(a), newSandboxFault(a), newSandboxSeed(a), newSandboxFill(a))
	return cmd
}

// check refuses quirks that there are not.
func (o sandboxOptions) check() error {
	var known []string
	for _, q := range fault.Quirks() {
		known = append(known, q.Name)
	}
	for _, name := range o.quirks {
		if !slices.Contains(known, name) {
			return fmt.Errorf("quirk %q does not exist%s", name, manifest.DidYouMean(name, known))
		}
	}
	return nil
}

func runSandbox(ctx context.Context, a *app, opts sandboxOptions) (err error) {
	if err := opts.check(); err != nil {
		return err
	}
	p, dir, err := a.sandboxDir()
	if err != nil {
		return err
	}
	ws := kind.Workspace{Name: sandbox.WorkspaceName, UUID: sandbox.WorkspaceUUID}
	if p.Exists() {
		ws = p.Workspace
	}
	log := func(r sandbox.Request) {
		a.log(slog.LevelInfo, fmt.Sprintf("%s %s %s -> %d", r.Time.Format(time.RFC3339), r.Method, r.Path, r.Status))
	}
	server, err := a.config().OpenSandbox(dir, ws, log, opts.quirks...)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, server.Close()) }()
	if err := server.Fault(opts.faults...); err != nil {
		return err
	}
	base, stop, err := config.ServeSandbox(ctx, server, opts.listen)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stop()) }()
	leave, err := announce(dir, base)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, leave()) }()
	err = a.out.Printf(
		"export TRUEUP_DELIVERY_URL=%s%s TRUEUP_DELIVERY_TOKEN=%s\nexport TRUEUP_COMPUTE_URL=%s%s TRUEUP_COMPUTE_TOKEN=%s\n",
		base, sandbox.DeliveryBase, sandbox.DeliveryToken, base, sandbox.ComputeBase, sandbox.ComputeToken)
	if err == nil {
		<-ctx.Done()
	}
	return err
}

func newSandboxReset(a *app) *cobra.Command {
	return &cobra.Command{
		Use:  "reset",
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			_, dir, err := a.sandboxDir()
			if err != nil {
				return err
			}
			if err := os.RemoveAll(dir); err != nil {
				return fmt.Errorf("sandbox: %w", err)
			}
			return a.out.Printf("the next --sandbox run starts with an empty sandbox\n")
		},
	}
}

func newSandboxRequests(a *app) *cobra.Command {
	var reset bool
	cmd := &cobra.Command{
		Use:  "requests",
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) (err error) {
			p, dir, err := a.sandboxDir()
			if err != nil {
				return err
			}
			server, err := a.config().OpenSandbox(dir, p.Workspace, nil)
			if err != nil {
				return err
			}
			defer func() { err = errors.Join(err, server.Close()) }()
			requests, err := server.Requests()
			if err != nil {
				return err
			}
			out := json.NewEncoder(report.JSONStream(a.stdout))
			for _, r := range requests {
				if err := out.Encode(r); err != nil {
					return err
				}
			}
			if reset {
				return server.ResetRequests()
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&reset, "reset", false, "clear the log after printing it")
	return cmd
}

func newSandboxQuirks(a *app) *cobra.Command {
	return &cobra.Command{
		Use:  "quirks",
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			var rows [][]string
			for _, q := range fault.Quirks() {
				rows = append(rows, []string{q.Name, string(q.Group), q.Summary})
			}
			return a.out.Marked(rows, report.Options{Width: a.env.Width})
		},
	}
}

// sandboxDir returns the project of the run, and the folder of its sandbox.
func (a *app) sandboxDir() (project.Project, string, error) {
	p, err := a.findProject()
	if err != nil {
		return p, "", err
	}
	dir, err := a.config().SandboxDir(p)
	return p, dir, err
}
