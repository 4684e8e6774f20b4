package crash

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"trueup/internal/blob"
	"trueup/internal/e2e/servers"
)

// attackLedger is a ledger in a folder or on a server, which can be put back: runs find a copy of it elsewhere, which may
// lack entries. Servers and roles may refuse to remove any.
type attackLedger struct {
	t testing.TB
	// store is file or the scheme of a server, root the address that all copies are below.
	store, root string
	// copies is the number of the newest one, which runs find.
	copies int
	// wire is what runs reach the server through; nil for a folder.
	wire *wire
}

func newAttackLedger(t testing.TB, store, folder string) *attackLedger {
	t.Helper()
	if store == "file" {
		return &attackLedger{t: t, store: store, root: "file:" + folder}
	}
	l := &attackLedger{t: t, store: store, root: servers.Store(t, store)}
	server := net.JoinHostPort(os.Getenv("PGHOST"), os.Getenv("PGPORT"))
	if store != "postgres" {
		address, err := url.Parse(l.root)
		if err != nil {
			t.Fatal(err)
		}
		endpoint, err := url.Parse(address.Query().Get("endpoint"))
		if err != nil {
			t.Fatal(err)
		}
		server = endpoint.Host
	}
	l.wire = newWire(t, server)
	return l
}

func (l *attackLedger) close() {
	if l.wire != nil {
		l.wire.stop()
	}
}

func (l *attackLedger) address() string { return l.at(l.copies) }

func (l *attackLedger) at(number int) string { return servers.Below(l.root, fmt.Sprint(number)) }

// moveOn leaves the ledger behind: runs find none.
func (l *attackLedger) moveOn() { l.copies++ }

// folder is where a ledger in files is.
func (l *attackLedger) folder() string { return strings.TrimPrefix(l.address(), "file:") }

// env names the ledger to runs.
func (l *attackLedger) env() []string {
	if l.wire == nil {
		return []string{"TRUEUP_LEDGER=" + l.address()}
	}
	_, port, err := net.SplitHostPort(l.wire.addr)
	if err != nil {
		l.t.Fatal(err)
	}
	return append(servers.Environ(), "TRUEUP_LEDGER="+strings.Replace(l.address(), l.wire.server, l.wire.addr, 1), "PGPORT="+port)
}

func (l *attackLedger) open(address string) (store blob.Store, err error) {
	switch l.store {
	case "file":
		return blob.FolderStore(strings.TrimPrefix(address, "file:")), nil
	case "s3":
		return blob.OpenS3(l.t.Context(), address, true, time.Now)
	case "gs":
		return blob.OpenGCS(address, true)
	case "azblob":
		return blob.OpenAzure(address, true, os.Getenv, time.Now)
	case "postgres":
		return blob.OpenPostgres(strings.TrimPrefix(address, "postgres:"))
	}
	return nil, errors.New("no such store: " + l.store)
}

// with calls do with a copy.
func (l *attackLedger) with(number int, do func(ctx context.Context, store blob.Store) error) {
	l.t.Helper()
	store, err := l.open(l.at(number))
	if err == nil {
		err = do(l.t.Context(), store)
	}
	if closer, ok := store.(io.Closer); ok {
		err = errors.Join(err, closer.Close())
	}
	if err != nil {
		l.t.Fatal(err)
	}
}

// names are those of the log's files, the newest first.
func (l *attackLedger) names() (names []string) {
	l.t.Helper()
	l.with(l.copies, func(ctx context.Context, store blob.Store) (err error) {
		names, err = store.List(ctx, "log", 0)
		return err
	})
	return names
}

// copyOf makes the next copy, of another one, without the named files.
func (l *attackLedger) copyOf(number int, lost ...string) {
	l.t.Helper()
	var files []blob.Blob
	l.with(number, func(ctx context.Context, store blob.Store) error {
		names, err := store.List(ctx, "log", 0)
		for _, name := range names {
			if err != nil || slices.Contains(lost, name) {
				continue
			}
			var content []byte
			content, err = store.Get(ctx, name)
			files = append(files, blob.Blob{Name: name, Content: content})
		}
		return err
	})
	l.moveOn()
	l.with(l.copies, func(ctx context.Context, store blob.Store) error {
		err := store.Prepare(ctx)
		for _, file := range files {
			if err == nil {
				err = store.Create(ctx, file)
			}
		}
		return err
	})
}

// withoutDisk lets the ledger's disk take no files for a time.
func (l *attackLedger) withoutDisk(d time.Duration) {
	l.t.Helper()
	folder := filepath.Join(l.folder(), "tmp")
	err := errors.Join(os.Rename(folder, folder+".off"), os.WriteFile(folder, nil, 0o600))
	time.Sleep(d)
	if err = errors.Join(err, os.Remove(folder), os.Rename(folder+".off", folder)); err != nil {
		l.t.Fatal(err)
	}
}
