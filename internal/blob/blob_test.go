package blob

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"trueup/internal/e2e/gitremote"
	"trueup/internal/e2e/scratch"
)

func TestMain(m *testing.M) {
	code := scratch.Run(m)
	gitremote.Remove()
	os.Exit(code)
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func wantErr(t testing.TB, err, want error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Fatalf("error is %v, want %v", err, want)
	}
}

// create makes a blob without copies.
func create(ctx context.Context, s Store, name string, content []byte) error {
	return s.Create(ctx, Blob{Name: name, Content: content})
}

// contract is what every store must hold. newStore returns a store in which there is
// nothing, each time another.
func contract(t *testing.T, newStore func() Store) {
	ctx := t.Context()
	s := newStore()
	names, err := s.List(ctx, "log", 0)
	if err != nil || names != nil {
		t.Fatalf("an empty store has %v, %v", names, err)
	}
	must(t, errors.Join(s.Prepare(ctx), s.Prepare(ctx)))
	_, err = s.Get(ctx, "log/1/a")
	wantErr(t, err, ErrAbsent)
	for _, name := range []string{"log/2/b.json", "log/1/a-1.json", "log/1/a-2.json", "log/2/a.json"} {
		must(t, create(ctx, s, name, []byte(name)))
		wantErr(t, create(ctx, s, name, []byte("another")), ErrExists)
		must(t, s.CheckRefusesCreation(ctx, name))
	}
	for most, want := range map[int]string{
		0: "log/1/a-1.json log/1/a-2.json log/2/a.json log/2/b.json", 1: "log/1/a-1.json", 3: "log/1/a-1.json log/1/a-2.json log/2/a.json",
	} {
		if names, err := s.List(ctx, "log", most); err != nil || strings.Join(names, " ") != want {
			t.Errorf("the first %d are %v, %v", most, names, err)
		}
	}
	if b, err := s.Get(ctx, "log/2/b.json"); err != nil || string(b) != "log/2/b.json" {
		t.Errorf("read %q, %v", b, err)
	}
	// Copies come along, and what they are of may go.
	gathered := CombinedBlob{Blob: Blob{Name: "log/1/a-0.json", Content: []byte("both")}, Of: []string{"log/1/a-1.json", "log/1/none"}}
	must(t, s.Create(ctx, Blob{Name: "log/1/a-3.json", Note: "two"}, gathered))
	if b, err := s.Get(ctx, "log/1/a-0.json"); err != nil || string(b) != "both" {
		t.Errorf("the copy is %q, %v", b, err)
	}
	if names, err := s.List(ctx, "log", 1); err != nil || len(names) != 1 || names[0] != "log/1/a-0.json" {
		t.Errorf("with the copy: %v, %v", names, err)
	}
	wantErr(t, create(ctx, s, "log/1/a-3.json", []byte("again")), ErrExists)
	below := s.SubStore("tmp/proof-1")
	must(t, below.Prepare(ctx))
	must(t, create(ctx, below, "log/1/a-1.json", nil))
	must(t, below.Clear(ctx))
	again := s.SubStore("tmp/proof-1")
	if names, err := again.List(ctx, "log", 0); err != nil || len(names) != 0 {
		t.Errorf("the proof left %v, %v", names, err)
	}
	must(t, again.Clear(ctx))
	if names, err := s.List(ctx, "log", 0); err != nil || len(names) < 5 {
		t.Errorf("the proof took others away: %v, %v", names, err)
	}
	for round := range 5 {
		oneWinner(t, s, fmt.Sprint("log/3/race-", round))
	}
	gone, cancel := context.WithCancel(ctx)
	cancel()
	if create(gone, s, "log/4/late", nil) == nil {
		t.Error("a cancelled context made one")
	}
	if _, err := s.Get(gone, "log/2/b.json"); err == nil {
		t.Error("a cancelled context read")
	}
	if _, err := s.List(gone, "log", 0); err == nil {
		t.Error("a cancelled context listed")
	}
	_, err = s.Get(ctx, "log/4/late")
	wantErr(t, err, ErrAbsent)
}

// oneWinner lets writers make one blob.
func oneWinner(t *testing.T, s Store, name string) {
	t.Helper()
	var wg sync.WaitGroup
	var wins atomic.Int32
	var winner atomic.Value
	for i := range 24 {
		wg.Go(func() {
			err := create(t.Context(), s, name, fmt.Append(nil, i))
			if err == nil {
				wins.Add(1)
				winner.Store(fmt.Sprint(i))
			} else if !errors.Is(err, ErrExists) {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	b, err := s.Get(t.Context(), name)
	if err != nil || wins.Load() != 1 || string(b) != winner.Load() {
		t.Fatalf("%d winners, last %v; there is %q, %v", wins.Load(), winner.Load(), b, err)
	}
}
