package sandbox

import (
	"testing"

	"trueup/internal/e2e/sandboxtest"
)

type answer = sandboxtest.Answer

// world is a server on loopback with a clock that stands still.
type world struct {
	*sandboxtest.World
	s *Server
}

func newWorld(t *testing.T, quirks ...string) *world {
	t.Helper()
	return openWorld(t, ServerOptions{Now: sandboxtest.Standing, Quirks: quirks})
}

func openWorld(t *testing.T, opts ServerOptions) *world {
	t.Helper()
	s, err := Open(opts)
	if err != nil {
		t.Fatal(err)
	}
	return &world{World: sandboxtest.Serve(t, s), s: s}
}

// withShop is a world that has one CDN, shop.
func withShop(t *testing.T, quirks ...string) *world {
	t.Helper()
	w := newWorld(t)
	w.Post(sandboxtest.CDNs, sandboxtest.CDNBody("shop", "shop.example.com")).Want(t, 201)
	w.SetQuirks(quirks...)
	return w
}
