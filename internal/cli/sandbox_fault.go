package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"trueup/internal/config"
	"trueup/internal/sandbox/control"
	"trueup/internal/sandbox/fault"
)

func newSandboxFault(a *app) *cobra.Command {
	var forget bool
	cmd := &cobra.Command{
		Use:  "fault [RULE...]",
		Long: faultHelp(),
		RunE: func(cmd *cobra.Command, rules []string) error {
			if forget && len(rules) > 0 {
				return errors.New("use either --clear or rules, not both")
			}
			return runSandboxFault(cmd.Context(), a, forget, rules)
		},
	}
	cmd.Flags().BoolVar(&forget, "clear", false, "remove the faults that are waiting")
	return cmd
}

// faultHelp is the grammar of faults and the table of their effects.
func faultHelp() string {
	var b strings.Builder
	grammar, example, _ := strings.Cut(fault.Grammar, ", such as ")
	fmt.Fprintf(&b, "  %s\n  such as '%s'\n\nEffects:\n", grammar, example)
	for _, e := range fault.Effects() {
		fmt.Fprintf(&b, "  %-40s %s\n", e.Form, e.Summary)
	}
	return b.String() + "\ndocs/sandbox.md explains them."
}

func runSandboxFault(ctx context.Context, a *app, forget bool, rules []string) error {
	_, dir, err := a.sandboxDir()
	if err != nil {
		return err
	}
	where, err := servedAt(dir)
	if err != nil {
		return err
	}
	switch {
	case forget:
		_, err := steer(ctx, http.MethodDelete, where, "fault", "")
		return err
	case len(rules) > 0:
		_, err := steer(ctx, http.MethodPost, where, "fault", strings.Join(rules, "\n"))
		return err
	}
	answer, err := steer(ctx, http.MethodGet, where, "fault", "")
	if err != nil {
		return err
	}
	var waiting []fault.Pending
	if err := json.Unmarshal(answer, &waiting); err != nil {
		return fmt.Errorf("faults of the sandbox: %w", err)
	}
	if len(waiting) == 0 {
		return a.out.Printf("no fault waits\n")
	}
	rows := make([][]string, len(waiting))
	for i, f := range waiting {
		rows[i] = []string{f.Rule, fmt.Sprintf("seen %d, met %d", f.Seen, f.Done)}
	}
	return a.out.Table("", rows)
}

// steer sends a request to the control of the sandbox at an address.
func steer(ctx context.Context, method, where, what, body string) ([]byte, error) {
	url := "http://" + where + control.Base + what
	req, err := http.NewRequestWithContext(ctx, method, url, strings.NewReader(body))
	if err != nil {
		return nil, fmt.Errorf("sandbox: %w", err)
	}
	client := http.Client{
		Timeout: 10 * time.Second, Transport: &http.Transport{DisableKeepAlives: true},
		// A repository may have chosen which port of this machine is asked.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	res, err := client.Do(req)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errNotServed, err)
	}
	defer func() { _ = res.Body.Close() }()
	answer, err := io.ReadAll(io.LimitReader(res.Body, 1<<20))
	if err != nil {
		return nil, fmt.Errorf("sandbox at %s: %w", where, err)
	}
	switch {
	case res.StatusCode >= http.StatusBadRequest:
		return nil, errors.New(strings.TrimSpace(string(answer)))
	case res.StatusCode >= http.StatusMultipleChoices:
		return nil, errNotServed
	}
	return answer, nil
}

var errNotServed = errors.New("no sandbox is served here: start trueup sandbox in this folder, or use --sandbox-fault in a run with --sandbox")

// addressFile is where a served sandbox says where it listens.
func addressFile(dir string) string { return filepath.Join(dir, "address") }

// announce tells other runs in the folder where the sandbox listens; the
// function that it returns takes that back.
func announce(dir, base string) (func() error, error) {
	file := addressFile(dir)
	// What a repository has put there is not written through.
	if err := os.Remove(file); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("sandbox: %w", err)
	}
	f, err := os.OpenFile(file, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("sandbox: %w", err)
	}
	_, err = f.WriteString(strings.TrimPrefix(base, "http://") + "\n")
	if err = errors.Join(err, f.Close()); err != nil {
		return nil, fmt.Errorf("sandbox: %w", err)
	}
	return func() error {
		if err := os.Remove(file); err != nil && !errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("sandbox: %w", err)
		}
		return nil
	}, nil
}

// servedAt reads where the sandbox of a folder listens. The file may be
// anybody's: it can name no address but a loopback one.
func servedAt(dir string) (string, error) {
	file := addressFile(dir)
	info, err := os.Lstat(file)
	if err != nil || !info.Mode().IsRegular() || info.Size() > 100 {
		return "", errNotServed
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return "", fmt.Errorf("sandbox: %w", err)
	}
	where := strings.TrimSpace(string(text))
	if !config.OnLoopback(where) {
		return "", fmt.Errorf("%s does not name a loopback address: remove it, and start trueup sandbox again", file)
	}
	return where, nil
}
