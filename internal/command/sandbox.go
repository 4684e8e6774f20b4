package command

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"trueup/internal/config"
	"trueup/internal/diag"
	"trueup/internal/kind"
	"trueup/internal/report"
	"trueup/internal/sandbox"
)

func newSandbox(run *Run) *cobra.Command {
	var listen string
	var quirks []string
	cmd := newCommand(run, "sandbox", func(ctx context.Context, _ []string) (report.Document, error) {
		run.emitted = true
		return report.Document{}, serveSandbox(ctx, run, listen, quirks)
	})
	f := cmd.Flags()
	f.StringVar(&listen, "listen", "127.0.0.1:0", "loopback `ADDRESS` to listen on")
	f.StringArrayVar(&quirks, "quirk", nil, "have the quirk `NAME`; repeatable (see sandbox fault --help)")
	completeQuirks := func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		return Candidates(sandbox.Quirks(), func(q sandbox.Quirk) (string, string) { return q.Name, q.Summary }), NoFiles
	}
	_ = cmd.RegisterFlagCompletionFunc("quirk", completeQuirks) // the flag exists
	cmd.AddCommand(newSandboxReset(run), newSandboxRequests(run), newSandboxFault(run), newSandboxSeed(run))
	return cmd
}

func serveSandbox(ctx context.Context, run *Run, listen string, quirks []string) (err error) {
	known := diag.MapList(sandbox.Quirks(), func(q sandbox.Quirk) string { return q.Name })
	for _, name := range quirks {
		if !slices.Contains(known, name) {
			return fmt.Errorf("quirk %q does not exist%s", name, diag.DidYouMean(name, known))
		}
	}
	p, dir, err := findSandbox(run)
	if err != nil {
		return err
	}
	ws := kind.Workspace{Name: sandbox.WorkspaceName, UUID: sandbox.WorkspaceUUID}
	if p.Exists() {
		ws = p.Workspace
	}
	log := func(r sandbox.LoggedRequest) {
		run.Inform("%s %s %s -> %d", r.Time.Format(time.RFC3339), r.Method, r.Path, r.Status)
	}
	server, err := run.OpenSandbox(dir, ws, log, quirks...)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, server.Close()) }()
	if err := server.AddFaults(run.SandboxFaults...); err != nil {
		return err
	}
	base, stop, err := config.ServeSandbox(ctx, server, listen)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stop()) }()
	leave, err := config.AnnounceSandbox(dir, base)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, leave()) }()
	err = report.NewLineWriter(run.stdout, 0).Printf(
		"export TRUEUP_DELIVERY_URL=%s%s TRUEUP_DELIVERY_TOKEN=%s\nexport TRUEUP_COMPUTE_URL=%s%s TRUEUP_COMPUTE_TOKEN=%s\n",
		base, sandbox.DeliveryBase, sandbox.DeliveryToken, base, sandbox.ComputeBase, sandbox.ComputeToken)
	if err == nil {
		<-ctx.Done()
	}
	return err
}

// findSandbox returns the project of the run, and the folder of its sandbox.
func findSandbox(run *Run) (config.Project, string, error) {
	p, err := run.FindProject()
	if err != nil {
		return p, "", err
	}
	dir, err := run.SandboxDir(p)
	return p, dir, err
}

func newSandboxReset(run *Run) *cobra.Command {
	return newCommand(run, "reset", func(context.Context, []string) (report.Document, error) {
		_, dir, err := findSandbox(run)
		if err != nil {
			return report.Document{}, err
		}
		if err := os.RemoveAll(dir); err != nil {
			return report.Document{}, fmt.Errorf("sandbox: %w", err)
		}
		return messageDocument("the next --sandbox run starts with an empty sandbox"), nil
	})
}

func newSandboxRequests(run *Run) *cobra.Command {
	return newCommand(run, "requests", func(context.Context, []string) (doc report.Document, err error) {
		p, dir, err := findSandbox(run)
		if err != nil {
			return doc, err
		}
		server, err := run.OpenSandbox(dir, p.Workspace, nil)
		if err != nil {
			return doc, err
		}
		defer func() { err = errors.Join(err, server.Close()) }()
		requests, err := server.Requests()
		if err != nil {
			return doc, err
		}
		doc.Data = map[string]any{"format": "trueup.requests/v1", "requests": append([]sandbox.LoggedRequest{}, requests...)}
		doc.Text = func(out report.LineWriter, _ report.FormatOptions) {
			for _, r := range requests {
				line, _ := json.Marshal(r) // it was JSON in the log
				out.JSONLine("", line)
			}
		}
		return doc, nil
	})
}

func newSandboxFault(run *Run) *cobra.Command {
	var forget bool
	cmd := newCommand(run, "fault [RULE...]", func(ctx context.Context, rules []string) (doc report.Document, err error) {
		if forget && len(rules) > 0 {
			return doc, errors.New("use either --clear or rules, not both")
		}
		_, dir, err := findSandbox(run)
		if err != nil {
			return doc, err
		}
		method := http.MethodGet
		if forget {
			method = http.MethodDelete
		} else if len(rules) > 0 {
			method = http.MethodPost
		}
		answer, err := config.CallServedSandbox(ctx, dir, method, "fault", strings.Join(rules, "\n"))
		if err != nil || method != http.MethodGet {
			return doc, err
		}
		waiting := []sandbox.PendingFault{}
		if err := json.Unmarshal(answer, &waiting); err != nil {
			return doc, fmt.Errorf("faults of the sandbox: %w", err)
		}
		rows := diag.MapList(waiting, func(f sandbox.PendingFault) []string {
			return []string{f.Rule, fmt.Sprintf("seen %d, met %d", f.Seen, f.Done)}
		})
		if doc = table("trueup.faults/v1", "faults", waiting, rows); len(rows) == 0 {
			addMessage(&doc, "no fault waits")
		}
		return doc, nil
	})
	cmd.Long = faultHelp()
	cmd.Flags().BoolVar(&forget, "clear", false, "remove the faults that are waiting")
	return cmd
}

// faultHelp returns the form of faults, and the tables of their names and of quirks.
func faultHelp() string {
	var b strings.Builder
	grammar, example, _ := strings.Cut(sandbox.Grammar, ", such as ")
	fmt.Fprintf(&b, "  %s\n  such as '%s'\n\nNames:\n", grammar, example)
	for _, e := range sandbox.FaultKinds() {
		fmt.Fprintf(&b, "  %-40s %s\n", e.Form(), e.Summary)
	}
	b.WriteString("\nQuirks, for sandbox --quirk:\n")
	for _, q := range sandbox.Quirks() {
		fmt.Fprintf(&b, "  %-40s %s\n", q.Name, q.Summary)
	}
	return b.String()
}

func newSandboxSeed(run *Run) *cobra.Command {
	return newCommand(run, "seed PATH...", func(ctx context.Context, paths []string) (doc report.Document, err error) {
		l, err := run.LoadValid(ctx, paths, "nothing was put on the sandbox")
		if err != nil {
			return doc, err
		}
		ws, err := config.SandboxWorkspace(l.Project, l.Set)
		if err != nil {
			return doc, err
		}
		dir, err := run.SandboxDir(l.Project)
		if err != nil {
			return doc, err
		}
		var objects []json.RawMessage
		for _, o := range l.Set.Objects {
			if !o.Kind.IsRequestOnly() {
				objects = append(objects, o.Kind.MakeEnvelope(ws, o.Name, o.Spec))
			}
		}
		if err := run.SeedSandbox(ctx, dir, ws, objects); err != nil {
			return doc, err
		}
		return messageDocument("%s live in the sandbox, in workspace %s", diag.Plural(len(objects), "object is", "objects are"), ws.Name), nil
	})
}
