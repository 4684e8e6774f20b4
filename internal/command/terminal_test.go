package command

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/synctest"
)

// TestInputIsWhatWasRead: all of it, in its order, with its end.
func TestInputIsWhatWasRead(t *testing.T) {
	want := strings.Repeat("0123456789", 50_000)
	got, err := io.ReadAll(&stdinReader{ctx: t.Context(), r: strings.NewReader(want)})
	if err != nil || string(got) != want {
		t.Errorf("%d bytes of %d, %v", len(got), len(want), err)
	}
	synctest.Test(t, func(t *testing.T) {
		r, w := io.Pipe()
		defer func() { _ = w.Close() }()
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := io.ReadAll(&stdinReader{ctx: ctx, r: r}); !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
	})
}
