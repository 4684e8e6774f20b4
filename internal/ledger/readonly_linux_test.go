package ledger

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"
)

// asNobody runs do on a thread that has no rights to root's files.
func asNobody(t *testing.T, do func()) {
	t.Helper()
	if os.Getuid() != 0 {
		do()
		return
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		// The thread ends with this goroutine, because it stays locked.
		runtime.LockOSThread()
		if err := syscall.Setfsuid(65534); err != nil {
			t.Error(err)
			return
		}
		do()
	}()
	<-done
}

func TestReadOnlyDirectoryIsRefusedBeforeAnything(t *testing.T) {
	// Directories of t.TempDir can't be entered by others.
	dir, err := os.MkdirTemp("", "ledger")
	must(t, err)
	t.Cleanup(func() {
		if err := os.Chmod(dir, 0o755); err != nil {
			t.Error(err)
		}
		remove(t, dir)
	})
	cfg := testConfig(dir)
	g, err := Init(t.Context(), cfg)
	must(t, err)
	cfg.ID = g.LedgerID
	ledger := filepath.Join(dir, "ledger")
	must(t, os.Chmod(dir, 0o555))
	must(t, filepath.WalkDir(ledger, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			return os.Chmod(p, 0o555)
		}
		return os.Chmod(p, 0o444)
	}))
	t.Cleanup(func() {
		for _, sub := range []string{".", tempDir} {
			if err := os.Chmod(filepath.Join(ledger, sub), 0o755); err != nil {
				t.Error(err)
			}
		}
	})
	asNobody(t, func() {
		l, err := Open(t.Context(), cfg)
		if err != nil {
			t.Error(err)
			return
		}
		if v, err := l.View(t.Context(), nil); err != nil || v.Problem != "" {
			t.Errorf("view %+v, %v", v, err)
		}
		if err := tryClaim(t.Context(), l, purgeKey); !errors.Is(err, fs.ErrPermission) {
			t.Errorf("claim gave %v", err)
		}
		if err := l.Pending(t.Context(), cdnKey, someSpec); !errors.Is(err, fs.ErrPermission) {
			t.Errorf("pending gave %v", err)
		}
		cfg.Store, cfg.ID = "file:another", ""
		if _, err := Init(t.Context(), cfg); !errors.Is(err, fs.ErrPermission) {
			t.Errorf("init gave %v", err)
		}
	})
}
