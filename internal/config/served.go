package config

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"trueup/internal/kind"
	"trueup/internal/sandbox"
)

var errNotServed = errors.New("no sandbox is served here: start trueup sandbox in this folder, or use --sandbox-fault in a run with --sandbox")

// addressFile is where a served sandbox says where it listens.
func addressFile(dir string) string { return filepath.Join(dir, "address") }

// AnnounceSandbox tells other runs in the folder where the sandbox listens, until the function that it
// returns is called.
func AnnounceSandbox(dir, base string) (leave func() error, err error) {
	file := addressFile(dir)
	leave = func() error {
		if err := os.Remove(file); err != nil && !errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("sandbox: %w", err)
		}
		return nil
	}
	// A link that a repository put there is removed, and not followed.
	if err := leave(); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(file, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("sandbox: %w", err)
	}
	_, err = f.WriteString(strings.TrimPrefix(base, "http://") + "\n")
	if err = errors.Join(err, f.Close()); err != nil {
		return nil, fmt.Errorf("sandbox: %w", err)
	}
	return leave, nil
}

// served returns the address of the sandbox that another run serves in a folder. A repository may have written the
// file, so it must be a loopback address.
func served(dir string) (string, error) {
	file := addressFile(dir)
	info, err := os.Lstat(file)
	if err != nil || !info.Mode().IsRegular() || info.Size() > 100 {
		return "", errNotServed
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return "", fmt.Errorf("sandbox: %w", err)
	}
	address := strings.TrimSpace(string(text))
	if !OnLoopback(address) {
		return "", fmt.Errorf("%s does not name a loopback address: remove it, and start trueup sandbox again", file)
	}
	return address, nil
}

// AskServed sends a request to the control of the sandbox that is served in a folder.
func AskServed(ctx context.Context, dir, method, what, body string) ([]byte, error) {
	address, err := served(dir)
	if err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(ctx, method, "http://"+address+sandbox.ControlBase+what, strings.NewReader(body))
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
	switch {
	case err != nil:
		return nil, fmt.Errorf("sandbox at %s: %w", address, err)
	case res.StatusCode >= http.StatusBadRequest:
		return nil, errors.New(strings.TrimSpace(string(answer)))
	case res.StatusCode >= http.StatusMultipleChoices:
		return nil, errNotServed
	}
	return answer, nil
}

// SeedSandbox puts objects on the sandbox that is served in the folder, or else on the one that is kept there, many
// at a time. It returns how many.
func (o Options) SeedSandbox(ctx context.Context, dir string, ws kind.Workspace, objects iter.Seq2[[]byte, error]) (n int, err error) {
	put, end, err := o.seeder(ctx, dir, ws)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, end()) }()
	const atOnce = 1 << 20 // bytes
	var waiting []json.RawMessage
	size := 0
	for object, err := range objects {
		if err = cmp.Or(err, ctx.Err()); err != nil {
			return n, err
		}
		waiting, size, n = append(waiting, object), size+len(object), n+1
		if size < atOnce {
			continue
		}
		if err := put(waiting); err != nil {
			return n, err
		}
		waiting, size = nil, 0
	}
	return n, put(waiting)
}

func (o Options) seeder(ctx context.Context, dir string, ws kind.Workspace) (put func([]json.RawMessage) error, end func() error, err error) {
	if _, err := AskServed(ctx, dir, http.MethodGet, "fault", ""); err == nil {
		return func(objects []json.RawMessage) error {
			body, err := json.Marshal(objects)
			if err == nil {
				_, err = AskServed(ctx, dir, http.MethodPut, "objects", string(body))
			}
			return err
		}, func() error { return nil }, nil
	}
	server, err := o.OpenSandbox(dir, ws, nil)
	if err != nil {
		return nil, nil, err
	}
	return func(objects []json.RawMessage) error { return server.PutJSON(objects...) }, server.Close, nil
}
