package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	"github.com/spf13/cobra"

	"trueup/internal/config"
	"trueup/internal/diag"
	"trueup/internal/kind"
	"trueup/internal/manifest"
)

func newSandboxSeed(a *app) *cobra.Command {
	return &cobra.Command{
		Use:  "seed PATH...",
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return runSandboxSeed(cmd.Context(), a, args) },
	}
}

func runSandboxSeed(ctx context.Context, a *app, paths []string) error {
	l, err := a.load(ctx, paths, false)
	if err != nil {
		return err
	}
	if err := l.Refuse("nothing was put on the sandbox"); err != nil {
		return err
	}
	ws, err := config.SandboxWorkspace(l.Project, l.Set)
	if err != nil {
		return err
	}
	dir, err := a.config().SandboxDir(l.Project)
	if err != nil {
		return err
	}
	to, err := a.seeder(ctx, dir, ws)
	if err != nil {
		return err
	}
	return errors.Join(a.seed(l.Set, ws, to), to.close())
}

// seed puts objects on the platform and says so.
func (a *app) seed(set *manifest.Set, ws kind.Workspace, to *seeder) error {
	seeded := 0
	for _, o := range set.Objects {
		if o.Kind.RequestOnly() {
			continue
		}
		if err := to.add(o.Kind.Envelope(ws, o.Name, o.Spec)); err != nil {
			return err
		}
		seeded++
	}
	if err := to.flush(); err != nil {
		return err
	}
	return a.out.Printf("%s live in the sandbox, in workspace %s\n", diag.Plural(seeded, "object is", "objects are"), ws.Name)
}

// seeder puts objects on a sandbox, many at a time.
type seeder struct {
	waiting []json.RawMessage
	size    int
	put     func(objects []json.RawMessage) error
	close   func() error
}

// seedSize is about how many bytes of objects are put at a time.
const seedSize = 1 << 20

func (s *seeder) add(object []byte) error {
	s.waiting = append(s.waiting, object)
	if s.size += len(object); s.size < seedSize {
		return nil
	}
	return s.flush()
}

func (s *seeder) flush() error {
	objects := s.waiting
	s.waiting, s.size = nil, 0
	return s.put(objects)
}

// seeder puts objects on the sandbox that is served in the folder, or on the one
// that is kept there.
func (a *app) seeder(ctx context.Context, dir string, ws kind.Workspace) (*seeder, error) {
	if where, served := servedAt(dir); served == nil {
		if _, err := steer(ctx, http.MethodGet, where, "fault", ""); err == nil {
			return &seeder{put: func(objects []json.RawMessage) error {
				body, err := json.Marshal(objects)
				if err != nil {
					return fmt.Errorf("sandbox: %w", err)
				}
				_, err = steer(ctx, http.MethodPut, where, "objects", string(body))
				return err
			}, close: func() error { return nil }}, nil
		}
	}
	server, err := a.config().OpenSandbox(dir, ws, nil)
	if err != nil {
		return nil, err
	}
	return &seeder{put: func(objects []json.RawMessage) error { return server.PutJSON(objects...) }, close: server.Close}, nil
}
