package config

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

	"trueup/internal/kind"
	"trueup/internal/sandbox"
)

// Served is a sandbox that another run serves.
type Served struct{ address string }

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

// FindServed returns the sandbox that is served in a folder. A repository may have written the file of
// its address, so it must be a loopback address.
func FindServed(dir string) (Served, error) {
	file := addressFile(dir)
	info, err := os.Lstat(file)
	if err != nil || !info.Mode().IsRegular() || info.Size() > 100 {
		return Served{}, errNotServed
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return Served{}, fmt.Errorf("sandbox: %w", err)
	}
	address := strings.TrimSpace(string(text))
	if !OnLoopback(address) {
		return Served{}, fmt.Errorf("%s does not name a loopback address: remove it, and start trueup sandbox again", file)
	}
	return Served{address}, nil
}

// Ask sends a request to the control of the sandbox.
func (s Served) Ask(ctx context.Context, method, what, body string) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, method, "http://"+s.address+sandbox.ControlBase+what, strings.NewReader(body))
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
		return nil, fmt.Errorf("sandbox at %s: %w", s.address, err)
	case res.StatusCode >= http.StatusBadRequest:
		return nil, errors.New(strings.TrimSpace(string(answer)))
	case res.StatusCode >= http.StatusMultipleChoices:
		return nil, errNotServed
	}
	return answer, nil
}

// Seeder puts objects on a sandbox, many at a time.
type Seeder struct {
	waiting []json.RawMessage
	size    int
	put     func(objects []json.RawMessage) error
	Close   func() error // closes the sandbox
}

// OpenSeeder opens the sandbox that is served in the folder, or else the one that is kept there.
func (o Options) OpenSeeder(ctx context.Context, dir string, ws kind.Workspace) (*Seeder, error) {
	if s, err := FindServed(dir); err == nil {
		if _, err := s.Ask(ctx, http.MethodGet, "fault", ""); err == nil {
			return &Seeder{put: func(objects []json.RawMessage) error {
				body, err := json.Marshal(objects)
				if err == nil {
					_, err = s.Ask(ctx, http.MethodPut, "objects", string(body))
				}
				return err
			}, Close: func() error { return nil }}, nil
		}
	}
	server, err := o.OpenSandbox(dir, ws, nil)
	if err != nil {
		return nil, err
	}
	return &Seeder{put: func(objects []json.RawMessage) error { return server.PutJSON(objects...) }, Close: server.Close}, nil
}

// Add puts an object, at the latest when Flush is called.
func (s *Seeder) Add(object []byte) error {
	const atOnce = 1 << 20 // bytes
	s.waiting = append(s.waiting, object)
	if s.size += len(object); s.size < atOnce {
		return nil
	}
	return s.Flush()
}

// Flush puts the objects that wait.
func (s *Seeder) Flush() error {
	objects := s.waiting
	s.waiting, s.size = nil, 0
	return s.put(objects)
}
